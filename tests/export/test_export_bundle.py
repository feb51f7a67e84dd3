"""The command `export --to bundle`, and what is refused of a bundle."""

import json
import tracemalloc

import numpy as np
import pytest
from conftest import invoke, s2s

from seq2seq_cli.errors import CheckpointError, ExportError, UsageError
from seq2seq_cli.export import exporting
from seq2seq_cli.export.bundle import Bundle
from seq2seq_cli.export.program import compare
from seq2seq_cli.runs import bundles, files
from seq2seq_cli.runs.arrays import file_parts, open_arrays
from seq2seq_cli.runs.naming import find_run
from seq2seq_cli.runs.run import Run

pytestmark = pytest.mark.usefixtures("uncompiled")


@pytest.fixture(scope="module")
def bundle(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("bundle") / "toy.s2s"
    exporting.export(Run(trained), path, "bundle")
    return path


def contents(path):
    with open_arrays(path) as arrays:
        return {name: arrays.array(name).tobytes() for name in arrays.specs}


def write(path, content):
    arrays = [(name, np.frombuffer(data, np.uint8)) for name, data in content.items()]
    files.write(path, file_parts(arrays))
    return path


def test_a_bundle_is_accepted_wherever_a_run_is(bundle, home, trained):
    sentence = "we want two books."
    by_run = invoke("translate", "--run", str(trained), sentence, "--scores", "--beam", "3")
    assert invoke("translate", "--run", str(bundle), sentence, "--scores", "--beam", "3") == by_run
    assert invoke("checkpoints", "verify", str(bundle))[0].endswith("valid")
    (line,) = invoke("eval", "--run", str(bundle), "--json", "--quiet")
    assert json.loads(line)["bleu"] > 0


def test_a_bundle_has_a_card_and_no_optimizer(bundle, trained):
    content = contents(bundle)
    assert not [name for name in content if "optimizer" in name]
    card = content["README.md"].decode()
    for part in (
        "nrefs:1",
        "Licence",
        "s2s train --config",
        f"s2s export {trained.name} toy.s2s",
        "Limits",
    ):
        assert part in card
    assert json.loads(content["scores.json"])["searches"]["greedy"]["bleu_signature"]


def test_the_command_prints_the_agreement_and_leaves_nothing_else(home, trained, tmp_path):
    out = tmp_path / "a.s2s"
    lines = invoke("export", trained.name, str(out), "--to", "bundle", "--quiet")
    assert lines[0].startswith("greedy: ")
    assert lines[1].startswith("beam 5: ")
    assert [each.name for each in tmp_path.iterdir()] == ["a.s2s"]


def test_an_output_that_exists_is_refused(home, trained, bundle):
    before = bundle.read_bytes()
    code, out, err = s2s("export", trained.name, str(bundle), "--to", "bundle")
    assert (code, out) == (2, "")
    assert "exists already" in err
    assert bundle.read_bytes() == before


def test_an_export_with_other_translations_is_refused_and_removed(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(
        Bundle, "program", lambda self, path, loaded: lambda texts, beam: ["x"] * len(texts)
    )
    with pytest.raises(ExportError, match="greedy: 0 of .* promised"):
        exporting.export(Run(trained), tmp_path / "b.s2s", "bundle")
    assert [*tmp_path.iterdir()] == []


def test_the_promised_share_is_exact():
    wanted = {"greedy": ["a"] * 200}

    def program(wrong):
        return lambda texts, beam: ["b"] * wrong + ["a"] * (200 - wrong)

    assert compare(program(1), ["x"] * 200, wanted, 0.995)[0].equal == 199
    with pytest.raises(ExportError):
        compare(program(2), ["x"] * 200, wanted, 0.995)


def test_commands_that_change_a_run_refuse_a_bundle(bundle, home):
    for arguments in (
        ("runs", "remove", str(bundle), "--yes"),
        ("runs", "rename", str(bundle), "x"),
        ("checkpoints", "prune", str(bundle), "--yes"),
        ("train", "--resume", "--run", str(bundle)),
    ):
        with pytest.raises(UsageError, match="is a bundle"):
            invoke(*arguments)


@pytest.mark.parametrize(
    "name",
    ["../outside", "/tmp/outside", "tokenizer/../../x", "checkpoints/step-1/optimizer.pickle"],
)
def test_a_name_outside_the_run_is_refused(bundle, tmp_path, name):
    path = write(tmp_path / "x.s2s", {**contents(bundle), name: b"x"})
    with pytest.raises(CheckpointError, match="which does not belong in a bundle"):
        bundles.unpack(path)


def test_a_changed_byte_is_detected(bundle, tmp_path):
    content = contents(bundle)
    changed = {**content, "config.toml": content["config.toml"].replace(b"1", b"2", 1)}
    with pytest.raises(CheckpointError, match=r"config\.toml differs from"):
        find_run(str(write(tmp_path / "x.s2s", changed)))


@pytest.mark.parametrize("name", ["config.toml", "manifest.json", "tokenizer/tokenizer.json"])
def test_a_missing_part_of_a_bundle_is_named(bundle, tmp_path, name):
    content = contents(bundle)
    del content[name]
    with pytest.raises(CheckpointError, match="lacks"):
        bundles.unpack(write(tmp_path / "x.s2s", content))


@pytest.mark.parametrize("length", [0, 5, 100, 5000])
def test_a_cut_bundle_is_refused_without_much_memory(bundle, tmp_path, length):
    path = tmp_path / "x.s2s"
    path.write_bytes(bundle.read_bytes()[:length])
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError):
            bundles.unpack(path)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_bundle_that_claims_a_huge_size_is_refused(tmp_path):
    header = json.dumps(
        {"config.toml": {"dtype": "U8", "shape": [2**40], "data_offsets": [0, 2**40]}}
    ).encode()
    path = tmp_path / "x.s2s"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(CheckpointError):
        bundles.unpack(path)
