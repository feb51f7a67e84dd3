"""One process at a time writes in a run."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from seq2seq_cli.errors import DiskError, LockedError
from seq2seq_cli.runs import lock
from seq2seq_cli.runs.lock import LOCK, is_locked, locked

RACES = 200
RACER = """
import sys
from pathlib import Path
from seq2seq_cli.errors import LockedError
from seq2seq_cli.runs.lock import locked
folder = Path(sys.argv[1])
for _ in sys.stdin:
    try:
        with locked(folder):
            print("won", flush=True)
            sys.stdin.readline()  # holds the lock until all others have tried
    except LockedError as error:
        print(error.exit_code, error, flush=True)
        sys.stdin.readline()
    print("left", flush=True)
"""


def test_one_of_several_racing_processes_wins_and_the_others_name_it(tmp_path):
    command = [sys.executable, "-c", RACER, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    racers = [subprocess.Popen(command, **pipes) for _ in range(3)]
    for _ in range(RACES):
        for racer in racers:
            racer.stdin.write("go\n")
        results = [racer.stdout.readline().strip() for racer in racers]
        winners = [racer for racer, text in zip(racers, results, strict=True) if text == "won"]
        (winner,) = winners
        named = f"5 {tmp_path}: process {winner.pid} is training here, on "
        assert all(text == "won" or text.startswith(named) for text in results)
        for racer in racers:
            racer.stdin.write("leave\n")
        assert [racer.stdout.readline() for racer in racers] == ["left\n"] * len(racers)
    for racer in racers:
        racer.stdin.close()
        racer.wait()
        racer.stdout.close()


def test_racing_threads_enter_one_at_a_time(tmp_path):
    inside, most, refused = 0, 0, 0
    barrier = threading.Barrier(4)

    def race() -> None:
        nonlocal inside, most, refused
        for _ in range(RACES // 4):
            barrier.wait()
            try:
                with locked(tmp_path):
                    inside += 1
                    most = max(most, inside)
                    time.sleep(0.001)  # another thread may run meanwhile
                    inside -= 1
            except LockedError:
                refused += 1

    threads = [threading.Thread(target=race) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (inside, most) == (0, 1)
    assert 0 < refused < RACES


def test_the_message_names_process_host_and_time(tmp_path):
    with locked(tmp_path):
        holder = json.loads((tmp_path / LOCK).read_text())
        with pytest.raises(LockedError) as caught, locked(tmp_path):
            pass
    assert holder["pid"] == os.getpid()
    assert str(caught.value) == (
        f"{tmp_path}: process {os.getpid()} is training here, on {holder['host']} since "
        f"{holder['since']}. Wait for it, stop it, or train in another folder with --run"
    )


@pytest.mark.parametrize("content", [b"", b"123", b"\xff", b"{}", b'{"pid": 1', b"[" * 9999])
def test_a_lock_file_that_cannot_be_read_is_still_a_lock(tmp_path, content):
    with locked(tmp_path):
        (tmp_path / LOCK).write_bytes(content)
        with (
            pytest.raises(LockedError, match="another process is training here"),
            locked(tmp_path),
        ):
            pass
        assert is_locked(tmp_path)


@pytest.mark.parametrize("content", ["", "99999", '{"pid": 99999999, "host": "x", "since": "y"}'])
def test_the_lock_file_of_a_dead_process_is_no_lock(tmp_path, content):
    (tmp_path / LOCK).write_text(content)
    assert not is_locked(tmp_path)
    with locked(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()


def test_a_dead_process_is_not_taken_for_the_one_that_has_the_lock(tmp_path, monkeypatch):
    with subprocess.Popen(["true"]) as process:
        pass
    pauses = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        (tmp_path / LOCK).write_text(json.dumps({**holder, "pid": os.getpid()}))

    with locked(tmp_path):
        holder = json.loads((tmp_path / LOCK).read_text())
        (tmp_path / LOCK).write_text(json.dumps({**holder, "pid": process.pid}))
        monkeypatch.setattr(lock.time, "sleep", pause)
        with pytest.raises(LockedError, match=f"process {os.getpid()} is"), locked(tmp_path):
            pass
    assert len(pauses) == 1


def test_a_folder_that_is_removed_before_the_lock_is_taken_is_not_taken(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    folder.mkdir()
    flock = lock.fcntl.flock

    def remove_first(file, operation):
        monkeypatch.undo()
        (folder / LOCK).unlink()
        flock(file, operation)

    monkeypatch.setattr(lock.fcntl, "flock", remove_first)
    with locked(folder):
        assert is_locked(folder)


def test_a_file_system_without_locks_is_an_error(tmp_path, monkeypatch):
    def refuse(file, operation):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    with (
        pytest.raises(DiskError, match="cannot be locked: Operation not supported"),
        locked(Path(tmp_path)),
    ):
        pass
