"""A corpus ready for use: its pairs, split, in memory or on disk."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from seq2seq_cli.config.data import CATALOG, DataConfig, TokenizerConfig, is_address
from seq2seq_cli.data.held_out import HeldOut
from seq2seq_cli.data.mixing import LEAKS, assign_mixture
from seq2seq_cli.data.pairs import Pairs, PairsInMemory, Tags
from seq2seq_cli.data.prepared import Prepared, is_prepared
from seq2seq_cli.data.reader import OpenCorpus, Reader
from seq2seq_cli.data.remote import downloaded_corpus
from seq2seq_cli.data.splits import DEV, LEAKED, PAIR, REPEATED, TEST, TRAIN, Pair, pair_keys
from seq2seq_cli.errors import DataError
from seq2seq_cli.special_tokens import TO
from seq2seq_cli.work import ShowWork, show_nothing, shown


@dataclass(frozen=True)
class Corpus:
    """The pairs of a corpus by split, each split in the corpus' order.

    Attributes:
        train: the pairs to learn from.
        dev, test: the held-out pairs, split off or given separately.
        description: the corpus' name and files, for display.
        fingerprint: SHA-256 that differs from that of any other corpus.
        dropped: number of pairs that were left out, by reason.
        groups: number of groups of related pairs that were split.
        shared: number of train pairs that share a normalised sentence with dev or test; 0 unless
            these were given separately.
        vocabulary: returns the folder of a vocabulary that was learned from this corpus with a
            config, or None.
    """

    train: Pairs
    dev: list[Pair]
    test: list[Pair]
    description: str
    fingerprint: str
    dropped: dict[str, int] = field(default_factory=dict)
    groups: int = 0
    shared: int = 0
    vocabulary: Callable[[TokenizerConfig], Path | None] = lambda config: None

    @property
    def pairs(self) -> int:
        """Total number of pairs."""
        return len(self.train) + len(self.dev) + len(self.test)


READING = "Reading the corpus"
SPLITTING = "Splitting the corpus"


def read_corpus(config: DataConfig, show: ShowWork = show_nothing) -> Corpus:
    """Read the corpus that `config` names, and split off dev and test unless they are given.

    Args:
        config: the table `[data]`.
        show: shows the number of pairs that have been read.

    Raises:
        DataError: if it cannot be read, naming file, line and remedy; or is too small to be split.
        UsageError: if it does not have the configured languages.
    """
    if is_prepared(config.corpus):
        name = str(config.corpus)
        folder = downloaded_corpus(name) if is_address(name) else Path(name)
        return _open_prepared(Prepared(folder, config))
    reader = Reader(config)
    corpora = reader.corpora()
    pairs, counts = _read_pairs(corpora, reader.estimated_pairs(), show)
    given = HeldOut.read(reader, corpora, config)
    show(SPLITTING)
    keys = _keys(pairs, corpora, counts, config.target_first)
    only_train = [each.only_trains for each in corpora]
    assigned = assign_mixture(np.split(keys, np.cumsum(counts)[:-1]), only_train, given, config)
    rows = {side: np.flatnonzero(assigned.sides == side) for side in range(LEAKED + 1)}
    reader.leave_out("duplicate", len(rows[REPEATED]))
    reader.leave_out(LEAKS, len(rows[LEAKED]))
    digest = given.digest()
    digest.update(keys[assigned.sides < REPEATED, PAIR].tobytes())
    corpus = Corpus(
        train=_training_side(pairs, rows[TRAIN], corpora, counts),
        dev=given.dev if given.dev is not None else [pairs[row] for row in rows[DEV]],
        test=given.test if given.test is not None else [pairs[row] for row in rows[TEST]],
        description=describe(corpora),
        fingerprint=digest.hexdigest(),
        dropped=dict(+reader.dropped),
        groups=assigned.groups,
        shared=given.shared(keys[rows[TRAIN]]),
    )
    for name in ("train", "dev", "test"):
        if not len(getattr(corpus, name)):
            raise too_small(corpus.description, corpus.pairs, corpus.groups, name)
    return corpus


def _read_pairs(
    corpora: Sequence[OpenCorpus], total: int | None, show: ShowWork
) -> tuple[list[Pair], list[int]]:
    """Return the pairs of all corpora, and the number of each one's."""
    pairs: list[Pair] = []
    counts: list[int] = []
    for corpus in corpora:
        before = len(pairs)
        pairs.extend(shown(corpus.pairs, show, READING, "pairs", total, before))
        counts.append(len(pairs) - before)
    return pairs, counts


def _keys(
    pairs: list[Pair], corpora: Sequence[OpenCorpus], counts: list[int], target_first: bool
) -> np.ndarray:
    """Return the keys of the pairs, as `pair_keys`.

    The same pair of sentences in another target language has another key.
    """
    keys = pair_keys(pairs, target_first)
    languages = [_language_number(each.tags) for each in corpora]
    keys[:, PAIR] ^= np.repeat(np.array(languages, np.uint64), counts)
    return keys


def _training_side(
    pairs: list[Pair], rows: np.ndarray, corpora: Sequence[OpenCorpus], counts: list[int]
) -> PairsInMemory:
    """Return some rows of all pairs, with the weights and tags of their corpora."""
    weights = np.repeat(np.array([each.weight for each in corpora], np.float32), counts)[rows]
    sequences, numbers = tag_sequences([each.tags for each in corpora])
    return PairsInMemory(
        [pairs[row][0] for row in rows],
        [pairs[row][1] for row in rows],
        weights if (weights != 1).any() else None,
        Tags(sequences, np.repeat(numbers, counts)[rows]) if len(sequences) > 1 else None,
    )


def read_same_corpus(
    config: DataConfig, fingerprint: str | None, run: str, show: ShowWork = show_nothing
) -> Corpus:
    """Read the corpus that a run was trained on, which may have moved.

    Args:
        config: the run's `[data]`, perhaps with a new path of the corpus.
        fingerprint: of the corpus in training; None if it is not known.
        run: the run's path, for errors.
        show: shows how many pairs have been read.

    Raises:
        DataError: if the corpus cannot be read, or is another one.
    """
    corpus = read_corpus(config, show)
    if fingerprint is not None and corpus.fingerprint != fingerprint:
        raise DataError(
            f"{corpus.description}: is not the corpus that {run} was trained on (fingerprint "
            f"{corpus.fingerprint[:12]}, then {fingerprint[:12]}), so its splits would differ. "
            "Give the corpus of the run with --data"
        )
    return corpus


def check_files(config: DataConfig) -> None:
    """Raise the errors of `read_corpus` about missing or wrong files early."""
    if not is_prepared(config.corpus):
        Reader(config).check_files()


def needs_tensorflow(config: DataConfig) -> bool:
    """Return whether TensorFlow reads a corpus: a prepared one, or one of its catalog."""
    names = [source.corpus for source in config.mixture]
    return is_prepared(config.corpus) or any(name.startswith(CATALOG) for name in names)


def _open_prepared(prepared: Prepared) -> Corpus:
    metadata = prepared.metadata
    return Corpus(
        train=prepared.train,
        dev=prepared.dev,
        test=prepared.test,
        description=metadata["description"],
        fingerprint=prepared.fingerprint,
        dropped=metadata["dropped"],
        groups=metadata["groups"],
        shared=metadata["shared"],
        vocabulary=prepared.vocabulary,
    )


def _language_number(tags: Sequence[str]) -> int:
    """Return a number below 2^64 of the target language that tags name; 0 if they name none."""
    names = [tag for tag in tags if tag.startswith(TO)]
    return int.from_bytes(hashlib.sha256(names[0].encode()).digest()[:8], "big") if names else 0


def tag_sequences(tags: Sequence[tuple[str, ...]]) -> tuple[list[tuple[str, ...]], np.ndarray]:
    """Return the sequences of tags that corpora have, and which of them each has.

    Args:
        tags: those of each corpus.

    Returns:
        The sequences, of which the first is empty; and numbers, uint16 of shape [corpora].
    """
    found = [*dict.fromkeys([(), *tags])]
    return found, np.array([found.index(each) for each in tags], np.uint16)


def describe(corpora: Sequence[OpenCorpus]) -> str:
    """Return the names of the corpora, with their weights if they are not 1, and their tags."""
    return ", ".join(
        corpus.description
        + (f" (weight {corpus.weight:g})" if corpus.weight != 1 else "")
        + "".join(f" <{tag}>" for tag in corpus.tags)
        for corpus in corpora
    )


def too_small(description: str, pairs: int, groups: int, split: str) -> DataError:
    """Return the error of a corpus that has no pairs for a split."""
    return DataError(
        f"{description}: its {pairs} pairs, in {groups} independent groups, leave nothing for the "
        f"{split} split. Use a corpus of at least some hundreds of different sentences"
    )
