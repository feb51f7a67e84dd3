"""Scores are those of sacreBLEU's command line, to the last digit."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import sacrebleu
from sacrebleu_command import OPTIONS, WORDS

from seq2seq_cli.errors import UsageError
from seq2seq_cli.evaluation.metrics import (
    METRICS,
    Bootstrap,
    reference_streams,
    sacrebleu_seed,
    score,
    score_by,
    sentence_chrf,
)


def random_texts(sentences: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, 12))) for _ in range(sentences)]


def changed(texts: list[str], seed: int) -> list[str]:
    """Return the texts with a third of the words drawn anew."""
    draw = random.Random(seed)
    return [
        " ".join(draw.choice(WORDS) if draw.random() < 0.3 else word for word in text.split())
        for text in texts
    ]


def write(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def command_line(references: list[str], hypotheses: str, *options: str, seed: int = 12345) -> dict:
    """Return what sacreBLEU's own command prints, with all digits."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sacrebleu", *references, "-i", hypotheses, *options),
            *("--format", "json", "-w", "17"),
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "SACREBLEU_SEED": str(seed)},
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("metric", METRICS)
def test_scores_and_signatures_are_those_of_the_command_line(metric, tmp_path):
    first = random_texts(40, 1)
    references = [first, changed(first, 2)]
    found = changed(first, 3)
    files = [write(tmp_path / f"ref{k}", texts) for k, texts in enumerate(references)]
    wanted = command_line(files, write(tmp_path / "hyp", found), *OPTIONS[metric])
    (scored,) = score_by([metric], found, list(zip(*references, strict=True)))
    assert scored.score == wanted["score"]
    assert scored.signature == wanted["signature"]
    assert (scored.mean, scored.half_width) == (None, None)


@pytest.mark.parametrize("metric", ["BLEU", "chrF++"])
def test_intervals_are_those_of_the_command_line_with_the_same_seed(metric, tmp_path):
    first = random_texts(40, 1)
    found = changed(first, 3)
    options = [*OPTIONS[metric], "--confidence", "--confidence-n", "200"]
    files = write(tmp_path / "ref", first), write(tmp_path / "hyp", found)
    wanted = command_line([files[0]], files[1], *options, seed=7)
    references = [[text] for text in first]
    (scored,) = score_by([metric], found, references, Bootstrap(200, seed=7))
    assert (scored.mean, scored.half_width) == (wanted["confidence_mean"], wanted["confidence_var"])
    assert scored.signature == wanted["signature"]
    (other,) = score_by([metric], found, references, Bootstrap(200, seed=8))
    assert other.mean != scored.mean


def test_the_seed_does_not_change_the_global_generator(monkeypatch):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    with sacrebleu_seed(3):
        assert os.environ["SACREBLEU_SEED"] == "3"
    assert "SACREBLEU_SEED" not in os.environ
    monkeypatch.setenv("SACREBLEU_SEED", "9")
    with sacrebleu_seed(3):
        pass
    assert os.environ["SACREBLEU_SEED"] == "9"


def test_scores_of_a_validation_are_those_of_sacrebleu():
    found = ["the cat sat on the mat", "a dog ran away today"]
    references = [["the cat sat on a mat"], ["a dog ran off today"]]
    scores = score(found, references)
    streams = [[r[0] for r in references]]
    assert scores.bleu == sacrebleu.corpus_bleu(found, streams).score
    assert scores.chrf == sacrebleu.corpus_chrf(found, streams).score
    assert "nrefs:1|" in scores.bleu_signature


def test_any_reference_counts_and_their_number_may_differ():
    found = ["he goes home early now", "I like red apples best"]
    references = [["she left", "he goes home early now"], ["I like red apples best"]]
    scores = score(found, references)
    assert scores.bleu == pytest.approx(100)
    assert scores.references == 3
    assert "nrefs:var" in scores.bleu_signature
    assert reference_streams(references)[1] == ["he goes home early now", None]


def test_a_repeated_reference_changes_neither_bleu_nor_chrf():
    first = random_texts(40, 1)
    references = [[text, *changed([text] * (k % 3), k)] for k, text in enumerate(first)]
    padded = [[*texts, *[texts[0]] * (3 - len(texts))] for texts in references]
    metrics = ["BLEU", "chrF", "chrF++"]
    found = changed(first, 3)
    scores = [[each.score for each in score_by(metrics, found, r)] for r in (references, padded)]
    assert scores[0] == scores[1]


def test_chrf_of_a_sentence_takes_its_best_reference():
    assert sentence_chrf(["casa", "casa"], [["perro", "casa"], ["perro"]]) == [100.0, 0.0]


@pytest.mark.parametrize("references", [[], [["a"], ["b"]]])
def test_unequal_numbers_are_refused(references):
    with pytest.raises(UsageError, match="cannot be scored"):
        score(["a"], references)


@pytest.mark.parametrize(
    ("text", "tokenizer"),
    [
        ("Me gustan las manzanas.", "13a"),
        ("他说他很好，OK。", "zh"),
        ("我喜欢苹果，也喜欢梨。", "zh"),
        ("私はリンゴが好きです。", "char"),
        ("ฉันชอบแอปเปิ้ล", "char"),
        ("나는 사과를 아주 좋아한다.", "13a"),
    ],
)
def test_bleu_has_a_tokenizer_for_the_script_of_the_references(text, tokenizer):
    (scored,) = score_by(["BLEU"], [text], [[text]])
    assert f"|tok:{tokenizer}|" in scored.signature
    assert scored.score == pytest.approx(100)


def test_bleu_of_no_text_has_the_default_tokenizer():
    (scored,) = score_by(["BLEU"], [""], [[""]])
    assert "|tok:13a|" in scored.signature


def test_ter_of_chinese_counts_characters():
    (scored,) = score_by(["TER"], ["我喜欢苹果"], [["我喜欢梨果"]])
    assert scored.score == pytest.approx(20)
    assert "|norm:yes|punct:yes|asian:yes|" in scored.signature
