"""The options of the command `translate`."""

import json
import re

import numpy as np
import pytest
from conftest import invoke, tiny_config, toy_pairs

from seq2seq_cli.cli.resources import find_one
from seq2seq_cli.cli.search_options import search_flags
from seq2seq_cli.errors import UsageError
from seq2seq_cli.runs.run import Run

pytestmark = pytest.mark.usefixtures("uncompiled")
SENTENCE = "I see one cats."


def test_n_best_gives_n_lines_with_falling_scores(home):
    lines = invoke("translate", SENTENCE, "", "--beam", "4", "--n-best", "3", "--scores")
    assert len(lines) == 6
    scores = [float(line.split("\t")[0]) for line in lines[:3]]
    assert scores == sorted(scores, reverse=True)
    assert len(set(lines[:3])) == 3
    assert lines[3:] == ["", "", ""]
    (empty,) = invoke("translate", "", "--alignments", "--json")
    assert json.loads(empty)["score"] is None


def test_a_beam_finds_at_least_what_greedy_finds(home):
    greedy, beam = (
        json.loads(invoke("translate", SENTENCE, "--json", "--beam", k)[0]) for k in ("1", "5")
    )
    assert beam["log_probability"] >= greedy["log_probability"] - 1e-4


def test_samples_depend_on_the_seed_and_not_on_the_order(home):
    sentences = [source for source, _ in toy_pairs()[::50]]
    sample = ["--sample", "--temperature", "3", "--json"]

    def drawn(*options: str) -> list[str]:
        lines = invoke("translate", *sentences, *sample, *options)
        return [json.loads(line)["translation"] for line in lines]

    first = drawn("--seed", "1")
    assert first == drawn("--seed", "1", "--batch-tokens", "1")
    assert first != drawn("--seed", "2")
    cold = invoke("translate", *sentences, "--sample", "--top-k", "1")
    assert cold == invoke("translate", *sentences)


def test_a_prefix_begins_every_translation(home):
    found = invoke("translate", SENTENCE, "we eat two books.", "", "--prefix", "ellos")
    assert [line.startswith("ellos") for line in found] == [True, True, False]


def test_the_maximum_length_is_in_tokens(home):
    record = json.loads(
        invoke("translate", SENTENCE, "--max-length", "2", "--alignments", "--json")[0]
    )
    assert len(record["attention"]["target_tokens"]) == 2


def test_a_prefix_may_contain_repeated_ngrams(home):
    options = ["--set", "decoding.no_repeat_ngram=1"]
    for beam in ("1", "3"):
        (found,) = invoke("translate", SENTENCE, "--prefix", "yo yo", "--beam", beam, *options)
        assert found.startswith("yo yo")


def test_alignments_are_of_words_and_soft_ones_of_tokens(home):
    line = invoke("translate", SENTENCE, "--alignments")[0]
    text, alignment = line.split("\t")
    pairs = re.findall(r"(\d+)-(\d+)", alignment)
    assert [int(j) for _, j in pairs] == list(range(len(text.split())))
    assert all(int(i) < len(SENTENCE.split()) for i, _ in pairs)
    record = json.loads(invoke("translate", SENTENCE, "--alignments", "--json")[0])
    assert record["alignment"] == alignment
    soft = record["attention"]
    assert np.shape(soft["weights"]) == (len(soft["target_tokens"]), len(soft["source_tokens"]))
    np.testing.assert_allclose(np.sum(soft["weights"], axis=1), 1, atol=1e-3)


def test_an_ensemble_of_a_run_with_itself_equals_the_run(home, trained):
    alone = invoke("translate", SENTENCE, "--scores", "--run", trained.name)
    assert (
        invoke("translate", SENTENCE, "--scores", "--run", trained.name, "--run", trained.name)
        == alone
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--beam", "5000"],
            r"decoding.beam \(--beam\) is 5000, but the target vocabulary has",
        ),
        (
            ["--beam", "0"],
            "--beam: decoding.beam must be a whole number from 1 to 10000; it is 0",
        ),
        (["--sample", "--beam", "3"], "^--sample and --beam 3 exclude each other"),
        (
            ["--n-best", "3"],
            "^--n-best 3 asks for more translations than a beam of 1 finds. To search for them, "
            "add --beam 3; to draw them, --sample$",
        ),
        (
            ["--set", "decoding.n_best=3"],
            "^--set decoding.n_best: decoding.n_best = 3 asks .* add --beam 3",
        ),
        (["--n-best", "1001", "--sample"], "--n-best: .* from 1 to 1000; it is 1001"),
        (["--top-k", "1"], "^only sampling uses --top-k 1. Add --sample, or leave it out$"),
        (
            ["--temperature", "0.5", "--top-p", "0.5"],
            "^only sampling uses --temperature 0.5 and --top-p 0.5. Add --sample, or leave them o",
        ),
        (
            ["--sample", "--temperature", "0"],
            "--temperature: .* must be a number from 0.001 to 100; it is 0",
        ),
        (
            ["--sample", "--temperature", "1e308"],
            "--temperature: .* must be a number from 0.001 to 100; it is 1e[+]308",
        ),
        (
            ["--sample", "--temperature", "1e-300"],
            "--temperature: .* must be a number from 0.001 to 100; it is 1e-300",
        ),
        (
            ["--set", "decoding.max_length_ratio=1e308"],
            "max_length_ratio must be a number above 0 and at most 100; it is 1e[+]308",
        ),
        (
            ["--max-length", "1", "--prefix", "Me"],
            r"^--prefix has \d+ tokens, and EOS is one more, but "
            r"decoding.max_length \(--max-length\) is 1. Raise it to at least \d+, or shorten",
        ),
        (
            ["--prefix", "yo " * 600],
            r"^--prefix has [\d,]+ tokens, but decoding.max_source_tokens allows only 512. Shorten",
        ),
        (
            ["--max-length", "0"],
            "--max-length: decoding.max_length must be a whole number from",
        ),
        (
            ["--seed", "-1", "--sample"],
            "--seed: decoding.seed must be a whole number of at",
        ),
        (["--sample", "--top-p", "1.5"], "--top-p: .* must be a number above 0 and at most 1"),
        (["--seed", "3"], "--seed is for --sample"),
        (
            ["--set", "decoding.min_length=9", "--max-length", "4"],
            "--set decoding.min_length: decoding.min_length = 9 is more than --max-length 4",
        ),
        (
            ["--set", "training.seed=9"],
            "--set training.seed: a trained run accepts only keys of decod",
        ),
        (["--replace-unknown"], "copies whole words, but this run's tokenizer.kind is 'unigram'"),
        (["--input", "x"], "sentences and --input exclude each other"),
    ],
)
def test_bad_options_are_reported(home, options, message):
    with pytest.raises(UsageError, match=message):
        invoke("translate", SENTENCE, *options)


@pytest.mark.parametrize("temperature", ["0.001", "100"])
def test_the_extreme_temperatures_draw_text(home, temperature):
    (found,) = invoke("translate", SENTENCE, "--sample", "--temperature", temperature)
    assert found


def test_top_k_may_be_more_than_the_vocabulary(home):
    options = ["--sample", "--seed", "3"]
    everything = invoke("translate", SENTENCE, *options, "--top-k", "100000")
    assert everything == invoke("translate", SENTENCE, *options, "--top-k", "10000")


def test_samples_take_the_place_of_the_beam_of_a_run(tmp_path):
    Run(tmp_path / "run").write(tiny_config("x", decoding__beam=5), {})
    for given in ([], ["decoding.sample=true"]):
        flags = search_flags(not given, 3, beam=None)
        config = find_one(str(tmp_path / "run"), given, *flags).config
        assert (config.decoding.sample, config.decoding.beam) == (True, 1)
        assert config.decoding.seed == 3
