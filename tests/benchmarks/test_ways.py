"""The ways through the code stay short."""

import runpy
from pathlib import Path

import pytest

WAYS = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "ways.py"), run_name="ways")

MOST_FILES, MOST_FRAMES = 56, 13


def test_the_first_decoding_step_is_not_far_from_the_command_line(home):
    files = WAYS["translation_files"]()
    assert "cli/translate.py" in files
    assert "decoding/search.py" in files
    assert len(files) <= MOST_FILES


@pytest.mark.slow
def test_the_decoders_first_product_is_not_far_from_the_training_loop():
    frames = WAYS["update_frames"](WAYS["train_tiny"])
    assert frames[0].startswith("training/loop.py")
    assert frames[-1].startswith("models/ops/")
    assert len(frames) <= MOST_FRAMES
