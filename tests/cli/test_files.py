import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import s2s

from seq2seq_cli.cli.console import two_columns
from seq2seq_cli.cli.files import Result, check_input, check_output, emit, open_output
from seq2seq_cli.decoding.lines import in_windows
from seq2seq_cli.errors import DataError, DiskError, UsageError

pytestmark = pytest.mark.usefixtures("uncompiled")

SENTENCE = "I see one cats."
needs_linux = pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has such files")
READ_STDIN = """
from seq2seq_cli.cli.files import open_input, open_standard_streams
from seq2seq_cli.errors import DataError
from seq2seq_cli.decoding.lines import in_windows
open_standard_streams()
with open_input(None) as (stream, name):
    try:
        list(in_windows(stream, name, str, lambda lines, first: lines, "read"))
    except DataError as error:
        print(error)
"""


def shell(command: str, **environment: str) -> tuple[int, bytes, bytes]:
    """Run a command in which PYTHON is this Python; return exit code, stdout and stderr."""
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHON": sys.executable, **environment},
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(("begin", "byte"), [(b"", 1), (b"hello", 6)])
def test_a_long_line_that_is_not_utf_8_is_named(begin, byte):
    content = io.BytesIO(b"a\n" + begin + b"\x80" * 3_000_000)
    lines = in_windows(content, "x", str, lambda each, _: each, "")
    assert next(lines) == (1, "a", "a")
    with pytest.raises(DataError, match=f"x:2: invalid UTF-8 at byte {byte}"):
        next(lines)


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["translate", "a", "caf\udce9"], "sentence 2"),
        (["translate", "a", "--prefix", "caf\udce9"], "--prefix"),
        (["score", "caf\udce9", "a"], "the source"),
        (["score", "a", "caf\udce9"], "the translation"),
    ],
)
def test_an_argument_that_is_not_utf8_is_named(workdir, arguments, place):
    code, out, err = s2s(*arguments)
    assert (code, out) == (2, "")
    assert err == (
        f"error: {place} is not UTF-8: 'caf\\xe9' (byte 4 is 0xe9). Convert it to UTF-8\n"
    )


def test_a_long_argument_that_is_not_utf8_is_shown_in_part(workdir):
    assert len(s2s("translate", "\udce9" + "a" * 5000)[2]) < 200


@pytest.mark.parametrize("environment", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"}])
def test_results_are_utf8_whatever_the_locale(workdir, environment):
    code, out, err = shell("$PYTHON -m seq2seq_cli config show --data é", **environment)
    assert (code, err) == (0, b"")
    assert "/é".encode() in out
    code, _, err = shell("$PYTHON -m seq2seq_cli config show --config é", PYTHONIOENCODING="ascii")
    assert code == 2
    assert rb"--config \xe9: no such file" in err


@needs_linux
def test_a_full_disk_below_stdout_is_named_and_leaves_with_7():
    error = b"error: stdout: cannot be written: No space left on device\n"
    for command in ("config show", "--help", "--version"):
        found = shell(f"$PYTHON -m seq2seq_cli {command} > /dev/full")
        assert found == (7, b"", error)


@needs_linux
def test_a_full_disk_below_stderr_stops_nothing():
    code, out, _ = shell("$PYTHON -m seq2seq_cli config check none 2> /dev/full")
    assert (code, out) == (2, b"")


def test_a_closed_stdout_is_named():
    found = shell("$PYTHON -m seq2seq_cli config show >&-")
    assert found == (7, b"", b"error: stdout: cannot be written: it is closed\n")


def test_a_closed_stderr_keeps_the_exit_code():
    assert shell("$PYTHON -m seq2seq_cli config show 2>&-")[0] == 0
    assert shell("$PYTHON -m seq2seq_cli config check none <&- >&- 2>&-")[0] == 2


def test_a_closed_stdin_is_named():
    found = shell(f"$PYTHON -c '{READ_STDIN}' <&-")
    assert found == (0, b"stdin: cannot be read: it is closed\n", b"")


def test_the_file_of_stdin_is_not_overwritten(home, tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("I see one cats.\n")
    for command in ("translate", "score"):
        done = shell(f"$PYTHON -m seq2seq_cli {command} < {path} --output {path}")
        assert done[0] == 2
        assert b"is also the file of stdin" in b" ".join(done[2].split())
    assert path.read_text() == "I see one cats.\n"


@pytest.fixture
def left_pipe() -> Iterator[int]:
    """A pipe that nobody reads any more."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    yield write_end
    os.close(write_end)


@pytest.mark.parametrize("command", ["config show", "--help", "--version"])
def test_a_reader_that_left_ends_a_command_silently_as_sigpipe_does(command, left_pipe):
    done = subprocess.run(
        [sys.executable, "-m", "seq2seq_cli", *command.split()],
        stdout=left_pipe,
        stderr=subprocess.PIPE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def test_a_reader_of_stderr_that_left_changes_no_exit_code(left_pipe):
    command = [sys.executable, "-m", "seq2seq_cli", "config", "check", "none"]
    done = subprocess.run(command, stdout=left_pipe, stderr=left_pipe, check=False)
    assert done.returncode == 2


@needs_linux
def test_an_input_that_cannot_be_read_is_named_and_not_the_output(home, tmp_path):
    out = tmp_path / "out.txt"
    for command in ("translate", "score"):
        code, printed, err = s2s(command, "--input", "/proc/self/mem", "--output", str(out))
        assert (code, printed) == (3, "")
        assert err == "error: /proc/self/mem: cannot be read: Input/output error\n"
    assert not out.exists()


def test_an_input_that_is_no_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"--input .*: cannot be read: it is a folder"):
        check_input(tmp_path)
    with pytest.raises(DataError, match=r"--input .*: cannot be read: File name too long"):
        check_input(tmp_path / ("x" * 300))
    with pytest.raises(UsageError, match=r"--input .*none: no such file"):
        check_input(tmp_path / "none")


def test_a_file_without_permission_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root has every permission
    path = tmp_path / "x"
    path.touch()
    with pytest.raises(DataError, match="cannot be read: you have no permission"):
        check_input(path)
    for output in (path, tmp_path / "new"):
        with pytest.raises(DiskError, match="cannot be written: you have no permission"):
            check_output(output)


@pytest.mark.parametrize("command", [["translate", "a"], ["score", "a", "b"], ["eval"]])
def test_an_output_that_cannot_be_written_is_named_before_work_begins(
    home, command, tmp_path, monkeypatch
):
    def start(*arguments: object) -> None:
        raise AssertionError("TensorFlow is imported")

    for module in ("translate", "score", "evaluate"):
        # The package has the commands' functions under the names of their modules.
        monkeypatch.setattr(sys.modules[f"seq2seq_cli.cli.{module}"], "start_tensorflow", start)
    code, out, err = s2s(*command, "--output", "none/x")
    assert (code, out) == (7, "")
    assert err == (
        "error: --output none/x: cannot be written: there is no folder none. Create it, or give "
        "another path\n"
    )
    code, _, err = s2s(*command, "--output", str(tmp_path))
    assert code == 7
    assert err.endswith("cannot be written: it is a folder. Give the path of a file\n")


@needs_linux
def test_scores_are_printed_though_their_sentences_cannot_be_written(home):
    code, out, err = s2s("eval", "--json", "--output", "/dev/full")
    assert code == 7
    assert err == "error: --output /dev/full: cannot be written: No space left on device\n"
    assert json.loads(out)["bleu"] > 0


def test_a_command_that_fails_before_its_first_result_leaves_the_output_as_it_was(home, tmp_path):
    out = tmp_path / "out.txt"
    out.write_text("precious")
    options = ["--output", str(out)]
    assert s2s("translate", SENTENCE, "--run", "none", *options)[0] == 4
    assert s2s("translate", *options, stdin=b"\xff\n")[0] == 3
    assert s2s("score", *options, stdin=b"a\n")[0] == 3
    assert out.read_text() == "precious"
    assert s2s("translate", *options, stdin=b"")[0] == 0
    assert out.read_text() == ""


@needs_linux
def test_a_full_disk_below_the_output_is_named_once():
    with (
        pytest.raises(DiskError, match="--output /dev/full: cannot be written: No space left"),
        open_output(Path("/dev/full")) as write,
    ):
        write("a")


def test_a_result_is_a_line_of_json_a_text_or_what_rich_draws(capsys):
    lines = []
    for shown, as_json in (("text", True), ("text", False)):
        emit(Result({"ñ": 1}, shown), as_json, lines.append)
    assert lines == ['{"ñ": 1}', "text"]
    emit(Result({}, two_columns([("label", "value")])), as_json=False)
    assert capsys.readouterr().out.split() == ["label", "value"]


def test_an_output_that_is_an_input_is_refused(tmp_path):
    output = tmp_path / "a"
    output.write_text("mine")
    check_output(output, [("--tsv", tmp_path / "none"), ("--input", None)])
    with pytest.raises(UsageError, match="--html .*a is also the --tsv, which would be overwrit"):
        check_output(output, [("--input", None), ("--tsv", output)], "--html")


@pytest.mark.parametrize(
    "arguments",
    [
        ["eval", "--tsv", "a.tsv", "--output", "a.tsv"],
        ["eval", "--source-file", "b", "--reference-file", "a.tsv", "--html", "a.tsv"],
        ["compare", "a.tsv", "b", "--html", "b", "--tsv", "a.tsv"],
    ],
)
def test_no_command_overwrites_what_it_reads(workdir, arguments):
    (workdir / "a.tsv").write_text("a\tb\n")
    (workdir / "b").write_text("a\n")
    code, _, error = s2s(*arguments)
    assert (code, "which would be overwritten" in " ".join(error.split())) == (2, True)
    assert (workdir / "a.tsv").read_text() == "a\tb\n"
