import json

import pytest
from test_cli import s2s, tiny_settings
from test_cli_decoding import home, invoke

__all__ = ["home"]  # a fixture


def test_bench_decode(home):
    record = json.loads(invoke("bench", "decode", "--json", "--trials", "1", "--sentences", "8")[0])
    assert record["sentences"] == 8
    assert record["tokens"] > 8
    assert record["sentences_per_second"] > 0
    assert "sentences/s" in "".join(invoke("bench", "decode", "--trials", "1", "--sentences", "8"))


@pytest.mark.parametrize("compiled", ["graph", "xla"])
def test_bench_train(corpus, compiled):
    arguments = ["bench", "train", "--data", str(corpus), "--steps", "3", "--trials", "2"]
    arguments += [*tiny_settings(), "--set", f"training.compile={compiled}"]
    found = json.loads(invoke(*arguments, "--json")[0])
    assert found["steps"] == 3
    assert 0 < found["shapes"] <= 3
    assert found["fastest_seconds"] <= found["seconds"] <= found["slowest_seconds"]
    assert found["pairs_per_second"] == pytest.approx(found["pairs"] / found["seconds"])
    assert 0 < found["input_ms"] < found["step_ms"] == pytest.approx(1e3 * found["seconds"] / 3)
    assert 0 <= found["padding_share"] < 1
    assert 0 < found["utilisation"] < 1
    if compiled == "graph":
        assert "target tokens/s" in "".join(invoke(*arguments))


def test_bench_decode_names_a_file_that_is_not_there(home):
    code, _, error = s2s("bench", "decode", "--input", "none.txt")
    assert code == 2
    assert "--input none.txt: no such file" in error
