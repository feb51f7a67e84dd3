import json
import math
import statistics

import pytest
from conftest import TINY

from seq2seq_cli.config import Config
from seq2seq_cli.config.files import changed_config
from seq2seq_cli.errors import UsageError
from seq2seq_cli.recipes import ablation, paper_figures, paper_models
from seq2seq_cli.recipes.paper_figures import make_figures
from seq2seq_cli.recipes.paper_models import FIGURES, PaperFigure, configs_of
from seq2seq_cli.recipes.paper_results import Estimate
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.events import ignore

NAMES = ["lengths", "alignments", "scores"]


def base(corpus):
    widths = ["encoder_units", "decoder_units", "embedding_units", "attention_units"]
    values = {f"model.{width}": 16 if width == "decoder_units" else 8 for width in widths}
    values |= {key: value for key, value in TINY.items() if not key.startswith("model.")}
    values |= {"training.steps": 4, "data.corpus": str(corpus)}
    return changed_config(Config(), values, "test")


@pytest.fixture(scope="module")
def few():
    """Fewer models in one of the figures."""
    models = FIGURES["lengths"].models
    with pytest.MonkeyPatch.context() as patch:
        fewer = {**FIGURES, "scores": PaperFigure("Scores", models)}
        for module in (paper_figures, paper_models):
            patch.setattr(module, "FIGURES", fewer)
        yield


@pytest.fixture(scope="module")
def made(corpus, few, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    return folder, make_figures(NAMES, base(corpus), 2, folder, ignore)


def test_every_model_of_every_figure_has_a_config():
    configs = configs_of([*FIGURES], Config(), 3)
    models = {model for figure in FIGURES.values() for model in figure.models}
    assert len(configs) == 3 * len(models)
    assert [configs[f"2-heads-{seed}"].training.seed for seed in range(3)] == [0, 1, 2]
    assert configs["2-heads-0"].model.heads == 2
    assert configs["local-p-dot-1"].model.attention_span == "local_p"
    assert configs["no-attention-0"].model.wiring == "bahdanau"
    assert configs["additive-luong-0"].model.wiring == "luong"


@pytest.mark.parametrize("wiring", ["bahdanau", "luong"])
def test_the_wiring_of_the_base_config_does_not_change_the_models(wiring):
    base = changed_config(Config(), {"model.wiring": wiring}, "--set")
    plain = {name: config.model for name, config in configs_of(["scores"], Config(), 1).items()}
    assert {n: config.model for n, config in configs_of(["scores"], base, 1).items()} == plain


def test_values_that_a_model_cannot_have_are_reported():
    wide = changed_config(Config(), {"model.decoder_units": 100}, "--set")
    with pytest.raises(UsageError, match=r"model\.decoder_units"):
        configs_of(["scores"], wide, 1)


@pytest.mark.slow
def test_a_model_of_several_figures_is_trained_once(made):
    folder, _ = made
    runs = sorted(path.name for path in folder.iterdir() if path.is_dir())
    assert runs == sorted(
        f"{model}-{seed}" for model in ("additive", "no-attention") for seed in (0, 1)
    )


@pytest.mark.slow
def test_the_figures_have_the_numbers_of_the_runs(made):
    folder, figures = made
    rows = {row["name"]: row for row in json.loads((folder / "results.json").read_text())}
    (scores,) = [figure for figure in figures if figure.name == "scores"]
    for result in scores.results:
        bleus = [rows[f"{result.model}-{seed}"]["bleu"] for seed in (0, 1)]
        assert result.bleu == Estimate(statistics.mean(bleus), min(bleus), max(bleus))
        losses = []
        for seed in (0, 1):
            entries = Run(folder / f"{result.model}-{seed}").metrics()
            losses.append([e["dev_loss"] for e in entries if e["kind"] == "validation"][-1])
        assert result.perplexity.mean == pytest.approx(statistics.mean(map(math.exp, losses)))
    written = json.loads((folder / "scores.json").read_text())
    assert [record["model"] for record in written] == ["no-attention", "additive"]


@pytest.mark.slow
def test_the_length_groups_contain_all_sentences_of_the_split(made, corpus):
    _, figures = made
    (lengths,) = [figure for figure in figures if figure.name == "lengths"]
    counts = {
        model: sum(result.sentences for result in lengths.results if result.model == model)
        for model in ("no-attention", "additive")
    }
    assert counts["additive"] == counts["no-attention"] > 0


@pytest.mark.slow
def test_figures_are_written_with_their_tables(made):
    folder, figures = made
    files = {path.name for path in folder.glob("*.svg")}
    assert files == {"lengths.svg", "scores.svg", *(f"alignments-{n}.svg" for n in range(1, 5))}
    assert ">additive<" in (folder / "lengths.svg").read_text()
    report = (folder / "figures.md").read_text()
    for figure in figures:
        assert f"## {figure.title}\n" in report
    assert "| model | dev perplexity | BLEU | parameters |" in report


@pytest.mark.slow
def test_a_second_call_trains_nothing(made, corpus, monkeypatch):
    folder, figures = made

    def fail(*args, **kwargs):
        raise AssertionError("trained again")

    monkeypatch.setattr(ablation, "train", fail)
    before = {path.name: path.read_bytes() for path in folder.glob("*.svg")}
    assert make_figures(NAMES, base(corpus), 2, folder, ignore) == figures
    assert {path.name: path.read_bytes() for path in folder.glob("*.svg")} == before


def test_an_estimate_shows_its_range_only_if_it_has_one():
    assert str(Estimate.of([3.0])) == "3.00"
    assert str(Estimate.of([1.0, 2.0, 6.0])) == "3.00 (1.00 to 6.00)"
