"""s2s checkpoints list, verify and prune; no model is needed."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import checkpoint_state, invoke, s2s, s2s_process, tiny_config
from simulated_training import Variable

from seq2seq_cli.runs import checkpoints, files, saving
from seq2seq_cli.runs.run import Run

BLEU = {1: 5.0, 2: 30.0, 3: 20.0, 4: None}


@pytest.fixture
def root(workdir, corpus) -> Path:
    """The folder of four checkpoints of runs/x, of which the second is the best."""
    run = Run(Path("runs/x"))
    run.write(tiny_config(corpus), {})
    variables = [Variable("a", np.zeros(50_000, np.float32))]
    for step, bleu in BLEU.items():
        run.save(variables, variables, checkpoint_state(step, dev_bleu=bleu))
    return run.checkpoints


def damage(path: Path) -> None:
    (path / checkpoints.MODEL).write_bytes(b"")


def names(root: Path) -> list[int]:
    return [checkpoints.step_of(path) for path in reversed(checkpoints.checkpoint_folders(root))]


def test_a_list_has_update_bleu_size_and_state(root):
    damage(root / "step-00000003")
    table = invoke("checkpoints", "list", "x")
    assert " ".join(" ".join(table).split()) == (
        "checkpoint update BLEU size state "
        "step-00000001 1 5.0 0.4 MB valid "
        "step-00000002 2 30.0 0.4 MB valid, best "
        "step-00000003 3 20.0 0.2 MB damaged: model.safetensors differs from manifest.json "
        "step-00000004 4 - 0.4 MB valid, last"
    )


def test_a_list_as_json_has_a_record_per_checkpoint(root):
    records = [json.loads(line) for line in invoke("checkpoints", "list", "x", "--json")]
    assert [record["update"] for record in records] == [1, 2, 3, 4]
    assert [record["dev_bleu"] for record in records] == [5.0, 30.0, 20.0, None]
    assert [record["is_best"] for record in records] == [False, True, False, False]
    assert [record["is_last"] for record in records] == [False, False, False, True]
    files_there = [path for path in (root / "step-00000001").iterdir()]
    assert records[0]["size"] == sum(path.stat().st_size for path in files_there)


def test_valid_checkpoints_pass_verification(root):
    code, out, err = s2s("checkpoints", "verify", "x")
    assert (code, err) == (0, "")
    assert out == "".join(f"step-0000000{step}: valid\n" for step in BLEU)


def test_a_damaged_checkpoint_is_named_and_the_exit_code_is_4(root):
    (root / "step-00000004" / checkpoints.OPTIMIZER).unlink()
    code, out, err = s2s("checkpoints", "verify", "x")
    assert code == 4
    assert out.splitlines()[3] == (
        "step-00000004: damaged: optimizer.safetensors is unreadable: No such file or directory"
    )
    assert (
        "1 of 4 checkpoints are damaged. Translation uses step-00000002, and training continues "
        "from step-00000003. `s2s checkpoints prune x` removes" in " ".join(err.split())
    )
    code, out, _ = s2s("checkpoints", "verify", "x", "--json")
    assert code == 4
    assert [bool(json.loads(line)["problem"]) for line in out.splitlines()] == [0, 0, 0, 1]


def test_a_run_without_checkpoints_has_none_to_verify(workdir, corpus):
    Run(Path("runs/x")).write(tiny_config(corpus), {})
    code, _, err = s2s("checkpoints", "verify", "x")
    assert (code, "has no checkpoint yet" in err) == (4, True)
    assert invoke("checkpoints", "list", "x") == ["no checkpoint"]


def test_pruning_keeps_the_newest_and_the_best(root):
    assert invoke("checkpoints", "prune", "x", "--keep", "1", "--yes") == [
        f"removed {root}/step-00000001",
        f"removed {root}/step-00000003",
    ]
    assert names(root) == [2, 4]
    assert invoke("checkpoints", "prune", "x", "--keep", "1") == ["nothing to remove"]


def test_pruning_keeps_the_configured_number_and_removes_damaged_ones(root):
    damage(root / "step-00000004")
    saving.set_aside_after(root, 3)
    damage(root / "step-00000001")
    removed = invoke("checkpoints", "prune", "x", "--yes")
    assert removed == [f"removed {root}/{name}" for name in
                       ("damaged-step-00000004", "step-00000001")]  # fmt: skip
    assert files.names(root) == ["step-00000002", "step-00000003"]


def test_the_newest_valid_checkpoint_is_kept_before_any_number_of_damaged_ones(root):
    for step in (2, 3, 4):
        damage(root / f"step-0000000{step}")
    invoke("checkpoints", "prune", "x", "--keep", "1", "--yes")
    assert names(root) == [1]


def test_the_best_checkpoint_is_kept_if_only_its_optimizer_is_damaged(root):
    (root / "step-00000002" / checkpoints.OPTIMIZER).write_bytes(b"")
    code, _, err = s2s("checkpoints", "verify", "x")
    assert (code, "Translation uses step-00000002" in " ".join(err.split())) == (4, True)
    invoke("checkpoints", "prune", "x", "--keep", "1", "--yes")
    assert names(root) == [2, 4]


def test_if_none_is_valid_nothing_is_removed(root):
    for path in root.iterdir():
        damage(path)
    code, out, err = s2s("checkpoints", "prune", "x", "--yes")
    assert (code, out) == (4, "")
    assert "no valid checkpoint is left" in " ".join(err.split())
    assert names(root) == [1, 2, 3, 4]


def test_pruning_is_refused_without_a_terminal_and_while_a_process_trains(root):
    code, _, err = s2s("checkpoints", "prune", "x", "--keep", "1")
    assert (code, "add --yes to remove without asking" in " ".join(err.split())) == (2, True)
    with Run(Path("runs/x")).lock():
        code, _, err = s2s("checkpoints", "prune", "x", "--keep", "1", "--yes")
    assert (code, "is training here, on" in " ".join(err.split())) == (5, True)
    code, _, err = s2s("checkpoints", "prune", "x", "--keep", "0", "--yes")
    assert code == 2
    assert names(root) == [1, 2, 3, 4]


def test_a_second_training_is_refused_without_importing_tensorflow(root):
    with Run(Path("runs/x")).lock():
        code, out, err = s2s_process("train", "--resume", "--run", "x", PYTHONPROFILEIMPORTTIME="1")
    assert (code, out) == (5, "")
    assert "is training here, on" in " ".join(err.split())
    imported = {line.rpartition("|")[2].strip() for line in err.splitlines()}
    assert "seq2seq_cli.runs.lock" in imported
    assert "tensorflow" not in imported


@pytest.mark.parametrize(
    "command", [["list"], ["verify"], ["prune", "-y"], ["average", "--last", "2"]]
)
def test_a_folder_that_is_not_a_run_is_reported(command, workdir):
    Path("mine").mkdir()
    Path("mine/file").write_text("")
    code, out, err = s2s("checkpoints", *command, f"{workdir}/mine")
    assert (code, out) == (4, "")
    assert "is not the folder of a run, because it has no config.toml" in " ".join(err.split())


def test_an_average_needs_two_checkpoints_and_a_new_name(root):
    for step in (1, 2, 3):
        damage(root / f"step-0000000{step}")
    code, _, err = s2s("checkpoints", "average", "x", "--last", "2")
    said = " ".join(err.split())
    assert (code, "has 1 valid checkpoint, but 2 are needed. Train with" in said) == (2, True)
    Run(Path("runs/y")).write(Run(Path("runs/x")).config(), {})
    variables = [Variable("a", np.zeros(50_000, np.float32))]
    for step in (1, 2):
        Run(Path("runs/y")).save(variables, variables, checkpoint_state(step))
    code, _, err = s2s("checkpoints", "average", "y", "--last", "2", "--to", "x")
    assert (code, err) == (2, "error: runs/x: exists already. Give another name to --to\n")
