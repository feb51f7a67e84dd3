"""BLEU and chrF by sacreBLEU, with all references and the signatures."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sacrebleu.metrics import BLEU, CHRF

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.splits import group_references
from seq2seq_cli.decoding.loading import LoadedRun
from seq2seq_cli.decoding.translator import Translator
from seq2seq_cli.errors import DataError, UsageError

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Scores:
    """Scores by sacreBLEU; a score means little without its signature."""

    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    sentences: int
    references: int


@dataclass(frozen=True)
class Evaluation:
    """A run's scores on one of its splits, and the sentences behind them.

    Of an ensemble, `run` names all and `checkpoint` is the first one's.
    """

    run: str
    checkpoint: str
    split: str
    scores: Scores
    sources: list[str]
    translations: list[str]
    references: list[list[str]]

    def rows(self) -> Iterator[list[str]]:
        """Yield for each sentence the source, its translation, and its references."""
        for source, found, wanted in zip(
            self.sources, self.translations, self.references, strict=True
        ):
            yield [source, found, *wanted]


def score(translations: Sequence[str], references: Sequence[Sequence[str]]) -> Scores:
    """Score translations, each against one or more references.

    Raises:
        UsageError: if there is no translation, or the numbers differ.
    """
    if not translations or len(translations) != len(references):
        raise UsageError(
            f"{len(translations)} translations cannot be scored against the references of "
            f"{len(references)} sentences"
        )
    most = max(len(r) for r in references)
    by_rank = [[r[k] if k < len(r) else None for r in references] for k in range(most)]
    bleu, chrf = BLEU(), CHRF()
    bleu_score = bleu.corpus_score(list(translations), by_rank)
    chrf_score = chrf.corpus_score(list(translations), by_rank)
    return Scores(
        bleu_score.score,
        str(bleu.get_signature()),
        chrf_score.score,
        str(chrf.get_signature()),
        len(translations),
        sum(len(r) for r in references),
    )


def evaluate_translator(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    progress: Progress = lambda stage, done, total: None,
) -> tuple[Scores, list[str]]:
    """Translate the sources and score the result; for `progress` see evaluate."""

    def translated(done: int) -> None:
        progress("Translating", done, len(sources))

    translated(0)
    translations = [t.text for t in translator.translate(sources, progress=translated)]
    return score(translations, references), translations


def evaluate(
    loaded: LoadedRun,
    data: DataConfig,
    split: str,
    decoding: DecodingConfig | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> Evaluation:
    """Score a run, or an ensemble, on the `dev` or `test` split of the first run's corpus.

    Args:
        loaded: the model.
        data: the first run's `[data]`, perhaps with a new path of the corpus.
        split: `dev` or `test`.
        decoding: how to search; None for the run's `[decoding]`.
        progress: called with the name of a stage, how many sentences it has done, and how many
            there are, if that is known.

    Raises:
        DataError: if the corpus cannot be read, or is not the one that the run was trained on.
    """
    progress("Reading the corpus", 0, None)
    corpus = read_corpus(data)
    trained_on = loaded.state.data_fingerprint
    if corpus.fingerprint != trained_on:
        raise DataError(
            f"{corpus.description}: is not what {loaded.paths[0]} was trained on (fingerprint "
            f"{corpus.fingerprint[:12]}, then {trained_on[:12]}), so its splits would not be the "
            "same. Give the corpus it was trained on by --data"
        )
    sources, references = group_references(getattr(corpus, split))
    translator = loaded.translator(decoding)
    scores, translations = evaluate_translator(translator, sources, references, progress)
    return Evaluation(
        loaded.name, loaded.checkpoint, split, scores, sources, translations, references
    )
