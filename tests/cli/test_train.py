"""The command `train`."""

import os
import re
from pathlib import Path

import pytest
from conftest import TINY, TINY_MODELS, s2s, s2s_process, tiny_config

from seq2seq_cli.runs.run import Run
from seq2seq_cli.runtime import tensorflow as tensorflow_import


def tiny_settings() -> list[str]:
    settings = {**TINY, **TINY_MODELS["rnn"]}
    return [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]


@pytest.mark.slow  # .ci/run does the same
def test_from_train_to_translation(corpus, workdir):
    command = ["train", "--attention", "additive", "--data", str(corpus), "--steps", "30"]
    code, out, err = s2s_process(*command, *tiny_settings())
    assert (code, out) == (0, "")
    for label in ("data", "splits", "dropped", "vocabulary", "parameters", "device"):
        assert label in err
    assert "XLA" not in err
    assert re.search(r"epoch 1  step \d+  loss \d", err)
    assert "dev BLEU" in err
    assert "WARNING" not in err
    assert "Ended after 30 steps" in err
    assert s2s("translate", "I see one cats.")[0] == 0
    # Quietly once more: another folder; with --run of a finished run: refused.
    assert s2s(*command[:-1], "3", "--quiet", *tiny_settings()) == (0, "", "")
    assert sorted(p.name for p in (workdir / "runs").iterdir()) == [
        "001-rnn-additive",
        "002-rnn-additive",
    ]
    code, _, err = s2s(*command, "--run", "001-rnn-additive")
    assert code == 2
    assert "exists already. Continue it: s2s train --resume" in err
    code, _, err = s2s("train", "--resume", "--epochs", "3")
    assert code == 2
    assert "training.epochs: None there, 3 now" in err


def test_a_dry_run_shows_what_would_be_done_and_writes_nothing(corpus, workdir):
    command = ["train", "--data", str(corpus), "--epochs", "2", *tiny_settings()]
    code, out, err = s2s(*command, "--dry-run")
    assert code == 0
    assert list(workdir.iterdir()) == []
    assert "Learning the vocabulary" in err
    rows = dict(re.findall(r"^(\w+) +(.+?) *$", out, re.MULTILINE))
    assert rows["run"] == "runs/001-rnn-additive"
    batches = int(rows["batches"].split()[0])
    assert rows["updates"].startswith(f"at most {2 * batches}; fewer if dev BLEU does not rise")
    updates = f"{2 * batches} updates of"
    assert re.match(rf"about \d+ s \(an estimate\): .* {updates} \d+ ms", rows["time"])
    assert re.match(r"about \d\.\d\d GB \(an estimate\): process \d", rows["memory"])


def test_a_dry_run_of_a_resumed_training_is_refused(workdir):
    code, _, err = s2s("train", "--dry-run", "--resume")
    assert (code, err) == (2, "error: --dry-run is for a new run; leave out --resume\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["--attention", "flash"],
            2,
            "--attention: model.attention must be one of 'additive', 'dot', 'general', 'concat', "
            "'scaled_dot', 'location', 'none'; it is 'flash'. The option also accepts bahdanau, "
            "luong, local-m, local-p",
        ),
        (["--model", "cnn"], 2, "--model: model.kind must be one of 'rnn', 'transformer', "),
        (
            ["--model", "transformer", "--attention", "additive"],
            2,
            "--attention: model.attention is for model.kind = 'rnn'; it is 'transformer'",
        ),
        (["--set", "training.sped=1"], 2, "unknown key 'training.sped'"),
        (["--set", "nonsense"], 2, "expected KEY=VALUE"),
        (
            ["--config", "none"],
            2,
            "--config none: no such file, and no shipped config of that",
        ),
        (["--budget", "soon"], 2, "--budget soon: expected a time such as 90s, 10m or 1.5h"),
        (["--steps", "0"], 2, "--steps: training.steps must be a whole number from 1"),
        (["--device", "tpu"], 2, "training.device must be auto, cpu, gpu or gpu:N"),
        (["--steps", "many"], 2, "Invalid value for '--steps'"),
        (["--resume"], 4, "no run with a checkpoint"),
        (["--resume", "--run", "none"], 4, "runs/none: no such run"),
    ],
)
def test_bad_input_is_reported_and_nothing_is_written(arguments, code, message, workdir):
    found, out, err = s2s("train", *arguments)
    assert (found, out) == (code, "")
    assert message in err
    assert "Traceback" not in err
    assert list(workdir.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--run", "used"], 2, "runs/used: exists already. Continue it"),
        (["--run", "begun"], 5, "runs/begun: process PID is training here"),
        (["--resume", "--run", "begun"], 4, "runs/begun: no training has started here"),
        (["--resume", "--run", "used"], 5, "runs/used: process PID is training"),
        (["--data", "none.tsv"], 3, "none.tsv: no such file"),
        (["--data", "tatoeba", "--set", "data.dev=none.tsv"], 3, "none.tsv: no such file"),
        (["--run", "taken/x"], 7, "taken/x: cannot be written: Not a directory"),
        (["--run", "a\nb"], 2, r"'a\nb': the name of a run must not have control characters"),
    ],
)
def test_early_errors_do_not_import_tensorflow(arguments, code, message, workdir, monkeypatch):
    def imported(warn) -> None:
        raise AssertionError("TensorFlow was imported")

    monkeypatch.setattr(tensorflow_import, "import_tensorflow", imported)
    used, begun = Run(Path("runs/used")), Run(Path("runs/begun"))
    used.write(tiny_config(None), {})
    begun.path.mkdir()
    Path("taken").write_text("a file")
    with used.lock(), begun.lock():
        found, out, err = s2s("train", *arguments)
    assert (found, out) == (code, "")
    assert message.replace("PID", str(os.getpid())) in err


def test_an_interrupted_import_exits_quietly_with_130(workdir, monkeypatch):
    def interrupted(warn) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tensorflow_import, "import_tensorflow", interrupted)
    assert s2s("train") == (130, "", "Starting TensorFlow\n")
    assert list(workdir.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\nc\n", "x.tsv:2: 1 column where 2 are expected (en TAB es)"),
        (b"a\t\xff\n", "x.tsv:1: invalid UTF-8 at byte 3 (0xff)"),
        (b"a\tb\0\n", "x.tsv:1: contains a NUL character"),
        (b"", "x.tsv: has no sentence pairs"),
        (b"a\tb\n", "leave nothing for the"),
    ],
)
def test_bad_data_is_reported_and_no_run_is_created(content, message, workdir):
    (workdir / "x.tsv").write_bytes(content)
    code, _, err = s2s("train", "--data", "x.tsv")
    assert code == 3
    assert message in err
    assert not (workdir / "runs").exists()


def test_a_missing_gpu_is_refused_with_the_reason(corpus, workdir):
    code, _, err = s2s_process(
        *("train", "--data", str(corpus), "--device", "gpu"),
        CUDA_VISIBLE_DEVICES="-1",
    )
    assert code == 2
    assert "error: --device gpu: " in err
    assert not (workdir / "runs").exists()
