import itertools
import json
import shutil
from dataclasses import fields, replace

import pytest
from conftest import TINY, TINY_MODELS, invoke, s2s, tiny_config

from seq2seq_cli.training import speed as benchmark
from seq2seq_cli.training.setup import set_up
from seq2seq_cli.training.speed import TrainingSpeed

pytestmark = pytest.mark.usefixtures("uncompiled")


def test_bench_decode(home):
    record = json.loads(invoke("bench", "decode", "--json", "--trials", "1", "--sentences", "8")[0])
    assert record["sentences"] == 8
    assert record["tokens"] > 8
    assert record["sentences_per_second"] > 0
    assert "sentences/s" in "".join(invoke("bench", "decode", "--trials", "1", "--sentences", "8"))


def test_bench_train(corpus, monkeypatch):
    smallest = {"model.kind": "decoder_only", "model.layers": 1, "tokenizer.kind": "words"}
    values = {**TINY, **TINY_MODELS["decoder_only"], **smallest}
    settings = [f"--set={key}={value}" for key, value in values.items()]
    command = ["bench", "train", "--data", str(corpus), "--steps", "3", *settings]
    found = json.loads(invoke(*command, "--trials", "1", "--json")[0])
    assert found["steps"] == 3
    assert 0 < found["shapes"] <= 3
    assert found["fastest_seconds"] <= found["seconds"] <= found["slowest_seconds"]
    assert found["pairs_per_second"] == pytest.approx(found["pairs"] / found["seconds"])
    assert 0 < found["input_ms"] < found["step_ms"] == pytest.approx(1e3 * found["seconds"] / 3)
    assert 0 <= found["padding_share"] < 1
    assert 0 < found["utilisation"] < 1

    # The same for people.
    measured = {field.name: found[field.name] for field in fields(TrainingSpeed)}
    monkeypatch.setattr(benchmark, "measure_training", lambda *_: TrainingSpeed(**measured))
    text = "".join(invoke(*command))
    assert f"{found['target_tokens_per_second']:,.0f} target tokens/s" in text
    assert "plain graph" in text


def test_the_operations_and_the_padding_are_those_of_the_data(corpus):
    config = tiny_config(corpus, training__compile="graph", tokenizer__kind="words")
    setup = set_up(config)
    speed = benchmark.measure_training(config, 10_000, 1, print)
    assert speed.steps == setup.updates_per_epoch
    assert speed.padding_share == pytest.approx(setup.data.padding_share)
    doubled = config.training.model_copy(update={"r_drop": 5.0})
    other = replace(setup, config=config.model_copy(update={"training": doubled}))
    updates = [[batch] for batch in itertools.islice(setup.data.batches(0), 2)]
    assert benchmark._operations(other, updates) == 2 * benchmark._operations(setup, updates) > 0


def test_bench_decode_refuses_another_corpus(home, tmp_path, corpus):
    other = tmp_path / "other.tsv"
    shutil.copytree("runs", tmp_path / "runs")
    other.write_bytes(corpus.read_bytes() + b"new\tnuevo\n")
    (config,) = (tmp_path / "runs").glob("*/config.toml")
    config.write_text(config.read_text().replace(str(corpus), str(other)))
    code, _, error = s2s("bench", "decode", "--run", str(config.parent))
    assert (code, "is not the corpus that" in " ".join(error.split())) == (3, True)
    options = ["--data", str(corpus), "--trials", "1", "--sentences", "8"]
    assert s2s("bench", "decode", "--run", str(config.parent), *options)[0] == 0


def test_bench_decode_names_a_missing_file(home):
    code, _, error = s2s("bench", "decode", "--input", "none.txt", "--data", "none.tsv")
    assert (code, "--data is for the test split, and excludes --input" in error) == (2, True)
    code, _, error = s2s("bench", "decode", "--input", "none.txt")
    assert code == 2
    assert "--input none.txt: no such file" in error


def test_bench_decode_names_an_invalid_line(home, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes(b"one cat\n\xff\n")
    code, _, error = s2s("bench", "decode", "--input", str(path))
    assert code == 3
    assert "lines.txt:2" in error
