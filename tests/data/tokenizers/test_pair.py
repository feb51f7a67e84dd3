import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf
from conftest import toy_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq_cli.config.data import TokenizerConfig
from seq2seq_cli.data.tokenizers.pair import Tokenizers, train_tokenizers
from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.special_tokens import BOS, EOS, PAD, UNK

SOURCES, TARGETS = zip(*toy_pairs(), strict=True)
KINDS = ["unigram", "bpe", "wordpiece", "words", "bytes"]
EXACT_KINDS = ["unigram", "bpe", "bytes"]
SPECIAL = ["<s>", "</s>", "[UNK]", "<pad>", "<unk>"]
TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(" ▁\ue000\ue001\ue002a("))


@pytest.fixture(scope="module")
def by_kind():
    """The tokenizers of every kind, joint, of the toy corpus."""
    return {
        kind: train_tokenizers(SOURCES, TARGETS, TokenizerConfig(kind=kind, vocabulary_size=400))
        for kind in KINDS
    }


def ids_of(tokenizer, *sentences: str) -> list[list[int]]:
    return tokenizer.tokenize(tf.constant(sentences)).to_list()


def test_training_is_repeatable_in_another_process(by_kind):
    code = (
        "from test_pair import *\n"
        "for kind in KINDS:\n"
        "    config = TokenizerConfig(kind=kind, vocabulary_size=400)\n"
        "    print(train_tokenizers(SOURCES, TARGETS, config).source.fingerprint)"
    )
    folders = (Path(__file__).parent, Path(__file__).parents[2], Path.cwd())  # and of conftest.py
    path = os.pathsep.join(map(str, folders))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert result.stdout.decode().split() == [by_kind[kind].source.fingerprint for kind in KINDS]


@pytest.mark.parametrize("kind", KINDS)
class TestEveryKind:
    @pytest.fixture
    def tokenizer(self, kind, by_kind):
        return by_kind[kind].source

    def test_sentences_of_the_corpus_are_restored(self, tokenizer):
        ids = ids_of(tokenizer, *SOURCES, *TARGETS)
        assert tokenizer.detokenize(ids) == [*SOURCES, *TARGETS]

    def test_ids_are_int32_below_the_size_and_end_with_eos(self, tokenizer):
        ids = tokenizer.tokenize(tf.constant([*SOURCES[:50], "", "¿Ñandú? 日本 🙂"]))
        assert ids.dtype == tf.int32
        assert all(row[-1] == EOS and EOS not in row[:-1] for row in ids.to_list())
        assert tf.reduce_max(ids) < tokenizer.vocabulary_size

    @pytest.mark.parametrize("special", SPECIAL)
    def test_special_tokens_written_in_a_text_are_text(self, special, tokenizer):
        texts = (special, f"I see {special} cats.", f"{special}{special} ", f"x{special}x")
        for row in ids_of(tokenizer, *texts):
            assert not {PAD, BOS, EOS} & set(row[:-1])

    def test_special_ids_give_no_text(self, tokenizer):
        (ids,) = ids_of(tokenizer, "I see one cats.")
        assert tokenizer.detokenize([[BOS, *ids, *ids, PAD]]) == ["I see one cats."]
        assert tokenizer.detokenize([[PAD, EOS, *ids], []]) == ["", ""]

    def test_an_empty_text_is_only_eos(self, tokenizer):
        assert ids_of(tokenizer, "") == [[EOS]]
        assert tokenizer.tokenize(tf.constant([], tf.string)).to_list() == []

    def test_it_runs_inside_a_map(self, tokenizer):
        rows = tf.data.Dataset.from_tensor_slices(list(SOURCES[:8])).batch(4)
        found = [row for batch in rows.map(tokenizer.tokenize) for row in batch.to_list()]
        assert found == ids_of(tokenizer, *SOURCES[:8])

    def test_every_id_has_a_written_form_of_its_own(self, tokenizer):
        pieces = tokenizer.pieces(range(tokenizer.vocabulary_size))
        assert pieces[:4] == ["<pad>", "<unk>", "<s>", "</s>"]
        assert all(pieces)
        assert len(set(pieces)) == len(pieces)

    def test_files_give_the_same_tokenizers(self, kind, by_kind, tmp_path):
        for name, content in by_kind[kind].files().items():
            (tmp_path / name).write_bytes(content)
        loaded = Tokenizers.load(tmp_path)
        assert loaded.joint
        assert loaded.fingerprints == by_kind[kind].fingerprints
        text = "¿I see, un 日? apples  books"
        assert ids_of(loaded.source, text) == ids_of(by_kind[kind].source, text)

    def test_separate_vocabularies_are_learned_from_their_own_language(self, kind, tmp_path):
        config = TokenizerConfig(kind=kind, vocabulary_size=400, vocabularies="separate")
        found = train_tokenizers(SOURCES, TARGETS, config)
        source = train_tokenizers(SOURCES, SOURCES, config).source
        assert not found.joint
        assert found.source.fingerprint == source.fingerprint
        for name, content in found.files().items():
            (tmp_path / name).write_bytes(content)
        loaded = Tokenizers.load(tmp_path)
        assert not loaded.joint
        assert loaded.fingerprints == found.fingerprints

    def test_each_damaged_or_missing_file_is_named(self, kind, by_kind, tmp_path):
        files = by_kind[kind].files()
        for broken, harm in itertools.product(files, ["missing", "empty", "cut", "changed"]):
            content = files[broken]
            damaged = {
                "missing": None,
                "empty": b"",
                "cut": content[: len(content) // 2],
                "changed": content[:-20] + b"x" * 20,
            }[harm]
            for name in files:
                (tmp_path / name).write_bytes(files[name])
            if damaged is None:
                (tmp_path / broken).unlink()
            else:
                (tmp_path / broken).write_bytes(damaged)
            with pytest.raises(CheckpointError) as caught:
                Tokenizers.load(tmp_path)
            assert str(caught.value).startswith(f"{tmp_path / broken}: missing or damaged: ")


@pytest.mark.parametrize("kind", EXACT_KINDS)
@settings(max_examples=500)
@given(text=TEXT)
def test_every_text_is_restored_exactly(kind, by_kind, text):
    tokenizer = by_kind[kind].source
    assert tokenizer.detokenize(ids_of(tokenizer, text)) == [text]


@pytest.mark.parametrize("kind", KINDS)
@given(parts=st.lists(st.one_of(st.sampled_from(SPECIAL), TEXT), max_size=6))
def test_special_tokens_in_any_text_are_text(kind, by_kind, parts):
    text = "".join(parts)
    tokenizer = by_kind[kind].source
    (ids,) = ids_of(tokenizer, text)
    assert not {PAD, BOS, EOS} & set(ids[:-1])
    if kind in EXACT_KINDS:
        assert tokenizer.detokenize([ids]) == [text]


@pytest.mark.parametrize("kind", EXACT_KINDS)
@pytest.mark.parametrize(
    "text",
    [" a", "a ", "  a   b  ", " ", "▁", "▁ ▁", "\ue000\ue001", "a\nb\r\tc\x00", "e\u0301", "\ufb01",
     "\u00a0a\u3000", "\u2028", "\ufeffa", "\ufffd", "日本 🙂", " ⁇ ", "<0x41>", "\u2585"],
)  # fmt: skip
def test_texts_that_tokenizers_often_change_are_restored(kind, by_kind, text):
    tokenizer = by_kind[kind].source
    assert tokenizer.detokenize(ids_of(tokenizer, text)) == [text]


@pytest.mark.parametrize("kind", EXACT_KINDS)
@settings(max_examples=200)
@given(ids=st.lists(st.integers(0, 259), max_size=30))
def test_any_ids_have_a_text(kind, by_kind, ids):
    assert isinstance(by_kind[kind].source.detokenize([ids])[0], str)


def test_bytes_are_those_of_utf8(by_kind):
    tokenizer = by_kind["bytes"].source
    assert ids_of(tokenizer, "añ", "") == [[*(byte + 4 for byte in "añ".encode()), EOS], [EOS]]
    assert tokenizer.pieces([PAD, *ids_of(tokenizer, "a ñ")[0]]) == [
        *("<pad>", "a", "▁", "<0xC3>", "<0xB1>", "</s>")
    ]
    assert tokenizer.detokenize([[4 + 0xC3]]) == ["\ufffd"]


def test_sizes_and_kinds_are_described():
    def told(**values) -> str:
        return str(train_tokenizers(SOURCES, TARGETS, TokenizerConfig(**values)))

    assert told(kind="bytes") == "260 bytes, shared by both languages"
    assert told(kind="words", vocabularies="separate") == "25 source and 25 target words"


def test_a_given_model_serves_both_languages_or_one(by_kind, tmp_path):
    for kind in ("unigram", "bpe"):
        (tmp_path / f"{kind}.model").write_bytes(by_kind[kind].source.serialise())
    path = str(tmp_path / "bpe.model")
    found = train_tokenizers([], [], TokenizerConfig(kind="bpe", model=path))
    assert found.joint
    assert found.source.fingerprint == by_kind["bpe"].source.fingerprint
    config = TokenizerConfig(kind="bpe", vocabularies="separate", model=path, target_model=path)
    assert not train_tokenizers([], [], config).joint
    with pytest.raises(UsageError, match=r"tokenizer.model: .*bpe.model: is a bpe model, and tok"):
        train_tokenizers([], [], TokenizerConfig(kind="unigram", model=path))


@pytest.mark.parametrize("content", [None, b"", b"nonsense"])
def test_a_given_model_that_cannot_be_read_is_named(content, tmp_path):
    path = tmp_path / "my.model"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        train_tokenizers([], [], TokenizerConfig(model=str(path)))
    what = "cannot be read: No such file" if content is None else "not a readable SentencePiece mod"
    assert str(caught.value).startswith(f"tokenizer.model: {path}: {what}")


def test_an_index_of_another_kind_is_named(by_kind, tmp_path):
    for kind in ("unigram", "bpe"):
        for name, content in by_kind[kind].files().items():
            (tmp_path / name).write_bytes(content)
        index = {**json.loads((tmp_path / "tokenizer.json").read_bytes()), "kind": "klingon"}
        (tmp_path / "tokenizer.json").write_text(json.dumps(index))
        with pytest.raises(CheckpointError, match=r"tokenizer\.json: missing or damaged: unknown"):
            Tokenizers.load(tmp_path)


def test_unknown_is_its_special_id(by_kind):
    assert ids_of(by_kind["words"].source, "I zzz") [0][1] == UNK  # fmt: skip
