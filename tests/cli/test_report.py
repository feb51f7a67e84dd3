"""The command `report`."""

import shutil
from pathlib import Path

import pytest
from conftest import invoke, s2s

pytestmark = pytest.mark.usefixtures("uncompiled")


def test_a_page_has_scores_and_attention_of_the_model(home, trained, tmp_path):
    page = tmp_path / "page.html"
    assert invoke("report", trained.name, "--output", str(page)) == [str(page)]
    text = page.read_text("utf-8")
    assert "Scores on the test split" in text
    assert text.count('id="map-') == 3
    assert text.count('id="curve-') == 9


def test_several_runs_without_their_models(home, trained, tmp_path):
    page = tmp_path / "page.html"
    code, out, err = s2s("report", trained.name, trained.name, "--no-test", "-o", str(page))
    assert (code, out, err) == (0, f"{page}\n", "")
    text = page.read_text("utf-8")
    assert "Scores on the test split" not in text
    assert text.count("s2s train --config") == 2


@pytest.mark.parametrize("option", ["--to", "--data", "--source", "--target", "--device"])
def test_options_of_test_scores_are_refused_without_them(home, option):
    code, _, err = s2s("report", "--no-test", option, "x")
    assert code == 2
    assert f"{option} applies to the test scores, but --no-test leaves" in " ".join(err.split())


def test_broken_lines_of_figures_are_left_out_with_a_warning(trained, tmp_path):
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    with (run / "metrics.jsonl").open("a") as file:
        file.write("garbage\n")
    page = tmp_path / "page.html"
    code, _, err = s2s("report", str(run), "--no-test", "-o", str(page))
    assert (code, "metrics.jsonl" in err) == (0, True)


def test_a_page_that_cannot_be_written_is_refused_at_once(home):
    code, out, err = s2s("report", "--output", "no/such/folder/page.html")
    assert (code, out) == (7, "")
    assert "there is no folder" in err
