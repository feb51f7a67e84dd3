import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import typer
from conftest import TINY, TINY_MODELS, s2s, s2s_process, tiny_config
from typer.testing import CliRunner

from seq2seq_cli.cli import app
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runtime import tensorflow as tensorflow_import

README = Path(__file__).parents[2] / "README.md"


def tiny_settings() -> list[str]:
    settings = {**TINY, **TINY_MODELS["rnn"]}
    return [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]


def commands() -> list[str]:
    group = typer.main.get_command(app)
    names = []
    for name, command in group.commands.items():
        names += (
            [f"{name} {sub}" for sub in command.commands]
            if hasattr(command, "commands")
            else [name]
        )
    return names


@pytest.mark.parametrize("command", commands())
def test_every_command_has_help_and_stands_in_the_readme(command):
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0
    assert len(result.output.split("Usage")[1]) > 100
    assert f"s2s {command}" in README.read_text(encoding="utf-8")


def test_every_option_has_help():
    def check(command) -> None:
        for sub in getattr(command, "commands", {}).values():
            check(sub)
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{command.name} {parameter.name}"

    check(typer.main.get_command(app))


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["data", "--help"], []])
def test_help_imports_nothing_slow(arguments):
    code = (
        "import sys\n"
        f"sys.argv = ['s2s', *{arguments!r}]\n"
        "from seq2seq_cli.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "slow = {'tensorflow', 'keras', 'numpy', 'sacrebleu'} & set(sys.modules)\n"
        "sys.exit(f'imported {slow}' if slow else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_no_arguments_show_the_help_and_leave_with_2():
    code, out, err = s2s_process()
    assert code == 2
    assert "Usage" in out + err


def test_version():
    code, out, _ = s2s_process("--version")
    assert code == 0
    assert re.match(r"s2s \d+\.\d+\.\d+\ntensorflow 2\.", out)


@contextmanager
def translating(
    state: Path, **environment: str
) -> Iterator[tuple[subprocess.Popen, Callable[[bytes, bytes], bytes]]]:
    """Run `s2s translate` on a terminal; return it, and what types and reads until an answer."""
    parent, child = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "seq2seq_cli", "translate"],
        stdin=child,
        stdout=child,
        stderr=child,
        env={**os.environ, "XDG_STATE_HOME": str(state), **environment},
    ) as process:
        os.close(child)

        def say(text: bytes, answer: bytes) -> bytes:
            os.write(parent, text)
            seen = b""
            until = time.monotonic() + 60
            while answer not in seen and time.monotonic() < until:
                if select.select([parent], [], [], 1)[0]:
                    seen += os.read(parent, 4096)
            assert answer in seen, seen
            return seen

        try:
            yield process, say
        finally:
            process.kill()  # of no effect on one that has left
    os.close(parent)


def interrupt(process: subprocess.Popen) -> int:
    """Send SIGINT until the process leaves: readline misses one that comes before it waits."""
    for _ in range(30):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(timeout=2)
    raise AssertionError("SIGINT does not end the process")


class TestTranslate:
    def test_a_sentence(self, home):
        code, out, err = s2s_process("translate", "I see one cats.")
        assert (code, err) == (0, "")
        assert out.count("\n") == 1

    def test_several_sentences_an_empty_one_among_them(self, home):
        code, out, _ = s2s("translate", "I see one cats.", "", "we eat two books.")
        assert code == 0
        assert [bool(line) for line in out.split("\n")] == [True, False, True, False]

    def test_stdin_line_by_line(self, home):
        text = "I see one cats.\n\nwe eat two books."
        code, out, err = s2s("translate", stdin=text.encode())
        assert (code, err) == (0, "")
        assert [bool(line) for line in out.split("\n")] == [True, False, True, False]

    def test_a_file_gives_what_stdin_gives(self, home, tmp_path):
        text = b"I see one cats.\n\nwe eat two books.\n"
        (tmp_path / "in.txt").write_bytes(text)
        found = s2s("translate", "--input", str(tmp_path / "in.txt"))
        assert found == s2s("translate", stdin=text)

    def test_json(self, home):
        code, out, _ = s2s("translate", "--json", "I see one cats.")
        record = json.loads(out)
        assert code == 0
        assert record["source"] == "I see one cats."
        assert record["translation"]
        assert record["score"] < 0

    def test_invalid_line_is_named_after_the_ones_before(self, home):
        code, out, err = s2s("translate", stdin=b"I see one cats.\n\xff\n")
        assert code == 2
        assert out.count("\n") == 1
        assert err.startswith("error: stdin:2: invalid UTF-8 at byte 1 (0xff).")

    def test_a_missing_file_is_named(self, home):
        code, out, err = s2s("translate", "--input", "none.txt")
        assert (code, out) == (2, "")
        assert err == "error: --input none.txt: no such file\n"

    def test_sentences_and_a_file_exclude_each_other(self, home):
        assert s2s("translate", "a", "--input", "b")[0] == 2

    def test_without_a_run_the_error_says_what_to_do(self, workdir):
        code, out, err = s2s("translate", "a")
        assert (code, out) == (4, "")
        assert "no run with a checkpoint. Train one by `s2s train`" in err

    def test_an_unknown_run_is_named(self, home):
        code, _, err = s2s("translate", "--run", "none", "a")
        assert code == 4
        assert "runs/none: no such run" in err

    def test_no_traceback_unless_asked_for(self, workdir):
        assert "Traceback" not in s2s_process("translate", "a")[2]
        assert "Traceback" in s2s_process("--debug", "translate", "a")[2]

    def test_a_reader_that_leaves_is_no_error(self, home):
        with subprocess.Popen(
            [sys.executable, "-m", "seq2seq_cli", "translate", *["I see one cats."] * 2000],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 128 + signal.SIGPIPE

    def test_on_a_terminal_there_is_a_prompt_with_history(self, home, tmp_path):
        with translating(tmp_path) as (process, say):
            assert b"Translating with" in say(b"", b"> ")
            assert b"gatos" in say(b"I see one cats.\n", b"\r\n> ")
            say(b"\n", b"\r\n")
            assert process.wait(timeout=60) == 0
        assert (tmp_path / "s2s" / "history").read_text().count("I see one cats.") == 1

    def test_ctrl_c_at_the_prompt_leaves_with_130_and_saves_the_history(self, home, tmp_path):
        with translating(tmp_path, PYTHONIOENCODING="ascii") as (process, say):
            say(b"", b"> ")
            assert "él".encode() in say("él".encode() + b"\n", b"\r\n> ")
            assert interrupt(process) == 130
        assert (tmp_path / "s2s" / "history").read_text().count("él") == 1


class TestEval:
    def test_scores_with_signatures(self, home):
        code, out, err = s2s_process("eval", COLUMNS="200")
        assert (code, err) == (0, "")
        assert "\x1b" not in out  # no colours in a pipe
        assert re.search(r"BLEU +\d+\.\d\d +nrefs:\S*tok:13a\S*version:", out)
        assert re.search(r"chrF +\d+\.\d\d +nrefs:", out)

    def test_json(self, home):
        code, out, _ = s2s("eval", "--json", "--split", "dev")
        record = json.loads(out)
        assert code == 0
        assert {"run", "checkpoint", "split", "bleu", "bleu_signature", "chrf"} <= set(record)

    def test_output_has_a_line_for_each_sentence(self, home, tmp_path):
        out = tmp_path / "out.tsv"
        code, text, _ = s2s("eval", "--json", "--output", str(out))
        assert code == 0
        assert len(out.read_text().splitlines()) == json.loads(text)["sentences"]


class TestTrain:
    def test_from_train_to_translation(self, corpus, workdir):
        command = ["train", "--attention", "additive", "--data", str(corpus), "--steps", "30"]
        code, out, err = s2s_process(*command, *tiny_settings())
        assert (code, out) == (0, "")
        for label in ("data", "splits", "dropped", "vocabulary", "parameters", "device"):
            assert label in err
        assert "XLA" not in err
        assert re.search(r"epoch 1  step 10  loss \d", err)
        assert "dev BLEU" in err
        assert "WARNING" not in err
        assert "Ended after 30 steps" in err
        assert s2s("translate", "I see one cats.")[0] == 0
        # The same again: another folder; with --run of a finished run: refused.
        assert s2s(*command, *tiny_settings())[0] == 0
        assert sorted(p.name for p in (workdir / "runs").iterdir()) == [
            "001-rnn-additive",
            "002-rnn-additive",
        ]
        code, _, err = s2s(*command, "--run", "001-rnn-additive")
        assert code == 2
        assert "exists already. Go on with it by: s2s train --resume" in err
        code, _, err = s2s("train", "--resume", "--epochs", "3")
        assert code == 2
        assert "training.epochs: None there, 3 now" in err

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (["--attention", "flash"], 2, "--attention: model.attention must be one of 'additive'"),
            (["--model", "cnn"], 2, "--model: model.kind must be one of 'rnn', 'transformer', "),
            (
                ["--model", "transformer", "--attention", "additive"],
                2,
                "--attention: model.attention belongs to model.kind = 'rnn'; it is 'transformer'",
            ),
            (["--set", "training.sped=1"], 2, "unknown key 'training.sped'"),
            (["--set", "nonsense"], 2, "expected KEY=VALUE"),
            (["--config", "none"], 2, "--config none: no such file, nor a config of that name"),
            (["--budget", "soon"], 2, "--budget soon: expected a time such as 90s, 10m or 1.5h"),
            (["--steps", "0"], 2, "--steps: training.steps must be a whole number at least 1"),
            (["--device", "tpu"], 2, "training.device must be auto, cpu, gpu or gpu:N"),
            (["--steps", "many"], 2, "Invalid value for '--steps'"),
            (["--resume"], 4, "no run with a checkpoint"),
            (["--resume", "--run", "none"], 4, "runs/none: no such run"),
        ],
    )
    def test_bad_input_is_named_and_nothing_is_written(self, arguments, code, message, workdir):
        found, out, err = s2s("train", *arguments)
        assert (found, out) == (code, "")
        assert message in err
        assert "Traceback" not in err
        assert list(workdir.iterdir()) == []

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (["--run", "used"], 2, "runs/used: exists already. Go on with it by"),
            (["--run", "begun"], 5, "runs/begun: process PID is training here"),
            (["--resume", "--run", "begun"], 4, "runs/begun: no training has begun in it"),
            (["--resume", "--run", "used"], 5, "runs/used: process PID is training"),
            (["--data", "none.tsv"], 3, "none.tsv: no such file"),
            (["--data", "tatoeba", "--set", "data.dev=none.tsv"], 3, "none.tsv: no such file"),
            (["--run", "a\nb"], 2, r"--run 'a\nb': a run's name cannot have control characters"),
        ],
    )
    def test_what_can_be_refused_early_is_refused_without_tensorflow(
        self, arguments, code, message, workdir, monkeypatch
    ):
        def imported(warn) -> None:
            raise AssertionError("TensorFlow was imported")

        monkeypatch.setattr(tensorflow_import, "import_tensorflow", imported)
        used, begun = Run(Path("runs/used")), Run(Path("runs/begun"))
        used.write(tiny_config(None), {})
        begun.path.mkdir()
        with used.lock(), begun.lock():
            found, out, err = s2s("train", *arguments)
        assert (found, out) == (code, "")
        assert message.replace("PID", str(os.getpid())) in err

    def test_an_interrupted_import_leaves_quietly_with_130(self, workdir, monkeypatch):
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
            (b"a\tb\0\n", "x.tsv:1: a NUL character"),
            (b"", "x.tsv: there is no sentence pair in it"),
            (b"a\tb\n", "leave nothing for the"),
        ],
    )
    def test_bad_data_is_named_and_no_run_is_made(self, content, message, workdir):
        (workdir / "x.tsv").write_bytes(content)
        code, _, err = s2s("train", "--data", "x.tsv")
        assert code == 3
        assert message in err
        assert not (workdir / "runs").exists()

    def test_a_gpu_that_is_not_there_is_refused_with_the_reason(self, corpus, workdir):
        code, _, err = s2s_process(
            *("train", "--data", str(corpus), "--device", "gpu"),
            CUDA_VISIBLE_DEVICES="-1",
        )
        assert code == 2
        assert "error: --device gpu: " in err
        assert not (workdir / "runs").exists()


class TestData:
    def test_stats(self, corpus):
        code, out, err = s2s("data", "stats", "--data", str(corpus))
        assert (code, err) == (0, "")
        assert "500 in 500 independent groups" in out
        code, out, _ = s2s("data", "stats", "--data", str(corpus), "--json")
        record = json.loads(out)
        assert record["pairs"] == sum(split["pairs"] for split in record["splits"]) == 500
        assert record["sides"][0]["distinct_words"] == 19

    def test_download_without_a_network_says_what_to_do(self, tmp_path):
        code, out, err = s2s_process(
            *("data", "download"),
            XDG_CACHE_HOME=str(tmp_path),
            https_proxy="http://127.0.0.1:9",
            HTTPS_PROXY="http://127.0.0.1:9",
        )
        assert (code, out) == (3, "")
        assert "cannot be reached" in err
        assert "--data PATH/spa-eng.zip" in err

    def test_an_unknown_corpus_is_named(self):
        code, _, err = s2s("data", "download", "wmt99")
        assert code == 2
        assert "wmt99: not a corpus that can be downloaded; there is: tatoeba" in err


class TestConfig:
    def test_show_is_a_config_file(self, tmp_path):
        code, out, _ = s2s("config", "show", "--set", "training.seed=5")
        assert code == 0
        (tmp_path / "c.toml").write_text(out)
        assert s2s("config", "check", str(tmp_path / "c.toml")) == (
            *(0, f"{tmp_path}/c.toml: valid\n"),
            "",
        )
        assert "seed = 5" in out

    def test_check_names_what_is_wrong(self, workdir):
        (workdir / "c.toml").write_text("[training]\nbatch_token = 1\nseed = 'x'\n")
        code, out, err = s2s("config", "check", "c.toml")
        assert (code, out) == (2, "")
        assert "did you mean 'training.batch_tokens'?" in err
        assert "training.seed must be a whole number" in err
