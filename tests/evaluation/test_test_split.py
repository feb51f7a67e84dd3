from pathlib import Path

import pytest
from conftest import toy_pairs

from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.errors import DataError
from seq2seq_cli.evaluation.test_split import Evaluation, evaluate
from seq2seq_cli.runs.run import Run

pytestmark = pytest.mark.usefixtures("uncompiled")


def fail(message: str) -> None:
    raise AssertionError(message)


def evaluate_split(trained: Path, split: str, moved_to: str | None = None) -> Evaluation:
    run = Run(trained)
    data = run.config().data
    return evaluate(load_run(run, fail), data.moved_to(moved_to) if moved_to else data, split)


def test_the_held_out_pairs_of_a_trained_run_are_scored(trained):
    dev, test = (evaluate_split(trained, split) for split in ("dev", "test"))
    assert not set(dev.sources) & set(test.sources)
    assert set(test.sources) < {source for source, _ in toy_pairs()}
    assert test.scores.bleu > 60
    assert test.scores.sentences == len(test.sources) == len(test.translations)


def test_a_corpus_other_than_the_trained_one_is_refused(trained, tmp_path):
    other = tmp_path / "other.tsv"
    other.write_text("".join(f"{t}\t{s}\n" for s, t in toy_pairs()), encoding="utf-8")
    with pytest.raises(DataError, match="is not the corpus that .* was trained on"):
        evaluate_split(trained, "test", str(other))


def test_a_moved_corpus_is_read_from_its_new_location(trained, corpus, tmp_path):
    moved = Path(tmp_path / "moved.tsv")
    moved.write_bytes(corpus.read_bytes())
    assert evaluate_split(trained, "test", str(moved)).scores.bleu > 0


def test_an_evaluation_reports_its_progress(trained):
    run = Run(trained)
    told = []
    found = evaluate(
        load_run(run, fail), run.config().data, "test", show=lambda *work: told.append(work)
    )
    total = len(found.sources)
    assert told[:3] == [
        ("Reading the corpus", "pairs", 0, 500),
        ("Splitting the corpus",),
        ("Translating", "sentences", 0, total),
    ]
    assert told[-1] == ("Translating", "sentences", total, total)
