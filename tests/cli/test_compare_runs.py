"""The command `compare` on runs and checkpoints."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from conftest import invoke, s2s, toy_pairs

from seq2seq_cli.cli.compared_systems import find_system
from seq2seq_cli.errors import CheckpointError, DataError, UsageError

pytestmark = pytest.mark.usefixtures("uncompiled")
FAST = ["--resamples", "20", "--trials", "20", "--json"]


def test_a_checkpoint_has_several_names(home, trained, monkeypatch):
    last = max(path.name for path in (trained / "checkpoints").iterdir())
    os.symlink(trained, "runs/me@home")
    for name in (f"{trained.name}@{last}", f"me@home@{last}"):
        system = find_system(name, None, [], None)
        assert (system.run.run.path.resolve(), system.checkpoint) == (trained, last)
    os.remove("runs/me@home")
    monkeypatch.chdir(trained)
    system = find_system(f"checkpoints/{last}", None, [], None)
    assert (system.run.run.path.resolve(), system.checkpoint) == (trained, last)


def test_checkpoints_of_a_run_are_compared(home, trained):
    first, *_, last = sorted(path.name for path in (trained / "checkpoints").iterdir())
    names = [f"{trained.name}@{first}", f"{trained.name}@last", str(trained / "checkpoints" / last)]
    record = json.loads(invoke("compare", *names, *FAST)[0])
    assert record["sentences"] > 10
    assert first in record["systems"][0]
    assert last in record["systems"][1]
    bleu, *_ = record["metrics"]
    assert bleu["systems"][1] == {**bleu["systems"][2]}
    assert record["by_rarest_word"]
    alone = json.loads(invoke("eval", "--json", "--checkpoint", first)[0])
    assert bleu["systems"][0]["score"] == alone["bleu"]


def test_a_run_is_compared_with_a_file_on_its_split(home, trained, tmp_path):
    invoke("export-split", str(tmp_path / "split"), "--run", trained.name)
    perfect = str(tmp_path / "split/test.es")
    record = json.loads(invoke("compare", trained.name, perfect, *FAST)[0])
    assert record["metrics"][0]["systems"][1]["score"] == pytest.approx(100)
    by_split = json.loads(invoke("compare", perfect, perfect, "--run", trained.name, *FAST)[0])
    assert by_split["sentences"] == record["sentences"]


def test_a_run_of_another_split_is_refused(home, trained, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(trained, other)
    config = (other / "config.toml").read_text("utf-8")
    assert "split_seed = 0" in config
    (other / "config.toml").write_text(config.replace("split_seed = 0", "split_seed = 1"), "utf-8")
    with pytest.raises(DataError, match="did not translate the same test set"):
        invoke("compare", trained.name, str(other), *FAST)
    tsv = tmp_path / "set.tsv"
    tsv.write_text("".join(f"{s}\t{t}\n" for s, t in toy_pairs()[:9]), encoding="utf-8")
    record = json.loads(invoke("compare", trained.name, str(other), "--tsv", str(tsv), *FAST)[0])
    assert record["sentences"] == 9


def test_the_new_location_of_a_corpus_applies_to_all_runs(home, trained, corpus, tmp_path):
    other = Path(shutil.copytree(trained, tmp_path / "other"))
    config = (other / "config.toml").read_text("utf-8")
    (other / "config.toml").write_text(config.replace(str(corpus), "/no/longer/here.tsv"), "utf-8")
    names = [trained.name, str(other)]
    with pytest.raises(DataError, match="/no/longer/here.tsv"):
        invoke("compare", *names, *FAST)
    record = json.loads(invoke("compare", *names, "--data", str(corpus), *FAST)[0])
    assert record["metrics"][0]["systems"][1]["difference"] == 0


def test_other_sentences_need_no_corpus(home, trained, corpus, tmp_path):
    tsv = tmp_path / "set.tsv"
    tsv.write_text("".join(f"{s}\t{t}\n" for s, t in toy_pairs()[:9]), encoding="utf-8")
    options = ["--tsv", str(tsv), "--data", "/no/longer/here.tsv"]
    code, out, err = s2s("compare", trained.name, trained.name, *options, *FAST)
    assert (code, json.loads(out)["by_rarest_word"]) == (0, [])
    assert "The table by rare words is left out" in err
    code, _, err = s2s("compare", trained.name, trained.name, *options[:-1], str(tsv), *FAST)
    assert (code, "is not the corpus" in " ".join(err.split())) == (0, True)
    words = ["--training-file", str(tsv)]
    code, out, err = s2s("compare", trained.name, trained.name, *options, *words, *FAST, "-q")
    assert (code, err) == (0, "")
    assert json.loads(out)["by_rarest_word"]


def test_saved_translations_determine_the_sentences_to_translate(home, trained, tmp_path):
    saved = {}
    tsv = tmp_path / "set.tsv"
    tsv.write_text("".join(f"{s}\t{t}\n" for s, t in toy_pairs()[:9]), encoding="utf-8")
    for name, options in (("dev", ["--split", "dev"]), ("tsv", ["--tsv", str(tsv)])):
        saved[name] = str(tmp_path / f"{name}.jsonl")
        invoke("eval", *options, "--save-translations", saved[name])
        record = json.loads(invoke("compare", saved[name], trained.name, *FAST)[0])
        assert record["test_set"] == (name if name == "dev" else str(tsv))
        assert record["metrics"][0]["systems"][1]["difference"] == 0
        assert bool(record["by_rarest_word"]) == (name == "dev")
    with pytest.raises(UsageError, match="--split test: .* has translations of dev"):
        invoke("compare", saved["dev"], trained.name, "--split", "test", *FAST)
    with pytest.raises(DataError, match="did not translate the same test set"):
        invoke("compare", saved["dev"], saved["tsv"], trained.name, *FAST)


def test_runs_have_times_and_commands(home, trained):
    record = json.loads(invoke("compare", trained.name, f"{trained.name}@last", *FAST)[0])
    assert all(minutes > 0 for minutes in record["minutes"])
    assert record["commands"] == [None, None]  # the config has too many keys of its own


def test_a_run_that_was_interrupted_has_no_command(home, trained, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "seq2seq_cli.evaluation.test_split.training_command", lambda config: "s2s train"
    )
    log = shutil.copytree(trained, tmp_path / "stopped") / "metrics.jsonl"
    entries = log.read_text().splitlines(keepends=True)
    log.write_text("".join(entry for entry in entries if '"kind": "end"' not in entry))
    record = json.loads(invoke("compare", trained.name, str(log.parent), *FAST)[0])
    assert record["commands"] == ["s2s train", None]


def test_a_system_is_one_checkpoint(home, trained):
    code, _, error = s2s("compare", f"{trained.name}@all", trained.name)
    assert (code, "a system is one checkpoint" in " ".join(error.split())) == (2, True)


def test_a_folder_that_is_no_run_is_not_called_a_missing_file(home):
    Path("runs/notes").mkdir()
    with pytest.raises(CheckpointError) as caught:
        invoke("compare", "notes", "notes")
    assert "no such file" not in str(caught.value)
    Path("runs/notes").rmdir()


def test_a_language_is_for_runs(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).write_text("a\n", encoding="utf-8")
    files = [str(tmp_path / "one"), str(tmp_path / "two")]
    options = ["--source-file", files[0], "--reference-file", files[0]]
    with pytest.raises(UsageError, match="--to applies only to runs, and there is none"):
        invoke("compare", *files, *options, "--to", "en")


def test_languages_are_those_of_the_compared_runs(home, trained, monkeypatch, tmp_path):
    monkeypatch.setattr(sys.modules["seq2seq_cli.cli.compare"], "start_tensorflow", None)
    tsv = tmp_path / "set.tsv"
    tsv.write_text("a\tb\n")
    for options in ([], ["--tsv", str(tsv)], ["--test-set", "wmt13"]):
        with pytest.raises(UsageError, match="--source and --target are those of the compared"):
            invoke("compare", trained.name, trained.name, "--source", "de", *options)
