"""From a config to the corpus, tokenizers, data, model and updater of a run."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from seq2seq_cli.config import Config
from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.data.corpus import Corpus, read_corpus
from seq2seq_cli.data.pipeline import TrainingData
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.data.vocabularies import tags_of, tokenizers_of
from seq2seq_cli.models import build_model
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runs.checkpoints import checkpoint_folders
from seq2seq_cli.runs.resuming import changes
from seq2seq_cli.runs.run import COMPUTATION, Run
from seq2seq_cli.runtime.computation import Computation, choose_computation
from seq2seq_cli.runtime.devices import mirrored_devices
from seq2seq_cli.runtime.parallel import number_of_shards
from seq2seq_cli.training.events import (
    Notice,
    OnEvent,
    Phase,
    Summary,
    ignore,
    showing_phases,
)
from seq2seq_cli.training.exchange import Share
from seq2seq_cli.training.initial import initial_tokenizers, load_initial_weights
from seq2seq_cli.training.requirements import (
    check_devices,
    check_memory,
    check_r_drop,
    check_shards,
    check_workers,
    memory_errors,
)
from seq2seq_cli.training.step import Updater
from seq2seq_cli.training.trackers import check_trackers


@dataclass(frozen=True)
class Setup:
    """Everything that training works with.

    Attributes:
        config: everything that determines the result.
        corpus: the pairs, split.
        tokenizers: of both languages.
        data: the batches of the training split.
        model: with its initial weights.
    """

    config: Config
    corpus: Corpus
    tokenizers: Tokenizers
    data: TrainingData
    model: Seq2Seq

    @property
    def updates_per_epoch(self) -> int:
        """Updates in an epoch."""
        return math.ceil(self.data.parts_per_epoch / self.config.training.parts)

    def updater(self, computation: Computation, share: Share | None = None) -> Updater:
        """Return the updater of the model.

        Args:
            computation: precision and shards.
            share: the shards that this worker computes, if there are several workers.

        Raises:
            UsageError: if there are too few or too many devices for `training.strategy`.
        """
        training = self.config.training
        devices = _devices(training)
        check_devices(training, computation.shards, len(devices))
        return Updater(
            self.model, training, computation.precision, computation.shards, share, devices
        )

    def summary(self, run: Run, computation: Computation) -> Summary:
        """Return the figures of the coming training run in `run`."""
        return Summary(
            run=str(run.path),
            config=self.config,
            corpus=self.corpus.description,
            pairs=self.corpus.pairs,
            train_pairs=self.data.pairs,
            dev_pairs=len(self.corpus.dev),
            test_pairs=len(self.corpus.test),
            shared_pairs=self.corpus.shared,
            dropped={**self.corpus.dropped, "too long for training": self.data.too_long},
            vocabulary=str(self.tokenizers),
            parameters=sum(math.prod(v.shape) for v in self.model.trainable_variables),
            batches_per_epoch=self.updates_per_epoch,
            padding_share=self.data.padding_share,
            computation=computation,
        )


def set_up(
    config: Config, on_event: OnEvent = ignore, resume: Run | None = None, workers: int = 1
) -> Setup:
    """Read and tokenize the corpus, and build the model.

    Args:
        config: everything that determines the result.
        on_event: receives a Phase as each part begins.
        resume: the run to continue; its tokenizers are loaded, not learned.
        workers: number of workers that share the shards.

    Raises:
        UsageError: if training does not fit in memory, has too many or too few shards, or R-Drop
            without dropout, a tracker is not installed, or the initial run has another model.
        DataError: if the corpus cannot be used.
        CheckpointError: if the initial run has no valid checkpoint.
    """
    check_trackers(config.training.trackers)
    if resume is None or not resume.config().training.r_drop:
        check_r_drop(config)
    corpus, tokenizers = read_and_learn(config, on_event, resume)
    show, cost = showing_phases(on_event), _shape_cost_of(resume)
    data = TrainingData.from_config(corpus, tokenizers, config, show, cost)
    on_event(Phase("Building the model"))
    if resume is None:
        check_shards(config.training, data.most_rows, workers)
        shards = number_of_shards(config.training)
        check_workers(config.training, shards, workers)
        check_devices(config.training, shards, len(_devices(config.training)))
    model = build_trainable(config, tokenizers)
    begins = resume is None or not checkpoint_folders(resume.checkpoints)
    if config.training.initial_run and begins:
        load_initial_weights(config, model, lambda text: on_event(Notice(text)))
    return Setup(config, corpus, tokenizers, data, model)


def _shape_cost_of(run: Run | None) -> int:
    """Return the cost of a batch shape with which a run began; 0 if it is not known."""
    with suppress(ValueError):
        text = run.computation() if run else None
        return Computation.from_json(text).shape_cost if text else 0
    return 0


def _devices(training: TrainingConfig) -> list[str]:
    """Return the devices of this process that share a batch; none for the default one.

    Raises:
        UsageError: if there are too few for `training.strategy`.
    """
    return mirrored_devices() if training.strategy == "mirrored" else []


def read_and_learn(
    config: Config, on_event: OnEvent = ignore, resume: Run | None = None
) -> tuple[Corpus, Tokenizers]:
    """Read the corpus, and learn the tokenizers from it.

    Those of `resume` or of `training.initial_run` are loaded instead, if there is one.

    Raises:
        DataError: if the corpus cannot be used.
        UsageError: if the initial run has another vocabulary.
    """
    show = showing_phases(on_event)
    corpus = read_corpus(config.data, show)
    if resume is not None:
        return corpus, Tokenizers.load(resume.tokenizer)
    if config.training.initial_run:
        return corpus, initial_tokenizers(config, tags_of(corpus, config.data))
    tokenizers = tokenizers_of(corpus, config.tokenizer, show)
    return corpus, tokenizers.with_tags(tags_of(corpus, config.data))


def build_trainable(config: Config, tokenizers: Tokenizers) -> Seq2Seq:
    """Build the model that a config describes, unless training cannot fit in memory.

    Raises:
        UsageError: if it cannot; names what to lower.
    """
    check_memory(config, tokenizers.vocabularies)
    with memory_errors(config):
        return build_model(config.model, tokenizers.vocabularies, config.training.seed)


def computation_of(run: Run, setup: Setup, device: str, on_event: OnEvent) -> Computation:
    """Return how a run computes, so that a resumed run makes the same updates.

    The first process that trains a run measures what is fastest, and records it in the run's
    folder. Later ones use the record, unless the configured precision or number of shards changed.

    Args:
        run: the run.
        setup: of the run.
        device: a description of the device in use.
        on_event: receives a Notice if the record is of another device, or cannot be read.
    """
    compile_ = setup.config.training.compile
    changed = changes(run.config(), setup.config)
    text = run.computation()
    if text and "training.precision" not in changed and "training.shards" not in changed:
        try:
            before = Computation.from_json(text)
        except ValueError as error:
            on_event(Notice(f"{run.path / COMPUTATION} cannot be read ({error}); measuring again"))
        else:
            if differences := before.differences(device):
                on_event(
                    Notice(
                        f"This run began elsewhere: {'; '.join(differences)}. It continues with "
                        f"{before.described(compile_)}, but the last digits of its results may "
                        "differ"
                    )
                )
            return before
    on_event(Phase("Choosing the precision"))
    computation = choose_computation(setup.config.training, setup.model, device)
    computation = replace(computation, shape_cost=setup.data.shape_cost)
    run.write_computation(computation.to_json())
    return computation


def compile_ahead(setup: Setup, updater: Updater, on_event: OnEvent) -> None:
    """Compile the update for all batch shapes, unless `training.compile` is `graph`."""
    training = setup.config.training
    if training.compile == "graph":
        return
    shapes = setup.data.shapes(training.steps and training.steps * training.parts)
    compile_for(shapes, updater, on_event)


def compile_for(
    shapes: Sequence[tuple[int, int, int]], updater: Updater, on_event: OnEvent
) -> None:
    """Compile the update for batch shapes; see `Updater.compile_for`."""
    text = f"Compiling for {len(shapes)} batch shapes"

    def show(done: int) -> None:
        on_event(Phase(text, "done", done, len(shapes)))

    show(0)
    updater.compile_for(shapes, show)
