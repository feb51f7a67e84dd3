import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.models.decoder_only import DecoderOnly
from seq2seq_cli.models.ops.fusion import fused, fusing
from seq2seq_cli.models.ops.products import products_in
from seq2seq_cli.models.transformer import Transformer
from seq2seq_cli.special_tokens import BOS, EOS, PAD
from seq2seq_cli.training.loss import cross_entropy

SOURCE = tf.constant([[5, 6, 7, EOS], [8, 9, EOS, PAD]])
TARGET = tf.constant([[BOS, 5, 6, EOS], [BOS, 7, EOS, PAD]])


def transformer(**options) -> Transformer:
    sizes = {"units": 8, "heads": 2, "inner_units": 12, "encoder_layers": 2, "decoder_layers": 2}
    return Transformer(20, 20, **sizes, dropout=0.2, attention_dropout=0.2, **options)


def decoder_only() -> DecoderOnly:
    return DecoderOnly(20, 20, units=8, heads=2, inner_units=12, layers=2, dropout=0.2)


def loss_and_gradients(model, fuses: bool, dtype: str) -> list[tf.Tensor]:
    model.dropout_key.set(3, 4)

    def run():
        with fusing(fuses), products_in(dtype), tf.GradientTape() as tape:
            logits = model((SOURCE, TARGET[:, :-1]), training=True)
            total, _ = cross_entropy(logits, TARGET[:, 1:], 0.1)
        gradients = tape.gradient(total, model.trainable_variables)
        return [total, *(tf.convert_to_tensor(gradient) for gradient in gradients)]

    return tf.function(run)() if fuses else run()


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-5), ("bfloat16", 0.05)])
@pytest.mark.parametrize(
    "make",
    [transformer, lambda: transformer(norm="post", activation="gelu"), decoder_only],
    ids=["transformer", "post-norm", "decoder-only"],
)
def test_fused_is_what_is_not_fused(make, dtype, bound):
    model = make()
    plain, fast = (loss_and_gradients(model, fuses, dtype) for fuses in (False, True))
    for a, b in zip(plain, fast, strict=True):
        np.testing.assert_allclose(b, a, rtol=bound, atol=bound)
    assert any(tf.reduce_max(abs(gradient)) > 0.1 for gradient in plain[1:])


def test_fused_is_one_operation_inside_fusing_alone():
    @fused
    def polynomial(x, power):
        return x**power + x + inner(x)

    @fused
    def inner(x):
        return 2 * x

    def operations(fuses: bool) -> set[str]:
        @tf.function
        def run(x):
            with fusing(fuses):
                return polynomial(x, 2)

        assert run(tf.constant(3.0)) == 18
        graph = run.get_concrete_function(tf.TensorSpec([], tf.float32)).graph
        return {operation.type for operation in graph.get_operations()}

    assert "Pow" in operations(False)
    assert not operations(True) & {"Pow", "Mul", "AddV2"}
