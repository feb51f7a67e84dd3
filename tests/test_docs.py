"""What the pages in docs/ show, run."""

import re
from pathlib import Path

import pytest
import tensorflow as tf
from conftest import tiny_config

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.decoding.search import Search
from seq2seq_cli.training.step import Updater

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_model_of_the_page_holds_what_every_model_must_and_learns(capsys):
    page = (ROOT / "docs/add-an-architecture.md").read_text("utf-8")
    model_block, check_block = BLOCK.findall(page)
    assert 30 <= model_block.count("\n") <= 50
    names: dict = {}
    exec(model_block, names)
    exec(check_block, names)
    deviations = [float(line.split()[0]) for line in capsys.readouterr().out.splitlines()]
    assert len(deviations) > 5
    assert max(deviations) < 1e-5

    model, source_BS, target_BT = names["model"], names["source_BS"], names["target_BT"]
    updater = Updater(model, tiny_config("x", training__compile="graph").training)
    batch = Batch(source_BS, target_BT, tf.constant(2))
    losses = [float(updater.update(batch, number, 0.05)[0]) for number in range(30)]
    assert losses[-1] < losses[0] / 2
    found = Search(model, DecodingConfig(beam=3))(source_BS, [5, 5])
    assert found.ids_BNT.shape == (2, 1, 5)


@pytest.mark.parametrize("page", [p.name for p in sorted((ROOT / "docs").glob("*.md"))])
def test_pages_link_to_what_exists(page):
    text = (ROOT / "docs" / page).read_text("utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert "://" in target or (ROOT / "docs" / target).exists(), target
