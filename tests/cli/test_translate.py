"""The command `translate`."""

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from conftest import invoke, s2s, s2s_process, toy_pairs

from seq2seq_cli.errors import DiskError, UsageError

SENTENCE = "I see one cats."


def test_n_best_gives_so_many_lines_with_falling_scores(home):
    lines = invoke("translate", SENTENCE, "", "--beam", "4", "--n-best", "3", "--scores")
    assert len(lines) == 6
    scores = [float(line.split("\t")[0]) for line in lines[:3]]
    assert scores == sorted(scores, reverse=True)
    assert len(set(lines[:3])) == 3


def test_a_beam_finds_at_least_what_greedy_finds(home):
    greedy, beam = (
        json.loads(invoke("translate", SENTENCE, "--json", "--beam", k)[0]) for k in ("1", "5")
    )
    assert beam["log_probability"] >= greedy["log_probability"] - 1e-4


def test_a_seed_holds_for_samples_and_their_order_does_not_matter(home):
    sentences = [source for source, _ in toy_pairs()[::50]]
    sample = ["--sample", "--temperature", "3", "--json"]

    def drawn(*options: str) -> list[str]:
        lines = invoke("translate", *sentences, *sample, *options)
        return [json.loads(line)["translation"] for line in lines]

    assert drawn("--seed", "1") == drawn("--seed", "1", "--batch-tokens", "1")
    assert drawn("--seed", "1") != drawn("--seed", "2")
    cold = invoke("translate", *sentences, "--sample", "--top-k", "1")
    assert cold == invoke("translate", *sentences)


def test_a_prefix_begins_every_translation(home):
    found = invoke("translate", SENTENCE, "we eat two books.", "", "--prefix", "ellos")
    assert [line.startswith("ellos") for line in found] == [True, True, False]


def test_the_maximum_length_is_in_tokens(home):
    record = json.loads(
        invoke("translate", SENTENCE, "--max-length", "2", "--alignments", "--json")[0]
    )
    assert len(record["attention"]["target_tokens"]) == 2


def test_a_prefix_may_repeat_itself_though_nothing_else_may(home):
    options = ["--set", "decoding.no_repeat_ngram=1"]
    for beam in ("1", "3"):
        (found,) = invoke("translate", SENTENCE, "--prefix", "yo yo", "--beam", beam, *options)
        assert found.startswith("yo yo")


def test_alignments_are_of_words_and_soft_ones_of_tokens(home):
    line = invoke("translate", SENTENCE, "--alignments")[0]
    text, alignment = line.split("\t")
    pairs = re.findall(r"(\d+)-(\d+)", alignment)
    assert [int(j) for _, j in pairs] == list(range(len(text.split())))
    assert all(int(i) < len(SENTENCE.split()) for i, _ in pairs)
    record = json.loads(invoke("translate", SENTENCE, "--alignments", "--json")[0])
    assert record["alignment"] == alignment
    soft = record["attention"]
    assert np.shape(soft["weights"]) == (len(soft["target_tokens"]), len(soft["source_tokens"]))
    np.testing.assert_allclose(np.sum(soft["weights"], axis=1), 1, atol=1e-3)


def test_a_run_twice_is_an_ensemble_that_equals_it(home, trained):
    alone = invoke("translate", SENTENCE, "--scores", "--run", trained.name)
    assert (
        invoke("translate", SENTENCE, "--scores", "--run", trained.name, "--run", trained.name)
        == alone
    )


def test_no_input_is_overwritten(home, tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("one cat\n")
    for command in ("translate", "score"):
        code, _, error = s2s(command, "--input", str(path), "--output", f"{tmp_path}/./in.txt")
        assert code == 2
        assert "is the --input, and would overwrite it" in error
    assert path.read_text() == "one cat\n"


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


def test_a_cut_line_is_named_and_gives_one_line(home):
    code, out, err = s2s("translate", stdin=b"I see one cats.\n" + b"cats " * 600 + b"\n\n")
    assert code == 0
    assert out.count("\n") == 3
    assert err == "warning: line 2: cut the source to 512 tokens (decoding.max_source_tokens)\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--beam", "5000"],
            r"decoding.beam \(--beam\) is 5000, and the target vocabulary has",
        ),
        (
            ["--beam", "0"],
            "--beam: decoding.beam must be a whole number at least 1 and at most 10000; it is 0",
        ),
        (["--sample", "--beam", "3"], "^--sample and --beam 3 exclude each other"),
        (
            ["--n-best", "3"],
            "^--n-best 3 asks for more translations than a beam of 1 finds. To search for them, "
            "add --beam 3; to draw them, --sample$",
        ),
        (
            ["--set", "decoding.n_best=3"],
            "^--set decoding.n_best: decoding.n_best = 3 asks .* add --beam 3",
        ),
        (["--n-best", "1001", "--sample"], "--n-best: .* at least 1 and at most 1000; it is 1001"),
        (["--top-k", "1"], "^only sampling uses --top-k 1. Add --sample, or leave it out$"),
        (
            ["--temperature", "0.5", "--top-p", "0.5"],
            "^only sampling uses --temperature 0.5 and --top-p 0.5. Add --sample, or leave them o",
        ),
        (
            ["--sample", "--temperature", "0"],
            "--temperature: .* must be a number at least 0.001 and at most 100; it is 0",
        ),
        (
            ["--sample", "--temperature", "1e308"],
            "--temperature: .* must be a number at least 0.001 and at most 100; it is 1e[+]308",
        ),
        (
            ["--sample", "--temperature", "1e-300"],
            "--temperature: .* must be a number at least 0.001 and at most 100; it is 1e-300",
        ),
        (
            ["--set", "decoding.max_length_ratio=1e308"],
            "max_length_ratio must be a number above 0 and at most 100; it is 1e[+]308",
        ),
        (
            ["--max-length", "1", "--prefix", "Me"],
            r"^--prefix has \d+ tokens, and the end of a translation is one more; "
            r"decoding.max_length \(--max-length\) is 1. Raise it to at least \d+, or shorten",
        ),
        (
            ["--prefix", "yo " * 600],
            r"^--prefix has [\d,]+ tokens; decoding.max_source_tokens allows 512. Shorten",
        ),
        (
            ["--max-length", "0"],
            "--max-length: decoding.max_length must be a whole number at least",
        ),
        (["--seed", "-1", "--sample"], "--seed: decoding.seed must be a whole number at least 0"),
        (["--sample", "--top-p", "1.5"], "--top-p: .* must be a number above 0 and at most 1"),
        (["--seed", "3"], "--seed is for --sample"),
        (
            ["--set", "decoding.min_length=9", "--max-length", "4"],
            "--set decoding.min_length: decoding.min_length = 9 is more than --max-length 4",
        ),
        (
            ["--set", "training.seed=9"],
            "--set training.seed: a trained run takes only keys of decod",
        ),
        (["--replace-unknown"], "copies whole words, and this run's tokenizer.kind is 'unigram'"),
        (["--input", "x"], "sentences and --input exclude each other"),
    ],
)
def test_bad_options_are_named(home, options, message):
    with pytest.raises(UsageError, match=message):
        invoke("translate", SENTENCE, *options)


@pytest.mark.parametrize("temperature", ["0.001", "100"])
def test_the_extreme_temperatures_draw_text(home, temperature):
    (found,) = invoke("translate", SENTENCE, "--sample", "--temperature", temperature)
    assert found


def test_top_k_may_be_more_than_the_vocabulary(home):
    options = ["--sample", "--seed", "3"]
    everything = invoke("translate", SENTENCE, *options, "--top-k", "100000")
    assert everything == invoke("translate", SENTENCE, *options, "--top-k", "10000")


def default_interrupt() -> None:
    """Let SIGINT interrupt also where these tests run in the background, which ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


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
        preexec_fn=default_interrupt,
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
            return process.wait(timeout=10)
    raise AssertionError("SIGINT does not end the process")


def test_a_sentence(home):
    code, out, err = s2s_process("translate", "I see one cats.")
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


def test_a_file_gives_what_stdin_gives(home, tmp_path):
    text = b"I see one cats.\n\nwe eat two books.\n"
    (tmp_path / "in.txt").write_bytes(text)
    found = s2s("translate", "--input", str(tmp_path / "in.txt"))
    assert found == s2s_process("translate", stdin=text)


def test_json(home):
    code, out, _ = s2s("translate", "--json", "I see one cats.")
    record = json.loads(out)
    assert code == 0
    assert record["source"] == "I see one cats."
    assert record["translation"]
    assert record["score"] < 0


def test_invalid_line_is_named_after_the_ones_before(home):
    code, out, err = s2s("translate", stdin=b"I see one cats.\n\xff\n")
    assert code == 2
    assert out.count("\n") == 1
    assert err.startswith("error: stdin:2: invalid UTF-8 at byte 1 (0xff).")


def test_a_missing_file_is_named(home):
    code, out, err = s2s("translate", "--input", "none.txt")
    assert (code, out) == (2, "")
    assert err == "error: --input none.txt: no such file\n"


def test_sentences_and_a_file_exclude_each_other(home):
    assert s2s("translate", "a", "--input", "b")[0] == 2


def test_without_a_run_the_error_says_what_to_do(workdir):
    code, out, err = s2s("translate", "a")
    assert (code, out) == (4, "")
    assert "no run with a checkpoint. Train one by `s2s train`" in err


def test_an_unknown_run_is_named(home):
    code, _, err = s2s("translate", "--run", "none", "a")
    assert code == 4
    assert "runs/none: no such run" in err


def test_no_traceback_unless_asked_for(workdir):
    assert "Traceback" not in s2s_process("translate", "a")[2]
    assert "Traceback" in s2s_process("--debug", "translate", "a")[2]


def test_a_reader_that_leaves_is_no_error(home):
    with subprocess.Popen(
        [sys.executable, "-m", "seq2seq_cli", "translate", *["I see one cats."] * 2000],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 128 + signal.SIGPIPE


def test_on_a_terminal_there_is_a_prompt_with_history(home, tmp_path):
    with translating(tmp_path) as (process, say):
        assert b"Translating with" in say(b"", b"> ")
        assert b"gatos" in say(b"I see one cats.\n", b"\r\n> ")
        say(b"\n", b"\r\n")
        assert process.wait(timeout=60) == 0
    assert (tmp_path / "s2s" / "history").read_text().count("I see one cats.") == 1


def test_ctrl_c_at_the_prompt_leaves_with_130_and_saves_the_history(home, tmp_path):
    with translating(tmp_path, PYTHONIOENCODING="ascii") as (process, say):
        say(b"", b"> ")
        assert "él".encode() in say("él".encode() + b"\n", b"\r\n> ")
        assert interrupt(process) == 130
    assert (tmp_path / "s2s" / "history").read_text().count("él") == 1


def test_each_file_of_the_run_is_opened_once(home):
    code = """
import sys
from collections import Counter
from seq2seq_cli.cli import main

opened = Counter()
sys.addaudithook(lambda event, args: opened.update([str(args[0])]) if event == "open" else None)
sys.argv = ["s2s", "translate", "I see one cats."]
try:
    main()
finally:
    print(*(f"{name} {count}" for name, count in opened.items() if name.startswith("runs/")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    _, line = done.stdout.decode().splitlines()
    words = line.split()
    opened = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    names = {Path(name).name for name in opened}
    assert names == {
        *("config.toml", "tokenizer.json", "joint.model"),
        *("manifest.json", "state.json", "model.safetensors"),
    }
    assert set(opened.values()) == {1}
