"""Commands that take a name end with an error if no file can have it."""

import pytest
from conftest import s2s


@pytest.mark.parametrize("name", ["x" * 5000, "x" * 5000 + "/x", "\udcff"])
@pytest.mark.parametrize(
    "command",
    [
        ["compare", "NAME", "NAME"],
        ["translate", "--run", "NAME", "a"],
        ["translate", "--input", "NAME"],
        ["checkpoints", "list", "NAME"],
        ["report", "NAME"],
        ["runs", "show", "NAME"],
        ["data", "check", "--data", "NAME"],
        ["export-split", "NAME"],
        ["config", "check", "NAME"],
        ["train", "--dry-run", "--config", "NAME"],
    ],
    ids=" ".join,
)
def test_an_impossible_name_is_an_error_with_a_documented_code(command, name, workdir):
    code, _, error = s2s(*[name if word == "NAME" else word for word in command])
    assert code in range(2, 8)
    assert error
    assert "No such command" not in error
    assert "Traceback" not in error
