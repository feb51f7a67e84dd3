"""The file that says what a tuning draws."""

import math

import pytest
from conftest import tiny_config

from seq2seq_cli.config.files import changed_config, load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import UsageError
from seq2seq_cli.recipes.search_space import Choice, Range, read_space
from seq2seq_cli.recipes.tuning import _distributions

BASE = tiny_config("x", model__kind="transformer")


def read(tmp_path, text: str):
    path = tmp_path / "space.toml"
    path.write_text(f"[space]\n{text}\n")
    return read_space(path, BASE)


def test_a_value_is_at_the_same_step_whatever_its_last_digit():
    steps = Range(0.0, 0.4, step=0.1)
    assert 3 * 0.1 != 0.3
    assert steps.identity(3 * 0.1) == steps.identity(0.3) == 3
    assert Range(0.0, 0.4).identity(0.3) == 0.3
    assert Choice(("a", "b")).identity("a") == "a"


def test_whole_numbers_for_a_key_of_floats_are_floats(tmp_path):
    (choice,) = read(tmp_path, "model.dropout = [0, 0.1]").values()
    assert choice.values == (0.0, 0.1)
    assert choice.covers(0.0)


@pytest.mark.parametrize(
    ("steps", "highest"),
    [
        (Range(1024, 4000, step=1000), 3024),
        (Range(0.0, 0.3, step=0.1), 0.3),
        (Range(0.1, 0.8, step=0.35), 0.8),
        (Range(0.0, 2.0, step=0.6666666667), 1.3333333334),
        (Range(1, 9), 9),
    ],
)
@pytest.mark.filterwarnings("error")
def test_the_highest_number_is_at_a_step(steps, highest):
    assert steps.highest == highest
    assert steps.covers(highest)
    assert steps.size == round((highest - steps.low) / (steps.step or 1)) + 1
    pytest.importorskip("optuna", reason="it comes with the extra `tune`")
    assert _distributions({"x": steps})["x"].high == highest


def test_keys_may_be_quoted_and_take_lists_or_ranges(tmp_path):
    space = read(
        tmp_path,
        'model.dropout = {low = 0, high = 0.4}\n"model.units" = [16, 32]\nmodel.norm = ["pre", '
        '"post"]\n"training.peak_learning_rate" = {low = 1e-4, high = 1e-2, log = true}\n'
        "model.encoder_layers = {low = 1, high = 5, step = 2}",
    )
    assert space == {
        "model.dropout": Range(0.0, 0.4),
        "model.units": Choice((16, 32)),
        "model.norm": Choice(("pre", "post")),
        "training.peak_learning_rate": Range(1e-4, 1e-2, log=True),
        "model.encoder_layers": Range(1, 5, step=2),
    }
    # A key that takes any number draws any number, though its ends are whole.
    assert not space["model.dropout"].is_whole
    assert space["model.encoder_layers"].is_whole


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model.dropot = {low = 0.1, high = 0.2}", "unknown key 'model.dropot'; did you mean"),
        ('"model.cell" = ["gru", "lstm"]', "model.cell is for model.kind = 'rnn'"),
        ('model.kind = ["rnn", "transformer"]', "Tune one kind at a time"),
        ("data.dev_pairs = [40, 50]", "scores on other data cannot be compared"),
        ("training.epochs = [1, 2]", "all trials have the same budget"),
        ("model.dropout = {low = 0.3, high = 0.2}", "low must be less than high"),
        ("model.dropout = {low = 0.3, high = 1.5}", "model.dropout must be a number of at least 0"),
        ("model.dropout = {low = 0.3}", "a range needs high"),
        ("model.dropout = {low = 0.1, hihg = 0.3}", "low, high, log and step, not 'hihg'"),
        ("model.dropout = {low = 0, high = 0.3, log = true}", "log = true, low must be above 0"),
        ("model.dropout = {low = 0, high = 0.3, log = 1}", "log must be true or false"),
        ("model.dropout = {low = 0, high = 0.3, step = 0.5}", "step must be above 0 and at most"),
        ("model.dropout = {low = 0, high = nan}", "high must be a finite number; it is nan"),
        ("model.heads = {low = 1.5, high = 4}", "low must be a whole number; it is 1.5"),
        (
            "model.norm = {low = 0, high = 1}",
            "model.norm does not take numbers. Give a list of values",
        ),
        ('model.norm = ["pre", "middle"]', "model.norm must be one of 'pre', 'post'"),
        ("model.dropout = [0.1]", "a list of two values or more, or a table"),
        ("model.dropout = 0.1", "a list of two values or more, or a table"),
        ("model.dropout = [0.1, 0.1]", "a value occurs twice"),
        ("model.dropout = [0.1, [0.2]]", "a value must be a string, a number, true or false"),
        ("", "has no key. Add one, such as"),
        ("[model]\ndropout = 0.1", "a search space has only the table .space."),
        ("model = ", "not valid TOML"),
        (
            "model.units = {low = 128, high = 512}",
            "it is 129, which the range contains. Give a step",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    with pytest.raises(UsageError, match=message) as raised:
        read(tmp_path, text)
    assert str(tmp_path / "space.toml") in str(raised.value)


def test_all_problems_are_reported_together(tmp_path):
    with pytest.raises(UsageError, match="dropot(.|\n)*low must be less"):
        read(tmp_path, "model.dropot = [1, 2]\nmodel.dropout = {low = 0.3, high = 0.2}")


@pytest.mark.parametrize(
    ("dimension", "value", "covers"),
    [
        (Choice((1, 2)), 2, True),
        (Choice((1, 2)), True, False),
        (Range(0.0, 0.4), 0.4, True),
        (Range(0.0, 0.4), 0.41, False),
        (Range(0.0, 0.4, step=0.1), 0.3, True),
        (Range(0.0, 0.4, step=0.1), 0.25, False),
        (Range(1, 5), 2.0, False),
        (Range(1, 5), None, False),
    ],
)
def test_what_a_dimension_covers(dimension, value, covers):
    assert dimension.covers(value) == covers


@pytest.mark.parametrize(
    ("dimension", "size"),
    [
        (Choice((1, 2, "a")), 3),
        (Range(1, 5), 5),
        (Range(1, 5, step=3), 2),
        (Range(0.0, 0.3, step=0.1), 4),
        (Range(0.0, 0.3), math.inf),
    ],
)
def test_the_size_is_the_number_of_values(dimension, size):
    assert dimension.size == size


def test_defaults_follow_the_values_of_a_trial():
    base = load_config(Overrides())
    assert base.model.encoder_units == 256
    assert changed_config(base, {"model.attention": "dot"}, "[space]").model.encoder_units == 192


@pytest.mark.parametrize("kind", ["rnn", "transformer", "decoder_only"])
@pytest.mark.parametrize("other", ["rnn", "transformer", "decoder_only"])
def test_another_kind_of_model_has_its_own_defaults(kind, other):
    def loaded(kind):
        values = Overrides()
        values.set("model.kind", kind, "--model")
        return load_config(values)

    assert changed_config(loaded(kind), {"model.kind": other}, "figure") == loaded(other)
