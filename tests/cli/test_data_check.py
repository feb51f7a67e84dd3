import json
import os

import pytest
from conftest import s2s, s2s_process

BAD = "one\tuno\ntwo\tdos\x07\nthree\none\tuno\n[red]\tÃ©\n"


@pytest.fixture
def bad(workdir):
    (workdir / "bad.tsv").write_text(BAD)
    return workdir


def test_a_clean_corpus_exits_with_0(corpus):
    code, out, err = s2s("data", "check", "--data", str(corpus))
    assert (code, err) == (0, "")
    assert "500 lines" in out
    assert "No problem was found." in out


def test_findings_are_shown_with_their_lines_and_exit_with_1(bad):
    code, out, err = s2s_process("data", "check", "--data", "bad.tsv", COLUMNS="100")
    assert (code, err) == (1, "")
    rows = [line.strip().split(maxsplit=4) for line in out.splitlines()]
    assert ["columns", "1", "20.00%", "bad.tsv:3", "1 column where 2 are expected"] in rows
    assert ["control", "1", "20.00%", "bad.tsv:2", "dos<U+0007>"] in rows
    assert ["duplicate", "1", "20.00%", "bad.tsv:4", "one | uno (as train:1)"] in rows
    assert ["mojibake", "1", "20.00%", "bad.tsv:5", "Ã©"] in rows
    assert "not judged" in " ".join(out.split())


def test_json_has_every_line(bad):
    code, out, _ = s2s("data", "check", "--data", "bad.tsv", "--json")
    record = json.loads(out)
    assert code == 1
    assert record["is_clean"] is False
    assert record["files"][0]["files"] == [str(bad / "bad.tsv")]
    assert {f["kind"]: f["lines"] for f in record["findings"]} == {
        **{"columns": [3], "control": [2], "duplicate": [4], "mojibake": [5]}
    }


def test_fix_reports_its_changes_and_its_copy_is_clean(bad):
    command = ("data", "check", "--data", "bad.tsv", "--fix", "good.tsv")
    code, out, _ = s2s(*command)
    assert code == 1
    assert "good.tsv: 3 lines" in out
    assert "left out  1 columns, 1 duplicate" in out
    assert "repaired  1 mojibake, 1 control" in out
    assert (bad / "good.tsv").read_text() == "one\tuno\ntwo\tdos\n[red]\té\n"
    assert s2s("data", "check", "--data", "good.tsv")[0] == 0
    code, out, err = s2s(*command)
    assert (code, out) == (2, "")
    assert "good.tsv: exists already" in err


def test_either_direction_and_held_out_files(bad):
    (bad / "dev.tsv").write_text("ONE?\tjeden\n")
    options = ("--set", "data.dev=dev.tsv", "--source", "es", "--target", "en", "--json")
    code, out, _ = s2s("data", "check", "--data", "bad.tsv", *options)
    record = json.loads(out)
    assert code == 1
    leak = next(f for f in record["findings"] if f["kind"] == "in dev")
    assert (leak["lines"], leak["others"]) == ([1, 4], [1, 1])
    assert [unseen["language"] for unseen in record["unseen"]] == ["es", "en"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--data", "none.tsv"], 3, "none.tsv: no such file"),
        (["--data", "bad.tsv", "--set", "data.dev=none"], 3, "none: no such file"),
        (["--data", "bad.tsv", "--fix", "no/good.tsv"], 7, "there is no folder no. Create"),
        (["--data", "tfds:opus"], 2, "tfds:opus: does not consist of text files"),
    ],
)
def test_what_cannot_be_checked_is_an_error(arguments, code, message, bad):
    before = os.listdir(bad)
    found, out, err = s2s("data", "check", *arguments)
    assert (found, out) == (code, "")
    assert message in err
    assert os.listdir(bad) == before


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_fix_never_writes_through_a_link_to_its_input(link, bad):
    link(bad / "bad.tsv", bad / "out.tsv")
    code, out, err = s2s("data", "check", "--data", "bad.tsv", "--fix", "out.tsv")
    assert (code, out) == (2, "")
    assert "out.tsv: exists already" in err
    assert (bad / "bad.tsv").read_text() == BAD


@pytest.mark.parametrize(
    ("out", "code", "message"),
    [
        ("dangling", 2, "exists already"),
        ("x" * 300, 7, "cannot be written: File name too long"),
        ("bad.tsv/x", 7, "there is no folder bad.tsv"),
    ],
)
def test_fix_refuses_what_it_cannot_write_and_leaves_nothing(out, code, message, bad):
    (bad / "dangling").symlink_to("nowhere")
    before = sorted(os.listdir(bad))
    found, _, err = s2s("data", "check", "--data", "bad.tsv", "--fix", out)
    assert found == code
    assert message in " ".join(err.split())
    assert sorted(os.listdir(bad)) == before
