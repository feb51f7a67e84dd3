"""A SavedModel translates and scores as its run does, also where s2s cannot be imported."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from random_model import SOURCES, random_model

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.export import exporting
from seq2seq_cli.export.saved_model import SavedModel
from seq2seq_cli.export.text_functions import TextFunctions
from seq2seq_cli.runs.run import Run

MODELS = {
    "GRU, Bahdanau's wiring, unigram": {"model__kind": "rnn", "tokenizer__kind": "unigram"},
    "LSTM, Luong's wiring with input feeding, bpe": {
        "model__kind": "rnn",
        "model__cell": "lstm",
        "model__attention": "general",
        "model__encoder_layers": 2,
        "model__decoder_layers": 2,
        "tokenizer__kind": "bpe",
        "tokenizer__vocabularies": "separate",
    },
    "concat, without input feeding, words": {
        "model__kind": "rnn",
        "model__attention": "concat",
        "model__input_feeding": False,
        "tokenizer__kind": "words",
    },
    "Transformer, wordpiece": {"model__kind": "transformer", "tokenizer__kind": "wordpiece"},
    "decoder-only, bytes": {"model__kind": "decoder_only", "tokenizer__kind": "bytes"},
}
ODD = ["", "  e\u0301l\tcome\u3000 libros. ", "¿Ñandú? 日本 🙂", "x" * 60]
TEXTS = [*SOURCES[:3], *ODD]
TOY = ["nosotros querer dos libros.", "", "ella comer muchos manzanas."]
LIMITS = {"max_source_tokens": 20, "max_length_ratio": 1.5, "max_length_extra": 3}


def words(texts):
    return [text.decode() for text in np.ravel(texts.numpy())]


@pytest.fixture(scope="module", params=MODELS)
def loaded(request):
    return random_model(**MODELS[request.param])


@pytest.fixture(scope="module")
def functions(loaded):
    return TextFunctions(
        loaded.model, loaded.tokenizers, DecodingConfig(length_penalty=0, **LIMITS)
    ).functions()


class TestEveryModel:
    @pytest.mark.few_cases(2)
    def test_greedy_translations_equal_those_of_the_translator(self, loaded, functions):
        found = functions["translate"](text=tf.constant(TEXTS))
        config = DecodingConfig(length_penalty=0, **LIMITS)
        wanted = loaded.translator(config, compiled=False).translate(TEXTS)
        assert words(found["translation"]) == [each.text for each in wanted]
        expected = np.nan_to_num([each.log_probability for each in wanted])  # 0 for a blank text
        np.testing.assert_allclose(found["log_probability"], expected, atol=1e-4)

    @pytest.mark.few_cases(2)
    def test_one_graph_searches_with_every_beam(self, loaded, functions):
        for beam, n_best, penalty in ((1, 1, 0.0), (4, 3, 0.6)):
            found = functions["translate_beam"](
                text=tf.constant(TEXTS),
                beam=tf.constant(beam),
                n_best=tf.constant(n_best),
                length_penalty=tf.constant(penalty),
            )
            config = DecodingConfig(beam=beam, n_best=n_best, length_penalty=penalty, **LIMITS)
            translator = loaded.translator(config, compiled=False)
            for b, best in enumerate(translator.translate(TEXTS)):
                wanted = [best, *best.others]
                size = len(wanted)
                assert words(found["translations"][b])[:size] == [each.text for each in wanted]
                for name, key in (("scores", "score"), ("log_probabilities", "log_probability")):
                    expected = np.nan_to_num([getattr(each, key) for each in wanted])
                    np.testing.assert_allclose(found[name][b, :size], expected, atol=1e-4)

    @pytest.mark.few_cases(2)
    def test_scores_equal_those_of_the_scorer(self, loaded, functions):
        texts, translations = [*SOURCES[:3], "", *ODD[1:]], [*SOURCES[4:7], "yo", *ODD[1:]]
        found = functions["score"](text=tf.constant(texts), translation=tf.constant(translations))[
            "log_probability"
        ]
        scorer = loaded._replace(decoding=DecodingConfig(**LIMITS)).scorer(compiled=False)
        pairs = list(zip(texts, translations, strict=True))
        expected = [each.log_probability for each in scorer.score(pairs)]
        np.testing.assert_allclose(found, expected, atol=1e-4, rtol=1e-5)

    @pytest.mark.few_cases(2)
    def test_no_texts_give_no_translations(self, functions):
        none = tf.constant([], tf.string)
        assert functions["translate"](text=none)["translation"].shape == [0]
        assert functions["score"](text=none, translation=none)["log_probability"].shape == [0]
        found = functions["translate_beam"](
            text=none, beam=tf.constant(4), n_best=tf.constant(3), length_penalty=tf.constant(1.0)
        )
        assert found["translations"].shape == [0, 3]


def test_penalties_of_the_run_are_kept():
    loaded = random_model(
        decoding__repetition_penalty=1.5, decoding__coverage_penalty=0.3, decoding__min_length=6
    )
    config = SavedModel().search(loaded.decoding, 1)
    texts = TEXTS[:3]
    found = TextFunctions(loaded.model, loaded.tokenizers, config).translate_beam(
        text=tf.constant(texts),
        beam=tf.constant(3),
        n_best=tf.constant(1),
        length_penalty=tf.constant(0.6),
    )
    config = loaded.decoding.model_copy(update={"beam": 3, "length_penalty": 0.6})
    wanted = loaded.translator(config, compiled=False).translate(texts)
    assert words(found["translations"]) == [each.text for each in wanted]
    np.testing.assert_allclose(found["scores"][:, 0], [each.score for each in wanted], atol=1e-4)


@pytest.mark.slow
def test_a_model_of_both_directions_has_functions_for_each():
    loaded = random_model(model__kind="rnn", data__both_directions=True)
    saved = SavedModel()
    assert "`translate_to_en`" in saved.usage(loaded, "a", "float32")
    functions = saved.functions(loaded)
    assert {"score_to_en", "translate_beam_to_en"} < set(functions)
    found = {}
    for name, language in (("translate", "es"), ("translate_to_en", "en")):
        found[language] = words(functions[name](text=tf.constant(SOURCES))["translation"])
        search = saved.search(loaded.decoding, 1)
        translator = loaded.towards(language).translator(search, compiled=False)
        assert found[language] == [each.text for each in translator.translate(SOURCES)]
    assert found["es"] != found["en"]


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "toy"
    made = exporting.export(Run(trained), path, "saved-model")
    assert all(each.equal == each.sentences for each in made.agreements)
    return path


@pytest.fixture(scope="module")
def signatures(exported):
    return tf.saved_model.load(str(exported / "1")).signatures


def test_the_folder_has_the_layout_of_tensorflow_serving(exported, signatures):
    assert sorted(each.name for each in exported.iterdir()) == [
        "1",
        "README.md",
        "config.toml",
        "scores.json",
    ]
    assert (exported / "1" / "saved_model.pb").is_file()
    assert set(signatures) == {"serving_default", "translate", "translate_beam", "score"}


def test_it_runs_in_a_session_as_tensorflow_serving_runs_it(exported):
    with tf.compat.v1.Session(graph=tf.Graph()) as session:
        saved = tf.compat.v1.saved_model.load(session, ["serve"], str(exported / "1"))

        def run(name, **values):
            function = saved.signature_def[name]
            fed = {function.inputs[key].name: value for key, value in values.items()}
            wanted = {key: output.name for key, output in function.outputs.items()}
            return session.run(wanted, fed)

        numbers = {"beam": 3, "n_best": 2, "length_penalty": 0.6}
        for texts in (["we want two books.", "", "she eats many apples."], []):
            greedy = run("serving_default", text=texts)
            best = run("translate_beam", text=texts, **numbers)
            scores = run("score", text=texts, translation=greedy["translation"])
            expected = TOY[: len(texts)]
            assert [text.decode() for text in greedy["translation"]] == expected
            assert [text.decode() for text in best["translations"][:, 0]] == expected
            np.testing.assert_allclose(
                scores["log_probability"][::2], greedy["log_probability"][::2], atol=1e-4
            )


def test_it_translates_where_s2s_cannot_be_imported(exported, trained):
    (code,) = re.findall(r"```python\n(.*?)```", (exported / "README.md").read_text(), re.DOTALL)
    code = code.replace('"A sentence."', '"we want two books.", ""')
    blocked = f"import sys; sys.modules['seq2seq_cli'] = None\n{code}"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", blocked],
        cwd=exported.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "gradient" not in done.stderr
    assert done.stdout == "['nosotros querer dos libros.', '']\n"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beam": 0}, "beam must be from 1 to"),
        ({"beam": 10**6}, "beam must be from 1 to"),
        ({"n_best": 4}, "n_best must be from 1 to beam"),
        ({"length_penalty": -1.0}, "length_penalty must be"),
    ],
)
def test_numbers_that_make_no_search_are_refused(signatures, values, message):
    search = signatures["translate_beam"]
    usual = {"beam": 3, "n_best": 2, "length_penalty": 0.6}
    arguments = {name: tf.constant(value) for name, value in {**usual, **values}.items()}
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        search(text=tf.constant(["we want two books."]), **arguments)


def test_there_are_as_many_translations_as_texts(signatures):
    score = signatures["score"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have one string per text"):
        score(text=tf.constant(["a", "b"]), translation=tf.constant(["a"]))
