"""The checks of the code itself, so that one command runs all."""

import ast
import re
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


def test_docstrings_of_classes_describe_fields_under_a_heading():
    field = re.compile(r"^[a-z]\w*(, [a-z]\w*)*: ", re.MULTILINE)
    without = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in sorted((ROOT / "seq2seq_cli").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and field.search(ast.get_docstring(node) or "")
    ]
    assert not without, f"add `Attributes:` to the docstrings of {', '.join(without)}"


def test_files_and_functions_are_short():
    long = []
    for folder in ("seq2seq_cli", "benchmarks", "data", "docs", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text("utf-8")
            if len(text.splitlines()) >= 350:
                long.append(str(path.relative_to(ROOT)))
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef):
                    body = node.body[1:] if ast.get_docstring(node) else node.body
                    if body and body[-1].end_lineno - body[0].lineno >= 59:
                        long.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert not long
