"""The command line as a whole, and the commands `config show` and `config check`."""

import functools
import os
import re
import threading
from pathlib import Path

import pytest
import typer
from conftest import s2s, s2s_process
from typer.testing import CliRunner

from seq2seq_cli.cli import app
from seq2seq_cli.config.training import TrainingConfig

README = Path(__file__).parents[2] / "README.md"
command_of = functools.cache(typer.main.get_command)  # which takes a moment
COMMAND_LINE = README.parent / "docs" / "command-line.md"


def commands() -> list[str]:
    group = command_of(app)
    names = []
    for name, command in group.commands.items():
        names += (
            [f"{name} {sub}" for sub in command.commands]
            if hasattr(command, "commands")
            else [name]
        )
    return names


def has_option(command: str, option: str) -> bool:
    found = command_of(app)
    for name in command.split():
        found = found.commands[name]
    return any(option in parameter.opts for parameter in found.params)


@pytest.mark.parametrize("command", commands())
def test_every_command_has_help_and_is_in_the_docs(command):
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0
    assert len(result.output.split("Usage")[1]) > 100
    assert f"s2s {command.split()[0]}" in README.read_text(encoding="utf-8")
    assert f"| `s2s {command}` | " in COMMAND_LINE.read_text(encoding="utf-8")


def test_every_option_has_help():
    def check(command) -> None:
        for sub in getattr(command, "commands", {}).values():
            check(sub)
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{command.name} {parameter.name}"

    check(command_of(app))


@pytest.mark.parametrize("command", ["", "data", *commands()])
def test_help_fits_on_narrow_terminals_and_shows_no_types_of_python(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "62")
    monkeypatch.setenv("TERMINAL_WIDTH", "62")
    lines = CliRunner().invoke(app, [*command.split(), "--help"]).output.splitlines()
    assert max(map(len, lines)) <= 62
    options = "\n".join(line for line in lines if line.startswith("│ -"))
    assert not re.search("<(bool|float|int|path|str|list)\\b", options)
    assert not re.search("--[a-z-]*…", options)  # nothing is cut


def test_colours_can_be_turned_off(home):
    shown = s2s_process("runs", "list", FORCE_COLOR="1")
    assert "\x1b[" in "".join(shown[1:])
    shown = s2s_process("runs", "list", FORCE_COLOR="1", NO_COLOR="1")
    assert not re.search("\x1b\\[[0-9;]*3[0-7]", "".join(shown[1:]))


@pytest.mark.parametrize("config", [[], ["--config", "tatoeba-student"]])
def test_show_is_a_config_file(config, tmp_path):
    code, out, _ = s2s("config", "show", *config, "--set", "training.seed=5")
    assert code == 0
    (tmp_path / "c.toml").write_text(out)
    assert s2s("config", "check", str(tmp_path / "c.toml")) == (
        *(0, f"{tmp_path}/c.toml: valid\n"),
        "",
    )
    assert "seed = 5" in out
    assert "[training]: " in out
    assert all(re.search(rf"\b{key}\b", out) for key in TrainingConfig.model_fields)


def test_check_names_each_problem(workdir):
    (workdir / "c.toml").write_text("[training]\nbatch_token = 1\nseed = 'x'\n")
    code, out, err = s2s("config", "check", "c.toml")
    assert (code, out) == (2, "")
    assert "did you mean 'training.batch_tokens'?" in err
    assert "training.seed must be a whole number" in err


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (command, option)
        for command in commands()
        for option in ("--source", "--target")
        if has_option(command, "--data") and not command.startswith("recipe d")
    ],
)
def test_commands_with_a_corpus_accept_languages(command, option):
    assert has_option(command, option)


@pytest.mark.parametrize(
    "command",
    [
        *("train", "translate", "score", "eval", "ablate", "selftest", "init"),
        *("bench train", "bench decode"),
        *("data download", "data stats", "data check", "data prepare"),
    ],
)
def test_commands_that_show_progress_can_be_quiet(command):
    assert has_option(command, "--quiet")


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["tran"], "Did you mean 'train', 'translate'?"),
        (["data", "chek"], "Did you mean 'check'?"),
        (["train", "--epoch", "3"], "--epochs"),
        (["translate", "--n-bests", "3"], "--n-best"),
        (["train", "--dropout", "0.2"], "--set model.dropout=VALUE"),
        (["data", "stats", "--dev-pairs", "9"], "--set data.dev_pairs=VALUE"),
        (["init", "--epochs", "9"], "--set training.epochs=VALUE"),
        (["eval", "--no-repeat-ngram", "2"], "--set decoding.no_repeat_ngram=VALUE"),
        (["train", "--set", "training.epoch=3"], "did you mean 'training.epochs'?"),
        (["train", "--config", "tatoeba-rnn-aditive"], "did you mean 'tatoeba-rnn-additive'?"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_nearest_one(arguments, nearest, workdir):
    code, out, err = s2s(*arguments)
    assert (code, out) == (2, "")
    assert nearest in " ".join(err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["config", "check", ""], "--config : no such file"),
        (["config", "show", "--config", ""], "--config : no such file"),
        (["config", "check", "folder"], "--config folder: is a folder"),
        (["config", "show", "--model", "rnn"], "--set model.kind=VALUE"),
        (["attention", "a", "--run", ""], "the name of a run must not"),
        (["doctor", "--device", ""], "must be auto, cpu"),
    ],
)
def test_an_empty_or_wrong_name_is_not_a_default(arguments, message, workdir):
    (workdir / "folder").mkdir()
    code, _, error = s2s(*arguments)
    assert (code, message in " ".join(error.replace("│", " ").split())) == (2, True), error


def test_a_config_may_come_from_a_pipe(workdir):
    os.mkfifo(workdir / "pipe")
    text = "training.steps = 7\n"
    writer = threading.Thread(target=(workdir / "pipe").write_text, args=[text], daemon=True)
    writer.start()
    code, out, _ = s2s("config", "show", "--config", "pipe")
    assert (code, "steps = 7" in out) == (0, True)


def test_a_value_that_is_not_among_the_choices_is_an_error_with_the_choices(workdir):
    code, out, err = s2s("eval", "--split", "train")
    assert (code, out) == (2, "")
    message = "Invalid value for '--split': 'train' is not one of 'dev', 'test'."
    assert message in " ".join(err.replace("│", " ").split())


def test_a_key_that_a_command_does_not_take_is_not_offered(workdir):
    for arguments in (
        ["translate", "--dropout", "0.2"],
        ["translate", "--model", "rnn"],
        ["data", "download", "--seed", "3"],
    ):
        code, _, err = s2s(*arguments)
        assert code == 2
        assert "No such option" in err
        assert "--set" not in err
    assert "training.seed=VALUE" in s2s("config", "check", "x", "--seed", "3")[2]


def test_the_config_contains_the_languages(workdir):
    code, out, err = s2s("config", "show", "--data", "x", "--source", "es", "--target", "en")
    assert (code, err) == (0, "")
    assert 'source_language = "es"\ntarget_language = "en"' in out
