import os
import signal
import threading

import pytest

from seq2seq_cli.training.interruption import stop_requested


@pytest.fixture
def interruptible():
    """SIGINT as a terminal's programs have it; what runs in the background may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_second_signal_is_no_longer_caught(interruptible):
    notices = []
    with stop_requested(notices.append) as request:
        os.kill(os.getpid(), signal.SIGINT)
        assert request.signal_number == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert notices == ["Saving a checkpoint before ending; a second signal ends at once"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_handlers_are_put_back(number):
    before = signal.getsignal(number)
    with stop_requested(lambda text: None) as request:
        assert signal.getsignal(number) != before
        os.kill(os.getpid(), number)
        assert request.signal_number == number
    assert signal.getsignal(number) == before


def test_outside_the_main_thread_nothing_is_caught():
    found = []

    def run() -> None:
        with stop_requested(lambda text: None) as request:
            found.append(request.signal_number)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [0]
