"""A model for LiteRT translates as its run does, by a script without s2s and TensorFlow."""

import os
import subprocess
import sys

import pytest
from random_model import SOURCES, random_model

from seq2seq_cli.errors import UsageError
from seq2seq_cli.export.litert import SCRIPT, LiteRT
from seq2seq_cli.export.program import compare
from seq2seq_cli.runs.run import Run

pytest.importorskip("ai_edge_litert", reason="it comes with the extra `litert`")
MODELS = {
    "GRU, Bahdanau's wiring": {"model__kind": "rnn", "tokenizer__kind": "unigram"},
    "LSTM, Luong's wiring with input feeding": {
        "model__kind": "rnn",
        "model__cell": "lstm",
        "model__attention": "general",
        "model__encoder_layers": 2,
        "model__decoder_layers": 2,
        "tokenizer__kind": "bpe",
        "tokenizer__vocabularies": "separate",
    },
    "decoder-only": {
        "model__kind": "decoder_only",
        "model__positions": "learned",
        "data__both_directions": True,
    },
}
TEXTS = [*SOURCES[:12], "", " e\u0301l come\u3000", "¿Ñandú? 日本 🙂", "x" * 60]
FORMAT = LiteRT()


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """A model, and the folder of its export."""
    loaded, folder = random_model(decoding__max_source_tokens=20), tmp_path_factory.mktemp("litert")
    FORMAT.write(loaded, Run(folder), {}, "float32", folder / "a")
    return loaded, folder / "a"


def assert_alike(loaded, path):
    expected = FORMAT.expected(loaded, TEXTS)
    assert len(set(expected["greedy"])) > 3
    compare(FORMAT.program(path, loaded), TEXTS, expected, 1.0)


def test_a_transformer_translates_like_its_run(usual):
    assert_alike(*usual)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.few_cases(1)
def test_other_models_translate_like_their_runs(name, tmp_path):
    loaded = random_model(decoding__max_source_tokens=20, **MODELS[name])
    FORMAT.write(loaded, Run(tmp_path), {}, "float32", tmp_path / "a")
    assert_alike(loaded, tmp_path / "a")


def test_int8_makes_the_model_smaller_and_still_translates(usual, tmp_path):
    loaded, path = usual
    FORMAT.write(loaded, Run(tmp_path), {}, "int8", tmp_path / "a")
    before, after = ((folder / "model.tflite").stat().st_size for folder in (path, tmp_path / "a"))
    assert after < 0.9 * before  # most of this file is no weights
    assert len(FORMAT.program(tmp_path / "a", loaded)(TEXTS, 1)) == len(TEXTS)


def test_the_script_is_short_and_needs_neither_s2s_nor_tensorflow(usual, tmp_path):
    assert SCRIPT.read_text().count("\n") <= 60
    loaded, path = usual
    expected = FORMAT.program(path, loaded)(SOURCES[:2], 1)
    # What the script imports of these is an error.
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.modules.update(seq2seq_cli=None, tensorflow=None, keras=None)\n"
    )
    script = [sys.executable, str(path / "translate.py")]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for arguments, given in ((SOURCES[:2], ""), ([], "\n".join(SOURCES[:2]))):
        done = subprocess.run(
            [*script, *arguments],
            input=given,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split("\n")[:-1] == expected


def test_other_tokenizers_are_refused():
    loaded = random_model(tokenizer__kind="words")
    with pytest.raises(UsageError, match="'words'.*saved-model"):
        FORMAT.check_model(loaded)
