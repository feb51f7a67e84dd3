"""The command `recipe figures`."""

import importlib.util

import pytest
from conftest import s2s

from seq2seq_cli.cli.figures import FigureName
from seq2seq_cli.recipes.paper_models import FIGURES
from seq2seq_cli.runtime import tensorflow as tensorflow_import


def test_each_figure_has_its_name():
    assert [name.value for name in FigureName] == [*FIGURES]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new", "--figure", "table"], "--figure"),
        (["new", "--seeds", "0"], "--seeds"),
        (["new", "--steps", "0"], "--steps: training.steps must be a whole"),
        (["new", "--set", "model.kind=gpt"], "model.kind"),
        (["new", "--set", "model.decoder_units=99"], "model global-dot: model.attention 'dot'"),
        (["new"], "s2s recipe figures needs matplotlib. Install it: pip install 's2s[plot]'"),
    ],
)
def test_wrong_input_is_refused_at_once_and_nothing_is_written(
    arguments, message, workdir, monkeypatch
):
    def imported(*args) -> None:
        raise AssertionError("TensorFlow was imported")

    find_spec = importlib.util.find_spec
    monkeypatch.setattr(tensorflow_import, "import_tensorflow", imported)
    if arguments == ["new"]:
        monkeypatch.setattr(
            *(importlib.util, "find_spec"),
            lambda name: None if name == "matplotlib" else find_spec(name),
        )
    found, out, err = s2s("recipe", "figures", *arguments)
    assert (found, out) == (2, "")
    assert message in err
    assert not [*workdir.iterdir()]
