"""Random segmentations of texts by a SentencePiece model, for subword regularisation.

SentencePiece samples segmentations too, but its samples differ between processes even with the same
seed (versions 0.2.2 and 0.2.3). Resumed training needs the samples that the first process would
have drawn.
"""

import functools
import heapq
import itertools
import random
import re
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, Protocol

import numpy as np
from sentencepiece import SentencePieceProcessor
from sentencepiece.sentencepiece_model_pb2 import ModelProto, TrainerSpec

_SPACE = "▁"
_UNKNOWN_PENALTY = 10.0  # below the lowest score: what SentencePiece gives an unknown character
_KEPT_LATTICES = 50_000  # about 40 MB


class ChunkSampler(Protocol):
    """Samples segmentations of chunks: texts that no piece extends beyond."""

    def __call__(self, chunks: Sequence[str], alpha: float, seed: int) -> np.ndarray:
        """Return where the pieces end in the joined chunks, int64 in ascending order."""
        ...


class SegmentationSampler:
    """Samples segmentations of sentences.

    Args:
        processor: applies the model.
        model: the same model, parsed.
    """

    def __init__(self, processor: SentencePieceProcessor, model: ModelProto):
        self._processor = processor
        self._ids = {piece.piece: number for number, piece in enumerate(model.pieces)}
        types = ModelProto.SentencePiece
        scores = {p.piece: p.score for p in model.pieces if p.type == types.NORMAL}
        symbols = [p.piece for p in model.pieces if p.type == types.USER_DEFINED]
        self._known = scores.keys() | set(symbols)
        self._chunk = re.compile(_chunk_pattern(scores, symbols), re.DOTALL)
        is_bpe = model.trainer_spec.model_type == TrainerSpec.BPE
        sampler = BPESampler if is_bpe else UnigramSampler
        self._sample_chunks: ChunkSampler = sampler(scores, frozenset(symbols))
        self._has_bytes = model.trainer_spec.byte_fallback

    def sample(self, sentences: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Return a random segmentation of each sentence, as ids of the model.

        Args:
            sentences: the texts.
            alpha: above 0. Unigram: the power of a segmentation's probability (Kudo 2018, section
                3.2). BPE: the probability of leaving out a merge (Provilkov et al. 2020).
            seed: determines the sample.
        """
        texts = self._processor.normalize(list(sentences))
        chunks = [chunk for text in texts for chunk in self._chunk.findall(text)]
        ends = self._sample_chunks(chunks, alpha, seed)
        bounds = np.cumsum([len(text) for text in texts])
        of_text = np.split(ends, np.searchsorted(ends, bounds, "right"))
        first, ids = 0, []
        for text, bound, own in zip(texts, bounds, of_text, strict=False):
            cuts = [0, *(own - first).tolist()]
            ids.append(self._ids_of([text[a:b] for a, b in itertools.pairwise(cuts)]))
            first = bound
        return ids

    def _ids_of(self, pieces: list[str]) -> list[int]:
        """Return ids. Unknown characters become bytes, or each run of them one unknown id."""
        unknown = self._processor.unk_id()
        ids: list[int] = []
        for piece in pieces:
            if piece in self._known:
                ids.append(self._ids[piece])
            elif self._has_bytes:
                ids += [self._ids[f"<0x{byte:02X}>"] for byte in piece.encode()]
            elif ids[-1:] != [unknown]:
                ids.append(unknown)
        return ids


def _chunk_pattern(scores: Mapping[str, float], symbols: Sequence[str]) -> str:
    """Return the pattern of a chunk: a piece of the user, or a word with the spaces before it.

    If a piece contains a space after another character, a chunk extends to the end of the text.
    """
    longest_first = [re.escape(s) for s in sorted(symbols, key=len, reverse=True)]
    no_symbol = f"(?!{'|'.join(longest_first)})" if symbols else ""
    if any(re.search(f"[^{_SPACE}]{_SPACE}", piece) for piece in scores):
        return "|".join([*longest_first, f"(?:{no_symbol}.)+"])
    space, letter = f"{no_symbol}{_SPACE}", f"{no_symbol}[^{_SPACE}]"
    return "|".join([*longest_first, f"(?:{space})*(?:{letter})+", f"(?:{space})+"])


class _Lattice(NamedTuple):
    """The pieces that occur in a chunk, in the order of their ends.

    Attributes:
        keys: float64 of shape [pieces]. The pieces that end at position e divide the interval from
            e - 1 to e by their probability. A key is the upper end of a piece's part.
        starts: int64 of shape [pieces], the position of each piece's first character.
    """

    keys: np.ndarray
    starts: np.ndarray


class UnigramSampler:
    """Samples in proportion to the probability of a segmentation to the power of alpha.

    It is forward filtering and backward sampling (Kudo 2018, section 3.2), of all chunks at once.

    Args:
        scores: the log-probability of each piece.
        symbols: chunks that are never split.
    """

    def __init__(self, scores: Mapping[str, float], symbols: Set[str]):
        self._scores = scores
        self._symbols = symbols
        self._longest = max(map(len, scores), default=1)
        self._unknown = min(scores.values(), default=0.0) - _UNKNOWN_PENALTY
        self._lattice = functools.lru_cache(_KEPT_LATTICES)(self._make_lattice)

    def __call__(self, chunks: Sequence[str], alpha: float, seed: int) -> np.ndarray:
        """See ChunkSampler."""
        if not chunks:
            return np.zeros(0, np.int64)
        generator = np.random.default_rng(seed)
        lattices = [self._lattice(chunk, alpha) for chunk in chunks]
        ends = np.cumsum([len(chunk) for chunk in chunks])
        firsts = np.concatenate([[0], ends[:-1]])
        offsets = np.repeat(firsts, [len(lattice.keys) for lattice in lattices])
        keys = np.concatenate([lattice.keys for lattice in lattices]) + offsets
        starts = np.concatenate([lattice.starts for lattice in lattices]) + offsets
        found = []
        while len(ends):  # all chunks take one piece from their right ends
            found.append(ends)
            drawn = np.searchsorted(keys, ends - 1 + generator.random(len(ends)), "right")
            goes_on = starts[drawn] > firsts
            ends, firsts = starts[drawn][goes_on], firsts[goes_on]
        return np.sort(np.concatenate(found))

    def _make_lattice(self, chunk: str, alpha: float) -> _Lattice:
        if chunk in self._symbols:
            return _Lattice(np.array([float(len(chunk))]), np.array([0]))
        forward = [0.0]  # the log of the sum over all segmentations up to each position
        keys: list[np.ndarray] = []
        starts: list[int] = []
        for end in range(1, len(chunk) + 1):
            options = {}
            for start in range(max(0, end - self._longest), end):
                score = self._scores.get(chunk[start:end])
                if score is None and start == end - 1:
                    score = self._unknown
                if score is not None:
                    options[start] = alpha * score + forward[start]
            logs = np.array(list(options.values()))
            weights = np.cumsum(np.exp(logs - logs.max()))
            forward.append(float(logs.max() + np.log(weights[-1])))
            keys.append(end - 1 + weights / weights[-1])
            starts += options
        return _Lattice(np.concatenate(keys), np.array(starts))


class BPESampler:
    """Leaves out each merge with probability alpha (Provilkov et al. 2020, BPE-dropout).

    Args:
        scores: the priority of each merge, by its result.
        symbols: chunks that are never split.
    """

    def __init__(self, scores: Mapping[str, float], symbols: Set[str]):
        self._scores = scores
        self._symbols = symbols

    def __call__(self, chunks: Sequence[str], alpha: float, seed: int) -> np.ndarray:
        """See ChunkSampler."""
        generator = random.Random(seed)
        lengths = [len(piece) for chunk in chunks for piece in self._merge(chunk, alpha, generator)]
        return np.cumsum(lengths, dtype=np.int64)

    def _merge(self, chunk: str, alpha: float, generator: random.Random) -> list[str]:
        """Return the pieces after all merges: the best first, and of equals the leftmost."""
        if chunk in self._symbols:
            return [chunk]
        pieces = list(chunk)  # a piece stands where it starts, and its other characters are empty
        right = list(range(1, len(chunk) + 1))  # where the next piece starts
        left = list(range(-1, len(chunk) - 1))
        merges: list[tuple[float, int, str]] = []

        def propose(first: int, second: int) -> None:
            if first >= 0 and second < len(pieces):
                result = pieces[first] + pieces[second]
                if result in self._scores:
                    heapq.heappush(merges, (-self._scores[result], first, result))

        for second in range(1, len(pieces)):
            propose(second - 1, second)
        while merges:
            _, first, result = heapq.heappop(merges)
            second = right[first]
            is_there = pieces[first] and second < len(pieces)
            if not is_there or pieces[first] + pieces[second] != result:
                continue  # an earlier merge has taken one of them
            if alpha and generator.random() < alpha:
                continue
            pieces[first], pieces[second] = result, ""
            right[first] = right[second]
            if right[first] < len(pieces):
                left[right[first]] = first
            propose(left[first], first)
            propose(first, right[first])
        return [piece for piece in pieces if piece]
