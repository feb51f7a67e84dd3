"""A training with other data, another config or other versions goes on only if that is accepted."""

import importlib.metadata
import json
import shutil
from pathlib import Path

import pytest
from conftest import TINY_MODELS, s2s, tiny_config
from quick_training import compute_nothing, finished_training

from seq2seq_cli.config import Config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.runs import checkpoints, resuming
from seq2seq_cli.runs.resuming import resumed_config
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training import checkpointing
from seq2seq_cli.training.checkpointing import INEXACT, version_differences
from seq2seq_cli.training.events import Notice, ignore
from seq2seq_cli.training.loop import train

MIXED = {"training.precision": "bfloat16", "training.peak_learning_rate": 0.001}


@pytest.fixture(scope="module")
def begun(corpus, tmp_path_factory) -> tuple[Config, Path]:
    """A config, and the folder of its run, which has ended after four updates."""
    return finished_training(corpus, tmp_path_factory.mktemp("begun"))


@pytest.fixture
def run(begun, workdir, monkeypatch) -> Run:
    compute_nothing(monkeypatch)
    shutil.copytree(begun[1], "runs/x")
    return Run(Path("runs/x"))


def changed(run: Run, accepting: bool = True, **settings: object) -> Config:
    layer = Overrides()
    for key, value in settings.items():
        layer.set(key.replace("__", "."), value, "test")
    return resumed_config(run, layer, raising=True, accepting=accepting)


def recorded(run: Run) -> list[str]:
    entries = [entry for entry in run.metrics() if entry["kind"] == "changes"]
    assert all(entry["step"] == 4 for entry in entries)
    return [text for entry in entries for text in entry["changes"]]


def go_on(run: Run, config: Config) -> list[str]:
    """Resume a training, with what is accepted; return its notices."""
    events: list[object] = []
    assert train(config, events.append, resume=run, accept_changes=True).step == 6
    (newest, *_) = checkpoints.checkpoint_folders(run.checkpoints)
    assert newest.name == "step-00000006"
    return [event.text for event in events if isinstance(event, Notice)]


def edit(lines: list[str]) -> list[str]:
    return ["One word.\tOtra palabra.\n", *lines[1:]]


def swap(lines: list[str]) -> list[str]:
    return ["\t".join(reversed(line.strip().split("\t"))) + "\n" for line in lines]


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (edit, "pairs"),  # the edited sentence may move others to another split
        (
            lambda lines: lines[::-1],
            "the same number of pairs, but other sentences or another order",
        ),
        (swap, "pairs"),
        (lambda lines: [*lines, "new\tnuevo\n"], "500 pairs then, 501 now"),
        (lambda lines: lines[:400], "500 pairs then, 400 now"),
    ],
    ids=["edited", "reordered", "swapped", "longer", "shorter"],
)
def test_other_data(change, difference, run, begun, tmp_path):
    corpus = Path(run.config().data.corpus)
    before = corpus.read_text("utf-8")
    corpus.write_text("".join(change(before.splitlines(keepends=True))), "utf-8")
    try:
        config = changed(run, training__steps=6)
        with pytest.raises(CheckpointError, match=f"other data: .*{difference}") as caught:
            train(config, ignore, resume=run)
        assert "--accept-changes continues, but then the result is not exact" in str(caught.value)
        assert recorded(run) == []
        notices = go_on(run, config)
    finally:
        corpus.write_text(before, "utf-8")
    assert any(difference in text and INEXACT in text for text in notices)
    assert difference in recorded(run)[0]


@pytest.mark.parametrize("package", checkpointing._PACKAGES)
def test_other_versions_are_named(package):
    now = checkpointing._versions()
    assert version_differences({**now, package: "0.0"}, now) == [
        f"{package} was 0.0 and is {importlib.metadata.version(package)}"
    ]
    assert version_differences({}, now) == []


def test_other_versions(run, monkeypatch):
    now = checkpointing._versions()
    monkeypatch.setattr(checkpointing, "_versions", lambda: {**now, "keras": "99.0"})
    config = changed(run, training__steps=6)
    with pytest.raises(CheckpointError, match="keras was .* and is 99.0. Install these versions"):
        train(config, ignore, resume=run)
    assert any("is 99.0. " + INEXACT in text for text in go_on(run, config))
    train(config, ignore, resume=run)  # from then on they are those of the checkpoint


@pytest.mark.parametrize(
    "settings",
    [
        {"training__peak_learning_rate": 1e-4},
        {"training__batch_tokens": 256},
        {"training__seed": 9},
        {"training__steps": 3},
        {"data__corpus": "/elsewhere.tsv"},
        {"model__dropout": 0.3},
        {"model__variational_dropout": True},
        {"tokenizer__sampling_alpha": 0.2},
        {"decoding__beam": 3},
    ],
    ids=str,
)
def test_a_changed_config_is_refused_unless_accepted(settings, run):
    (key, value), *_ = settings.items()
    name = key.replace("__", ".")
    with pytest.raises(UsageError, match=f"{name}: .* there, .* now") as caught:
        changed(run, accepting=False, **settings)
    assert "--accept-changes continues with them" in str(caught.value)
    assert changed(run, **settings).flat()[name] == value


@pytest.mark.parametrize(
    "settings",
    [
        {"model__encoder_units": 16},
        {"model__kind": "transformer"},
        {"tokenizer__vocabulary_size": 300},
        {"training__optimizer": "lion"},
        {"training__optimizer_states": "bfloat16"},
        {"training__ema": 0.9},
    ],
    ids=str,
)
def test_a_config_that_does_not_fit_the_checkpoints_is_always_refused(settings, run):
    with pytest.raises(UsageError, match="The run's checkpoints do not fit these"):
        changed(run, **settings)
    with pytest.raises(UsageError) as caught:
        changed(run, accepting=False, **settings)
    assert "--accept-changes" not in str(caught.value)


def test_an_accepted_config_is_used_stored_and_reported(run):
    mixed = {key.replace(".", "__"): value for key, value in MIXED.items()}
    config = changed(run, training__steps=6, training__wait_seconds=5.0, **mixed)
    notices = go_on(run, config)
    text = "training.peak_learning_rate was 0.004 and is 0.001"
    assert any(text in notice and notice.endswith(INEXACT) for notice in notices)
    assert text in recorded(run)
    assert json.loads(run.computation())["precision"] == "bfloat16"
    assert run.config().flat() | MIXED == run.config().flat()
    assert run.config().training.wait_seconds == 60  # which holds for one process
    resumed_config(run)


def test_the_option_belongs_to_resume(workdir):
    code, _, error = s2s("train", "--accept-changes")
    assert (code, error.strip()) == (2, "error: --accept-changes needs --resume")


def test_every_kind_of_model_has_keys_that_may_change():
    for kind in TINY_MODELS:
        names = tiny_config(None, model__kind=kind).model.model_dump()
        assert resuming.REGULARISATION & names.keys() >= {"dropout"}
