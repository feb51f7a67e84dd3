import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import s2s, tiny_config, toy_pairs

from seq2seq_cli.config import Config
from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.held_out import HeldOut
from seq2seq_cli.data.mixing import assign_mixture
from seq2seq_cli.data.named import NAMED, Files
from seq2seq_cli.data.preparation.chunked import Chunk
from seq2seq_cli.data.preparation.prepare import prepare
from seq2seq_cli.errors import DataError, DiskError, UsageError, WorkerError

pytest.importorskip("apache_beam", reason="it comes with the extra `beam`")

from seq2seq_cli.data.preparation import beam_calls
from seq2seq_cli.data.preparation.beam_prepare import prepare_with_beam
from seq2seq_cli.data.preparation.beam_splits import assign_chunks
from seq2seq_cli.data.preparation.beam_workers import BeamWorkers

IN_MEMORY = "--direct_running_mode=in_memory"
PAIRS = [*toy_pairs(), *toy_pairs()[:7], ("tab and\u2028line", "¿Ñ?")]
MADE = [(source, f"made {i}") for i, (source, _) in enumerate(PAIRS[:300])]


def write(path: Path, pairs) -> str:
    path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    return str(path)


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def check_same(config: Config, folder: Path, options: str = IN_MEMORY) -> None:
    """Check that both ways write the same bytes, and return the same corpus."""
    plain, found = prepare(config, folder / "plain"), prepare_with_beam(
        config, folder / "beam", options
    )  # fmt: skip
    assert contents(folder / "beam") == contents(folder / "plain")
    assert list(found.train) == list(plain.train)
    assert not list(folder.glob(".*"))


def test_the_folder_equals_that_of_the_local_preparation(tmp_path, small_chunks):
    check_same(tiny_config(write(tmp_path / "toy.tsv", PAIRS)), tmp_path)


def test_the_phrasebook_is_prepared_as_by_the_local_preparation(tmp_path, prepared_here):
    check_same(tiny_config("phrasebook", tokenizer__kind="bytes"), tmp_path)


def test_mixtures_are_prepared_as_by_the_local_preparation(tmp_path, small_chunks):
    made = {"corpus": write(tmp_path / "made", [*MADE, ("x", "y"), ("x", "y"), ("", "z")])}
    tagged = {"corpus": write(tmp_path / "tagged", PAIRS[200:260]), "tag": "bt", "weight": 2}
    sources = [
        {**made, "train_only": True, "weight": 0.5},
        {"corpus": write(tmp_path / "real", PAIRS[:450])},
        tagged,
        {"corpus": write(tmp_path / "more", PAIRS[400:])},
    ]
    check_same(tiny_config(None, data__sources=sources), tmp_path)
    dropped = read_corpus(tiny_config(None, data__sources=sources).data).dropped
    assert dropped["in dev or test"] > 10
    assert dropped["empty"] == 1


def test_a_corpus_with_its_own_dev_and_test_pairs_is_prepared_as_locally(
    tmp_path, monkeypatch, small_chunks
):
    pairs = {"train": PAIRS, "dev": [*PAIRS[:9], ("a", "")], "test": [("new", "nuevo")]}
    paths = [Path(write(tmp_path / name, part)) for name, part in pairs.items()]
    monkeypatch.setitem(NAMED, "phrasebook", lambda: Files(*paths))
    config = tiny_config("phrasebook")
    check_same(config, tmp_path)
    assert read_corpus(config.data).dropped["empty"] == 1


def test_given_dev_and_test_pairs_are_kept_as_locally(tmp_path, small_chunks):
    (tmp_path / "toy.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS) + "bad\n")
    given = {
        "data__dev": write(tmp_path / "dev.tsv", [*PAIRS[:20], PAIRS[0]]),
        "data__test": write(tmp_path / "test.tsv", [("new", "nuevo")]),
        "data__skip_bad_lines": True,
    }
    turned = {"data__source_language": "es", "data__target_language": "en"}
    config = tiny_config(str(tmp_path / "toy.tsv"), **given, **turned)
    check_same(config, tmp_path)
    assert read_corpus(config.data).shared >= 20


@pytest.mark.parametrize(("sources", "targets"), [(40, 40), (400, 900), (3000, 3000)])
@pytest.mark.parametrize("train_only", [False, True])
def test_splits_are_those_of_the_local_algorithm(sources, targets, train_only, tmp_path):
    draw = np.random.default_rng(sources)
    values = draw.integers(0, 2**64, 4000, np.uint64)
    ids = np.stack([draw.integers(0, high, 1000) for high in (sources, targets)], axis=1)
    pairs = values[(ids * 4001).sum(axis=1) % 4000]
    keys = np.concatenate([pairs[:, None], values[ids]], axis=1)
    parts = [*np.split(keys, [100, 350, 351, 800]), keys[300:420]]
    only_train = [train_only and number in (0, 3) for number in range(len(parts))]
    config = DataConfig(dev_pairs=60, test_pairs=40)
    given = HeldOut(None, None)
    chunks = []
    for number, (part, only) in enumerate(zip(parts, only_train, strict=True)):
        chunks.append(Chunk(tmp_path / str(number), len(part), 1.0, (), only))
        np.save(f"{chunks[-1].path}.keys.npy", part)
    (tmp_path / "results").mkdir()
    workers = BeamWorkers(IN_MEMORY, tmp_path / "results")
    groups = assign_chunks(chunks, given, config, workers, tmp_path)
    expected = assign_mixture(parts, only_train, given, config)
    assert np.concatenate([chunk.sides for chunk in chunks]).tolist() == expected.sides.tolist()
    assert groups == expected.groups


def test_a_bad_line_is_named_and_nothing_remains(tmp_path, small_chunks):
    (tmp_path / "x.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS) + "one\n")
    config = tiny_config(None, data__sources=[{"corpus": write(tmp_path / "y.tsv", PAIRS)},
                                              {"corpus": str(tmp_path / "x.tsv")}])  # fmt: skip
    with pytest.raises(DataError, match=r"x\.tsv:509: 1 column where 2 are expected"):
        prepare_with_beam(config, tmp_path / "out", IN_MEMORY)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.tsv", "y.tsv"]


def test_a_full_disk_is_a_disk_error_and_nothing_remains(tmp_path, monkeypatch, small_chunks):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(beam_calls, "save", full)
    config = tiny_config(write(tmp_path / "toy.tsv", PAIRS))
    with pytest.raises(DiskError, match="out: cannot be written: No space left on device"):
        prepare_with_beam(config, tmp_path / "out", IN_MEMORY)
    assert [path.name for path in tmp_path.iterdir()] == ["toy.tsv"]


def test_a_failure_of_beam_is_an_error_without_a_traceback(tmp_path):
    def build(pipeline):
        raise RuntimeError("Traceback:\n  of a worker\nValueError: lost")

    with pytest.raises(WorkerError) as caught:
        BeamWorkers(IN_MEMORY, tmp_path).run(build)
    assert str(caught.value) == "Apache Beam failed: ValueError: lost"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--runer=DirectRunner", "Apache Beam has no option --runer"),
        ("--direct_num_workers=two", "argument --direct_num_workers: invalid int value: 'two'"),
        ("--runner=NoRunner", "Unexpected pipeline runner: NoRunner"),
        ("--runner='DirectRunner", "No closing quotation"),
    ],
)
def test_options_that_beam_does_not_accept_are_named(options, message, tmp_path):
    (tmp_path / "x.tsv").write_text("a\tb\n")
    arguments = ["data", "prepare", str(tmp_path / "out"), "--data", str(tmp_path / "x.tsv")]
    code, out, err = s2s(*arguments, "--beam", "--beam-options", options)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["x.tsv"]


def test_an_existing_folder_is_not_overwritten(tmp_path):
    with pytest.raises(UsageError, match="exists already"):
        prepare_with_beam(tiny_config("phrasebook"), tmp_path, IN_MEMORY)


def test_options_of_beam_need_beam(workdir):
    code, _, err = s2s("data", "prepare", "out", "--beam-options", "--runner=DirectRunner")
    assert (code, "--beam-options needs --beam" in err) == (2, True)


def test_a_missing_package_is_named(workdir, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    code, _, err = s2s("data", "prepare", "out", "--beam")
    assert code == 2
    assert "needs Apache Beam. Install it: pip install 's2s[beam]'" in " ".join(err.split())
    assert list(workdir.iterdir()) == []


@pytest.mark.slow
def test_worker_processes_write_the_same(tmp_path):
    check_same(tiny_config(write(tmp_path / "toy.tsv", PAIRS)), tmp_path, "")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_processes_and_nothing_remains(number, tmp_path):
    write(tmp_path / "toy.tsv", [(f"{i} {s}", f"{i} {t}") for i in range(400) for s, t in PAIRS])
    process = start(tmp_path)
    wait_for(lambda: list(tmp_path.glob(".out.partial/chunks/*.keys.npy")))
    process.send_signal(number)
    assert process.wait(60) != 0
    wait_for(lambda: not group(process.pid))
    assert [path.name for path in tmp_path.iterdir()] == ["toy.tsv"]


@pytest.mark.slow
def test_a_killed_worker_is_an_error(tmp_path):
    write(tmp_path / "toy.tsv", [(f"{i} {s}", f"{i} {t}") for i in range(400) for s, t in PAIRS])
    process = start(tmp_path)
    wait_for(lambda: list(tmp_path.glob(".out.partial/chunks/*.keys.npy")))
    for other in set(group(process.pid)) - {process.pid}:
        os.kill(other, signal.SIGKILL)
    assert process.wait(60) == 8
    assert [path.name for path in tmp_path.iterdir()] == ["toy.tsv"]


def start(folder: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "seq2seq_cli", "data", "prepare", "out", "--beam"]
    return subprocess.Popen([*command, "--data", "toy.tsv"], cwd=folder, start_new_session=True)


def wait_for(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def group(leader: int) -> list[int]:
    """Return the processes of a process group that are not zombies."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == leader and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found
