import io

import numpy as np
import pytest
from conftest import toy_pairs

from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.decoding.scoring import Scorer, score_lines
from seq2seq_cli.errors import DataError
from seq2seq_cli.runs.run import Run


def fail(message: str) -> None:
    raise AssertionError(message)


def test_scoring_in_batches_changes_no_score(trained):
    loaded = load_run(Run(trained), fail)
    pairs = [*toy_pairs()[::40], ("", "a"), ("a", "")]
    scorer = Scorer(loaded.model, loaded.tokenizers, loaded.decoding)
    together = [found.log_probability for found in scorer.score(pairs)]
    alone = [scorer.score([pair])[0].log_probability for pair in pairs]
    np.testing.assert_allclose(together, alone, atol=1e-3)
    assert scorer.score([]) == []


def test_a_line_without_a_translation_is_an_error_after_the_lines_before_it(trained):
    loaded = load_run(Run(trained), fail)
    scorer = Scorer(loaded.model, loaded.tokenizers, loaded.decoding)
    lines = score_lines(scorer, io.BytesIO(b"a\tb\nc\n"), "x")
    assert next(lines)[1] == ("a", "b")
    with pytest.raises(DataError, match=r"x:2: 1 column where 2 are expected .* have been scored"):
        next(lines)


def test_predictions_agree_with_scores(trained):
    loaded = load_run(Run(trained), fail)
    scorer = Scorer(loaded.model, loaded.tokenizers, loaded.decoding)
    some = toy_pairs()[::40]
    others = zip((s for s, _ in some), (t for _, t in reversed(some)), strict=True)
    pairs = [*some, ("", ""), *others]
    confidence, correct = scorer.predictions(pairs)
    by_token = np.concatenate([found.token_log_probabilities for found in scorer.score(pairs)])
    order = np.sort(np.exp(by_token[by_token > np.log(0.5)]))
    # A token that has more than half of the probability is the most probable one.
    np.testing.assert_allclose(np.sort(confidence[correct & (confidence > 0.5)]), order, atol=1e-4)
    assert len(confidence) == len(by_token)
    assert not correct.all()
    assert scorer.predictions([])[0].shape == (0,)
