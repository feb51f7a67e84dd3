import io
import os
import pty
from dataclasses import replace

import pytest
from conftest import tiny_config
from rich.console import Console

from seq2seq_cli.cli import training_display as module
from seq2seq_cli.cli.training_display import TrainingDisplay, plan_rows, summary_rows
from seq2seq_cli.runtime import tensorflow as tensorflow_import
from seq2seq_cli.runtime.computation import Computation
from seq2seq_cli.training.events import Heading, Notice, Phase, Progress, Summary, Validation
from seq2seq_cli.training.memory import MemoryEstimate
from seq2seq_cli.training.plan import Plan, Times

PROGRESS = Progress(
    step=123_456,
    epoch=7,
    loss=2.345,
    learning_rate=1e-3,
    gradient_norm=1.0,
    pairs_per_second=1234.0,
    padding_share=0.03,
    seconds=100.0,
    share_done=0.4,
    seconds_left=3723.0,
    dev_bleu=31.4,
)
SUMMARY = Summary(
    run="runs/003-rnn-additive",
    config=tiny_config(None, training__epochs=3),
    corpus="toy.tsv",
    pairs=1500,
    train_pairs=1400,
    dev_pairs=48,
    test_pairs=36,
    shared_pairs=0,
    dropped={"duplicate": 16, "too long for training": 0},
    vocabulary="44 words, shared by both languages",
    parameters=29_169,
    batches_per_epoch=1800,
    padding_share=0.2344,
    computation=Computation("float32", 2, "CPU (A)"),
)
VALIDATION = Validation(5, 1, 9.0, 2.5, 12.0, 30.0, "signature", True, [])


def test_a_summary_is_put_in_words():
    assert summary_rows(SUMMARY) == [
        ("run", "runs/003-rnn-additive"),
        ("data", "toy.tsv, en to es, 1,500 pairs"),
        (
            "splits",
            "1,400 train, 48 dev, 36 test; no train pairs share a sentence with the others",
        ),
        ("dropped", "16 duplicate"),
        ("vocabulary", "44 words, shared by both languages"),
        ("model", "rnn, additive attention, bahdanau wiring, 29,169 parameters"),
        ("batches", "1,800 per epoch, of about 512 tokens each, 23.4% padding"),
        ("until", "3 epochs"),
        ("device", "CPU (A), plain graph, float32, 2 parts of a batch at once"),
    ]


def test_a_summary_names_what_applies():
    limits = {"training__steps": 4, "training__budget_seconds": 90.0, "training__batch_pairs": 64}
    computation = Computation("float32", 1, "CPU (A)", {}, {"float32": 1.25, "bfloat16": 2.0})
    rows = dict(
        summary_rows(
            replace(
                SUMMARY,
                config=tiny_config(None, **limits),
                shared_pairs=7,
                dropped={},
                computation=computation,
            )
        )
    )
    assert rows["splits"].endswith("; 7 train pairs share a sentence with the others")
    assert rows["dropped"] == "nothing"
    assert rows["batches"].startswith("1,800 per epoch, of 64 pairs each, ")
    assert rows["until"] == "4 steps or 1:30 min"
    assert rows["measured"] == "float32 1.2 ms, bfloat16 2.0 ms"


def test_a_plan_adds_updates_time_and_memory():
    times = Times(compilation=20.0, update=0.05)
    memory = MemoryEstimate(5 * 10**8, 10**8, 2 * 10**8, 0, 7 * 10**8)
    planned = Plan(SUMMARY, 5400, 3, times, memory, 8 * 10**9)
    rows = plan_rows(planned)
    assert rows[:-3] == summary_rows(SUMMARY)
    assert dict(rows[-3:]) == {
        "time": "about 4:50 min (an estimate): compilation 20 s, 5,400 updates of 50 ms, "
        "without 3 validations",
        "updates": "at most 5,400; fewer if dev BLEU does not rise in 8 validations",
        "memory": "about 1.50 GB (an estimate): process 0.50 GB, weights 0.10 GB, optimizer "
        "0.20 GB, batch 0.70 GB; 8.00 GB are available",
    }
    budget = replace(SUMMARY, config=tiny_config(None, training__budget_seconds=120.0))
    rows = dict(plan_rows(replace(planned, summary=budget, updates=None, available_memory=None)))
    assert rows["time"] == (
        "about 2:00 min (an estimate): compilation 20 s, at most 2,000 updates of 50 ms, and "
        "validations"
    )
    assert rows["updates"].startswith("as many as the time allows; fewer if")
    assert rows["memory"].endswith("batch 0.70 GB")


def terminal(width: int = 80) -> Console:
    return Console(width=width, file=io.StringIO(), force_terminal=True, force_interactive=True)


def screen(display: TrainingDisplay, width: int = 80) -> list[str]:
    """Return the lines that are live."""
    console = Console(width=width, file=io.StringIO())
    with console.capture() as captured:
        console.print(display._frame())
    return captured.get().split("\n")


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_most_important_figures_are_shown_on_every_terminal(width):
    display = TrainingDisplay(terminal(width))
    display(PROGRESS)
    lines = screen(display, width)
    assert max(map(len, lines)) <= width
    shown = "\n".join(lines)
    for figure in ("7", "123,456", "2.345", "31.4", "1:02:03 h"):
        assert figure in shown
    names = [name for line in lines[1::2] for name in line.replace("dev ", "").split()]
    assert names[:5] == ["epoch", "step", "loss", "BLEU", "left"]


@pytest.mark.parametrize(("width", "last"), [(60, "pairs/s"), (80, "padding")])
def test_a_row_has_as_many_figures_as_fit(width, last):
    display = TrainingDisplay(terminal(width))
    display(PROGRESS)
    lines = [line for line in screen(display, width) if line.strip()]
    assert len(lines) == 3
    assert lines[1].split()[-1] == last


def test_the_bleu_of_a_validation_is_shown_at_once():
    display = TrainingDisplay(terminal())
    display(PROGRESS)
    display(VALIDATION)
    assert "12.0" in "".join(screen(display))


def test_what_is_not_known_yet_is_a_dash():
    display = TrainingDisplay(terminal())
    display(replace(PROGRESS, seconds_left=None, dev_bleu=None))
    assert screen(display)[2].split().count("-") == 2


def test_a_phase_is_shown_with_its_time_until_the_next_event_of_its_kind(monkeypatch):
    now = 100.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    display = TrainingDisplay(terminal(60))
    display(Phase("Compiling", "shapes", 0, 12))
    now = 107.0
    display(Phase("Compiling", "shapes", 3, 12))
    assert "Compiling: 3 of 12 shapes 7 s, 21 s left" in screen(display, 60)[0]
    display(Phase("Validating"))
    assert "Validating 0 s" in screen(display, 60)[0]
    display(Notice("something"))
    assert "Validating" in screen(display, 60)[0]
    display(VALIDATION)
    assert not "".join(screen(display, 60)).strip()
    display(Phase("Validating"))
    display(PROGRESS)
    assert "Validating" not in "".join(screen(display, 60))


def test_training_stays_in_view_while_it_validates():
    display = TrainingDisplay(terminal())
    display(PROGRESS)
    display(Phase("Validating", "sentences", 30, 90))
    lines = "".join(screen(display))
    assert "123,456" in lines
    assert "Validating: 30 of 90 sentences" in lines


def test_without_a_terminal_each_phase_is_a_line_when_it_begins():
    console = Console(width=40, file=io.StringIO())
    with TrainingDisplay(console) as display:
        for done in range(3):
            display(Phase("Compiling for a great many batch shapes", "done", done, 3))
        for _ in range(2):
            display(Phase("Validating", "sentences"))
            display(Phase("Validating", "batches"))
            display(VALIDATION)
    lines = console.file.getvalue().split("\n")
    assert lines[0] == "Compiling for a great many batch shapes"
    assert lines[1] == lines[3] == "Validating"
    assert len(lines) == 6


def test_the_spinner_moves_while_the_import_of_tensorflow_is_silenced():
    ours, theirs = pty.openpty()
    before = os.dup(2)
    os.dup2(theirs, 2)
    try:
        with open(2, "w", closefd=False) as file:
            console = Console(file=file, width=60, force_terminal=True, force_interactive=True)
            with TrainingDisplay(console) as display:
                display(Phase("Starting TensorFlow"))
                with tensorflow_import._silent_stderr():
                    os.write(2, b"noise")
                    console.print("seen")
            assert console.file is file
        os.write(2, b"end")
    finally:
        os.dup2(before, 2)
        os.close(before)
    shown = ""
    while "end" not in shown:  # a terminal may pass on its text in parts
        shown += os.read(ours, 10_000).decode()
    os.close(ours)
    os.close(theirs)
    assert "seen" in shown
    assert "Starting TensorFlow" in shown
    assert "noise" not in shown


def test_a_closed_terminal_does_not_end_training():
    ours, theirs = pty.openpty()
    with open(theirs, "w", closefd=False) as file:
        console = Console(file=file, width=60, force_terminal=True, force_interactive=True)
        with TrainingDisplay(console) as display:
            display(Phase("Starting TensorFlow"))
            os.close(ours)
            display(Phase("Making the first updates"))
            console.print("seen")
        console.file = io.StringIO()
    os.close(theirs)


@pytest.mark.parametrize("console", [terminal(), Console(file=io.StringIO())])
def test_a_quiet_display_shows_notices_alone(console):
    with TrainingDisplay(console, quiet=True) as display:
        for event in (Heading("1 of 2"), Phase("Starting"), SUMMARY, PROGRESS, VALIDATION):
            display(event)
        assert console.file.getvalue() == ""
        display(Notice("a damaged checkpoint"))
    assert "a damaged checkpoint" in console.file.getvalue()


def test_an_interrupted_phase_leaves_nothing_on_the_screen():
    console = terminal()
    with pytest.raises(KeyboardInterrupt), TrainingDisplay(console) as display:
        display(Phase("Starting TensorFlow"))
        raise KeyboardInterrupt
    assert not "".join(screen(display)).strip()
