"""Translates a test set with a run, and scores the translations."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from seq2seq_cli.config.command import training_command
from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.decoding.loading import LoadedRun
from seq2seq_cli.decoding.translator import Translator
from seq2seq_cli.evaluation.metrics import Scores, score
from seq2seq_cli.evaluation.systems import EvaluationSet, SystemOutput
from seq2seq_cli.evaluation.test_sets import read_split
from seq2seq_cli.runs.checkpoints import checkpoint_folders
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.summary import summarise, trained_on
from seq2seq_cli.work import ShowWork, show_nothing

TRANSLATING = "Translating"


@dataclass(frozen=True)
class Evaluation:
    """The scores of a run on one of its splits, with the sentences.

    For an ensemble, `run` names all runs, and `checkpoint` is that of the first one.
    """

    run: str
    checkpoint: str
    split: str
    scores: Scores
    sources: list[str]
    translations: list[str]
    references: list[list[str]]


def translate_sources(
    translator: Translator,
    sources: Sequence[str],
    show: ShowWork = show_nothing,
) -> tuple[list[str], list[bool]]:
    """Return the translations, and for each whether it or its source was cut.

    Args:
        translator: the model with the options of the search.
        sources: the sentences.
        show: shows the number of sentences that have been translated.
    """

    def translated(done: int) -> None:
        show(TRANSLATING, "sentences", done, len(sources))

    translated(0)
    found = translator.translate(sources, progress=translated)
    return [each.text for each in found], [each.cut or not each.is_complete for each in found]


def evaluate_translator(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    show: ShowWork = show_nothing,
) -> tuple[Scores, list[str]]:
    """Translate the sources and score the translations. For `show` see translate_sources."""
    translations, _ = translate_sources(translator, sources, show)
    return score(translations, references), translations


def results_of_training(run: Run) -> set[str]:
    """Return the names of the checkpoints of the whole training: the best and the newest.

    It reads the weights of the best one.
    """
    newest = checkpoint_folders(run.checkpoints)[:1]
    return {path.name for path in (*newest, run.best_checkpoint(lambda text: None).path)}


def system_output(
    loaded: LoadedRun,
    translator: Translator,
    test_set: EvaluationSet,
    show: ShowWork = show_nothing,
    results: Collection[str] | None = None,
) -> SystemOutput:
    """Translate a test set with a run at one of its checkpoints.

    Args:
        loaded: the run.
        translator: its translator.
        test_set: the sentences and their references.
        show: see translate_sources.
        results: those of `results_of_training`, if they have been found already.
    """
    translations, cut = translate_sources(translator, test_set.sources, show)
    search = loaded.decoding.description
    origin: dict[str, Any] = {"run": loaded.name, "checkpoint": loaded.checkpoint}
    origin |= {"search": search, **_training(loaded, results)}
    name = f"{loaded.name}, {loaded.checkpoint}, {search}"
    return SystemOutput(name, translations, cut, origin)


def _training(loaded: LoadedRun, results: Collection[str] | None) -> dict[str, Any]:
    """Return the minutes, the command and the machine of the training, if they are known.

    For an ensemble, the minutes are the sum over its runs. They are unknown for an average of
    checkpoints. A checkpoint that is neither the best nor the newest has the minutes until then,
    and no command. A run whose training has not ended has no command either.
    """
    found: dict[str, Any]
    runs = [Run(path) for path in loaded.paths]
    if len(runs) == 1 and loaded.checkpoint not in (results or results_of_training(runs[0])):
        machine = trained_on(runs[0])
        found = {"minutes": loaded.state.position.seconds / 60}
        return {**found, "trained_on": machine} if machine else found
    summaries = [summarise(run) for run in runs]
    minutes = [summary.minutes for summary in summaries]
    found = {"minutes": sum(minutes)} if all(minutes) else {}
    is_done = len(runs) == 1 and summaries[0].state == "done"
    if found and is_done and (command := training_command(runs[0].config())):
        found["command"] = command
    machines = [machine for run in runs if (machine := trained_on(run))]
    if found and len(machines) == len(runs):
        found["trained_on"] = "; ".join(dict.fromkeys(machines))
    return found


def evaluate(
    loaded: LoadedRun,
    data: DataConfig,
    split: str,
    show: ShowWork = show_nothing,
) -> Evaluation:
    """Score a run, or an ensemble, on the `dev` or `test` split of the first run's corpus.

    Args:
        loaded: the model.
        data: the first run's `[data]`, perhaps with a new path of the corpus.
        split: `dev` or `test`.
        show: shows the number of pairs that have been read, and of sentences that have been
            translated.

    Raises:
        DataError: if the corpus cannot be read, or is not the one that the run was trained on.
    """
    trained_on = loaded.state.data_fingerprint
    test_set, _ = read_split(data, trained_on, str(loaded.paths[0]), split, show)
    scores, translations = evaluate_translator(
        loaded.translator(), test_set.sources, test_set.references, show
    )
    return Evaluation(
        run=loaded.name,
        checkpoint=loaded.checkpoint,
        split=split,
        scores=scores,
        sources=test_set.sources,
        translations=translations,
        references=test_set.references,
    )
