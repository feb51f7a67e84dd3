import numpy as np
import pytest

from seq2seq_cli.evaluation.calibration import calibrate


def test_the_error_is_the_weighted_difference_of_confidence_and_accuracy():
    confidence = np.array([0.95, 0.91, 0.55, 0.51, 1.0])
    correct = np.array([True, False, True, True, True])
    found = calibrate(confidence, correct)
    upper = abs((0.95 + 0.91 + 1.0) / 3 - 2 / 3) * 3 / 5
    lower = abs((0.55 + 0.51) / 2 - 1) * 2 / 5
    assert found.error == pytest.approx(upper + lower)
    assert [(each.lowest, each.tokens) for each in found.bins] == [(0.5, 2), (0.9, 3)]
    assert (found.tokens, found.accuracy) == (5, 0.8)


def test_without_tokens_there_is_no_calibration():
    assert calibrate(np.array([]), np.array([], bool)) is None


def test_a_calibrated_model_has_no_error():
    found = calibrate(np.full(10, 0.7), np.arange(10) < 7)
    assert found.error == pytest.approx(0)
