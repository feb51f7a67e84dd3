"""The interface for Python users: seq2seq_cli.load, and what it returns."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import invoke, toy_pairs

import seq2seq_cli as s2s
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.python.options import Options, options_as_keywords, with_options

SENTENCE = "I see one cats."
TRANSLATION = "yo mirar un gatos."


@pytest.fixture(scope="module")
def model(trained) -> s2s.Model:
    return s2s.load(trained)


def test_the_import_is_fast_and_imports_nothing_slow():
    code = """
import sys, time
began = time.process_time()
import seq2seq_cli
print(time.process_time() - began, *sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    seconds, *modules = done.stdout.split()
    assert float(seconds) < 0.1
    assert not {"tensorflow", "keras", "pydantic", "rich", "typer", "numpy"} & set(modules)


def test_names_that_do_not_exist_are_attribute_errors():
    assert "load" in dir(s2s)
    with pytest.raises(AttributeError, match="has no attribute 'loda'"):
        _ = s2s.loda  # type: ignore[attr-defined]  # the attribute must be missing


def test_a_string_gives_a_string_and_a_list_a_list(model):
    assert model.translate(SENTENCE) == TRANSLATION
    assert model.translate([SENTENCE, " "]) == [TRANSLATION, ""]
    assert model.translate(sentence for sentence in [SENTENCE]) == [TRANSLATION]
    assert model.translate([]) == []


def test_translations_are_those_of_the_command_line(home, model):
    options = ["--beam", "4", "--length-penalty", "0"]
    lines = invoke("translate", SENTENCE, "--n-best", "2", "--scores", *options)
    found = model.translate(SENTENCE, n_best=2, with_scores=True, beam=4, length_penalty=0.0)
    assert [f"{score:.4f}\t{text}" for text, score in found] == lines


def test_n_best_gives_a_list_for_each_sentence(model):
    found = model.translate([SENTENCE, ""], beam=3, n_best=2)
    assert [len(each) for each in found] == [2, 1]
    assert model.translate(SENTENCE, n_best=1) == [TRANSLATION]
    assert math.isnan(model.translate("", with_scores=True).score)
    best = model.translate(SENTENCE, with_scores=True)
    assert best.text == TRANSLATION
    assert best.score < 0


def test_samples_follow_from_the_seed(model):
    sentences = [source for source, _ in toy_pairs()[::50]]

    def drawn(seed: int) -> list[str]:
        return model.translate(sentences, sample=True, temperature=3.0, seed=seed)

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_many_sentences_are_translated_as_one_is(model):
    sentences = [source for source, _ in toy_pairs()[::25]]
    assert model.translate(sentences) == [model.translate(sentence) for sentence in sentences]


def test_a_prefix_begins_the_translation(model):
    assert model.translate(SENTENCE, prefix="ellos").startswith("ellos")


def test_a_cut_sentence_is_a_warning(model):
    with pytest.warns(UserWarning, match=r"sentence 1 was cut to 4 tokens \(.*\): 'I see one"):
        model.translate(["a", SENTENCE], max_source_tokens=4)


def test_only_options_are_named_as_keywords_and_no_parts_of_paths():
    with pytest.raises(UsageError) as caught, options_as_keywords():
        raise UsageError(
            "--top-k: decoding.top_k (--top-k) in runs/a--beam/decoding.beam and training.new.toml"
        )
    assert str(caught.value) == "top_k: top_k in runs/a--beam/decoding.beam and training.new.toml"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "^translate(): beam must be a whole number from 1 to 10000; it"),
        ({"beam": 5000}, "^beam is 5000, but the target vocabulary has"),
        ({"n_best": 3}, "^translate(): n_best = 3 asks for more .* add beam = 3; .* sample = True"),
        ({"top_k": 2}, "only sampling uses top_k = 2. Add sample = True, or leave it out"),
        ({"seed": 3}, "^seed is for sample=True; without"),
        ({"replace_unknown": True}, "^replace_unknown copies whole words"),
        ({"max_length": 1, "prefix": "yo"}, "^prefix has .* max_length is 1"),
    ],
)
def test_wrong_values_are_named_as_keywords(model, options, message):
    with pytest.raises(UsageError, match=message.replace("()", r"\(\)")):
        model.translate(SENTENCE, **options)


@pytest.mark.parametrize(
    ("name", "nearest"), [("beem", "beam"), ("with_score", "with_scores"), ("topk", "top_k")]
)
def test_an_unknown_option_names_the_nearest(model, name, nearest):
    with pytest.raises(TypeError, match=f"no option '{name}'; did you mean '{nearest}'"):
        model.translate(SENTENCE, **{name: 1})


def test_every_key_of_decoding_is_an_option():
    assert {*Options.__annotations__, "n_best"} == set(DecodingConfig.model_fields)


@pytest.mark.parametrize("sentences", [b"bytes", [SENTENCE, None], [b"x"]])
def test_what_is_no_text_is_a_type_error(model, sentences):
    with pytest.raises(TypeError, match="sentences: "):
        model.translate(sentences)


def test_the_score_is_that_of_the_command_line(home, model):
    record = json.loads(invoke("score", SENTENCE, TRANSLATION, "--json")[0])
    score = model.score(SENTENCE, TRANSLATION)
    assert score == pytest.approx(record["log_probability"], abs=1e-4)
    several = model.score([SENTENCE, "", SENTENCE], [TRANSLATION, "", "gatos"])
    assert several[0] == pytest.approx(score, abs=1e-4)
    assert math.isnan(several[1])
    assert several[2] < score


def test_pairs_to_score_must_be_pairs(model):
    with pytest.raises(TypeError, match="two strings, or two lists"):
        model.score(SENTENCE, [TRANSLATION])
    with pytest.raises(ValueError, match="1 sources and 2 translations"):
        model.score([SENTENCE], [TRANSLATION, TRANSLATION])


def test_attention_is_a_row_for_each_target_token(model):
    found = model.attention(SENTENCE)
    assert (found.source, found.translation) == (SENTENCE, TRANSLATION)
    assert found.weights.shape == tuple(len(getattr(found, axis)) for axis in found.axes)
    assert found.target_tokens[-1] == found.source_tokens[-1] == "</s>"
    np.testing.assert_allclose(found.weights.sum(axis=1), 1, atol=1e-3)
    assert [j for _, j in found.words] == list(range(len(TRANSLATION.split())))


def test_attention_of_the_models_own_translation_is_the_same_when_it_is_given(model):
    own, given = model.attention(SENTENCE), model.attention(SENTENCE, TRANSLATION)
    assert given.target_tokens == own.target_tokens
    assert given.words == own.words
    np.testing.assert_allclose(given.weights, own.weights, atol=2e-5)
    other = model.attention(SENTENCE, "gatos")
    assert other.translation == "gatos"
    assert len(other.target_tokens) < len(own.target_tokens)


def test_a_blank_sentence_has_no_attention(model):
    with pytest.raises(UsageError, match="blank"):
        model.attention(" ")


def test_the_newest_run_is_the_default_and_names_are_below_runs(home, trained):
    assert s2s.load().runs == (Path("runs") / trained.name,)
    assert s2s.load(trained.name).runs == (Path("runs") / trained.name,)
    with pytest.raises(CheckpointError, match="runs/none: no such run"):
        s2s.load("none")


def test_a_loaded_model_needs_no_current_folder(home, trained, tmp_path):
    model = s2s.load(f"runs/{trained.name}")
    os.chdir(tmp_path)  # `home` goes back
    assert model.translate(SENTENCE, beam=2) == TRANSLATION


def test_a_run_twice_is_an_ensemble_that_equals_it(model, trained):
    ensemble = s2s.load(trained, trained)
    assert len(ensemble.runs) == 2
    assert ensemble.translate(SENTENCE) == TRANSLATION
    assert ensemble.score(SENTENCE, TRANSLATION) == pytest.approx(
        model.score(SENTENCE, TRANSLATION), abs=1e-4
    )


def test_a_wrong_device_is_named(trained):
    with pytest.raises(UsageError, match=r"load\(\): device must be auto, cpu, gpu or gpu:N"):
        s2s.load(trained, device="tpu")


def test_a_given_translation_that_is_cut_is_a_warning(model):
    with pytest.warns(UserWarning, match="translation was cut to 512 tokens"):
        found = model.attention(SENTENCE, "gatos " * 600)
    assert len(found.target_tokens) == 512


def test_samples_take_the_place_of_the_beam_of_a_run():
    found = with_options(DecodingConfig(beam=5, length_penalty=1), "a", {"sample": True})
    assert found == DecodingConfig(sample=True, length_penalty=1)


def test_options_of_sampling_end_with_it():
    defaults = DecodingConfig(sample=True, temperature=0.7, top_k=5)
    found = with_options(defaults, "a", {"sample": False, "beam": 4})
    assert found == DecodingConfig(beam=4)
    with pytest.raises(UsageError, match="only sampling uses decoding.top_k"):
        with_options(defaults, "a", {"sample": False, "top_k": 5})
