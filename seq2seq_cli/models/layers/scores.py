"""Scores of attention: how well a query fits a key."""

import math
from abc import abstractmethod
from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.layers.initialisers import glorot
from seq2seq_cli.models.ops.products import batched_matmul, dense
from seq2seq_cli.models.ops.scan import Product, product


class Score(keras.layers.Layer):
    """How well a query fits a key.

    It is computed in the dtype of its inputs, to which the float32 weights are cast. `project_keys`
    computes the part that depends only on the keys, once for each source.

    Attributes:
        query_kernel: the matrix that multiplies a query; None if there is none.
    """

    query_kernel: keras.Variable | None = None

    def __init__(self, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)

    @abstractmethod
    def project_keys(self, keys_BSD: tf.Tensor) -> tf.Tensor:
        """Return the projected keys, the second argument of `call`."""

    @abstractmethod
    def score_projected(
        self, projected_query: tf.Tensor, keys_BSD: tf.Tensor, product: Product = product
    ) -> tf.Tensor:
        """Score queries that have been multiplied by `query_kernel` already.

        Args:
            projected_query: BD or BTD.
            keys_BSD: what `project_keys` returned.
            product: multiplies a query (BD) and keys.
        """

    def call(self, query: tf.Tensor, projected_keys_BSD: tf.Tensor) -> tf.Tensor:
        """Score queries against projected keys.

        Args:
            query: one for each sentence (BD) or several (BTD).
            projected_keys_BSD: what `project_keys` returned.

        Returns:
            scores_BS, or scores_BTS for several queries.
        """
        if self.query_kernel is not None:
            query = dense(query, self.query_kernel)
        return self.score_projected(query, projected_keys_BSD)


class AdditiveScore(Score):
    """score(q, k) = v . tanh(Wq q + Wk k + b).

    Bahdanau, Cho, Bengio (2015), "Neural machine translation by jointly learning to align and
    translate", appendix A.1.2, where v, Wq, Wk are v_a, W_a, U_a, q is the previous decoder state
    s_{i-1} and k the annotation h_j.

    Without the bias it is the score `concat` of Luong, Pham, Manning (2015), "Effective approaches
    to attention-based neural machine translation", section 3.1: their W_a [h_t; h_s] is Wq h_t +
    Wk h_s, with W_a cut in two.

    Args:
        units: width of the hidden layer.
        query_units: width of a query.
        key_units: width of a key.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
        use_bias: whether there is b.
        use_scale: whether v is learned; otherwise v is 1.
        use_gain: whether a learned number multiplies the argument of the tanh.
    """

    def __init__(
        self,
        units: int,
        query_units: int,
        key_units: int,
        seed: Any = None,
        use_bias: bool = True,
        use_scale: bool = True,
        use_gain: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.query_kernel = self.add_weight((query_units, units), glorot(seed), name="query_kernel")
        self.key_kernel = self.add_weight((key_units, units), glorot(seed), name="key_kernel")
        self.bias = self.add_weight((units,), "zeros", name="bias") if use_bias else None
        # Glorot for the column vector that it is: fan-in units, fan-out 1.
        self.scale = self.add_weight((units, 1), glorot(seed), name="scale") if use_scale else None
        self.gain = self.add_weight((), "ones", name="gain") if use_gain else None
        self.built = True

    def project_keys(self, keys_BSD: tf.Tensor) -> tf.Tensor:
        """Return Wk k + b."""
        projected = dense(keys_BSD, self.key_kernel)
        return projected if self.bias is None else projected + tf.cast(self.bias, keys_BSD.dtype)

    def score_projected(
        self, projected_query: tf.Tensor, keys_BSD: tf.Tensor, product: Product = product
    ) -> tf.Tensor:
        """See Score.score_projected."""
        if projected_query.shape.rank == 3:
            summed = projected_query[:, :, tf.newaxis, :] + keys_BSD[:, tf.newaxis, :, :]
        else:
            summed = projected_query[:, tf.newaxis, :] + keys_BSD
        hidden = tf.tanh(summed if self.gain is None else summed * tf.cast(self.gain, summed.dtype))
        if self.scale is None:
            return tf.reduce_sum(hidden, axis=-1)
        # Not tf.matmul: of rank 4 against 2, TensorFlow 2.21's oneDNN kernel corrupts memory.
        scale = tf.cast(tf.squeeze(self.scale, -1), hidden.dtype)
        return tf.reduce_sum(hidden * scale, axis=-1)


class ProductScore(Score):
    """The common part of the scores that are dot products. Abstract."""

    def score_projected(
        self, projected_query: tf.Tensor, keys_BSD: tf.Tensor, product: Product = product
    ) -> tf.Tensor:
        """See Score.score_projected."""
        if projected_query.shape.rank == 3:
            return batched_matmul(projected_query, keys_BSD, transpose_b=True)
        return product("bd,bsd->bs", projected_query, keys_BSD)[0]


class DotScore(ProductScore):
    """score(q, k) = q . k, or q . k / sqrt(D) where scaled; queries and keys are D wide.

    With `use_gain` a learned number multiplies the score. It starts at 1.

    Luong et al. (2015), section 3.1, `dot`; Vaswani et al. (2017), "Attention is all you need",
    equation 1. Its factor keeps the variance of the scores of random vectors at 1.
    """

    def __init__(self, scaled: bool = False, use_gain: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        self.scaled = scaled
        self.gain = self.add_weight((), "ones", name="gain") if use_gain else None
        self.built = True

    def project_keys(self, keys_BSD: tf.Tensor) -> tf.Tensor:
        """Return the keys, scaled if the score is."""
        if self.gain is not None:
            keys_BSD *= tf.cast(self.gain, keys_BSD.dtype)
        return keys_BSD / math.sqrt(keys_BSD.shape[-1]) if self.scaled else keys_BSD


class GeneralScore(ProductScore):
    """score(q, k) = q . W k, with W as W_a in Luong et al. (2015), section 3.1, `general`.

    The learned weight is `scaled_kernel`, sqrt(D) W for queries of width D. So scores begin near 0,
    attention begins almost uniform, and one update by Adam changes a score less. Large random
    scores would saturate the softmax, and unlearning them takes many epochs.

    Args:
        query_units: width of a query.
        key_units: width of a key.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(self, query_units: int, key_units: int, seed: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.scaled_kernel = self.add_weight(
            (key_units, query_units), glorot(seed), name="scaled_kernel"
        )
        self.built = True

    @property
    def kernel(self) -> tf.Tensor:
        """W, transposed: of the shape (key_units, query_units)."""
        return self.scaled_kernel / math.sqrt(self.scaled_kernel.shape[1])

    def project_keys(self, keys_BSD: tf.Tensor) -> tf.Tensor:
        """Return W k."""
        return dense(keys_BSD, self.kernel)


class LocationScore(Score):
    """score(q, k_s) = (W q)_s: a function of only the query and the position s.

    Luong et al. (2015), equation 8, a_t = softmax(W_a h_t). W has a row for each position. As in
    the paper's footnote, a shorter source uses the first rows, and later positions of a longer
    source get no attention.

    Args:
        positions: number of source positions that get a score.
        query_units: width of a query.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(self, positions: int, query_units: int, seed: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.query_kernel = self.add_weight(
            (query_units, positions), glorot(seed), name="query_kernel"
        )
        self.built = True

    def project_keys(self, keys_BSD: tf.Tensor) -> tf.Tensor:
        """Return one unit of the keys, because only their number matters."""
        return keys_BSD[:, :, :1]

    def score_projected(
        self, projected_query: tf.Tensor, keys_BSD: tf.Tensor, product: Product = product
    ) -> tf.Tensor:
        """See Score.score_projected."""
        length, known = tf.shape(keys_BSD)[1], projected_query.shape[-1]
        padding = [[0, 0]] * (projected_query.shape.rank - 1) + [[0, tf.maximum(length - known, 0)]]
        scores = tf.pad(projected_query, padding, constant_values=projected_query.dtype.min)
        return scores[..., :length]


def make_score(
    kind: str,
    units: int,
    query_units: int,
    key_units: int,
    seed: Any = None,
    use_gain: bool = False,
    positions: int = 0,
) -> Score:
    """Return a score, as a layer called "score".

    Args:
        kind: additive, dot, general, concat, scaled_dot or location.
        units: width of the hidden layer of `additive` and `concat`; the others have none.
        query_units: width of a query.
        key_units: width of a key.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
        use_gain: see AdditiveScore and DotScore.
        positions: number of source positions for `location`.

    Raises:
        ValueError: if the score is unknown, a dot product has unequal widths, or `general` has a
            gain.
    """
    if kind in ("dot", "scaled_dot"):
        if query_units != key_units:
            raise ValueError(
                f"The score {kind!r} needs queries and keys of one width. Received: query_units="
                f"{query_units}, key_units={key_units}; 'general' takes any widths"
            )
        return DotScore(kind == "scaled_dot", use_gain, name="score")
    if kind == "general":
        if use_gain:
            raise ValueError("The matrix of the score 'general' already includes a learned scale")
        return GeneralScore(query_units, key_units, seed, name="score")
    if kind in ("additive", "concat"):
        use_bias = kind == "additive"
        return AdditiveScore(
            units, query_units, key_units, seed, use_bias, use_gain=use_gain, name="score"
        )
    if kind == "location":
        return LocationScore(positions, query_units, seed, name="score")
    raise ValueError(
        "Invalid value for the kind of score. Expected one of 'additive', 'dot', 'general', "
        f"'concat', 'scaled_dot', 'location'. Received: {kind!r}"
    )
