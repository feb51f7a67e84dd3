import itertools
import math
import subprocess
import sys
from collections import Counter

import pytest
import sentencepiece
from sentencepiece.sentencepiece_model_pb2 import ModelProto
from test_sentencepiece import SENTENCES, foreign_model

from seq2seq_cli.data.tokenizers.sampling import BPESampler, SegmentationSampler, UnigramSampler

SCORES = {
    "a": -2.0,
    "b": -2.5,
    "c": -3.0,
    "ab": -2.2,
    "bc": -3.5,
    "abc": -3.1,
    "▁": -1.0,
    "▁a": -2.4,
}
DRAWS = 20_000


def segmentations(text: str, known) -> list[tuple[str, ...]]:
    """Return all ways to split a text into pieces, by brute force."""
    found = []
    for cuts in itertools.product([False, True], repeat=len(text) - 1):
        ends = [i for i, cut in enumerate(cuts, start=1) if cut]
        pieces = tuple(text[a:b] for a, b in itertools.pairwise([0, *ends, len(text)]))
        if all(piece in known for piece in pieces):
            found.append(pieces)
    return found


def split(text: str, ends) -> tuple[str, ...]:
    return tuple(text[a:b] for a, b in itertools.pairwise([0, *ends]))


def assert_shares(drawn: Counter, expected: dict) -> None:
    """Each share is within five standard deviations of what it should be."""
    assert drawn.keys() <= expected.keys()
    for key, share in expected.items():
        deviation = math.sqrt(share * (1 - share) / drawn.total())
        assert abs(drawn[key] / drawn.total() - share) < 5 * deviation + 1e-9, key


@pytest.mark.parametrize("alpha", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("text", ["abc", "▁abcab", "c"])
def test_unigram_shares_are_the_powers_of_the_probabilities(text, alpha):
    weights = {
        pieces: math.exp(alpha * sum(SCORES[piece] for piece in pieces))
        for pieces in segmentations(text, SCORES)
    }
    ends = UnigramSampler(SCORES, frozenset())([text] * DRAWS, alpha, seed=3).tolist()
    drawn, first = Counter(), 0
    for bound in range(len(text), len(text) * DRAWS + 1, len(text)):
        last = ends.index(bound, first) + 1
        drawn[split(text, [end - bound + len(text) for end in ends[first:last]])] += 1
        first = last
    total = sum(weights.values())
    assert_shares(drawn, {pieces: weight / total for pieces, weight in weights.items()})


def test_bpe_leaves_out_merges_with_the_probability():
    dropout = 0.3
    sampler = BPESampler({"ab": -1.0, "abc": -2.0}, frozenset())
    drawn = Counter(split("abc", sampler(["abc"], dropout, i).tolist()) for i in range(4000))
    kept = 1 - dropout
    expected = {("abc",): kept**2, ("ab", "c"): kept * dropout, ("a", "b", "c"): dropout}
    assert_shares(drawn, expected)


@pytest.mark.parametrize(("kind", "alpha"), [("unigram", 0.2), ("unigram", 0.7), ("bpe", 0.1)])
def test_shares_are_those_of_sentencepiece(kind, alpha):
    model = foreign_model(model_type=kind)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    sampler = SegmentationSampler(processor, ModelProto.FromString(model))
    text = "I see many houses."
    ours = Counter(map(tuple, sampler.sample([text] * DRAWS, alpha, seed=5)))
    options = {"enable_sampling": True, "nbest_size": -1, "alpha": alpha}
    theirs = Counter(map(tuple, processor.encode([text] * DRAWS, **options)))
    assert len(ours) > 3
    for ids in {*ours, *theirs}:
        share = (ours[ids] + theirs[ids]) / 2 / DRAWS
        deviation = math.sqrt(2 * share * (1 - share) / DRAWS)
        assert abs(ours[ids] - theirs[ids]) / DRAWS < 5 * deviation, processor.id_to_piece(
            list(ids)
        )


@pytest.mark.parametrize(("kind", "best"), [("unigram", 100.0), ("bpe", 0.0)])
def test_symbols_of_the_user_are_never_split(kind, best):
    symbols = ["<mask>", "see", "<mask>s"]
    model = foreign_model(model_type=kind, user_defined_symbols=symbols)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    sampler = SegmentationSampler(processor, ModelProto.FromString(model))
    text = "I <mask>many see<mask>s houses"
    theirs = processor.encode(text)
    assert sampler.sample([text], best, 0) == [theirs]
    expected = [piece for piece in processor.id_to_piece(theirs) if piece in symbols]
    for seed in range(20):
        (ids,) = sampler.sample([text], 0.1, seed)
        assert [piece for piece in processor.id_to_piece(ids) if piece in symbols] == expected


def test_pieces_may_extend_beyond_a_word():
    model = foreign_model(split_by_whitespace=False, vocab_size=60)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    assert any("▁" in processor.id_to_piece(i)[1:] for i in range(60))
    sampler = SegmentationSampler(processor, ModelProto.FromString(model))
    assert sampler.sample(SENTENCES[:50], 100.0, 1) == processor.encode(SENTENCES[:50])


PROGRAM = """
import sys
import sentencepiece
from sentencepiece.sentencepiece_model_pb2 import ModelProto
from seq2seq_cli.data.tokenizers.sampling import SegmentationSampler

model = open(sys.argv[1], "rb").read()
processor = sentencepiece.SentencePieceProcessor(model_proto=model)
sampler = SegmentationSampler(processor, ModelProto.FromString(model))
print(sampler.sample(sys.argv[2:], 0.3, 7))
"""


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_samples_are_the_same_in_another_process(tmp_path, kind):
    model = foreign_model(model_type=kind)
    (tmp_path / "model").write_bytes(model)
    command = [sys.executable, "-c", PROGRAM, tmp_path / "model", *SENTENCES[:50]]
    other = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    sampler = SegmentationSampler(processor, ModelProto.FromString(model))
    assert other == f"{sampler.sample(SENTENCES[:50], 0.3, 7)}\n"
