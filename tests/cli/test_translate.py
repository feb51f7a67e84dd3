"""The command `translate`."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import invoke, s2s, s2s_process

from seq2seq_cli.errors import DiskError

pytestmark = pytest.mark.usefixtures("uncompiled")
SENTENCE = "I see one cats."


def test_no_input_is_overwritten(home, tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("one cat\n")
    for command in ("translate", "score"):
        code, _, error = s2s(command, "--input", str(path), "--output", f"{tmp_path}/./in.txt")
        assert code == 2
        assert "is also the --input, which would be overwritten" in error
    assert path.read_text() == "one cat\n"


def test_warnings_of_tensorflow_are_not_shown(home):
    logging.getLogger("tensorflow").setLevel(logging.WARNING)
    invoke("translate", SENTENCE)
    assert not logging.getLogger("tensorflow").isEnabledFor(logging.WARNING)


def test_a_pipe_is_an_input(home, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=[b"I see one cats.\n\n"]).start()
    assert len(invoke("translate", "--input", str(pipe))) == 2


def test_output_goes_to_a_file(home, tmp_path):
    out = tmp_path / "out.txt"
    assert invoke("translate", SENTENCE, "--output", str(out)) == []
    assert out.read_text(encoding="utf-8").count("\n") == 1
    with pytest.raises(DiskError, match="--output .*: cannot be written"):
        invoke("translate", SENTENCE, "--output", str(tmp_path / "none" / "x"))


def test_a_cut_line_is_reported_and_gives_one_line(home):
    code, out, err = s2s("translate", stdin=b"I see one cats.\n" + b"cats " * 600 + b"\n\n")
    assert code == 0
    assert out.count("\n") == 3
    assert err == "warning: line 2: cut the source to 512 tokens (decoding.max_source_tokens)\n"


def test_a_sentence(home):
    code, out, err = s2s("translate", "I see one cats.")
    assert (code, err) == (0, "")
    assert out.count("\n") == 1


def test_several_sentences_an_empty_one_among_them(home):
    code, out, _ = s2s("translate", "I see one cats.", "", "we eat two books.")
    assert code == 0
    assert [bool(line) for line in out.split("\n")] == [True, False, True, False]


def test_stdin_line_by_line(home):
    text = "I see one cats.\n\nwe eat two books."
    code, out, err = s2s("translate", stdin=text.encode())
    assert (code, err) == (0, "")
    assert [bool(line) for line in out.split("\n")] == [True, False, True, False]


TEXT = b"I see one cats.\n\nwe eat two books.\n"
PROGRAM = """
import sys
from collections import Counter
from seq2seq_cli.cli import main

opened = Counter()
sys.addaudithook(lambda event, args: opened.update([str(args[0])]) if event == "open" else None)
sys.argv = ["s2s", "translate"]
try:
    main()
finally:
    print(*(f"{name} {count}" for name, count in opened.items() if name.startswith("runs/")))
"""


@pytest.fixture(scope="module")
def process(trained) -> subprocess.CompletedProcess:
    """A process that has translated TEXT, and has then printed how often it opened each file."""
    command, folder = [sys.executable, "-c", PROGRAM], trained.parents[1]
    return subprocess.run(command, input=TEXT, cwd=folder, capture_output=True, check=True)


def test_a_file_gives_what_stdin_gives_a_process(home, tmp_path, process):
    (tmp_path / "in.txt").write_bytes(TEXT)
    code, out, err = s2s("translate", "--input", str(tmp_path / "in.txt"))
    *translated, _ = process.stdout.decode().splitlines()
    assert (code, out.splitlines(), err) == (0, translated, process.stderr.decode())


def test_each_file_of_the_run_is_opened_once(process):
    *_, line = process.stdout.decode().splitlines()
    words = line.split()
    opened = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    names = {Path(name).name for name in opened}
    assert names == {
        *("config.toml", "tokenizer.json", "joint.model"),
        *("manifest.json", "state.json", "model.safetensors"),
    }
    assert set(opened.values()) == {1}


def test_json(home):
    code, out, _ = s2s("translate", "--json", "I see one cats.")
    record = json.loads(out)
    assert code == 0
    assert record["source"] == "I see one cats."
    assert record["translation"]
    assert record["score"] < 0


def test_an_invalid_line_is_named_after_the_lines_before_it(home):
    code, out, err = s2s("translate", stdin=b"I see one cats.\n\xff\n")
    assert code == 3
    assert out.count("\n") == 1
    assert err.startswith("error: stdin:2: invalid UTF-8 at byte 1 (0xff).")


def test_a_missing_file_is_named(home):
    code, out, err = s2s("translate", "--input", "none.txt")
    assert (code, out) == (2, "")
    assert err == "error: --input none.txt: no such file\n"


def test_sentences_and_a_file_exclude_each_other(home):
    assert s2s("translate", "a", "--input", "b")[0] == 2


def test_without_a_run_the_error_has_a_remedy(workdir):
    code, out, err = s2s("translate", "a")
    assert (code, out) == (4, "")
    assert "no run with a checkpoint. Train one with `s2s train`" in err


def test_an_unknown_run_is_named(home):
    code, _, err = s2s("translate", "--run", "none", "a")
    assert code == 4
    assert "runs/none: no such run" in err


def test_tracebacks_are_shown_only_on_request(workdir):
    assert "Traceback" not in s2s_process("translate", "a")[2]
    assert "Traceback" in s2s_process("--debug", "translate", "a")[2]


def test_a_closed_pipe_is_not_an_error(home):
    with subprocess.Popen(
        [sys.executable, "-m", "seq2seq_cli", "translate", *["I see one cats."] * 2000],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pipesize=4096,  # less than the output: the command waits for a reader
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 128 + signal.SIGPIPE
