"""The training side of the split that several runs have in common."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from seq2seq_cli.config import Config
from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.corpus import Corpus, read_same_corpus
from seq2seq_cli.data.pairs import in_target_language
from seq2seq_cli.data.splits import Pair, normalise
from seq2seq_cli.errors import UsageError
from seq2seq_cli.runs.run import Run
from seq2seq_cli.work import ShowWork

_SPLIT = ("source_language", "target_language", "dev_pairs", "test_pairs", "split_seed")


def read_training_side(
    runs: Sequence[Run], configs: Sequence[Config], data: str | None, show: ShowWork
) -> Corpus:
    """Read the first run's corpus, and check that no run was trained on its dev and test pairs.

    Otherwise dev and test pairs would leak into the translations of the training side, and into
    the models that learn from these. Pairs of a third language are left out of the training side.

    Args:
        runs: all that translate the training side, in its direction or in the other.
        configs: of the runs.
        data: the new location of the first run's corpus, and of other runs' if they have the same
            files; None if it has not moved.
        show: shows the number of pairs that have been read.

    Raises:
        DataError: if a corpus cannot be read, or is not the one that its run was trained on.
        UsageError: if a run was trained on dev or test pairs of the first.
    """
    (first, first_data), *others = data_to_read(runs, configs, data)
    corpus = read_same_corpus(first_data, first.data_fingerprint(), str(first.path), show)
    held_out = [*corpus.dev, *corpus.test]
    for run, config in others:
        other = read_same_corpus(config, run.data_fingerprint(), str(run.path), show)
        turned = config.source_language != first_data.source_language
        count = _count_common(held_out, other, turned)
        if count:
            raise UsageError(
                f"{run.path}: {count:,} of the {len(held_out):,} dev and test pairs of "
                f"{first.path} are in its training side, and would leak into its translations. "
                f"Train it on the same split: s2s export-split split --run "
                f"{shlex.quote(str(first.path))}, then "
                f"s2s train --source {config.source_language} --target "
                f"{config.target_language} --data split/train --set data.dev=split/dev --set "
                "data.test=split/test"
            )
    return replace(corpus, train=in_target_language(corpus.train))


def data_to_read(
    runs: Sequence[Run], configs: Sequence[Config], data: str | None
) -> list[tuple[Run, DataConfig]]:
    """Return the runs whose corpora must be read, the first run first, with their `[data]`.

    A run that certainly has the same splits as the first one is left out.

    Args:
        runs: all that translate the training side.
        configs: of the runs.
        data: the new location of the first run's corpus, and of other runs' if they have the same
            files; None if it has not moved.
    """
    first, first_data = runs[0], configs[0].data
    tables, moved = [config.data for config in configs], _corpora(first_data)
    return [
        (run, table if data is None or _corpora(table) != moved else table.moved_to(data))
        for number, (run, table) in enumerate(zip(runs, tables, strict=True))
        if number == 0 or not _has_same_split(run, table, first, first_data)
    ]


def _corpora(data: DataConfig) -> list[str]:
    return [corpus.corpus for corpus in data.mixture]


def _has_same_split(run: Run, data: DataConfig, first: Run, first_data: DataConfig) -> bool:
    """Return whether it is certain that two runs have the same splits, without reading them."""
    fingerprint = run.data_fingerprint()
    return (
        fingerprint is not None
        and fingerprint == first.data_fingerprint()
        and all(getattr(data, key) == getattr(first_data, key) for key in _SPLIT)
        and _kinds(data) == _kinds(first_data)
    )


def _kinds(data: DataConfig) -> list[dict[str, Any]]:
    """Return the config of each corpus, without its path and its weight."""
    return [corpus.model_dump(exclude={"corpus", "weight"}) for corpus in data.mixture]


def _count_common(held_out: Sequence[Pair], other: Corpus, turned: bool) -> int:
    """Count the held-out pairs in a training side, ignoring case and punctuation.

    Args:
        held_out: the pairs.
        other: the corpus with the training side.
        turned: whether it has the opposite direction.
    """
    wanted = {(normalise(source), normalise(target)) for source, target in held_out}
    found = set()
    for pair in other.train:
        source, target = map(normalise, reversed(pair) if turned else pair)
        if (source, target) in wanted:
            found.add((source, target))
    return len(found)
