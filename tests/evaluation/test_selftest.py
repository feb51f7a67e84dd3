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
from seq2seq_cli.models.layers import attention
from seq2seq_cli.runs.run import Run

STEPPING = "stepping equals teacher forcing"
CAUSALITY = "later target tokens change no earlier logit"
PADDING = "more source padding changes nothing"
REORDERING = "the state can be reordered between steps"
ATTENTION = "attention sums to 1 off the padding and is 0 on it"


@pytest.fixture
def without_compiling(monkeypatch):
    """Leave out the one check that takes seconds."""
    checks = {k: v for k, v in selftest.INVARIANTS.items() if v.__name__ != "compilation"}
    monkeypatch.setattr(selftest, "INVARIANTS", checks)


def failing(kind: str) -> set[str]:
    checks = check_fresh(tiny_config(None, model__kind=kind))
    return {check.name for check in checks if not check.holds}


@pytest.mark.parametrize("kind", ["rnn", "transformer", "decoder_only"])
def test_a_sound_model_passes(kind, without_compiling):
    assert failing(kind) == set()


def test_a_trained_run_passes(trained):
    checks = check_run(Run(trained), print)
    assert [check.holds for check in checks] == [True] * len(selftest.INVARIANTS)


def test_a_wrong_causal_mask_is_found(without_compiling, monkeypatch):
    honest = attention._scores_mask
    monkeypatch.setattr(
        attention, "_scores_mask", lambda scores, mask, causal: honest(scores, mask, False)
    )
    assert failing("transformer") == {STEPPING, CAUSALITY}


@pytest.mark.parametrize(("kind", "module"), [("rnn", rnn), ("transformer", transformer)])
def test_a_missing_padding_mask_is_found(kind, module, without_compiling, monkeypatch):
    monkeypatch.setattr(module, "padding_mask", lambda ids: tf.ones_like(ids, tf.bool))
    assert failing(kind) == {PADDING, ATTENTION}


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


def test_the_command_prints_a_table_or_json_and_fails_where_something_does(
    without_compiling, monkeypatch, workdir
):
    settings = ["--model", "decoder-only", "--set", "model.units=8", "--set", "model.heads=2"]
    settings += ["--device", "cpu"]
    result = CliRunner().invoke(app, ["selftest", *settings, "--json"])
    assert result.exit_code == 0, result.output
    assert all(check["holds"] for check in json.loads(result.stdout))
    monkeypatch.setattr(selftest, "TOLERANCE", -1.0)
    result = CliRunner().invoke(app, ["selftest", *settings])
    assert result.exit_code == 1
    assert result.stdout.count("FAILS") == len(selftest.INVARIANTS)
