"""Tests of significance are those of sacreBLEU's command line, to the last digit."""

import os
import random
import re
import subprocess
import sys

import pytest
from sacrebleu_command import OPTIONS, WORDS

from seq2seq_cli.evaluation.metrics import METRICS
from seq2seq_cli.evaluation.significance import Resampling, SystemScore, compare_scores
from seq2seq_cli.evaluation.systems import EvaluationSet, SystemOutput

DRAW = random.Random(5)
REFERENCES = [" ".join(DRAW.choices(WORDS, k=DRAW.randint(3, 9))) for _ in range(30)]
SYSTEMS = [
    [
        " ".join(DRAW.choice(WORDS) if DRAW.random() < p else w for w in r.split())
        for r in REFERENCES
    ]
    for p in (0.3, 0.2, 0.35)
]


@pytest.fixture(scope="module")
def found() -> dict:
    test_set = EvaluationSet("x", [""] * 30, [[text] for text in REFERENCES])
    # Equal names are no problem.
    outputs = [SystemOutput("same", texts) for texts in SYSTEMS]
    compared = compare_scores(test_set, outputs, Resampling(resamples=100, trials=300, seed=9))
    return {each.metric: each for each in compared}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("test", ["bs", "ar"])
def test_scores_intervals_and_p_values_are_those_of_sacrebleu(found, metric, test, tmp_path):
    files = []
    for k, texts in enumerate([REFERENCES, *SYSTEMS]):
        files.append(str(tmp_path / str(k)))
        (tmp_path / str(k)).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    number = {"bs": "100", "ar": "300"}[test]
    # Not as JSON: sacreBLEU 2.6 cannot write its intervals of chrF and TER.
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sacrebleu", files[0], "-i", *files[1:], *OPTIONS[metric]),
            *(f"--paired-{test}", f"--paired-{test}-n", number, "--format", "latex", "-w", "17"),
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "SACREBLEU_SEED": "9", "NO_COLOR": "1"},
    )
    number = r"(\d+\.\d+)"
    interval = rf" \({number} . {number}\)" if test == "bs" else ""
    rows = re.findall(rf"& +{number}{interval}(?: \(p = {number})?", done.stdout)
    assert len(rows) == len(SYSTEMS)
    for system, (score, *means, p_value) in zip(found[metric].systems, rows, strict=True):
        assert system.score == float(score)
        found_p = system.bootstrap_p if test == "bs" else system.randomisation_p
        assert p_value == ("" if found_p is None else f"{found_p:.4f}")
        if means:
            assert [system.mean, system.half_width] == [float(mean) for mean in means]


def test_signatures_describe_the_test(found):
    assert "|bs:100|seed:9|" in found["BLEU"].bootstrap_signature
    assert "|ar:300|seed:9|" in found["TER"].randomisation_signature


def test_both_tests_must_agree():
    assert SystemScore(1, 0.5, 1, 1, 0.01, 0.02).is_significant
    assert not SystemScore(1, 0.5, 1, 1, 0.01, 0.2).is_significant
    assert not SystemScore(1, 0.5, 1, 1, 0.2, 0.01).is_significant
    assert not SystemScore(1, 0.0, 1, 1, None, None).is_significant
