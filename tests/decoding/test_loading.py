from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.data.tokenizers.words import Words
from seq2seq_cli.decoding import loading
from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.decoding.scoring import Scorer
from seq2seq_cli.errors import UsageError
from seq2seq_cli.runs.run import Run

SENTENCE = "I see one cats."


def fail(message: str) -> None:
    raise AssertionError(message)


def with_tokenizers(monkeypatch, run: Run, **changed) -> None:
    """Let `load_run` give other tokenizers for a run."""

    def load(other, *arguments):
        loaded = load_run(other, *arguments)
        if other is not run:
            return loaded
        return loaded._replace(tokenizers=replace(loaded.tokenizers, **changed))

    monkeypatch.setattr(loading, "load_run", load)


def test_an_ensemble_needs_one_target_vocabulary(trained, monkeypatch):
    second = Run(trained)
    with_tokenizers(monkeypatch, second, target=Words(["▁a"]))
    with pytest.raises(UsageError, match="an ensemble needs the same target vocabulary"):
        loading.load_ensemble([Run(trained), second], fail)


def test_an_ensemble_needs_the_same_languages(trained, monkeypatch):
    second = Run(trained)

    def load(other, *arguments):
        loaded = load_run(other, *arguments)
        swapped = {"source_language": "es", "target_language": "en"}
        data = loaded.data.model_copy(update=swapped if other is second else {})
        return loaded._replace(data=data)

    monkeypatch.setattr(loading, "load_run", load)
    with pytest.raises(UsageError, match="first translates from en to es, and the other from es"):
        loading.load_ensemble([Run(trained), second], fail)


def test_each_member_of_an_ensemble_uses_its_own_source_tokenizer(trained, monkeypatch):
    single = load_run(Run(trained), fail)
    pieces = single.tokenizers.source

    class Doubled(type(pieces)):
        """Reads every sentence twice."""

        fingerprint = "other"

        def tokenize(self, sentences):
            return super().tokenize(tf.strings.join([sentences, sentences], " "))

    second = Run(trained)
    with_tokenizers(monkeypatch, second, source=Doubled(pieces.serialise()))
    loaded = loading.load_ensemble([Run(trained), second], fail)
    (found,) = loaded.translator().translate([SENTENCE])
    assert found.tokens > 0
    scorer = Scorer(
        loaded.model, loaded.tokenizers, loaded.decoding, member_tokenizers=loaded.member_tokenizers
    )
    (score,) = scorer.score([(SENTENCE, found.text)])
    assert score.log_probability == pytest.approx(found.log_probability, abs=1e-3)
    one = Scorer(single.model, single.tokenizers, single.decoding)
    by_member = [
        one.score([(source, found.text)])[0].token_log_probabilities
        for source in (SENTENCE, f"{SENTENCE} {SENTENCE}")
    ]
    np.testing.assert_allclose(
        np.exp(score.token_log_probabilities), np.exp(by_member).mean(axis=0), atol=1e-4
    )
    with pytest.raises(UsageError, match="the source vocabularies of these runs differ"):
        loaded.translator(alignments=True)
