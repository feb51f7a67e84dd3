"""The ways through the code stay short."""

import runpy
from pathlib import Path

WAYS = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "ways.py"), run_name="ways")

MOST_FILES = 37


def test_the_first_decoding_step_is_not_far_from_the_command_line(home):
    files = WAYS["translation_files"]()
    assert "cli/translate.py" in files
    assert "decoding/search.py" in files
    assert len(files) <= MOST_FILES
