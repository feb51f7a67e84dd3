"""The selftest finds what is planted, and nothing where nothing is."""

import json

import pytest
import tensorflow as tf
from conftest import tiny_config
from typer.testing import CliRunner

from seq2seq_cli.cli import app
from seq2seq_cli.evaluation import selftest
from seq2seq_cli.evaluation.selftest import check_fresh, check_run
from seq2seq_cli.models import rnn, transformer
from seq2seq_cli.models.invariants import compilation
from seq2seq_cli.models.layers import cells, embeddings, multi_head_attention
from seq2seq_cli.models.ops import layer_norm
from seq2seq_cli.runs.run import Run

STEPPING = "stepping equals teacher forcing"
CAUSALITY = "later target tokens change no earlier logit"
PADDING = "more source padding changes nothing"
REORDERING = "the state can be reordered between steps"
ATTENTION = "attention sums to 1 off the padding and is 0 on it"
LOGITS = "logits equal the textbook's"
GRADIENT = "the loss and its gradient equal the textbook's"
DECODING = "decoding steps equal the textbook's"
TEXTBOOK = {LOGITS, GRADIENT, DECODING}
DEEP = {"encoder_layers": 3, "decoder_layers": 3, "bridge": "zero", "bidirectional": False}
OPTIONS = {
    "rnn": [
        {},
        {**DEEP, "attention": "concat", "wiring": "bahdanau"},
        {**DEEP, "attention": "general", "cell": "lstm", "dropout": 0.5},
        {"attention": "dot", "input_feeding": False, "decoder_units": 48},
    ],
    "transformer": [
        {},
        {"norm": "post", "activation": "gelu", "positions": "learned", "max_positions": 64},
        {"activation": "swiglu", "tied_embeddings": False, "attention_dropout": 0.5},
    ],
    "decoder_only": [
        {},
        {"norm": "post", "activation": "swiglu", "positions": "learned"},
    ],
}


@pytest.fixture
def quick(monkeypatch):
    """Leave out the one invariant that takes seconds, and try less."""
    checks = {k: v for k, v in selftest.INVARIANTS.items() if v is not compilation}
    monkeypatch.setattr(selftest, "INVARIANTS", checks)
    monkeypatch.setattr(selftest, "_LENGTHS", (4, 3, 1))
    monkeypatch.setattr(selftest, "_TRIES", 1)


@pytest.fixture
def without_compiling(quick, monkeypatch):
    """Compile nothing either."""
    monkeypatch.setattr(selftest, "compiled", lambda function: function)


def failing(kind: str, **options: object) -> set[str]:
    settings = {f"model__{name}": value for name, value in options.items()}
    checks = check_fresh(tiny_config(None, model__kind=kind, **settings))
    return {check.name for check in checks if not check.holds}


@pytest.mark.parametrize(
    ("kind", "options"),
    [(kind, options) for kind, several in OPTIONS.items() for options in several],
)
@pytest.mark.few_cases(4)
def test_a_sound_model_passes(kind, options, without_compiling, monkeypatch):
    if options:  # with which the invariants are tested in tests/models
        monkeypatch.setattr(selftest, "INVARIANTS", {})
    assert failing(kind, **options) == set()


def test_a_model_of_separate_vocabularies_passes(without_compiling):
    config = tiny_config(None, model__kind="transformer", tokenizer__vocabularies="separate")
    assert all(check.holds for check in check_fresh(config))


def test_a_trained_run_passes(trained, quick):
    checks = check_run(Run(trained), print)
    assert {check.name for check in checks} > TEXTBOOK
    assert all(check.holds for check in checks)


def test_a_wrong_causal_mask_is_found(without_compiling, monkeypatch):
    honest = multi_head_attention._scores_mask
    monkeypatch.setattr(
        multi_head_attention,
        "_scores_mask",
        lambda scores, mask, causal: honest(scores, mask, False),
    )
    assert failing("transformer") == {STEPPING, CAUSALITY, LOGITS, GRADIENT}


@pytest.mark.parametrize(("kind", "module"), [("rnn", rnn), ("transformer", transformer)])
def test_a_missing_padding_mask_is_found(kind, module, without_compiling, monkeypatch):
    monkeypatch.setattr(module, "padding_mask", lambda ids: tf.ones_like(ids, tf.bool))
    assert failing(kind) == {PADDING, ATTENTION, *TEXTBOOK}


def test_a_state_that_is_not_reordered_is_found(without_compiling, monkeypatch):
    honest = transformer.Transformer.decode_step
    kept = {}

    def decode_step(self, token_B, state, memory):
        """Go on from what was kept here, where no one reorders it."""
        kept["state"] = state if int(state["position"]) == 0 else kept["state"]
        output = honest(self, token_B, kept["state"], memory)
        kept["state"] = output.state
        return output

    monkeypatch.setattr(transformer.Transformer, "decode_step", decode_step)
    assert failing("transformer") == {REORDERING}


def with_the_gates_in_the_order_of_keras(self, projected, recurrent, state):
    """A GRU whose reset and update gates are swapped."""
    swapped = [[part[1], part[0], part[2]] for part in (projected, recurrent)]
    return HONEST_UPDATE(self, *swapped, state)


HONEST_UPDATE = cells.GRUCell.update


def test_gates_in_another_order_are_found(without_compiling, monkeypatch):
    monkeypatch.setattr(cells.GRUCell, "update", with_the_gates_in_the_order_of_keras)
    assert failing("rnn") == TEXTBOOK


@pytest.mark.parametrize("kind", ["transformer", "decoder_only"])
def test_another_epsilon_is_found(kind, without_compiling, monkeypatch):
    monkeypatch.setattr(layer_norm, "EPSILON", 0.05)
    assert failing(kind) == TEXTBOOK


def test_a_missing_bias_is_found(without_compiling, monkeypatch):
    honest = embeddings.Embeddings.logits
    monkeypatch.setattr(
        embeddings.Embeddings, "logits", lambda self, x: honest(self, x) - self.output_bias
    )
    assert failing("transformer") == {STEPPING, LOGITS, GRADIENT}


def test_a_wrong_gradient_is_found(without_compiling, monkeypatch):
    """The output is that of the textbook, but the half of its gradient is lost."""
    honest = embeddings.Embeddings.logits

    def logits(self, x):
        return honest(self, x / 2 + tf.stop_gradient(x / 2))

    monkeypatch.setattr(embeddings.Embeddings, "logits", logits)
    assert failing("decoder_only") == {GRADIENT}


def test_wrong_attention_weights_are_found(without_compiling, monkeypatch):
    honest = rnn.RNN.make_step

    def make_step(self):
        def step(*arguments):
            output = honest(self)(*arguments)
            return output._replace(attention_BS=tf.roll(output.attention_BS, 1, axis=1))

        return step

    monkeypatch.setattr(rnn.RNN, "make_step", make_step)
    assert failing("rnn") == {ATTENTION, DECODING}


@pytest.mark.parametrize(
    ("deviations", "found"),
    [([1e-6], 1e-6), ([0.5, 1e-6], 1e-6), ([0.5, 0.3, 0.4], 0.3), ([0.5, float("nan")], None)],
)
def test_a_gradient_must_be_right_on_one_of_three_batches(deviations, found, quick, monkeypatch):
    left = iter(deviations)

    def gradient(model, source, target):
        return next(left)

    monkeypatch.setattr(selftest, "INVARIANTS", {})
    monkeypatch.setattr(selftest, "AS_IN_THE_TEXTBOOK", {GRADIENT: gradient})
    monkeypatch.setattr(selftest, "_OF_GRADIENTS", (gradient,))
    monkeypatch.setattr(selftest, "_TRIES", 3)
    (check,) = check_fresh(tiny_config(None))
    assert check.deviation == found or (found is None and not check.holds)
    assert not list(left)


def test_the_command_prints_a_table_or_json_and_fails_where_something_does(
    without_compiling, monkeypatch, workdir
):
    settings = ["--model", "decoder-only", "--set", "model.units=8", "--set", "model.heads=2"]
    settings += ["--set", "model.layers=1", "--device", "cpu"]
    result = CliRunner().invoke(app, ["selftest", *settings, "--json"])
    assert result.exit_code == 0, result.output
    assert all(check["holds"] for check in json.loads(result.stdout))
    monkeypatch.setattr(selftest, "TOLERANCE", -1.0)
    result = CliRunner().invoke(app, ["selftest", *settings])
    assert result.exit_code == 1
    assert result.stdout.count("FAILS") == len(selftest.INVARIANTS) + len(TEXTBOOK)
