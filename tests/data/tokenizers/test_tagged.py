"""Tags: tokens before a source sentence that no text contains."""

import json

import pytest
import tensorflow as tf
from conftest import toy_pairs

from seq2seq_cli.config.data import TokenizerConfig
from seq2seq_cli.data.tokenizers.pair import Tokenizers, train_tokenizers
from seq2seq_cli.errors import CheckpointError, UsageError

SOURCES, TARGETS = zip(*toy_pairs()[:100], strict=True)
KINDS = ["unigram", "bpe", "wordpiece", "words", "bytes"]
SENTENCE = "I see one cats."


@pytest.fixture(scope="module")
def by_kind():
    """The tokenizers of every kind, joint, without tags."""
    return {
        kind: train_tokenizers(SOURCES, TARGETS, TokenizerConfig(kind=kind, vocabulary_size=400))
        for kind in KINDS
    }


def ids_of(tokenizer, *sentences: str) -> list[list[int]]:
    return tokenizer.tokenize(tf.constant(sentences)).to_list()


@pytest.mark.parametrize("kind", KINDS)
class TestEveryKind:
    @pytest.fixture
    def plain(self, kind, by_kind):
        return by_kind[kind]

    @pytest.fixture
    def tagged(self, plain):
        return plain.with_tags(["2es", "2en", "bt"])

    def test_tags_are_the_last_ids_and_change_no_other(self, plain, tagged):
        size = plain.source.vocabulary_size
        assert tagged.source.vocabulary_size == tagged.target.vocabulary_size == size + 3
        assert [tagged.source.tag_id(tag) for tag in ("2es", "2en", "bt")] == [
            *range(size, size + 3)
        ]
        assert tagged.source.pieces([size, size + 2]) == ["<2es>", "<bt>"]
        assert ids_of(tagged.source, SENTENCE) == ids_of(plain.source, SENTENCE)

    def test_each_sentence_begins_with_one_token_for_its_tag(self, plain, tagged):
        towards = tagged.towards("en")
        size = plain.source.vocabulary_size
        (expected,) = ids_of(plain.source, SENTENCE)
        assert ids_of(towards.source, SENTENCE, SENTENCE) == [[size + 1, *expected]] * 2
        assert ids_of(towards.target, SENTENCE) == [expected]
        assert ids_of(towards.source, "") == [[size + 1, 3]]
        assert towards.source.sample(["I"], 0.5, 1)[0][0] == size + 1

    def test_a_tag_written_in_a_text_is_text(self, plain, tagged):
        for row in ids_of(tagged.source, "<bt>", "<2es> <bt> a", "<bt"):
            assert max(row) < plain.source.vocabulary_size

    def test_a_tag_gives_no_text(self, tagged):
        row = ids_of(tagged.towards("es").source, SENTENCE)
        assert tagged.source.detokenize(row) == [SENTENCE]

    def test_a_shared_vocabulary_remains_shared(self, plain, tagged):
        assert tagged.joint
        assert tagged.towards("es").joint
        assert tagged.vocabularies == plain.vocabularies._replace(
            source=tagged.source.vocabulary_size, target=tagged.target.vocabulary_size, tags=3
        )

    def test_tags_are_read_back_from_the_files(self, tagged, tmp_path):
        for name, content in tagged.files().items():
            (tmp_path / name).write_bytes(content)
        loaded = Tokenizers.load(tmp_path)
        assert loaded.source.tags == ("2es", "2en", "bt")
        assert loaded.fingerprints == tagged.fingerprints
        assert loaded.joint

    def test_without_tags_files_and_fingerprints_are_as_before(self, plain):
        index = json.loads(plain.files()["tokenizer.json"])
        assert list(index) == ["kind", "sha256"]
        assert plain.with_tags([]).files() == plain.files()


def test_wrong_tags_in_the_files_are_damage(by_kind, tmp_path):
    files = by_kind["words"].with_tags(["bt"]).files()
    index = json.loads(files["tokenizer.json"])
    for tags in (["tb"], "bt", [1], []):
        files["tokenizer.json"] = json.dumps({**index, "tags": tags}).encode()
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
        with pytest.raises(CheckpointError, match=r"joint\.json: missing or damaged"):
            Tokenizers.load(tmp_path)


def test_of_separate_vocabularies_the_source_alone_has_tags(tmp_path):
    config = TokenizerConfig(kind="words", vocabulary_size=400, vocabularies="separate")
    plain = train_tokenizers(SOURCES, TARGETS, config)
    tagged = plain.with_tags(["bt"])
    assert not tagged.joint
    assert tagged.source.vocabulary_size == plain.source.vocabulary_size + 1
    assert tagged.target is plain.target
    for name, content in tagged.files().items():
        (tmp_path / name).write_bytes(content)
    loaded = Tokenizers.load(tmp_path)
    assert (loaded.source.tags, loaded.target.tags) == (("bt",), ())


def test_tokenizers_without_tags_of_languages_translate_as_they_are(by_kind):
    tokenizers = by_kind["words"].with_tags(["bt"])
    assert tokenizers.towards("fr") is tokenizers


def test_a_language_without_a_tag_is_an_error(by_kind):
    with pytest.raises(UsageError, match="no tag <2fr> .* es and en"):
        by_kind["words"].with_tags(["2es", "2en"]).towards("fr")


def test_the_tags_are_named_beside_the_size(by_kind):
    plain = by_kind["words"]
    assert str(plain.with_tags(["2es", "bt"])) == f"{plain}; tags <2es> <bt>"
