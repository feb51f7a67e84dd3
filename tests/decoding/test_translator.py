import copy
import io
import os
import threading

import numpy as np
import pytest
import tensorflow as tf
from conftest import TINY_MODELS, tiny_config, toy_pairs
from small_models import both

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.data.tokenizers.words import Words
from seq2seq_cli.decoding.encoding import batches
from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.decoding.scoring import Scorer
from seq2seq_cli.decoding.translator import Translation, Translator, translate_lines
from seq2seq_cli.errors import CheckpointError, DataError, UsageError
from seq2seq_cli.models import build_model
from seq2seq_cli.runs.run import Run
from seq2seq_cli.special_tokens import UNK

SENTENCE = "I see one cats."


def fail(message: str) -> None:
    raise AssertionError(message)


@pytest.fixture(scope="module")
def translator(trained):
    return load_run(Run(trained), fail).translator()


def test_a_trained_model_translates(translator):
    pairs = toy_pairs()
    found = translator.translate([source for source, _ in pairs])
    right = sum(t.text == target for t, (_, target) in zip(found, pairs, strict=True))
    assert right / len(pairs) > 0.9


def test_empty_sentences_stay_empty_and_order_is_kept(translator):
    sentences = ["", "I see one cats.", "  ", "they have many books.", "\t"]
    texts = [t.text for t in translator.translate(sentences)]
    alone = [translator.translate([s])[0].text for s in sentences]
    assert texts == alone
    assert [bool(t) for t in texts] == [False, True, False, True, False]


def test_no_input_gives_no_output(translator):
    assert translator.translate([]) == []
    assert translator.translate([""]) == [Translation("")]


@pytest.mark.parametrize("batch", [1, 3, 1000])
def test_batches_change_no_translation(translator, batch):
    overrides = Overrides()
    overrides.set("decoding.batch_sentences", batch, "test")
    sentences = [source for source, _ in toy_pairs()[::7]]
    expected = translator.translate(sentences)
    other = copy.copy(translator)
    other._config = load_config(overrides).decoding
    assert [t.text for t in other.translate(sentences)] == [t.text for t in expected]


def test_a_source_over_the_maximum_is_cut_and_reported(translator):
    short, long = translator.translate(["I see one cats.", "cats " * 600])
    assert not short.cut
    assert long.cut
    assert "\n" not in long.text


def test_scores_are_log_probabilities(translator):
    known, nonsense = translator.translate(["I see one cats.", "zq xj kkkk"])
    assert nonsense.score < known.score <= 0


def test_any_unicode_text_gives_one_line(translator):
    strange = ["🙂" * 9, "a\u2028b", "日本語", "¿¡ñ", "</s>", "a\x0bb", "\ufffd", "a\nb"]
    found = translator.translate(strange)
    assert len(found) == len(strange)
    assert all(len(t.text.splitlines()) <= 1 for t in found)


def lines(translator, data: bytes):
    return list(translate_lines(translator, io.BytesIO(data), "stdin"))


def test_translations_contain_no_control_bytes(translator, monkeypatch):
    target = translator._tokenizers.target
    monkeypatch.setattr(target, "detokenize", lambda ids: ["a\0b\nc"] * len(ids))
    assert translator.translate([SENTENCE])[0].text == "a\ufffdb c"


def test_each_input_line_gives_one_output_line(translator):
    found = lines(translator, b"\xef\xbb\xbfI see one cats.\r\n\n\nwe eat two apples.")
    assert [number for number, _, _ in found] == [1, 2, 3, 4]
    assert [line for _, line, _ in found] == ["I see one cats.", "", "", "we eat two apples."]
    assert [bool(t.text) for _, _, t in found] == [True, False, False, True]


def test_unicode_line_separators_do_not_end_a_line(translator):
    assert len(lines(translator, "a\u2028b\u0085c\n".encode())) == 1


@pytest.mark.parametrize("bad", [b"\xff\xfe", b"a\0b"])
def test_an_invalid_line_is_an_error_after_the_lines_before_it(translator, bad):
    found = []
    with pytest.raises(DataError, match=r"stdin:3: .* The lines before it have been translated"):
        for item in translate_lines(translator, io.BytesIO(b"a\nb\n" + bad + b"\nc\n"), "stdin"):
            found.append(item)
    assert [line for _, line, _ in found] == ["a", "b"]


def test_a_pipe_is_answered_line_by_line(translator):
    read_end, write_end = os.pipe()
    timer = threading.Timer(60, os.close, [write_end])  # so that a failure is not a standstill
    timer.start()
    with os.fdopen(read_end, "rb", buffering=0) as stream:
        found = translate_lines(translator, stream, "pipe")
        for sentence in (b"I see one cats.\n", b"we eat two apples.\n"):
            os.write(write_end, sentence)
            assert next(found)[1] == sentence.decode().strip()
        timer.cancel()
        os.close(write_end)
        assert list(found) == []


def test_a_checkpoint_of_another_model_is_refused(trained, tmp_path):
    other = tmp_path / "run"
    config = tiny_config(
        tmp_path / "x", model__decoder_units=TINY_MODELS["rnn"]["model.decoder_units"] + 1
    )
    run = Run(other)
    run.write(config, Tokenizers.load(Run(trained).tokenizer).files())
    run.checkpoints.symlink_to(Run(trained).checkpoints)
    with pytest.raises(CheckpointError, match="belongs to another model: .* has shape"):
        load_run(run, fail)


def test_unknown_words_are_copied_from_the_source():
    words = Words(["▁I", "▁see", "▁cats", "."])
    tokenizers = Tokenizers(words, words)
    config = tiny_config(None, decoding__max_length=4, decoding__min_length=4)
    model = build_model(config.model, both(words.vocabulary_size))
    model.output_projection.bias.assign(30.0 * np.eye(words.vocabulary_size)[UNK])
    sentence = "I see Tom's Boston cats."
    (plain,) = Translator(model, tokenizers, config.decoding).translate([sentence])
    assert plain.text.split() == ["<unk>"] * 4
    copier = Translator(model, tokenizers, config.decoding, replace_unknown=True)
    (copied,) = copier.translate([sentence])
    assert len(copied.text.split()) == 4
    assert set(copied.text.split()) <= {"I", "see", "Tom's", "Boston", "cats", "."}


@pytest.mark.parametrize(
    ("sentences", "sizes"),
    [(8, [8]), (20, [16, 4]), (100, [50, 50]), (300, [128, 128, 44])],
)
def test_batches_have_similar_lengths_and_the_longest_come_first(monkeypatch, sentences, sizes):
    monkeypatch.setattr("seq2seq_cli.decoding.encoding.parts_at_once", lambda: 2)
    lengths = {i: 1 + i * 7 % 5 for i in range(sentences)}
    found = list(batches(lengths, DecodingConfig(batch_sentences=128, batch_tokens=10_000)))
    assert [len(batch) for batch in found] == sizes
    ordered = [lengths[i] for batch in found for i in batch]
    assert ordered == sorted(lengths.values(), reverse=True)
    for batch in batches(lengths, DecodingConfig(batch_tokens=30)):
        assert len(batch) * max(lengths[i] for i in batch) <= 30


def test_an_endless_line_needs_limited_memory(trained):
    class Endless(io.RawIOBase):
        blocks = 40

        def read(self, size=-1):
            self.blocks -= 1
            return "ñ".encode() * (size // 2) if self.blocks else b""

    loaded = load_run(Run(trained), fail).translator()
    ((number, line, translation),) = translate_lines(loaded, Endless(), "x")
    assert number == 1
    assert len(line.encode()) == 1 << 20
    assert translation.cut


@pytest.mark.parametrize(
    "error", [MemoryError(), tf.errors.ResourceExhaustedError(None, None, "OOM")]
)
def test_a_batch_that_does_not_fit_in_memory_says_what_to_lower(trained, monkeypatch, error):
    def fill_memory(*arguments: object) -> None:
        raise error

    loaded = load_run(Run(trained), fail)
    config = loaded.decoding.model_copy(update={"beam": 3, "batch_tokens": 10**9})
    message = (
        r"^a batch of 2 × \d+ tokens does not fit in memory. Lower one of decoding.batch_tokens "
        r"\(1000000000\), decoding.batch_sentences \(256\), decoding.max_source_tokens \(512\), "
        r"decoding.beam \(3\)$"
    )
    translator = loaded.translator(config)
    monkeypatch.setattr(translator, "_search", fill_memory)
    with pytest.raises(UsageError, match=message):
        translator.translate([SENTENCE, SENTENCE])
    scorer = Scorer(loaded.model, loaded.tokenizers, config)
    monkeypatch.setattr(scorer, "_run", fill_memory)
    with pytest.raises(UsageError, match=message):
        scorer.score([(SENTENCE, "yo")] * 2)


def test_progress_counts_sentences_up_to_all(translator):
    told = []
    translator.translate(["I see one cats.", "", "we eat two books."] * 30, progress=told.append)
    assert told == sorted(told)
    assert told[0] > 30
    assert told[-1] == 90


def test_a_prefix_outside_the_vocabulary_is_refused():
    words = Words(["▁I", "▁see"])
    config = tiny_config(None)
    model = build_model(config.model, both(words.vocabulary_size))
    arguments = (model, Tokenizers(words, words), config.decoding)
    with pytest.raises(UsageError, match="--prefix 'I xyz': the target vocabulary .* 'words'"):
        Translator(*arguments, prefix="I xyz")
    Translator(*arguments, prefix="I see")


def test_a_translation_ends_where_no_other_token_is_possible():
    words = Words(["▁I", "▁see"])
    config = tiny_config(None, decoding__no_repeat_ngram=1, decoding__min_length=30)
    model = build_model(config.model, both(words.vocabulary_size))
    (found,) = Translator(model, Tokenizers(words, words), config.decoding).translate(["I see"])
    assert sorted(found.text.split()) == ["<unk>", "I", "see"]
    assert np.isfinite(found.score)
