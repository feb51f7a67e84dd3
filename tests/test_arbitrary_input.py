"""Any file and any argument is taken, or named in an error; S2S_FAULTS tries more."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tomli_w
import typer
from conftest import checkpoint_state, s2s
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from seq2seq_cli.cli import app
from seq2seq_cli.config import Config
from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.model import MODELS
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.data.checking.check import check
from seq2seq_cli.data.reader import Reader
from seq2seq_cli.errors import CheckpointError, DataError, UsageError
from seq2seq_cli.runs import checkpoints, saving
from seq2seq_cli.runs.arrays import open_arrays
from seq2seq_cli.runs.checkpoints import Checkpoint
from seq2seq_cli.runs.metrics_log import MetricsLog

EXAMPLES = 50 * int(os.environ.get("S2S_FAULTS", "1"))
many = settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

PIECES = [b"\t", b"\n", b"\r\n", b"\xef\xbb\xbf", b"\0", b"\xff", b"\xed\xa0\x80", b"\xc2\x85"]
BYTES = st.lists(st.sampled_from([*PIECES, b"I see", b"veo", b" "]) | st.binary(max_size=9))
KEYS = sorted({key for kind in MODELS.values() for key in Config(model=kind()).flat()})
NUMBERS = st.sampled_from([0, -1, 1e308, float("inf"), float("nan"), 2**63 - 1, True])
SCALARS = NUMBERS | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=9)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """An empty folder, the current one for all examples."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        yield Path(name)
        os.chdir(before)


@many
@given(parts=BYTES, skip=st.booleans())
def test_any_tsv_is_read_or_its_line_is_named(folder, parts, skip):
    path = folder / "x.tsv"
    path.write_bytes(b"".join(parts))
    config = DataConfig(corpus=str(path), skip_bad_lines=skip)
    reader = Reader(config)
    for read in (lambda: list(reader.corpora()[0].pairs), lambda: check(config)):
        try:
            read()
        except DataError as error:
            assert str(error).startswith(str(path))


@many
@given(left=BYTES, right=BYTES)
def test_any_parallel_files_are_read_line_by_line_or_named(folder, left, right):
    for language, parts in (("en", left), ("es", right)):
        (folder / f"y.{language}").write_bytes(b"".join(parts))
    try:
        (corpus,) = Reader(DataConfig(corpus=str(folder / "y"))).corpora()
        pairs = list(corpus.pairs)
    except DataError as error:
        assert str(error).startswith(str(folder / "y"))
    else:
        assert len(pairs) <= b"".join(left).count(b"\n") + 1


@many
@given(
    values=st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=9), VALUES, max_size=3),
    kind=st.sampled_from([*MODELS]),
)
@example(values={"tokenizer.target_model": ""}, kind="rnn")
def test_any_values_make_a_config_that_can_be_written_or_are_named(folder, values, kind):
    overrides = Overrides()
    for key, value in {"model.kind": kind, **values}.items():
        overrides.set(key, value, "given")
    try:
        config = load_config(overrides)
    except UsageError as error:
        assert "given" in str(error) or "must" in str(error)
        return
    path = folder / "config.toml"
    path.write_text(config.to_toml(), encoding="utf-8")
    assert load_config(Overrides.read(path)) == config


@many
@given(
    text=st.text(st.sampled_from("[]{}=.,\"'\\\n abc019-+:#e_TZ"), max_size=60).map(str.encode)
    | st.binary(max_size=60)
    | st.dictionaries(
        st.sampled_from(KEYS).map(lambda key: key.split(".")[0]), VALUES, max_size=2
    ).map(lambda tables: dumped(tables).encode("utf-8", "surrogatepass"))
)
def test_any_toml_is_read_or_refused_by_its_name(folder, text):
    path = folder / "my.toml"
    path.write_bytes(text)
    try:
        load_config(Overrides.read(path))
    except UsageError as error:
        assert "my.toml" in str(error)


def dumped(tables: dict) -> str:
    try:
        return tomli_w.dumps(tables)
    except ValueError:  # a value that TOML does not have
        return ""


class Variable:
    path, shape, dtype = "a/kernel", (3, 4), "float32"

    def numpy(self) -> np.ndarray:
        return np.ones(self.shape, np.float32)

    def assign(self, value: np.ndarray) -> None:
        assert (value.shape, value.dtype) == (self.shape, np.float32)


@pytest.fixture(scope="module")
def checkpoint(folder) -> Path:
    return saving.save(folder / "checkpoints", [Variable()], [Variable()], checkpoint_state(1))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
).map(lambda value: json.dumps(value).encode())


def spliced(data: st.DataObject, content: bytes) -> bytes:
    """Return a content of which a part is replaced by other bytes."""
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(len(content), start + 20)))
    return content[:start] + data.draw(st.binary(max_size=20)) + content[end:]


@many
@given(data=st.data(), name=st.sampled_from([checkpoints.MANIFEST, "state.json"]))
def test_any_manifest_and_state_are_the_saved_ones_or_damaged(checkpoint, data, name):
    path = checkpoint / name
    before = path.read_bytes()
    content = data.draw(JSON) if data.draw(st.booleans()) else spliced(data, before)
    path.write_bytes(content)
    try:
        Checkpoint(checkpoint).verify_all()
        assert Checkpoint(checkpoint).state == checkpoint_state(1)
    except CheckpointError as error:
        assert str(error).startswith(str(checkpoint))
    finally:
        path.write_bytes(before)


@many
@given(data=st.data())
def test_any_arrays_are_read_or_named(checkpoint, folder, data):
    path = folder / "arrays.safetensors"
    content = (checkpoint / checkpoints.MODEL).read_bytes()
    path.write_bytes(spliced(data, content) if data.draw(st.booleans()) else data.draw(st.binary()))
    try:
        with open_arrays(path) as file:
            assert all(file.array(name).shape == spec.shape for name, spec in file.specs.items())
    except CheckpointError as error:
        assert str(error).startswith(str(path))


@many
@given(lines=st.lists(JSON | st.binary(max_size=20)))
def test_any_metrics_are_read_without_the_broken_lines(folder, lines):
    path = folder / "metrics.jsonl"
    path.write_bytes(b"\n".join(lines))
    warnings: list[str] = []
    entries = MetricsLog(path).entries(warnings.append)
    assert all(isinstance(entry["step"], int) for entry in entries)
    assert all(str(path) in text for text in warnings)


def commands(group: typer.core.TyperGroup, *names: str) -> Iterator[tuple[tuple[str, ...], list]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *names, name)
        else:
            yield (*names, name), command.params


# These would work for long, ask, or use the network. They get an option that does not exist, too.
LONG = {
    *("train", "init", "ablate", "selftest", "play", "watch", "bench", "data", "export-split"),
    *("doctor", "recipe"),
}
COMMANDS = [*commands(typer.main.get_command(app))]
ARGUMENTS = (
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9)
    | st.sampled_from(
        ["", "-", "--", "..", "/", "/dev/null", "~", "\udcff", "a=b", "=", "x" * 5000]
    )
    | st.sampled_from(KEYS).map(lambda key: f"{key}=1e308")
)


@many
@given(data=st.data())
def test_any_command_line_ends_with_a_documented_code(folder, data):
    names, parameters = data.draw(st.sampled_from(COMMANDS))
    options = [option for each in parameters for option in each.opts if option.startswith("-")]
    arguments = data.draw(st.lists(st.sampled_from(options) | ARGUMENTS, max_size=4))
    if LONG & {*names}:  # first, as it could otherwise be the value of an option, or follow a --
        arguments.insert(0, "--no-such-option")
    code, _, error = s2s(*names, *arguments)
    assert code in range(8)
    assert "Traceback" not in error
    left = {path.name for path in folder.iterdir()}
    assert not left & {"runs", "mlruns"}


PROPERTIES: list[Callable] = [
    value for name, value in list(globals().items()) if name.startswith("test_any")
]


def test_there_are_as_many_properties_as_documented():
    page = (Path(__file__).parents[1] / "docs/reliability.md").read_text("utf-8")
    assert f"{len(PROPERTIES)} properties" in page
