"""Synthetic corpora: pairs of sentences and their machine translations."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomli_w

from seq2seq_cli.config import Config
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.data.mixing import LEAKS
from seq2seq_cli.data.splits import Pair, pair_keys, shares_a_sentence
from seq2seq_cli.decoding.loading import LoadedRun, load_reverse
from seq2seq_cli.decoding.translator import Translation, Translator
from seq2seq_cli.errors import UsageError
from seq2seq_cli.recipes.pairs_log import PairsLog
from seq2seq_cli.runs.checkpoints import Checkpoint
from seq2seq_cli.runs.run import Run
from seq2seq_cli.work import ShowWork, Warn

TOO_LONG = "too long"
NOT_TRANSLATED = "without a complete translation"

_WINDOW = 4096  # sentences that are translated and recorded together
_FREE = {"batch_sentences", "batch_tokens"}  # keys of [decoding] that do not change results


class Sentence(NamedTuple):
    """A sentence to translate.

    Attributes:
        text: the sentence; empty if there is none.
        problem: why it is left out; empty if it is not.
        references: its human translations, if they are known.
    """

    text: str
    problem: str = ""
    references: Sequence[str] = ()


@dataclass(frozen=True)
class SyntheticCorpus:
    """The result of a recipe.

    Attributes:
        path: the TSV file.
        columns: the languages of its two columns, as `data.columns` has them.
        pairs: number of its pairs.
        sentences: number of sentences that were translated or left out.
        left_out: number of sentences or pairs that are not in it, by reason.
    """

    path: Path
    columns: str
    pairs: int
    sentences: int
    left_out: dict[str, int]

    def to_toml(self, tag: str | None = None) -> str:
        """Return the table `[[data.sources]]` that adds the corpus to a config."""
        source: dict[str, Any] = {
            "corpus": str(self.path),
            "columns": self.columns,
            "weight": 1.0,
            "train_only": True,
        }
        if tag is not None:
            source["tag"] = tag
        return "[[data.sources]]\n" + tomli_w.dumps(source)


class PairChoice(NamedTuple):
    """The choice of pairs from a sentence and its translations.

    Attributes:
        backward: whether a translation is the source of its pair.
        held_out: keys of the dev and test pairs, with which no pair may share a sentence: uint64 of
            shape [pairs, 3], from `splits.pair_keys`.
        choose: returns the translations to use, of those that are complete, the best first.
    """

    backward: bool = False
    held_out: np.ndarray = pair_keys([])
    choose: Callable[[Sentence, list[str]], list[str]] = lambda sentence, found: found

    def pairs(
        self, sentences: Sequence[Sentence], translations: Sequence[Translation]
    ) -> tuple[list[Pair], Counter[str]]:
        """Return the pairs, and the number of sentences or pairs that are left out, by reason."""
        pairs: list[Pair] = []
        left_out: Counter[str] = Counter()
        for sentence, translation in zip(sentences, translations, strict=True):
            found = [translation, *translation.others]
            complete = dict.fromkeys(each.text for each in found if each.text and each.is_complete)
            problem = sentence.problem or (TOO_LONG if translation.cut else "")
            if problem or not complete:
                left_out[problem or NOT_TRANSLATED] += 1
                continue
            for text in self.choose(sentence, list(complete)):
                pairs.append((text, sentence.text) if self.backward else (sentence.text, text))
        leaked = shares_a_sentence(pair_keys(pairs), self.held_out)
        left_out[LEAKS] += int(leaked.sum())
        return [pair for pair, leaks in zip(pairs, leaked, strict=True) if not leaks], +left_out


def translate_into(
    log: PairsLog,
    translator: Translator,
    sentences: Iterable[Sentence],
    choice: PairChoice,
    show: Callable[[int], None],
) -> None:
    """Translate the sentences that a log does not have yet, and complete it.

    An interrupted log becomes the same as one that was not interrupted. Process memory does not
    grow with the number of sentences.

    Args:
        log: receives the pairs.
        translator: the model with the options of the search.
        sentences: all of them, in the same order each time.
        choice: chooses the pairs.
        show: called with the number of sentences that are done, as it grows.
    """
    done = log.position.sentences
    remaining = islice(iter(sentences), done, None)
    show(done)
    while window := list(islice(remaining, _WINDOW)):
        before = log.position.sentences

        def translated(count: int, before: int = before) -> None:
            show(before + count)

        texts = ["" if each.problem else each.text for each in window]
        translations = translator.translate(texts, before, translated)
        log.append(len(window), *choice.pairs(window, translations))
    log.complete()


def sentences_of(texts: Iterable[str]) -> Iterator[Sentence]:
    """Yield texts as sentences without references."""
    return (Sentence(text) for text in texts)


def shown_stage(show: ShowWork, stage: str, total: int) -> Callable[[int], None]:
    """Return a function that shows the number of `total` sentences that a stage has done."""
    return lambda done: show(stage, "sentences", done, total)


def reverse_of(
    decoding: DecodingConfig, languages: tuple[str, str], warn: Warn
) -> LoadedRun | None:
    """Load the run that re-ranks translations, if there is one; see `load_reverse`."""
    return load_reverse(decoding.rerank, languages, warn) if decoding.rerank else None


def settings_of_runs(
    role: str, runs: Sequence[Run], checkpoints: Sequence[Checkpoint]
) -> dict[str, str]:
    """Return the checkpoints of runs in words, by the role and number of each run."""
    members = zip(runs, checkpoints, strict=True)
    return {
        f"{role} {i}": checkpoint_in_words(*member) for i, member in enumerate(members, start=1)
    }


def checkpoint_in_words(run: Run, checkpoint: Checkpoint) -> str:
    """Return a run's name, a checkpoint's name, and the time when it was saved."""
    return f"{run.name}, {checkpoint.path.name}, saved {checkpoint.state.saved_at}"


def settings_of_search(decoding: DecodingConfig, reverse: LoadedRun | None) -> dict[str, Any]:
    """Return the keys of `[decoding]` that change translations, and the run that re-ranks."""
    values = decoding.model_dump(exclude=_FREE)
    settings = {f"decoding.{key}": value for key, value in values.items()}
    if reverse:
        saved_at = reverse.state.saved_at
        settings["re-ranking run"] = f"{reverse.name}, {reverse.checkpoint}, saved {saved_at}"
    return settings


def languages_of(runs: Sequence[Run], configs: Sequence[Config]) -> tuple[str, str]:
    """Return the source and the target language that all runs have.

    Raises:
        UsageError: if they differ.
    """
    found = [(config.data.source_language, config.data.target_language) for config in configs]
    for run, languages in zip(runs, found, strict=True):
        if languages != found[0]:
            raise UsageError(
                f"{run.path} translates from {' to '.join(languages)}, but {runs[0].path} from "
                f"{' to '.join(found[0])}. Give runs of the same languages"
            )
    return found[0]
