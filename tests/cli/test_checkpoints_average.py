"""s2s checkpoints average."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from conftest import invoke, s2s, tiny_config
from quick_training import compute_nothing

from seq2seq_cli.errors import DiskError
from seq2seq_cli.runs import checkpoints, saving
from seq2seq_cli.training.events import ignore
from seq2seq_cli.training.loop import train


@pytest.fixture(scope="module")
def four_checkpoints(corpus, tmp_path_factory) -> Path:
    """The folder of a run with four checkpoints."""
    folder = tmp_path_factory.mktemp("four") / "run"
    config = tiny_config(
        corpus,
        training__steps=4,
        training__validate_every_steps=1,
        training__keep_checkpoints=4,
        training__patience=9,
    )
    with pytest.MonkeyPatch.context() as patch:
        compute_nothing(patch)
        train(config, ignore, name=str(folder))
    return folder


@pytest.fixture
def run(four_checkpoints, workdir) -> Path:
    """A copy of it, below runs/."""
    return Path(shutil.copytree(four_checkpoints, "runs/001-x"))


def weights(run: Path, step: int) -> dict[str, np.ndarray]:
    path = run / "checkpoints" / f"step-{step:08d}" / checkpoints.MODEL
    return safetensors.numpy.load_file(path)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def set_bleu(run: Path, bleu: dict[int, float | None]) -> None:
    """Change what the states say, with their hashes."""
    for step, value in bleu.items():
        folder = run / "checkpoints" / f"step-{step:08d}"
        state = json.loads((folder / "state.json").read_text())
        (folder / "state.json").write_text(json.dumps({**state, "dev_bleu": value}))
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["sha256"]["state.json"] = sha256(folder / "state.json")
        (folder / "manifest.json").write_text(json.dumps(manifest))


def assert_mean(made: Path, run: Path, steps: list[int]) -> None:
    found = weights(made, max(steps))
    parts = [weights(run, step) for step in steps]
    for name, value in found.items():
        mean = np.mean([part[name] for part in parts], axis=0)
        np.testing.assert_allclose(value, mean, atol=1e-7)
        assert value.dtype == np.float32


def test_the_last_are_averaged_into_a_new_run_that_translates(run):
    before = sorted(path for path in run.rglob("*") if path.is_file())
    (line,) = invoke("checkpoints", "average", "001-x", "--last", "3")
    assert line == (
        "runs/002-rnn-additive-average: average of step-00000004, step-00000003, step-00000002"
    )
    made = Path("runs/002-rnn-additive-average")
    assert_mean(made, run, [4, 3, 2])
    assert sorted(path for path in run.rglob("*") if path.is_file()) == before
    code, out, _ = s2s("translate", "--run", made.name, "--device", "cpu", "I see one apples.")
    assert code == 0
    assert len(out.splitlines()) == 1


def test_the_best_are_those_of_highest_dev_bleu(run):
    set_bleu(run, {1: 9.0, 2: None, 3: 7.0, 4: 8.0})
    (line,) = invoke("checkpoints", "average", "001-x", "--best", "2", "--to", "mean", "--json")
    found = json.loads(line)
    assert found == {"run": "runs/mean", "checkpoints": ["step-00000001", "step-00000004"]}
    assert_mean(Path("runs/mean"), run, [4, 1])


@pytest.mark.slow
def test_the_averages_of_weights_are_averaged(corpus, workdir):
    config = tiny_config(
        corpus, training__steps=2, training__validate_every_steps=1, training__ema=0.9
    )
    train(config, ignore, name="x")
    invoke("checkpoints", "average", "x", "--last", "2", "--to", "mean")
    found = weights(Path("runs/mean"), 2)
    root = Path("runs/x/checkpoints")
    parts = [
        safetensors.numpy.load_file(root / f"step-{step:08d}" / checkpoints.AVERAGE)
        for step in (1, 2)
    ]
    for name, value in found.items():
        np.testing.assert_allclose(value, np.mean([p[name] for p in parts], axis=0), atol=1e-7)


def test_a_damaged_checkpoint_is_left_out(run):
    (run / "checkpoints/step-00000003" / checkpoints.MODEL).write_bytes(b"")
    code, out, errors = s2s("checkpoints", "average", "001-x", "--last", "2")
    assert code == 0
    assert out.endswith("average of step-00000004, step-00000002\n")
    assert "it is left out" in " ".join(errors.split())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--last", "5"], 2, "has 4 valid checkpoints, but 5 are needed. Take fewer"),
        (["--best", "9"], 2, "has 4 valid validated checkpoints, but 9 are needed"),
        ([], 2, "give either --last N or --best N"),
        (["--last", "2", "--best", "2"], 2, "give either --last N or --best N"),
        (["--last", "1"], 2, "Invalid value for '--last'"),
        (["--last", "2", "--to", "001-x"], 2, "runs/001-x: exists already"),
    ],
)
def test_what_cannot_be_averaged_is_refused_and_nothing_is_made(run, arguments, code, message):
    found, out, errors = s2s("checkpoints", "average", "001-x", *arguments)
    assert (found, out) == (code, "")
    assert message in " ".join(errors.replace("│", " ").split())
    assert [path.name for path in Path("runs").iterdir()] == ["001-x"]


def test_a_run_without_its_tokenizers_is_refused_and_nothing_is_made(run):
    shutil.rmtree(run / "tokenizer")
    code, _, errors = s2s("checkpoints", "average", "001-x", "--last", "2")
    assert code == 4
    assert "runs/001-x/tokenizer: cannot be read: No such file" in " ".join(errors.split())
    assert [path.name for path in Path("runs").iterdir()] == ["001-x"]


def test_nothing_remains_of_an_average_that_cannot_be_written(run, monkeypatch):
    def full(*args, **kwargs):
        raise DiskError("no space left")

    monkeypatch.setattr(saving, "save", full)
    code, _, errors = s2s("checkpoints", "average", "001-x", "--last", "2", "--to", "mean")
    assert (code, "no space left" in errors) == (7, True)
    assert [path.name for path in Path("runs").iterdir()] == ["001-x"]


def test_other_weights_cannot_be_averaged(run):
    folder = run / "checkpoints/step-00000003"
    safetensors.numpy.save_file({"a": np.zeros(2, np.float32)}, folder / checkpoints.MODEL)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["sha256"][checkpoints.MODEL] = sha256(folder / checkpoints.MODEL)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    code, _, errors = s2s("checkpoints", "average", "001-x", "--last", "2")
    assert code == 4
    assert "only checkpoints of the same model can be averaged" in " ".join(errors.split())


def test_no_training_continues_from_an_average(run):
    invoke("checkpoints", "average", "001-x", "--last", "2", "--to", "mean")
    code, _, errors = s2s("train", "--resume", "--run", "mean", "--device", "cpu")
    assert code == 4
    assert "is an average of checkpoints, and training cannot continue from it" in " ".join(
        errors.split()
    )
