"""Configs made to do harm: exit code 2 or 3, nothing is imported, and nothing is written."""

import os
import sys
from pathlib import Path

import pytest
from conftest import s2s

DEEP = 5000

UNKNOWN = [
    "[training]\n__class__ = 1",
    "[training]\n__init__ = 'x'",
    "[model]\n'__dict__' = {a = 1}",
    "[__builtins__]\nprint = 1",
    "[data]\n'corpus.columns' = 'a b'",
    "[data.corpus]\nx = 1",
    "[training]\n'' = 1",
    "['']\n'' = 1",
    "seed = 1",
    "[training]\n'seed\\u0000' = 1".replace("'", '"'),
    '[training]\n"\\u001b[31mseed" = 1',
    f"[training]\n{'k' * 10_000} = 1",
    "[[training]]\nseed = 1",
    "[training.seed]\nvalue = 1",
    "[model]\nkind.name = 'rnn'",
]
NUMBERS = [
    "[training]\npeak_learning_rate = 1e308",
    "[training]\npeak_learning_rate = 1e309",
    "[training]\npeak_learning_rate = nan",
    "[training]\npeak_learning_rate = -inf",
    "[training]\nbudget_seconds = inf",
    "[training]\ngradient_clip_norm = 1e308",
    "[training]\nseed = -1",
    f"[training]\nseed = 1{'0' * 400}",
    f"[training]\nseed = 1{'0' * 5000}",
    "[training]\nsteps = 0x7fffffffffffffff",
    "[training]\nbatch_tokens = 1e308",
    "[training]\nbatch_tokens = 1979-05-27",
    "[training]\nepochs = 1e308",
    "[model]\nencoder_units = 4294967296",
    "[model]\ndropout = nan",
    "[decoding]\nbeam = 1000000000000",
    "[tokenizer]\nvocabulary_size = 9223372036854775807",
]
NESTED = [
    "x = " + "[" * DEEP + "]" * DEEP,
    "x = " + "{a = " * DEEP + "1" + "}" * DEEP,
    "[" + ".".join("a" * DEEP) + "]\nx = 1",
    "[data]\ncorpus = " + "[" * DEEP + "]" * DEEP,
    "[training]\ntrackers = " + "[" * 100 + "]" * 100,
    "[training]\ntrackers = [" + "'mlflow'," * 50_000 + "]x",
]
MODULES = [
    "[model]\nkind = 'os.system'",
    "[model]\nkind = '__main__'",
    "[model]\nattention = 'this'",
    "[training]\noptimizer = 'antigravity'",
    "[training]\ntrackers = ['antigravity']",
    "[training]\ntrackers = ['seq2seq_cli.cli.train']",
    "[training]\nfreeze = ['__import__(\"os\")']\ninitial_run = 'x'",
    "[training]\ndevice = 'this'",
    "[training]\nschedule = '{{ config }}'",
    "[tokenizer]\nkind = 'antigravity'",
    '[tokenizer]\nkind = "!!python/object:os.system"',
]
BROKEN = [
    "",
    "\0",
    "\ufeff\ufeff[training]",
    "[training]\nseed = 1\nseed = 2",
    "[training",
    "x = '''",
    "%YAML 1.1\n--- !!python/object/apply:os.system ['touch x']",
    '{"training": {"seed": 1}}',
]
PATHS = [  # of files that are no corpus: nothing of them is used or shown
    "/etc/passwd",
    "/dev/null",
    "/proc/self/environ",
    "../../../../etc/shadow",
    "~root/.ssh/id_rsa",
    "file:///etc/passwd",
    "http://127.0.0.1:9/x.tsv",
    "tfds:../../x",
    "a\\u0000b",
    "x\\n\\u001b[31m",
]


@pytest.fixture
def unchanged(workdir):
    """Nothing is written to the current folder, and no harmful module is imported."""
    before = set(sys.modules)
    yield
    assert [path.name for path in workdir.iterdir()] == ["my.toml"]
    imported = {name.partition(".")[0] for name in set(sys.modules) - before}
    assert not imported & {"antigravity", "this", "mlflow", "wandb"}


def numbered(texts: list[str]) -> list:
    return [pytest.param(text, id=f"{n} {text[-24:]!a}") for n, text in enumerate(texts)]


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("text", numbered([*UNKNOWN, *NUMBERS, *NESTED, *MODULES, *BROKEN[1:]]))
def test_a_config_that_is_not_valid_is_refused(text):
    Path("my.toml").write_text(text, encoding="utf-8")
    code, out, error = s2s("train", "--config", "my.toml")
    assert (code, out) == (2, "")
    assert error.startswith("error: my.toml: ")
    assert "Traceback" not in error
    assert "\x1b" not in error
    assert len(error) < 30_000


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("path", PATHS)
def test_an_invalid_corpus_path_is_refused(path):
    Path("my.toml").write_text(f'[data]\ncorpus = "{path}"\n', encoding="utf-8")
    code, out, error = s2s("train", "--config", "my.toml", "--device", "cpu")
    assert (code, out) in [(2, ""), (3, "")]
    assert "error: " in error
    assert "Traceback" not in error
    assert "root:" not in error
    assert os.environ.get("PATH", "?") not in error


def test_there_are_as_many_cases_as_documented():
    assert len([*UNKNOWN, *NUMBERS, *NESTED, *MODULES, *BROKEN[1:], *PATHS]) >= 50
