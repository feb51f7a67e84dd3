"""The process of a command ends at once, and nothing is lost with it."""

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys
from seq2seq_cli.__main__ import run
atexit.register(print, "registered")
sys.argv = ["s2s", *sys.argv[1:]]
run()
"""


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, timeout=60
    )


def test_what_is_registered_for_the_end_runs_after_the_output():
    found = run("config", "show")
    assert found.returncode == 0
    assert "[data]" in found.stdout.splitlines()
    assert found.stdout.endswith("registered\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["no-such-command"], 2),
        (["config", "check", "no-such-file.toml"], 2),
    ],
)
def test_the_exit_code_is_kept(arguments, code):
    found = run(*arguments)
    assert found.returncode == code
    assert found.stdout.endswith("registered\n")


def test_a_bug_shows_its_traceback():
    program = PROGRAM.replace(
        "run()", "import seq2seq_cli.__main__ as m; m.main = lambda: 1 / 0; run()"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert found.returncode == 1
    assert "ZeroDivisionError" in found.stderr


def test_a_running_thread_is_waited_for():
    work = "lambda: (time.sleep(0.3), print('worked'))"
    thread = f"import threading, time; threading.Thread(target={work}).start()"
    program = PROGRAM.replace("run()", f"{thread}; run()")
    found = subprocess.run(
        [sys.executable, "-c", program, "--version"], capture_output=True, text=True, timeout=60
    )
    assert "worked" in found.stdout


def test_a_daemon_thread_is_not_waited_for():
    thread = "import threading, time; threading.Thread(target=time.sleep, args=[100], daemon=True)"
    program = PROGRAM.replace("run()", f"{thread}.start(); run()")
    found = subprocess.run(
        [sys.executable, "-c", program, "--version"], capture_output=True, text=True, timeout=60
    )
    assert found.returncode == 0
    assert found.stdout.endswith("registered\n")
