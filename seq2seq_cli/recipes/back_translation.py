"""Back-translation: synthetic sources for monolingual text of the target language.

Sennrich et al. (2016), "Improving neural machine translation models with monolingual data"; with
sampling, Edunov et al. (2018), "Understanding back-translation at scale".
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from seq2seq_cli.config import Config
from seq2seq_cli.data.lines import BadLineError
from seq2seq_cli.data.monolingual import MonolingualText
from seq2seq_cli.decoding.loading import load_ensemble
from seq2seq_cli.recipes.pairs_log import PairsLog, publish
from seq2seq_cli.recipes.synthetic import (
    PairChoice,
    Sentence,
    SyntheticCorpus,
    languages_of,
    reverse_of,
    settings_of_runs,
    settings_of_search,
    shown_stage,
    translate_into,
)
from seq2seq_cli.recipes.work_folder import check_new, work_folder
from seq2seq_cli.runs.run import Run
from seq2seq_cli.work import ShowWork, Warn, show_nothing


def back_translate(
    runs: Sequence[Run],
    configs: Sequence[Config],
    text: MonolingualText,
    output: Path,
    warn: Warn,
    show: ShowWork = show_nothing,
) -> SyntheticCorpus:
    """Translate monolingual text, and write pairs of a translation and its original sentence.

    Called again after an interruption, it continues where it stopped.

    Args:
        runs: from the language of the text; several form an ensemble.
        configs: of the runs; the first one's `[decoding]` is used. With `n_best`, each translation
            of a sentence gives a pair.
        text: the sentences.
        output: the TSV file to write. Its first column has the translations.
        warn: called for each damaged checkpoint, which is skipped.
        show: shows the number of sentences that are done.

    Raises:
        UsageError: if the output exists, was started with other settings, or the runs do not fit
            together.
        CheckpointError: if a run has no valid checkpoint.
        LockedError: if another process is writing the output.
        DiskError: if it cannot be written.
    """
    check_new(output)
    language, other = languages_of(runs, configs)
    decoding = configs[0].decoding
    checkpoints = [run.best_checkpoint(warn) for run in runs]
    reverse = reverse_of(decoding, (language, other), warn)
    settings = {
        "recipe": "back-translate",
        "input": f"{text.count:,} lines, SHA-256 {text.sha256}",
        **settings_of_runs("run", runs, checkpoints),
        **settings_of_search(decoding, reverse),
    }
    with work_folder(output, settings) as folder:
        log = PairsLog(folder / "pairs.tsv")
        if not log.position.is_complete:
            loaded = load_ensemble(runs, warn, configs, checkpoints)
            translator = loaded.translator(decoding, reverse)
            stage = shown_stage(show, "Translating", text.count)
            translate_into(log, translator, _sentences(text), PairChoice(backward=True), stage)
        position = log.position
        publish(log.path, output)
    return SyntheticCorpus(
        output, f"{other} {language}", position.pairs, position.sentences, position.left_out
    )


def _sentences(text: MonolingualText) -> Iterator[Sentence]:
    for line in text.lines():
        if isinstance(line, BadLineError):
            yield Sentence("", "bad line")
        else:
            yield Sentence(line, "" if line.strip() else "empty")
