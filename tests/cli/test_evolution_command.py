"""The option --evolution of `s2s attention`."""

import json
import shutil
import sys

import numpy as np
import pytest
from conftest import invoke, s2s

from seq2seq_cli.errors import CheckpointError, DiskError, UsageError
from seq2seq_cli.runs.run import Run


def evolution(*arguments: str) -> list[str]:
    return invoke("attention", "--evolution", *arguments)


def test_json_has_each_sentence_at_each_validation(home, trained):
    records = [json.loads(line) for line in evolution(trained.name, "--json")]
    assert [record["sentence"] for record in records] == [1, 2, 3]
    kept = Run(trained).attention.read()
    for number, record in enumerate(records):
        assert record["source"] == kept[0].sentences[number].source
        steps = [each["step"] for each in record["validations"]]
        assert steps == [snapshot.step for snapshot in kept]
        for each in record["validations"]:
            assert np.shape(each["weights"]) == (len(record["queries"]), len(record["keys"]))
            np.testing.assert_allclose(np.sum(each["weights"], axis=1), 1, atol=1e-3)
    (line,) = evolution(trained.name, "--sentence", "2", "--json", "--pieces")
    assert json.loads(line)["source"] == records[1]["source"]


def test_the_terminal_shows_a_few_validations(home, trained):
    lines = evolution(trained.name, "--sentence", "1")
    kept = Run(trained).attention.read()
    captions = [line for line in lines if line.startswith("update ")]
    assert len(captions) == min(4, len(kept))
    assert captions[0].startswith(f"update {kept[0].step}, dev BLEU")
    assert captions[-1].startswith(f"update {kept[-1].step}, dev BLEU")
    assert kept[0].sentences[0].source in lines
    assert max(map(len, lines)) <= 80


def test_pictures_are_written(home, trained, tmp_path):
    pytest.importorskip("PIL", reason="it comes with the extra `plot`")
    svg, gif = tmp_path / "one.svg", tmp_path / "one.gif"
    arguments = ["--sentence", "3", "--dark", "--svg", str(svg), "--gif", str(gif)]
    code, out, err = s2s("attention", "--evolution", trained.name, *arguments)
    assert (code, out) == (0, "")
    assert f"Wrote {svg}" in err
    assert f"Wrote {gif}" in err
    source = Run(trained).attention.read()[0].sentences[2].source
    assert f'<title id="title">{source}' in svg.read_text("utf-8")
    assert gif.read_bytes().startswith(b"GIF89a")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one.gif", "one.svg"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sentence", "2"], "--sentence is for --evolution RUN"),
        (["--gif", "a.gif"], "--gif is for --evolution RUN"),
        (["--evolution", "RUN", "I see"], "so a sentence has no effect"),
        (["--evolution", "RUN", "--run", "x"], "so --run has no effect"),
        (["--evolution", "RUN", "--head", "1"], "so --head has no effect"),
        (["--evolution", "RUN", "--png", "a.png"], "so --png has no effect"),
        (["--evolution", "RUN", "--dark"], "--dark is for --svg and --gif"),
        (["--evolution", "RUN", "--sentence", "4"], "--sentence 4: .* has the attention of 3 only"),
    ],
)
def test_options_that_do_not_belong_together_are_refused(home, trained, arguments, message):
    named = [trained.name if each == "RUN" else each for each in arguments]
    with pytest.raises(UsageError, match=message):
        invoke("attention", *named)


def test_a_run_that_kept_nothing_says_how_to_keep_it(home, trained, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(trained, copy, ignore=shutil.ignore_patterns("attention", "checkpoints"))
    with pytest.raises(UsageError, match="Train again; training.keep_attention_history sets"):
        evolution(str(copy))
    config = copy / "config.toml"
    text = config.read_text("utf-8")
    assert "keep_attention_history = 3" in text
    config.write_text(text.replace("keep_attention_history = 3", "keep_attention_history = 0"))
    with pytest.raises(UsageError, match="--set training.keep_attention_history=3"):
        evolution(str(copy))
    config.write_text(text)
    (copy / "metrics.jsonl").unlink()
    with pytest.raises(UsageError, match="stored at each validation; wait for the first one"):
        evolution(str(copy))


def test_a_run_that_is_not_there_and_a_file_that_cannot_be_written_are_errors(home, trained):
    with pytest.raises(CheckpointError, match="no such run"):
        evolution("nowhere")
    with pytest.raises(DiskError, match="there is no folder"):
        evolution(trained.name, "--svg", "no/folder/a.svg")


def test_a_gif_needs_pillow(home, trained, monkeypatch):
    monkeypatch.setattr("seq2seq_cli.attention.animated_gif.can_write_words", lambda: False)
    with pytest.raises(UsageError, match=r"--gif needs Pillow"):
        evolution(trained.name, "--gif", "a.gif")


def test_it_needs_no_tensorflow(home, trained):
    import subprocess

    code = (
        "import sys; sys.modules['tensorflow'] = None; sys.argv = "
        f"['s2s', 'attention', '--evolution', {trained.name!r}, '--json'];"
        "from seq2seq_cli.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert len(done.stdout.splitlines()) == 3
