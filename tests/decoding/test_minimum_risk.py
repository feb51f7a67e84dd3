"""Minimum Bayes risk decoding."""

import numpy as np
import pytest
from conftest import invoke, s2s
from pydantic import ValidationError
from sacrebleu.metrics import BLEU, CHRF

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.decoding.loading import LoadedRun, load_run
from seq2seq_cli.decoding.minimum_risk import bleu, chrf, expected_utilities
from seq2seq_cli.decoding.translator import Translation
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.events import ignore

TEXTS = [
    "Me gustan las manzanas.",
    "Me gustan las manzanas.",
    "Me gusta la manzana.",
    "¡No!",
    "",
    "a",
    "aaa aaa aaa",
    "Las manzanas me gustan mucho, mucho.",
]


@pytest.mark.parametrize(
    ("ours", "theirs"), [(chrf, CHRF()), (bleu, BLEU(effective_order=True))], ids=["chrf", "bleu"]
)
def test_utilities_are_those_of_sacrebleu(ours, theirs):
    found = ours(TEXTS)
    for i, hypothesis in enumerate(TEXTS):
        for j, reference in enumerate(TEXTS):
            expected = theirs.sentence_score(hypothesis, [reference]).score
            assert found[i, j] == pytest.approx(expected, abs=1e-9), (hypothesis, reference)


@pytest.mark.parametrize("utility", ["chrf", "bleu"])
def test_the_expectation_is_over_all_hypotheses_by_their_weights(utility):
    weights = np.array([1.0, 3.0, 0.0])
    texts = ["one two three four", "one two three five", "six"]
    scores = {"chrf": chrf, "bleu": bleu}[utility](texts)
    found = expected_utilities(texts, weights, utility)
    np.testing.assert_allclose(found, scores @ [0.25, 0.75, 0])
    assert found.argmax() == 1


@pytest.fixture(scope="module")
def loaded(trained) -> LoadedRun:
    return load_run(Run(trained), ignore)


SENTENCES = ["I see one apples.", "they want many cats.", "we sell few books.", ""]


@pytest.mark.parametrize(
    "search", [{"beam": 6}, {"sample": True, "temperature": 2.0}], ids=["beam", "samples"]
)
@pytest.mark.parametrize("utility", ["chrf", "bleu"])
def test_the_translation_is_the_hypothesis_of_highest_expected_utility(loaded, search, utility):
    def translations(**options) -> list[list[Translation]]:
        config = DecodingConfig(**search, **options)
        found = loaded.translator(config, compiled=False).translate(SENTENCES)
        return [[each, *each.others] for each in found]

    everything = translations(n_best=6)
    best = translations(mbr=6, n_best=2, mbr_utility=utility)
    changed = 0
    for hypotheses, found in zip(everything[:-1], best[:-1], strict=True):
        logs = np.array([each.log_probability for each in hypotheses])
        weights = np.ones(6) if "sample" in search else np.exp(logs)
        texts = [each.text for each in hypotheses]
        utilities = expected_utilities(texts, weights, utility)
        order = np.argsort(-utilities, kind="stable")
        assert [each.text for each in found] == [*dict.fromkeys(texts[i] for i in order)][:2]
        assert found[0].log_probability == pytest.approx(logs[order[0]], abs=1e-4)
        changed += order[0] != 0
    assert best[-1][0].text == ""
    if "sample" in search:
        assert changed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mbr": 4}, "compares more hypotheses than a beam of 1 finds. To search for them, add"),
        ({"mbr": 4, "beam": 5, "n_best": 5}, "more translations than the hypotheses that"),
        ({"mbr_utility": "bleu"}, "is for minimum Bayes risk decoding"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, message):
    with pytest.raises(ValidationError, match=message):
        DecodingConfig(**options)


def test_the_command_takes_it(home):
    (plain,) = invoke("translate", SENTENCES[0], "--device", "cpu", "--beam", "4")
    (found,) = invoke("translate", SENTENCES[0], "--device", "cpu", "--beam", "4", "--mbr", "4")
    assert found == plain  # a model that is sure of its translation
    code, _, error = s2s("translate", SENTENCES[0], "--device", "cpu", "--mbr", "4")
    assert code == 2
    assert "--mbr" in error
