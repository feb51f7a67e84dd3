"""A corpus, a config and a trained run, small enough for every test."""

import fcntl
import gc
import io
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO
from unittest import mock

import numpy as np
import pytest
from hypothesis import settings
from typer.testing import CliRunner

from seq2seq_cli.cli import app, main
from seq2seq_cli.config import Config
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.runs.state import Position, State
from seq2seq_cli.runtime.tensorflow import import_tensorflow

# What a user's terminal and network are like must not change a result.
for _variable in ("NO_COLOR", "FORCE_COLOR", "COLORFGBG"):
    os.environ.pop(_variable, None)
os.environ["no_proxy"] = "127.0.0.1,localhost"

# How long an example takes says more of the machine than of the code.
settings.register_profile("any machine", settings.default, deadline=None)
settings.load_profile("any machine")

SUBJECTS = {"I": "yo", "he": "él", "she": "ella", "we": "nosotros", "they": "ellos"}
VERBS = {"see": "mirar", "eat": "comer", "want": "querer", "sell": "vender", "have": "tener"}
NUMBERS = {"one": "un", "two": "dos", "three": "tres", "many": "muchos", "few": "pocos"}
NOUNS = {"apples": "manzanas", "houses": "casas", "books": "libros", "cats": "gatos"}
TINY_STACK = {"model.units": 24, "model.heads": 2, "model.inner_units": 32}
TINY_MODELS = {
    "rnn": {
        "model.embedding_units": 24,
        "model.encoder_units": 24,
        "model.decoder_units": 32,
        "model.attention_units": 16,
    },
    "transformer": {**TINY_STACK, "model.encoder_layers": 1, "model.decoder_layers": 1},
    "decoder_only": {**TINY_STACK, "model.layers": 2},
}
TINY = {
    "data.dev_pairs": 40,
    "data.test_pairs": 40,
    "tokenizer.vocabulary_size": 400,
    "model.kind": "rnn",
    "model.dropout": 0.1,
    "training.batch_tokens": 512,
    "training.shards": 1,
    "training.warmup_steps": 5,
    "training.compile": "graph",
    "training.precision": "float32",
    "training.device": "cpu",
}


def pytest_configure(config: pytest.Config) -> None:
    """Import TensorFlow in each process that runs tests."""
    if not config.getoption("numprocesses", None):
        import_tensorflow()


def pytest_collection_finish() -> None:
    """Let the garbage collector leave out what was imported, and run seldom.

    Tracing makes many objects, and most of them live.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(tryfirst=True)  # before tests are deselected by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all but n evenly spread cases of a test with `few_cases(n)` as slow."""
    cases: dict[tuple[object, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("few_cases") and not item.get_closest_marker("slow"):
            cases[item.parent, item.function.__name__].append(item)
    for several in cases.values():
        (count,) = several[0].get_closest_marker("few_cases").args
        kept = {round(index) for index in np.linspace(0, len(several) - 1, count)}
        for index, item in enumerate(several):
            if index not in kept:
                item.add_marker("slow")


def toy_pairs() -> list[tuple[str, str]]:
    """Return 500 sentences of a language pair that is learned quickly."""
    words = itertools.product(SUBJECTS.items(), VERBS.items(), NUMBERS.items(), NOUNS.items())
    return [
        (f"{s[0]} {v[0]} {n[0]} {o[0]}.", f"{s[1]} {v[1]} {n[1]} {o[1]}.") for s, v, n, o in words
    ]


def tiny_config(corpus: Path | str | None, **settings: object) -> Config:
    """Return a config of a model of a few thousand parameters; `a__b=c` sets `a.b`."""
    overrides = Overrides()
    given = {key.replace("__", "."): value for key, value in settings.items()}
    data = {"data.corpus": str(corpus)} if corpus else {}
    model = TINY_MODELS[str(given.get("model.kind", TINY["model.kind"]))]
    for key, value in {**TINY, **model, **data, **given}.items():
        overrides.set(key, value, "test")
    return load_config(overrides)


def checkpoint_state(step: int, **values: object) -> State:
    """Return a checkpoint's state in which `values` stand for some of the fields."""
    usual = {"dev_bleu": None, "data_fingerprint": "0", "saved_at": "2026-01-01", "versions": {}}
    return State(**{"step": step, "position": Position.at_start(), **usual, **values})


def invoke(*arguments: str) -> list[str]:
    """Run a command in this process; return the lines of stdout. Its errors are raised."""
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout.split("\n")[:-1]


def s2s(*arguments: str, stdin: bytes = b"", stdout: TextIO | None = None) -> tuple[int, str, str]:
    """Run `s2s` in this process; return exit code, stdout and stderr, as a shell sees them.

    With `stdout`, results go there.
    """
    given = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)))
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        streams = {"stdin": given, "stdout": stdout or out, "stderr": err}
        with (
            mock.patch.multiple(sys, argv=["s2s", *arguments], **streams),
            pytest.raises(SystemExit) as left,
        ):
            main()
        printed = (os.pread(stream.fileno(), 1 << 24, 0).decode() for stream in (out, err))
        return left.value.code or 0, *printed


def s2s_process(*arguments: str, stdin: bytes = b"", **environment: str) -> tuple[int, str, str]:
    """Run `s2s` in a process of its own; return exit code, stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "seq2seq_cli", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Return a folder that is the same in all processes of these tests."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let only one process do the block at a time."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = shared_folder(tmp_path_factory) / "toy.tsv"
    with locked(path.with_suffix(".lock")):
        if not path.exists():
            path.write_text("".join(f"{s}\t{t}\n" for s, t in toy_pairs()), encoding="utf-8")
    return path


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, where runs/ will be."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished training that has learned the toy language.

    One process makes it, and each has a copy, which it may change.
    """
    made, own = shared_folder(tmp_path_factory) / "made", tmp_path_factory.mktemp("trained")
    with locked(made.with_suffix(".lock")):
        if not made.exists():
            train_toy(corpus, made.with_suffix(".partial"))
            made.with_suffix(".partial").rename(made)
    shutil.copytree(made, own, dirs_exist_ok=True)
    (run,) = (own / "runs").iterdir()
    return run


def train_toy(corpus: Path, folder: Path) -> None:
    """Train a model of the toy language, whose runs/ are in a new folder."""
    from seq2seq_cli.training.loop import train

    before = Path.cwd()
    folder.mkdir()
    os.chdir(folder)
    try:
        config = tiny_config(
            corpus,
            training__seed=1,
            training__steps=300,
            training__peak_learning_rate=0.02,
            training__label_smoothing=0.0,
            training__patience=100,
            training__validate_every_steps=100,
        )
        train(config, lambda event: None)
    finally:
        os.chdir(before)


@pytest.fixture
def home(trained, monkeypatch) -> Path:
    """The folder that has runs/, as the current one."""
    monkeypatch.chdir(trained.parents[1])
    return trained.parents[1]


class InThisProcess:
    """Stands for the processes of a preparation, which take seconds to start."""

    def __init__(self, count: int):
        self._results: list[Any] = []

    def __enter__(self) -> "InThisProcess":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def submit(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._results.append(function(*arguments))

    def results(self) -> list[Any]:
        done, self._results = self._results, []
        return done


@pytest.fixture
def prepared_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let preparations work in this process."""
    from seq2seq_cli.data.preparation import prepare

    monkeypatch.setattr(prepare, "Processes", InThisProcess)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch, prepared_here: None) -> None:
    """Let preparations work in this process, on chunks of 100 pairs."""
    from seq2seq_cli.data.preparation import chunked

    monkeypatch.setattr(chunked, "CHUNK_PAIRS", 100)


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs search and score without graphs, which take seconds to trace."""
    from seq2seq_cli.decoding.loading import LoadedRun

    translator, scorer = LoadedRun.translator, LoadedRun.scorer

    def plain_translator(self: LoadedRun, *arguments: Any, **options: Any) -> Any:
        return translator(self, *arguments, **{**options, "compiled": False})

    monkeypatch.setattr(LoadedRun, "translator", plain_translator)
    monkeypatch.setattr(LoadedRun, "scorer", lambda self, compiled=True: scorer(self, False))
