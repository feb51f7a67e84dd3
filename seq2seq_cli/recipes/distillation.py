"""Sequence-level knowledge distillation: a student learns the translations of its teachers.

Kim and Rush (2016), "Sequence-level knowledge distillation", sections 3.2 and 3.3.
"""

from collections.abc import Sequence
from itertools import repeat
from pathlib import Path

from sacrebleu.metrics import BLEU

from seq2seq_cli.bleu_tokenizers import bleu_tokenizer
from seq2seq_cli.config import Config
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.data.splits import group_references, pair_keys
from seq2seq_cli.decoding.loading import load_ensemble
from seq2seq_cli.errors import UsageError
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
from seq2seq_cli.recipes.training_side import read_training_side
from seq2seq_cli.recipes.work_folder import check_new, work_folder
from seq2seq_cli.runs.run import Run
from seq2seq_cli.work import ShowWork, Warn, show_nothing


def distill(
    teachers: Sequence[Run],
    configs: Sequence[Config],
    output: Path,
    warn: Warn,
    data: str | None = None,
    closest: bool = False,
    show: ShowWork = show_nothing,
) -> SyntheticCorpus:
    """Translate the sources of the teachers' training side, and write them with the translations.

    Each distinct source is translated once. Called again after an interruption, it continues where
    it stopped.

    Args:
        teachers: several form an ensemble.
        configs: of the teachers; the first one's `[decoding]` is used.
        output: the TSV file to write.
        warn: called for each damaged checkpoint, which is skipped.
        data: the new location of the first teacher's corpus, and of other teachers' if they have
            the same files; None if it has not moved.
        closest: whether to use the translation of the beam that is most similar to the references,
            instead of the best one (sequence-level interpolation, section 3.3).
        show: shows the number of sentences that are done.

    Raises:
        UsageError: if the output exists or was started with other settings, the teachers do not fit
            together or were trained on dev or test pairs, or there is only one translation to
            choose from.
        DataError: if the corpus cannot be read, or is not the first teacher's.
        CheckpointError: if a teacher has no valid checkpoint.
        LockedError: if another process is writing the output.
        DiskError: if it cannot be written.
    """
    check_new(output)
    decoding = search_of(configs[0].decoding, closest)
    languages = languages_of(teachers, configs)
    corpus = read_training_side(teachers, configs, data, show)
    checkpoints = [run.best_checkpoint(warn) for run in teachers]
    reverse = reverse_of(decoding, languages, warn)
    settings = {
        "recipe": "distill",
        "corpus": corpus.fingerprint,
        "closest to the reference": closest,
        **settings_of_runs("teacher", teachers, checkpoints),
        **settings_of_search(decoding, reverse),
    }
    with work_folder(output, settings) as folder:
        log = PairsLog(folder / "pairs.tsv")
        if not log.position.is_complete:
            sources, references = group_references(corpus.train)
            choice = PairChoice(
                held_out=pair_keys([*corpus.dev, *corpus.test]),
                choose=closest_to_reference if closest else _best,
            )
            loaded = load_ensemble(teachers, warn, configs, checkpoints)
            translator = loaded.translator(decoding, reverse)
            stage = shown_stage(show, "Translating", len(sources))
            sentences = (Sentence(*each) for each in zip(sources, repeat(""), references))
            translate_into(log, translator, sentences, choice, stage)
        position = log.position
        publish(log.path, output)
    return SyntheticCorpus(
        output, " ".join(languages), position.pairs, position.sentences, position.left_out
    )


def search_of(decoding: DecodingConfig, closest: bool) -> DecodingConfig:
    """Return the options of a search for one translation, or for all to choose from.

    Raises:
        UsageError: if there is only one to choose from.
    """
    if not closest:
        return decoding.model_copy(update={"n_best": 1})
    is_beam = not (decoding.sample or decoding.mbr or decoding.rerank)
    found = decoding.beam if is_beam else decoding.found_hypotheses
    if found == 1:
        remedy = "--set decoding.n_best=5" if decoding.sample else "--beam 5"
        raise UsageError(
            "--closest-to-reference chooses among several translations, but the search finds one. "
            f"Give {remedy}, or leave it out"
        )
    return decoding.model_copy(update={"n_best": found})


def closest_to_reference(sentence: Sentence, found: list[str]) -> list[str]:
    """Return the translation with the highest sentence BLEU; the first one of equals."""
    references = list(sentence.references)
    metric = BLEU(effective_order=True, tokenize=bleu_tokenizer(references))
    return [max(found, key=lambda text: metric.sentence_score(text, references).score)]


def _best(sentence: Sentence, found: list[str]) -> list[str]:
    return found[:1]
