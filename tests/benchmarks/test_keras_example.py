"""The model of Keras' example, with which s2s is compared, is what it should be."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

FOLDER = Path(__file__).parents[2] / "benchmarks"
BOS, EOS = 2, 3


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import keras_example

    return keras_example


def logits(model, source: list[int], target: list[int]) -> np.ndarray:
    return model((tf.constant([source]), tf.constant([target]))).numpy()[0]


def test_a_prediction_depends_on_the_source_and_on_earlier_tokens_alone(example):
    model = example.KerasExample(50)
    usual = logits(model, [7, 8, EOS], [BOS, 9, 10])
    assert usual.shape == (3, 50)
    padded = logits(model, [7, 8, EOS, 0, 0], [BOS, 9, 10])
    np.testing.assert_allclose(padded, usual, atol=1e-5)
    later = logits(model, [7, 8, EOS], [BOS, 9, 30])
    np.testing.assert_allclose(later[:2], usual[:2], atol=1e-5)
    assert np.abs(later[2] - usual[2]).max() > 1e-3
    assert np.abs(logits(model, [8, 7, EOS], [BOS, 9, 10]) - usual).max() > 1e-3
