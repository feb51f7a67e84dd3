"""The checks of the code itself, so that one command runs all."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        pytest.param(
            ["mypy"],
            marks=pytest.mark.skipif(
                sys.version_info < (3, 11), reason="older types of NumPy and Matplotlib"
            ),
        ),
        ["lint-imports", "--no-cache"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_code_passes(command):
    program = Path(sys.executable).parent / command[0]
    done = subprocess.run(
        [program, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
