import pytest
from conftest import tiny_config

from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import UsageError
from seq2seq_cli.runs.resuming import changes, resumed_config, stored_config
from seq2seq_cli.runs.run import Run


def put(key: str, value: object) -> Overrides:
    overrides = Overrides()
    overrides.set(key, value, "test")
    return overrides


def test_resuming_accepts_the_same_config_or_none(tmp_path, corpus):
    run = Run(tmp_path)
    config = tiny_config(corpus)
    run.write(config, {})
    assert resumed_config(run) == config
    assert resumed_config(run, put("training.batch_tokens", 512)) == config
    with pytest.raises(UsageError) as caught:
        resumed_config(run, put("training.batch_tokens", 600), put("model.dropout", 0.5))
    assert "  model.dropout: 0.1 there, 0.5 now\n" in str(caught.value)
    assert "  training.batch_tokens: 512 there, 600 now\n" in str(caught.value)


def test_resuming_with_another_kind_of_model_names_both(tmp_path, corpus):
    run = Run(tmp_path)
    run.write(tiny_config(corpus), {})
    with pytest.raises(UsageError, match="model.kind: 'rnn' there, 'transformer' now"):
        resumed_config(run, put("model.kind", "transformer"))
    assert resumed_config(run, put("model.kind", "rnn")).model.kind == "rnn"


def test_resuming_may_change_the_device(tmp_path, corpus):
    run = Run(tmp_path)
    run.write(tiny_config(corpus, training__device="auto"), {})
    assert resumed_config(run, put("training.device", "cpu")).training.device == "cpu"


def test_the_device_is_not_stored_together_with_other_changes(tmp_path, corpus):
    before = tiny_config(corpus, training__steps=10, training__device="auto")
    now = tiny_config(corpus, training__steps=20, training__device="cpu")
    assert stored_config(before, now) == tiny_config(
        corpus, training__steps=20, training__device="auto"
    )


def test_the_number_of_kept_checkpoints_may_change_and_is_stored(tmp_path, corpus):
    before = tiny_config(corpus, training__keep_checkpoints=1, training__checkpoint_minutes=1.0)
    run = Run(tmp_path)
    run.write(before, {})
    now = resumed_config(run, put("training.keep_checkpoints", 5))
    assert changes(before, now) == {}
    assert stored_config(before, now).training.keep_checkpoints == 5


def test_the_given_strategy_takes_precedence_over_the_stored_device(tmp_path, corpus):
    run = Run(tmp_path)
    run.write(tiny_config(corpus, training__device="gpu:0"), {})
    training = resumed_config(run, put("training.strategy", "mirrored")).training
    assert (training.device, training.strategy) == ("auto", "mirrored")


def test_the_strategy_of_the_run_is_not_stored_with_a_change_that_excludes_it(tmp_path, corpus):
    run = Run(tmp_path)
    run.write(tiny_config(corpus, training__strategy="mirrored", training__device="auto"), {})
    options = put("training.compile", "xla"), put("training.strategy", "one")
    now = resumed_config(run, *options, put("training.device", "cpu"), accepting=True)
    stored = stored_config(run.config(), now)
    run.rewrite_config(stored)
    assert run.config() == stored
    assert (stored.training.strategy, stored.training.device) == ("one", "auto")
