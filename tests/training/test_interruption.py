import os
import signal
import threading

import pytest

from seq2seq_cli.training.interruption import interruption_errors, stop_requested


def test_a_second_signal_is_not_caught():
    notices = []
    with stop_requested(notices.append) as request:
        os.kill(os.getpid(), signal.SIGINT)
        assert request.signal_number == signal.SIGINT
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert notices == ["Saving a checkpoint before ending; a second signal ends at once"]


def test_nohup_keeps_a_training_from_sighup():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruption_errors(), stop_requested(lambda text: None) as request:
            os.kill(os.getpid(), signal.SIGHUP)
            assert request.signal_number == 0
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_handlers_are_restored(number):
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
