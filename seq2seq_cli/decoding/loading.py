"""Rebuilds the models of trained runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from seq2seq_cli.config import Config
from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.data.tokenizers.pair import Tokenizer, Tokenizers
from seq2seq_cli.decoding.reranking import Reranker
from seq2seq_cli.decoding.scoring import Scorer
from seq2seq_cli.decoding.search import Search
from seq2seq_cli.decoding.translator import Translator
from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.models import build_model
from seq2seq_cli.models.ensemble import Ensemble
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runs.checkpoints import Checkpoint
from seq2seq_cli.runs.naming import find_run
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.state import State
from seq2seq_cli.work import Warn


class LoadedRun(NamedTuple):
    """A run's model and tokenizers, its checkpoint's name, and the training's state there.

    In an ensemble, everything except `paths` and `model` is that of the first run. `data` is its
    table `[data]`. `languages` are the source and the target language. `warn` is called for each
    damaged checkpoint of a further run that is loaded.
    `member_tokenizers` are the source tokenizers of all runs, if they differ. The source tokenizers
    add the tag of the language to translate into, if the run has such tags.
    """

    paths: tuple[Path, ...]
    model: Seq2Seq
    tokenizers: Tokenizers
    decoding: DecodingConfig
    checkpoint: str
    state: State
    data: DataConfig
    languages: tuple[str, str]
    warn: Warn
    member_tokenizers: tuple[Tokenizer, ...] = ()

    @property
    def name(self) -> str:
        """The paths of the runs, separated by commas."""
        return ", ".join(map(str, self.paths))

    def towards(self, language: str | None) -> "LoadedRun":
        """Return the same model for translating into a language; None for the run's default.

        Existing translators and scorers keep their language.

        Raises:
            UsageError: if the model does not translate into it.
        """
        languages = self.data.languages_to(language)
        _, target = languages
        members = [Tokenizers(each, each).towards(target) for each in self.member_tokenizers]
        return self._replace(
            languages=languages,
            tokenizers=self.tokenizers.towards(target),
            member_tokenizers=tuple(each.source for each in members),
        )

    def translator(
        self,
        config: DecodingConfig | None = None,
        reverse: "LoadedRun | None" = None,
        *,
        alignments: bool = False,
        replace_unknown: bool = False,
        compiled: bool = True,
        prefix: str = "",
        search: Search | None = None,
    ) -> Translator:
        """Return a translator with the model.

        Args:
            config: the options of the search; None for the run's `[decoding]`.
            reverse: the run that re-ranks; None to load that of `config.rerank`, if it is set.
            alignments: see Translator.
            replace_unknown: the same.
            compiled: the same, also for the run that re-ranks.
            prefix: the same.
            search: the same.

        Raises:
            CheckpointError: if the run that re-ranks cannot be loaded.
            UsageError: if it is not of the opposite direction; see Translator for others.
        """
        config, rerank = config or self.decoding, None
        if config.rerank:
            reverse = reverse or load_reverse(config.rerank, self.languages, self.warn)
            rerank = reverse.reranker(config, compiled)
        return Translator(
            self.model,
            self.tokenizers,
            config,
            alignments=alignments,
            replace_unknown=replace_unknown,
            compiled=compiled,
            member_tokenizers=self.member_tokenizers,
            prefix=prefix,
            search=search,
            rerank=rerank,
        )

    def reranker(self, config: DecodingConfig, compiled: bool = True) -> Reranker:
        """Return a re-ranker for translations of the opposite direction, with this model."""
        return Reranker(self._replace(decoding=config).scorer(compiled), config)

    def scorer(self, compiled: bool = True) -> Scorer:
        """Return a scorer with the model."""
        return Scorer(self.model, self.tokenizers, self.decoding, compiled, self.member_tokenizers)


def load_run(
    run: Run,
    warn: Warn,
    config: Config | None = None,
    checkpoint: Checkpoint | None = None,
) -> LoadedRun:
    """Rebuild a run's model at a checkpoint.

    Args:
        run: the run's folder.
        warn: called for each damaged checkpoint, which is skipped.
        config: the run's, if it has been read already.
        checkpoint: None for the best one.

    Raises:
        CheckpointError: if there is no valid checkpoint, or it belongs to another model.
    """
    config = config or run.config()
    tokenizers = Tokenizers.load(run.tokenizer).towards(config.data.target_language)
    checkpoint = checkpoint or run.best_checkpoint(warn)
    model = build_model(config.model, tokenizers.vocabularies, seed=None)
    checkpoint.restore(checkpoint.weights, model.trainable_variables)
    return LoadedRun(
        paths=(run.path,),
        model=model,
        tokenizers=tokenizers,
        decoding=config.decoding,
        checkpoint=checkpoint.path.name,
        state=checkpoint.state,
        data=config.data,
        languages=config.data.languages_to(None),
        warn=warn,
    )


def load_reverse(name: str, languages: tuple[str, str], warn: Warn) -> LoadedRun:
    """Rebuild the model of `decoding.rerank`.

    Args:
        name: of the run.
        languages: source and target language of the translations that it ranks.
        warn: see load_run.

    Raises:
        CheckpointError: if there is no such run, or it has no valid checkpoint.
        UsageError: if it does not translate in the opposite direction.
    """
    option = "decoding.rerank (--rerank)"
    source, target = languages
    try:
        run = find_run(name)
        config = run.config()
        if not config.data.covers(target, source):
            raise UsageError(
                f"{option}: {run.path} translates from {config.data.direction}. Ranking "
                f"translations from {source} to {target} needs a run from {target} to {source}"
            )
        return load_run(run, warn, config).towards(source)
    except CheckpointError as error:
        raise CheckpointError(f"{option}: {error}") from error


def at_checkpoint(loaded: LoadedRun, checkpoint: Checkpoint) -> LoadedRun:
    """Restore another checkpoint of the same run into a loaded model.

    Translators and scorers that were made from `loaded` use the new weights.

    Raises:
        CheckpointError: if the checkpoint is damaged.
    """
    checkpoint.restore(checkpoint.weights, loaded.model.trainable_variables)
    return loaded._replace(checkpoint=checkpoint.path.name, state=checkpoint.state)


def load_ensemble(
    runs: Sequence[Run],
    warn: Warn,
    configs: Sequence[Config | None] = (),
    checkpoints: Sequence[Checkpoint | None] = (),
) -> LoadedRun:
    """Rebuild several runs' models as one, or a single run's.

    Args:
        runs: the runs' folders.
        warn: see load_run.
        configs: of the runs, if they have been read already.
        checkpoints: of the runs; without them, the best ones.

    Raises:
        CheckpointError: see load_run.
        UsageError: if their languages or target vocabularies are not the same.
    """
    unknown = [None] * len(runs)
    members = zip(runs, configs or unknown, checkpoints or unknown, strict=True)
    loaded = [load_run(run, warn, config, checkpoint) for run, config, checkpoint in members]
    first = loaded[0]
    if len(loaded) == 1:
        return first
    for other in loaded[1:]:
        if not other.data.covers(*first.languages):
            raise UsageError(
                f"--run {first.name} --run {other.name}: an ensemble needs the same languages in "
                f"all runs, but the first translates from {' to '.join(first.languages)}, and the "
                f"other from {other.data.direction}. Leave one of them out"
            )
        if other.tokenizers.target.fingerprint != first.tokenizers.target.fingerprint:
            raise UsageError(
                f"--run {first.name} --run {other.name}: an ensemble needs the same target "
                "vocabulary in all runs. Train with the same data and tokenizer"
            )
    sources = tuple(each.tokenizers.source for each in loaded)
    differ = len({source.fingerprint for source in sources}) > 1
    return first._replace(
        paths=tuple(run.path for run in runs),
        model=Ensemble([each.model for each in loaded], differ),
        member_tokenizers=sources if differ else (),
    ).towards(None)
