"""Data diversification: a corpus together with its translations by models of both directions.

Nguyen et al. (2020), "Data diversification: a simple strategy for neural machine translation",
with one round: D = (S, T) ∪ (S, M_1(S)) ∪ … ∪ (M'_1(T), T) ∪ …
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, compress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from seq2seq_cli.config import Config
from seq2seq_cli.data.corpus import Corpus
from seq2seq_cli.data.mixing import LEAKS
from seq2seq_cli.data.splits import Pair, find_repeated, pair_keys, shares_a_sentence
from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.decoding.translator import Translator
from seq2seq_cli.errors import UsageError
from seq2seq_cli.recipes.pairs_log import PairsLog, publish, tsv_line
from seq2seq_cli.recipes.synthetic import (
    PairChoice,
    SyntheticCorpus,
    checkpoint_in_words,
    languages_of,
    reverse_of,
    sentences_of,
    settings_of_search,
    shown_stage,
    translate_into,
)
from seq2seq_cli.recipes.training_side import read_training_side
from seq2seq_cli.recipes.work_folder import check_new, work_folder
from seq2seq_cli.runs.checkpoints import Checkpoint
from seq2seq_cli.runs.disk import disk_errors
from seq2seq_cli.runs.run import Run
from seq2seq_cli.work import ShowWork, Warn, show_nothing


class Translated(NamedTuple):
    """A run that translates one side of the corpus.

    Attributes:
        name: of the stage, such as forward-1.
        run: the run.
        config: of the run.
        checkpoint: of the run.
        side: 0 if it translates the sources, 1 if the targets.
    """

    name: str
    run: Run
    config: Config
    checkpoint: Checkpoint
    side: int


def diversify(
    forward: Sequence[tuple[Run, Config]],
    backward: Sequence[tuple[Run, Config]],
    output: Path,
    warn: Warn,
    data: str | None = None,
    show: ShowWork = show_nothing,
) -> SyntheticCorpus:
    """Write the training side together with its translations by each run, without duplicates.

    Forward runs translate the sources, backward runs the targets. The runs do not form an ensemble:
    the method uses the variety of their translations. Called again after an interruption, it
    continues where it stopped.

    Args:
        forward: at least one run with its config; the first one's corpus and `[decoding]` are used.
        backward: runs of the other direction.
        output: the TSV file to write: the original pairs, then those of each run.
        warn: called for each damaged checkpoint, which is skipped.
        data: the new location of the first run's corpus, and of other runs' if they have the same
            files; None if it has not moved.
        show: shows the number of sentences that each stage has done.

    Raises:
        UsageError: if the output exists, was started with other settings, a run has other
            languages or was trained on dev or test pairs, or `rerank` is set with backward runs.
        DataError: if the corpus cannot be read, or is not the first run's.
        CheckpointError: if a run has no valid checkpoint.
        LockedError: if another process is writing the output.
        DiskError: if it cannot be written.
    """
    check_new(output)
    languages = _check_languages(forward, backward)
    decoding = forward[0][1].decoding.model_copy(update={"n_best": 1})
    if decoding.rerank and backward:
        raise UsageError(
            f"decoding.rerank = {decoding.rerank} ranks the translations of one direction, and "
            "--backward translates in the other. Add --set decoding.rerank='', or leave out "
            "--backward"
        )
    stages = [
        Translated(f"{name}-{number}", run, config, run.best_checkpoint(warn), side)
        for side, (name, runs) in enumerate((("forward", forward), ("backward", backward)))
        for number, (run, config) in enumerate(runs, start=1)
    ]
    runs, configs = [stage.run for stage in stages], [stage.config for stage in stages]
    corpus = read_training_side(runs, configs, data, show)
    reverse = reverse_of(decoding, languages, warn)
    settings = {
        "recipe": "diversify",
        "corpus": corpus.fingerprint,
        **{stage.name: checkpoint_in_words(stage.run, stage.checkpoint) for stage in stages},
        **settings_of_search(decoding, reverse),
    }

    def translator_of(stage: Translated) -> Translator:
        loaded = load_run(stage.run, warn, stage.config, stage.checkpoint)
        return loaded.translator(decoding, reverse)

    with work_folder(output, settings) as folder:
        logs = []
        for stage in stages:
            logs.append(PairsLog(folder / f"{stage.name}.tsv"))
            if not logs[-1].position.is_complete:
                _translate(logs[-1], translator_of(stage), stage, corpus, show)
        show("Joining the pairs")
        pairs, left_out = _join(corpus, logs, folder / "joined.tsv")
        publish(folder / "joined.tsv", output)
    sentences = sum(log.position.sentences for log in logs)
    return SyntheticCorpus(output, " ".join(languages), pairs, sentences, left_out)


def _check_languages(
    forward: Sequence[tuple[Run, Config]], backward: Sequence[tuple[Run, Config]]
) -> tuple[str, str]:
    source, target = languages_of(*zip(*forward, strict=True))
    for run, config in backward:
        found = config.data.source_language, config.data.target_language
        if found != (target, source):
            raise UsageError(
                f"--backward {run.path} translates from {' to '.join(found)}. A backward run must "
                f"translate from {target} to {source}, opposite to --forward {forward[0][0].path}"
            )
    return source, target


def _translate(
    log: PairsLog, translator: Translator, stage: Translated, corpus: Corpus, show: ShowWork
) -> None:
    """Complete the log of a stage, which has the translations of each distinct sentence."""
    sentences = list(dict.fromkeys(pair[stage.side] for pair in corpus.train))
    shown = shown_stage(show, f"Translating: {stage.name}", len(sentences))
    choice = PairChoice(backward=stage.side == 1)
    translate_into(log, translator, sentences_of(sentences), choice, shown)


def _join(corpus: Corpus, logs: Sequence[PairsLog], path: Path) -> tuple[int, dict[str, int]]:
    """Write the original pairs and those of the logs, each once and none that leaks.

    Returns:
        The number of pairs, and the numbers that were left out, by reason.
    """
    held_out = pair_keys([*corpus.dev, *corpus.test])
    parts: list[Callable[[], Iterator[Pair]]] = [
        lambda: iter(corpus.train),
        *(log.pairs for log in logs),
    ]
    keys = [pair_keys(part()) for part in parts]
    again, leaked = find_repeated(keys), shares_a_sentence(np.concatenate(keys), held_out)
    left_out: Counter[str] = sum((Counter(log.position.left_out) for log in logs), Counter())
    left_out += Counter({"duplicate": int(again.sum()), LEAKS: int((leaked & ~again).sum())})
    kept = ~(again | leaked)
    with disk_errors(path), path.open("w", encoding="utf-8", newline="\n") as file:
        pairs = chain.from_iterable(part() for part in parts)
        file.writelines(tsv_line(pair) for pair in compress(pairs, kept))
    return int(kept.sum()), dict(left_out)
