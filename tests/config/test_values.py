"""Values of every type for every key: a config, or an error that says what is wrong."""

import datetime
import math
from typing import get_args

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from seq2seq_cli.config import Config
from seq2seq_cli.config.data import DataConfig, TokenizerConfig
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.model import MODELS
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.errors import UsageError

KEYS = sorted({key for kind in MODELS for key in Config(model=MODELS[kind]()).flat()})
TABLES = [*Config.model_fields]
text = st.text(max_size=6)
scalars = (
    st.booleans()
    | st.integers()
    | st.sampled_from([2**31, 2**63, -(2**63) - 1, 10**4000])
    | st.floats()
    | text
    | st.sampled_from(
        ["rnn", "transformer", "luong", "dot", "separate", "a.tsv", "en", "~\0", "\ud800"]
    )
    | st.datetimes(timezones=st.none() | st.just(datetime.timezone.utc))
    | st.dates()
    | st.times()
)
sources = st.lists(
    st.dictionaries(
        st.sampled_from(["corpus", "weight", "columns", "train_only", "", "x"]), scalars
    )
    | scalars,
    max_size=3,
)
values = sources | st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
keys = (
    st.sampled_from(KEYS)
    | st.sampled_from(TABLES)
    | st.builds("{}.{}".format, st.sampled_from([*TABLES, ""]), text)
    | st.builds("{}.{}".format, st.sampled_from(KEYS), text)
    | text
)


def as_file(value: object) -> bool:
    """Return whether TOML can hold a value."""
    try:
        return bool(tomli_w.dumps({"value": value}).encode())
    except (ValueError, OverflowError):
        return False


def loads_or_is_refused(overrides: Overrides) -> None:
    try:
        config = load_config(overrides)
    except UsageError as error:
        assert "test" in str(error) or "c.toml" in str(error)
        return
    assert set(overrides) <= {*config.flat()}


@given(st.dictionaries(keys, values, min_size=1, max_size=4))
def test_any_value_of_any_key_is_accepted_or_refused_with_its_origin(given_values):
    overrides = Overrides()
    for key, value in given_values.items():
        overrides.set(key, value, "test")
    loads_or_is_refused(overrides)


@given(
    st.dictionaries(
        st.sampled_from(TABLES) | text,
        st.dictionaries(
            st.sampled_from([key.partition(".")[2] for key in KEYS]) | text,
            values.filter(as_file),
            max_size=3,
        )
        | values.filter(as_file),
        max_size=3,
    )
)
def test_any_file_is_accepted_or_refused_by_name(tmp_path_factory, tables):
    if not as_file(tables):
        return
    path = tmp_path_factory.getbasetemp() / "c.toml"
    path.write_bytes(tomli_w.dumps(tables).encode())
    loads_or_is_refused(Overrides.read(path))


@given(
    keys, text | st.sampled_from(["[" * 3000, "1" * 5000, "0x" + "f" * 5000, "1\n[a]\nb=2", "…"])
)
def test_any_assignment_is_accepted_or_refused(key, value):
    try:
        overrides = Overrides()
        overrides.set_assignment(f"{key}={value}")
        load_config(overrides)
    except UsageError as error:
        assert str(error).startswith("--set ")


def refusal(*assignments: str) -> str:
    overrides = Overrides()
    for assignment in assignments:
        overrides.set_assignment(assignment)
    with pytest.raises(UsageError) as caught:
        load_config(overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        (
            "model.kind=[]",
            "model.kind must be one of 'rnn', 'transformer', 'decoder_only'; it is []",
        ),
        (
            "model=3",
            "'model' is a table and has no value of its own; set its keys, such as 'model.kind'",
        ),
        (
            "data.skip_bad_lines=2020-01-01",
            "data.skip_bad_lines must be true or false; it is 2020-01-01",
        ),
        (
            "training.steps=9223372036854775808",
            "training.steps must be a whole number of at most 64 bits",
        ),
        (
            "data.corpus=caf\udce9.tsv",
            "data.corpus is not valid UTF-8: 'caf\\udce9.tsv'. Rename the file if it is a path",
        ),
        (
            'data.dev="a\\u0000b"',
            "data.dev contains a NUL character, which is not allowed in names and paths",
        ),
    ],
)
def test_an_impossible_value_is_named(assignment, message):
    assert refusal(assignment) == f"--set {assignment.partition('=')[0]}: {message}"


@pytest.mark.parametrize("weight", ["inf", "nan", "1e12", "0", "-1", "1e-9"])
def test_a_weight_that_leaves_an_empty_epoch_is_refused(weight):
    number = float(weight) if "." in weight or not weight.lstrip("-").isdigit() else int(weight)
    finite = "" if math.isfinite(number) else "finite "
    assert refusal(f'data.sources=[{{corpus="a", weight={weight}}}]') == (
        f"--set data.sources: data.sources[0].weight must be a {finite}number from 0.001 to "
        f"1000; it is {number}"
    )


@pytest.mark.parametrize(
    ("assignment", "limits"),
    [
        ("data.dev_pairs=1000000000000000000", "a whole number from 1 to 1000000000"),
        ("data.test_pairs=0", "a whole number from 1 to 1000000000"),
        (f"data.split_seed={2**62}", "a whole number of at least 0 and below 2147483648"),
        ("tokenizer.vocabulary_size=1000001", "a whole number from 300 to 1000000"),
        (f"tokenizer.training_pairs={2**62}", "a whole number from 1 to 1000000000"),
        ("tokenizer.sampling_alpha=nan", "a finite number from 0 to 1"),
        ("model.encoder_units=200000", "a whole number from 1 to 16384"),
        ("model.encoder_layers=65", "a whole number from 1 to 64"),
        ("training.batch_tokens=1000000000000", "a whole number from 64 to 1000000"),
        ("training.batch_pairs=100001", "a whole number from 1 to 100000"),
        ("training.shards=100", "a whole number from 1 to 64"),
    ],
)
def test_an_absurd_number_is_refused_with_the_limits(assignment, limits):
    key, _, value = assignment.partition("=")
    assert refusal(assignment) == f"--set {key}: {key} must be {limits}; it is {value}"


@pytest.mark.parametrize("kind", MODELS)
def test_every_number_has_an_upper_bound(kind):
    tables = [MODELS[kind], TrainingConfig, DecodingConfig, TokenizerConfig, DataConfig]
    unbounded = [
        f"{table.__name__}.{key}"
        for table in tables
        for key, field in table.model_fields.items()
        if {int, float} & {field.annotation, *get_args(field.annotation)}
        and not any(hasattr(limit, "le") or hasattr(limit, "lt") for limit in field.metadata)
    ]
    assert unbounded == []


def test_sources_of_a_wrong_type_beside_a_corpus_are_named():
    assert "data.sources must be a list of tables" in refusal("data.corpus=a", "data.sources=5")


def test_corpora_that_are_only_for_training_need_dev_and_test():
    made = "data.sources=[{corpus='a', train_only=true}]"
    assert "there are no pairs for dev and test" in refusal(made)


def test_a_long_value_is_cut_in_the_message():
    assert len(refusal(f"training.seed={'x' * 10_000}")) < 400


def test_a_file_nested_too_deeply_is_named(tmp_path):
    (tmp_path / "c.toml").write_text(f"a = {'[' * 3000}")
    with pytest.raises(UsageError, match=r"c\.toml: not valid TOML: it is nested too deeply"):
        Overrides.read(tmp_path / "c.toml")
