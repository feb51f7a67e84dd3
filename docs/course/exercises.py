"""The tests of the exercises: `check(function)` says whether a solution is right.

The function's name says which exercise it solves.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

_TESTS: dict[str, Callable[[Any], None]] = {}


def check(answer: Callable[..., Any]) -> bool:
    """Print whether a solution is right, and why not; return whether it is.

    Args:
        answer: the solution. Its name is that of the exercise.
    """
    name = answer.__name__
    if name not in _TESTS:
        print(f"🔴 {name}: no exercise has this name. Keep the name of the function")
        return False
    try:
        _TESTS[name](answer)
    except NotImplementedError:
        print(f"🔴 {name}: not written yet")
        return False
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        print(f"🔴 {name}: {reason or type(error).__name__}")
        return False
    print(f"🟢 {name}: solved")
    return True


def _exercise(test: Callable[[Any], None]) -> Callable[[Any], None]:
    _TESTS[test.__name__] = test
    return test


def _same(found: Any, wanted: Any, what: str, tolerance: float = 1e-4) -> None:
    """Compare two arrays, or two values of any kind.

    Raises:
        AssertionError: saying what differs.
    """
    if found is None:
        raise AssertionError(f"{what}: the function returns None")
    if np.asarray(wanted).dtype.kind in "biuf":
        shape, wanted_shape = np.shape(found), np.shape(wanted)
        if shape != wanted_shape:
            raise AssertionError(f"{what}: the shape is {shape}, and it should be {wanted_shape}")
        is_same = bool(np.allclose(found, wanted, rtol=tolerance, atol=tolerance))
    else:
        is_same = found == wanted
    if not is_same:
        raise AssertionError(f"{what}: got {found}, and it should be {wanted}".replace("\n", ""))


# Chapter 1


@_exercise
def shifted(answer: Any) -> None:
    target = np.array([[2, 7, 8, 3], [2, 9, 3, 0]])
    inputs, labels, counts = answer(target)
    _same(inputs, [[2, 7, 8], [2, 9, 3]], "what the model reads")
    _same(labels, [[7, 8, 3], [9, 3, 0]], "what it predicts")
    _same(np.asarray(counts, bool), [[True] * 3, [True, True, False]], "which labels count")


@_exercise
def perplexity(answer: Any) -> None:
    _same(answer([0.5, 0.25]), np.sqrt(8), "the perplexity of two words with 1/2 and 1/4")
    _same(answer([1 / 64] * 5), 64.0, "the perplexity of a uniform choice among 64")


@_exercise
def clipped_precision(answer: Any) -> None:
    the = ["the"] * 7
    reference = ["the", "cat", "is", "on", "the", "mat"]
    _same(answer(the, reference, 1), 2 / 7, "seven times 'the', of the paper")
    cat = ["the", "cat", "the", "cat", "on", "the", "mat"]
    _same(answer(cat, reference, 2), 3 / 6, "pairs of words of 'the cat the cat on the mat'")
    _same(answer(["a"], reference, 2), 0.0, "a sentence without pairs of words")


# Chapter 2


@_exercise
def reversed_source(answer: Any) -> None:
    source = np.array([[5, 6, 7, 3, 0], [8, 3, 0, 0, 0]])
    wanted = [[7, 6, 5, 3, 0], [8, 3, 0, 0, 0]]
    _same(answer(source), wanted, "two sources, of which the second has one word")
    _same(source, [[5, 6, 7, 3, 0], [8, 3, 0, 0, 0]], "the array that was given, afterwards")


@_exercise
def gru_step(answer: Any) -> None:
    import tensorflow as tf

    from seq2seq_cli.models import reference

    random = np.random.default_rng(0)
    x, h = random.normal(size=[2, 3]), random.normal(size=[2, 4])
    kernels = random.normal(size=[3, 12]), random.normal(size=[4, 12])
    none = tf.zeros([12], tf.float64)
    (wanted,) = reference.gru(x, [h], *kernels, none, none)
    _same(answer(x, h, *kernels), wanted.numpy(), "a step of random numbers")


@_exercise
def gru_weights(answer: Any) -> None:
    import keras

    for inputs, units in ((2, 3), (64, 96)):
        cell = keras.layers.GRUCell(units)
        cell.build([1, inputs])
        _same(answer(inputs, units), cell.count_params(), f"{inputs} inputs and {units} units")


# Chapter 3


@_exercise
def masked_softmax(answer: Any) -> None:
    weights = answer(np.array([1.0, 2.0, 9.0]), np.array([True, True, False]))
    _same(weights, [0.26894142, 0.73105858, 0], "scores 1, 2, 9 of which the last is padding")
    weights = answer(np.array([1.0, 2.0, 1000.0]), np.array([True, True, False]))
    _same(weights, [0.26894142, 0.73105858, 0], "scores 1, 2, 1000 of which the last is padding")
    weights = answer(np.array([1000.0, 1000.0]), np.array([True, True]))
    _same(weights, [0.5, 0.5], "scores of 1000, whose exp is too large for a float")


@_exercise
def hard_alignment(answer: Any) -> None:
    weights = np.array([[0.8, 0.1, 0.1], [0.1, 0.3, 0.6], [0.2, 0.6, 0.2]])
    _same(answer(weights), ["0-0", "2-1", "1-2"], "a map of three words")
    _same(answer(weights[:, ::-1]), ["2-0", "0-1", "1-2"], "the same, columns reversed")


@_exercise
def entropy(answer: Any) -> None:
    _same(answer(np.array([0.25] * 4)), np.log(4), "the entropy of four equal weights")
    _same(answer(np.array([0.0, 1.0])), 0.0, "the entropy of 0 and 1")
    _same(answer(np.array([0.5, 0.25, 0.25])), 1.5 * np.log(2), "the entropy of 1/2, 1/4, 1/4")


# Chapter 4


@_exercise
def general_score(answer: Any) -> None:
    random = np.random.default_rng(0)
    h_t, h_s, W_a = (random.normal(size=shape) for shape in ([4], [6, 5], [5, 4]))
    _same(answer(h_t, h_s, W_a), (h_s @ W_a) @ h_t, "a query of 4 numbers and six keys of 5")


@_exercise
def attentional_vector(answer: Any) -> None:
    random = np.random.default_rng(1)
    c_t, h_t, W_c = (random.normal(size=shape) for shape in ([5], [4], [9, 3]))
    _same(answer(c_t, h_t, W_c), np.tanh(c_t @ W_c[:5] + h_t @ W_c[5:]), "a random context")


@_exercise
def local_weights(answer: Any) -> None:
    bell = np.exp([-2.0, -0.5, 0.0, -0.5, -2.0])
    found = answer(np.array([0.2] * 5), 2.0, 2.0)
    _same(found, 0.2 * bell, "equal weights of five words, p_t = 2, D = 2")
    bell = np.exp(-((np.arange(7) - 1) ** 2) / 8) * (np.arange(7) < 6)
    found = answer(np.array([0.1] * 7), 1.0, 4.0)
    _same(found, 0.1 * bell, "equal weights of seven words, p_t = 1, D = 4")


# Chapter 5


@_exercise
def causal(answer: Any) -> None:
    wanted = [[True, False, False], [True, True, False], [True, True, True]]
    _same(np.asarray(answer(3)), np.array(wanted), "the mask of three positions")


@_exercise
def scaled_dot_product_attention(answer: Any) -> None:
    random = np.random.default_rng(0)
    q, k, v = (random.normal(size=[n, d]) for n, d in ((2, 16), (3, 16), (3, 5)))
    mask = np.array([[True, True, True], [True, False, True]])
    scores = np.where(mask, q @ k.T / 4, -np.inf)
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    _same(answer(q, k, v, mask), weights @ v, "two queries and three keys of width 16")


@_exercise
def split_heads(answer: Any) -> None:
    x = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    wanted = np.stack([x[:, :, :2], x[:, :, 2:]], axis=1)
    _same(answer(x, 2), wanted, "2 sentences of 3 words of 4 numbers, for 2 heads")


# Chapter 6


@_exercise
def normalised(answer: Any) -> None:
    x = np.array([[1.0, 2.0, 3.0], [10.0, 10.0, 13.0]])
    found = answer(x, np.array([1.0, 1.0, 2.0]), np.array([0.0, 0.0, 1.0]))
    scaled = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    wanted = scaled * [1, 1, 2] + [0, 0, 1]
    _same(found, wanted, "two vectors of three numbers", 1e-3)


@_exercise
def sinusoids(answer: Any) -> None:
    found = answer(3, 4)
    wanted = [[np.sin(p), np.cos(p), np.sin(p / 100), np.cos(p / 100)] for p in range(3)]
    _same(found, wanted, "the first three positions of width 4")


@_exercise
def block_weights(answer: Any) -> None:
    from seq2seq_cli.config.model import TransformerConfig
    from seq2seq_cli.models import count_weights
    from seq2seq_cli.vocabularies import Vocabularies

    for d, d_ff in ((8, 16), (64, 256)):
        sizes = [
            count_weights(
                TransformerConfig(units=d, heads=2, inner_units=d_ff, encoder_layers=layers),
                Vocabularies(10, 10),
            )
            for layers in (1, 2)
        ]
        _same(answer(d, d_ff), sizes[1] - sizes[0], f"d = {d}, d_ff = {d_ff}")


# Chapter 7


@_exercise
def top_p(answer: Any) -> None:
    found = answer(np.array([0.1, 0.5, 0.15, 0.25]), 0.7)
    _same(found, [0.0, 2 / 3, 0.0, 1 / 3], "0.1, 0.5, 0.15, 0.25 with p = 0.7")
    _same(answer(np.array([0.6, 0.4]), 0.5), [1.0, 0.0], "0.6, 0.4 with p = 0.5")
    _same(answer(np.array([0.5, 0.25, 0.25]), 0.5), [1, 0, 0], "0.5, 0.25, 0.25 with p = 0.5")
    _same(answer(np.array([0.6, 0.4]), 1.0), [0.6, 0.4], "0.6, 0.4 with p = 1")


@_exercise
def penalised(answer: Any) -> None:
    _same(answer(-6.0, 7, 1.0), -3.0, "log P = -6 of 7 words, alpha = 1")
    _same(answer(-6.0, 7, 0.0), -6.0, "the same with alpha = 0")
    _same(answer(-2.0, 1, 0.6), -2.0, "one word")


@_exercise
def vectors_computed(answer: Any) -> None:
    _same(answer(5, 3, True), 8, "a source of 5, a translation of 3 words, with a cache")
    _same(answer(5, 3, False), 21, "the same without a cache: 6 + 7 + 8")


# Chapter 8


@_exercise
def leaked(answer: Any) -> None:
    train = [("I see.", "Veo."), ("We go!", "Vamos."), ("Yes", "Sí")]
    test = [("i see", "Ya veo."), ("No.", "No."), ("Let us go.", "¡Vamos!"), ("Run", "Corre")]
    _same(answer(train, test), [0, 2], "the test pairs 0 (source) and 2 (target)")


@_exercise
def learning_rate(answer: Any) -> None:
    units, warm = 512, 4000
    for step in (1, 100, 4000, 16000):
        wanted = units**-0.5 * min(step**-0.5, step * warm**-1.5)
        found = answer(step, units, warm)
        what = f"step {step} of the paper's base model"
        _same(found, wanted, what, 1e-9 if step < warm else 1e-6)


@_exercise
def p_value(answer: Any) -> None:
    _same(answer(np.array([1.0, 2.0, -0.5, 0.0])), 0.5, "differences of 1, 2, -0.5 and 0")
    _same(answer(np.ones(10)), 0.0, "ten resamples in which the second system wins")
