"""What holds for every stack of Transformer blocks behind the interface."""

import numpy as np
import pytest
import tensorflow as tf
from small_models import small_transformer
from test_seq2seq import GRID, SIGNATURE, SOURCE, TARGET, VOCABULARY, build

from seq2seq_cli.config.model import DecoderOnlyConfig, TransformerConfig
from seq2seq_cli.models import invariants
from seq2seq_cli.models.decoder_only import DecoderOnly
from seq2seq_cli.models.ops.compute import computing
from seq2seq_cli.models.transformer import Transformer
from seq2seq_cli.special_tokens import BOS, EOS, PAD
from seq2seq_cli.vocabularies import Vocabularies


# Of the grid, five models that hold every value of every option.
@pytest.fixture(
    scope="module", params=GRID[::5], ids=lambda p: f"{p[0].__name__}-{'-'.join(p[1:4])}-{p[4]}"
)
def model(request):
    return build(*request.param)


@pytest.fixture(scope="module", params=[Transformer, DecoderOnly])
def default(request):
    return build(request.param, layers=1)


@pytest.mark.few_cases(2)
def test_no_gradient_flows_from_a_logit_to_later_tokens(model):
    embeddings = {}
    embed = model.embeddings.embed_target

    def watched(ids):
        embeddings["target"] = embed(ids)
        tape.watch(embeddings["target"])
        return embeddings["target"]

    for t in range(TARGET.shape[1]):
        with pytest.MonkeyPatch.context() as patch, tf.GradientTape() as tape:
            patch.setattr(model.embeddings, "embed_target", watched)
            loss = tf.reduce_sum(model((SOURCE, TARGET))[0, t] ** 2)
        gradient = tape.gradient(loss, embeddings["target"])[0].numpy()
        assert (np.abs(gradient[: t + 1]).sum(axis=-1) > 0).all()
        assert (gradient[t + 1 :] == 0).all()


def test_the_position_of_a_source_token_matters(model):
    before = model((SOURCE, TARGET)).numpy()[0]
    swapped = tf.gather(SOURCE, [1, 0, 2, 3, 4], axis=1)
    assert not np.allclose(model((swapped, TARGET))[0], before, atol=1e-6)


def test_variables_have_unique_stable_paths(model):
    paths = [v.path for v in model.variables]
    assert len(set(paths)) == len(paths)


@pytest.mark.few_cases(1)
def test_a_compiled_loop_of_steps_equals_teacher_forcing(default):
    length = TARGET.shape[1]

    @tf.function(input_signature=SIGNATURE, jit_compile=True)
    def loop(source, target):
        memory = default.encode(source)
        logits = tf.TensorArray(tf.float32, size=length, element_shape=[3, VOCABULARY])

        def step(t, state, logits):
            output = default.decode_step(tf.gather(target, t, axis=1), state, memory)
            return t + 1, output.state, logits.write(t, output.logits_BV)

        state = default.initial_state(memory, length)
        return tf.while_loop(lambda t, *_: t < length, step, (0, state, logits))[2].stack()

    found = tf.transpose(loop(SOURCE, TARGET), [1, 0, 2])
    np.testing.assert_allclose(found, default((SOURCE, TARGET)), atol=1e-5)


@pytest.mark.few_cases(1)
def test_gradients_reach_every_weight_and_are_the_same_compiled(default):
    default.dropout_key.set(1, 1)

    def gradients(source, target):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(default((source, target), training=True) ** 2)
        found = tape.gradient(loss, default.trainable_variables)
        return [tf.convert_to_tensor(g) for g in found]

    plain = tf.function(gradients, input_signature=SIGNATURE)(SOURCE, TARGET)
    compiled = tf.function(gradients, input_signature=SIGNATURE, jit_compile=True)(SOURCE, TARGET)
    for variable, one, other in zip(default.trainable_variables, plain, compiled, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
        # What is the same for all keys does not change a softmax.
        assert np.abs(one).max() > 1e-7 or variable.name == "key_bias", variable.path


def test_a_source_of_only_padding_gives_no_nan(default):
    source = tf.constant([[PAD, PAD], [5, EOS]])
    target = tf.constant([[PAD, PAD], [BOS, 6]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(default((source, target)))
    gradients = tape.gradient(loss, default.trainable_variables)
    assert np.isfinite(loss)
    assert all(np.isfinite(tf.convert_to_tensor(g)).all() for g in gradients)
    assert invariants.attention(default, source, target) < 1e-5


def test_the_same_seed_gives_the_same_weights():
    def weights(seed: int) -> list[np.ndarray]:
        model = small_transformer(seed=seed)
        return [v.numpy() for v in model.trainable_variables]

    first, same, other = weights(1), weights(1), weights(2)
    assert all(np.array_equal(a, b) for a, b in zip(first, same, strict=True))
    assert any(not np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize(
    ("tied", "joint", "tables"),
    [
        (True, True, ["target"]),
        (True, False, ["target", "source"]),
        (False, True, ["target", "source", "output"]),
    ],
)
@pytest.mark.parametrize("architecture", [Transformer, DecoderOnly])
def test_tying_shares_tables_where_ids_mean_the_same(architecture, tied, joint, tables):
    sizes = {"units": 8, "heads": 2, "inner_units": 8, "tied_embeddings": tied}
    vocabularies = Vocabularies(20, 20 if joint else 25, joint)
    config = DecoderOnlyConfig if architecture is DecoderOnly else TransformerConfig
    model = architecture(config(**sizes), vocabularies)
    found = [v.path for v in model.trainable_variables if v.path.startswith("embeddings")]
    assert found == [*(f"embeddings/{t}_table" for t in tables), "embeddings/output_bias"]
    assert model((SOURCE, TARGET % 12)).shape == (3, 4, vocabularies.target)


def test_positions_after_the_last_learned_one_share_it():
    model = build(Transformer, positions="learned")
    long = tf.concat([tf.fill([1, 29], 7), [[EOS]]], axis=1)
    assert np.isfinite(model((long, tf.fill([1, 30], 4)))).all()


def test_decoder_only_reads_target_where_the_source_really_ends():
    model = build(DecoderOnly)
    lengths = model.encode(SOURCE)["length"]
    np.testing.assert_array_equal(lengths, [5, 3, 1])


def test_decoder_only_equals_one_pass_of_its_stack():
    model = build(DecoderOnly)
    source, target = SOURCE[:1], TARGET[:1]
    vectors = tf.concat(
        [model.embeddings.embed_source(source), model.embeddings.embed_target(target)], axis=1
    )
    x = vectors + model.positions(tf.range(9))
    position = np.arange(9)
    # All of the source; of separator and target, what stands before.
    mask = tf.constant((position[None] < 5) | (position[:, None] >= position[None]))[tf.newaxis]
    for block in model.blocks:
        x = block(x, mask).outputs_BTD
    expected = model.embeddings.logits(model.norm(x))[:, 5:]
    np.testing.assert_allclose(model((source, target)), expected, atol=1e-5)


@pytest.mark.parametrize("architecture", [Transformer, DecoderOnly])
def test_products_in_bfloat16_only_round_logits_and_gradients(architecture):
    def run(dtype):
        with computing(precision=dtype), tf.GradientTape() as tape:
            logits = tf.cast(model((SOURCE, TARGET)), tf.float32)
            loss = tf.reduce_mean(tf.nn.log_softmax(logits)[..., EOS])
        gradients = tape.gradient(loss, model.trainable_variables)
        return [logits, *(tf.convert_to_tensor(g) for g in gradients)]

    model = build(architecture)
    for exact, rounded in zip(run("float32"), run("bfloat16"), strict=True):
        error = tf.norm(rounded - exact) / (tf.norm(exact) + 1e-3)  # keys' biases have none
        assert error < 0.15  # a rounding is 2^-9, and ReLU and large weights make more of it
    assert not np.array_equal(run("bfloat16")[0], run("float32")[0])
