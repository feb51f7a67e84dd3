"""How far the stages of a piece of work are, in lines."""

import pytest

from seq2seq_cli.cli.stages import Stage, StageLines


@pytest.fixture
def now() -> list[float]:
    return [0.0]


@pytest.fixture
def printed() -> list[str]:
    return []


@pytest.fixture
def lines(now, printed) -> StageLines:
    return StageLines(printed.append, lambda: now[0])


def test_a_line_says_every_so_often_how_far_the_work_is(lines, now, printed):
    for now[0], stage, unit, done, total in (
        (1.0, "Reading", "sentences", 0, None),
        (9.0, "Reading", "sentences", 0, None),
        (12.0, "Reading", "sentences", 5000, None),
        (20.0, "Translating", "sentences", 0, 900),
        (30.0, "Translating", "sentences", 300, 900),
        (31.0, "Translating", "sentences", 310, 900),
        (50.0, "Checking", "", 0, None),
    ):
        lines(stage, unit, done, total)
    assert printed == [
        "Reading: 5,000 sentences, 11 s so far",
        "Translating: 300 of 900 sentences, 20 s left",
        "Checking: 0 s so far",
    ]


def test_a_stage_that_counts_nothing_is_printed_by_the_clock_alone(lines, now, printed):
    lines("Learning")
    now[0] = 12.0
    lines.tick()
    now[0] = 13.0
    lines.tick()
    assert printed == ["Learning: 12 s so far"]
    # One that counts waits until it is told of.
    lines("Reading", "pairs", 5, 10)
    now[0] = 40.0
    lines.tick()
    assert len(printed) == 1


def test_nothing_is_printed_of_a_stage_that_has_ended_or_soon_after_another_line(
    lines, now, printed
):
    lines("Learning")
    now[0] = 20.0
    lines.printed()
    lines.tick()
    now[0] = 40.0
    lines.end_stage()
    lines.tick()
    assert printed == []


def test_the_thread_prints_and_ends(printed, monkeypatch):
    monkeypatch.setattr(StageLines, "SECONDS_BETWEEN_LINES", 0.0)
    with StageLines(printed.append) as lines:
        lines("Learning")
        thread = lines._thread
        while len(printed) < 2:  # the first is printed here, the second by the thread
            thread.join(0.05)
    assert not thread.is_alive()


def test_the_time_left_follows_from_what_was_done_in_this_stage():
    first = Stage.after(None, 100.0, "Reading", "pairs", 50, 100)
    assert first.time_left(105.0) == ""
    later = Stage.after(first, 110.0, "Reading", "pairs", 60, 100)
    assert later.time_left(110.0) == "40 s left"
    other = Stage.after(later, 120.0, "Reading", "lines", 60, 100)
    assert (other.began, other.time_left(130.0)) == (120.0, "")
    assert Stage.after(other, 121.0, "Reading", "lines", 70).time_left(131.0) == ""
