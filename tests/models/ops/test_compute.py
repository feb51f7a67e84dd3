import numpy as np
import pytest
import tensorflow as tf
from small_models import small_decoder_only, small_transformer

from seq2seq_cli.models.decoder_only import DecoderOnly
from seq2seq_cli.models.ops.compute import Compute, computing, current, fused
from seq2seq_cli.models.transformer import Transformer
from seq2seq_cli.special_tokens import BOS, EOS, PAD
from seq2seq_cli.training.loss import cross_entropy

SOURCE = tf.constant([[5, 6, 7, EOS], [8, 9, EOS, PAD]])
TARGET = tf.constant([[BOS, 5, 6, EOS], [BOS, 7, EOS, PAD]])


def transformer(**options) -> Transformer:
    layers = {"encoder_layers": 2, "decoder_layers": 2}
    rates = {"dropout": 0.2, "attention_dropout": 0.2, "inner_dropout": 0.2}
    return small_transformer(**rates, **layers, **options)


def decoder_only() -> DecoderOnly:
    return small_decoder_only(dropout=0.2)


def loss_and_gradients(model, fuses: bool, dtype: str) -> list[tf.Tensor]:
    model.dropout_key.set(3, 4)

    def run():
        with computing(fuse=fuses, precision=dtype), tf.GradientTape() as tape:
            logits = model((SOURCE, TARGET[:, :-1]), training=True)
            total, _ = cross_entropy(logits, TARGET[:, 1:], 0.1)
        gradients = tape.gradient(total, model.trainable_variables)
        return [total, *(tf.convert_to_tensor(gradient) for gradient in gradients)]

    return tf.function(run)() if fuses else run()


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-5), ("bfloat16", 0.05)])
@pytest.mark.parametrize(
    "make",
    [
        transformer,
        lambda: transformer(norm="post", activation="gelu"),
        lambda: transformer(encoder_layer_drop=0.5),
        decoder_only,
    ],
    ids=["transformer", "post-norm", "layer drop", "decoder-only"],
)
@pytest.mark.few_cases(3)
def test_fused_operations_equal_unfused_ones(make, dtype, bound):
    model = make()
    plain, fast = (loss_and_gradients(model, fuses, dtype) for fuses in (False, True))
    for a, b in zip(plain, fast, strict=True):
        np.testing.assert_allclose(b, a, rtol=bound, atol=bound)
    assert any(tf.reduce_max(abs(gradient)) > 0.1 for gradient in plain[1:])


def test_operations_are_fused_where_compute_allows_it():
    @fused
    def polynomial(x, power):
        return x**power + x + inner(x)

    @fused
    def inner(x):
        return 2 * x

    def operations(fuses: bool) -> set[str]:
        @tf.function
        def run(x):
            with computing(fuse=fuses):
                return polynomial(x, 2)

        assert run(tf.constant(3.0)) == 18
        graph = run.get_concrete_function(tf.TensorSpec([], tf.float32)).graph
        return {operation.type for operation in graph.get_operations()}

    assert "Pow" in operations(False)
    assert not operations(True) & {"Pow", "Mul", "AddV2"}


def test_a_context_changes_its_settings_only_inside():
    with computing(precision="bfloat16", shard=2):
        with computing(fuse=True):
            assert current() == Compute("bfloat16", True, 2, 1.0)
        assert current() == Compute("bfloat16", False, 2, 1.0)
    assert current() == Compute()
