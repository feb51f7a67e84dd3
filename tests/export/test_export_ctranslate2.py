"""Transformers in CTranslate2 translate as they do in s2s, also where s2s cannot be imported."""

import re
import subprocess
import sys

import pytest
from random_model import SOURCES, random_model

from seq2seq_cli.errors import UsageError
from seq2seq_cli.export.ctranslate2 import CTranslate2
from seq2seq_cli.export.program import compare
from seq2seq_cli.runs.run import Run

pytest.importorskip("ctranslate2", reason="it comes with the extra `ctranslate2`")
MODELS = {
    "usual": {"tokenizer__kind": "unigram"},
    "post-norm, GELU, learned positions, untied": {
        "tokenizer__kind": "bpe",
        "tokenizer__vocabularies": "separate",
        "model__norm": "post",
        "model__activation": "gelu",
        "model__positions": "learned",
        "training__max_source_tokens": 12,
        "training__max_target_tokens": 12,
        "model__max_positions": 12,  # fewer than some translations have tokens
        "model__tied_embeddings": False,
    },
    "SwiGLU, separate vocabularies, more layers": {
        "tokenizer__kind": "unigram",
        "tokenizer__vocabularies": "separate",
        "model__activation": "swiglu",
        "model__encoder_layers": 2,
        "model__decoder_layers": 3,
    },
    "rotary positions": {"model__positions": "rotary", "model__encoder_layers": 2},
    "relative positions, RMS normalisation": {
        "model__positions": "relative",
        "model__normalisation": "rms",
        "model__decoder_layers": 2,
    },
    "shared keys, wide heads": {
        "model__heads": 4,
        "model__key_value_heads": 2,
        "model__head_units": 6,
    },
    "shared weights": {"model__weight_sharing": "stacks", "model__encoder_layers": 2},
}

FORMAT = CTranslate2()


def exported(loaded, quantization, path):
    """Write an export, and return its translator."""
    FORMAT.write(loaded, Run(path), {}, quantization, path)
    return FORMAT.program(path, loaded)


@pytest.fixture(scope="module")
def usual():
    return random_model(**MODELS["usual"])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.few_cases(2)
def test_float32_translations_equal_those_of_the_run(name, tmp_path):
    loaded = random_model(**MODELS[name])
    program = exported(loaded, "float32", tmp_path / "a")
    expected = FORMAT.expected(loaded, SOURCES)
    assert len(set(expected["greedy"])) > 1
    compare(program, SOURCES, expected, FORMAT.promised["float32"])


@pytest.mark.parametrize("quantization", ["int8", "int16", "bfloat16"])
def test_quantization_makes_the_weights_smaller_and_still_translates(usual, tmp_path, quantization):
    sizes = {}
    for each in ("float32", quantization):
        program = exported(usual, each, tmp_path / each)
        sizes[each] = (tmp_path / each / "model.bin").stat().st_size
    assert sizes[quantization] < 0.7 * sizes["float32"]
    assert len(program(SOURCES[:3], 5)) == 3


def test_the_code_of_the_card_translates_without_s2s(usual, tmp_path):
    program = exported(usual, "float32", tmp_path / "a")
    usage = FORMAT.usage(usual, "a", "float32")
    (code,) = re.findall(r"```python\n(.*?)```", usage, re.DOTALL)
    assert code.count("\n") <= 14
    code = code.replace('"A sentence."', repr(SOURCES[0]))
    code = code.replace("beam_size=5", "beam_size=5, length_penalty=0")
    blocked = f"import sys; sys.modules['seq2seq_cli'] = None\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", blocked], cwd=tmp_path / "a", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (expected,) = program(SOURCES[:1], 5)
    (printed,) = eval(done.stdout)
    assert printed == expected
    assert printed


def test_models_without_layers_in_ctranslate2_are_refused():
    for kind in ("rnn", "decoder_only"):
        loaded = random_model(model__kind=kind)
        with pytest.raises(UsageError, match="supports only Transformers with an encoder"):
            FORMAT.check_model(loaded)
    options = {"positions": "alibi", "parallel_blocks": True}
    for key, value in options.items():
        loaded = random_model(**{f"model__{key}": value})
        with pytest.raises(UsageError, match=f"model.{key} = {value!r} is not supported"):
            FORMAT.check_model(loaded)
    loaded = random_model(tokenizer__kind="words")
    with pytest.raises(UsageError, match="'words'"):
        FORMAT.check_model(loaded)
