"""The training loop: from a config to checkpoints in a run folder."""

import time
from collections.abc import Iterator

from seq2seq_cli.config import Config
from seq2seq_cli.data.pipeline import Batch, TrainingData
from seq2seq_cli.runs.checkpoints import Position
from seq2seq_cli.runs.run import Run, new_run
from seq2seq_cli.runtime.computation import Computation
from seq2seq_cli.runtime.xla_cache import limit_xla_cache
from seq2seq_cli.training.checkpointing import Checkpointer
from seq2seq_cli.training.events import Notice, OnEvent, Phase, Progress, Result, Validation
from seq2seq_cli.training.interruption import interrupted, stop_requested
from seq2seq_cli.training.logs import Logs
from seq2seq_cli.training.progress import ProgressMeter
from seq2seq_cli.training.requirements import memory_errors
from seq2seq_cli.training.schedule import Schedule
from seq2seq_cli.training.setup import Setup, compile_ahead, computation_of, set_up
from seq2seq_cli.training.validation import Validator

PROGRESS_EVERY = 10
"""Updates between two Progress events."""


def train(
    config: Config,
    on_event: OnEvent,
    resume: Run | None = None,
    name: str | None = None,
    device: str = "",
) -> Result:
    """Train until a limit of the config is reached, or dev BLEU no longer rises.

    Args:
        config: everything that determines the result.
        on_event: receives everything that a person watching wants to know.
        resume: the run to continue, or to start if it has no checkpoint; None for a new run.
        name: of a new run; None for the next number.
        device: a description of it, for the summary.

    Raises:
        UsageError: if the training does not fit in memory, or has too many shards.
        DataError: if the corpus cannot be used.
        CheckpointError: if the checkpoints of `resume` are damaged, or of other data.
        LockedError: if another process trains in the run's folder.
        DivergedError: if the loss or a gradient is no longer finite.
        RunInterruptedError: if SIGINT or SIGTERM came, after a checkpoint.
    """
    limit_xla_cache()
    setup = set_up(config, on_event, resume)
    run = resume or new_run(name, config.model.label)
    with run.lock(), memory_errors(config):
        if resume is None:
            run.write(config, setup.tokenizers.files())
        computation = computation_of(run, setup, device, on_event)
        trainer = Trainer(setup, run, computation, on_event)
        if resume is not None:
            trainer.restore()
        on_event(setup.summary(run, computation))
        return trainer.train()


class Trainer:
    """Makes updates, validates and saves until the training ends.

    Args:
        setup: everything that the training works with.
        run: receives checkpoints and logs.
        computation: how updates are computed.
        on_event: receives all events but the Summary.

    Attributes:
        position: how far the training is.
        updater: makes the updates.
    """

    def __init__(self, setup: Setup, run: Run, computation: Computation, on_event: OnEvent):
        config, data = setup.config.training, setup.data
        self.position = Position.at_start()
        self.updater = setup.updater(computation)
        self._setup = setup
        self._run = run
        self._on_event = on_event
        self._validate_every = config.validate_every_steps or data.steps_per_epoch
        self._schedule = Schedule(config, data.steps_per_epoch)
        self._meter = ProgressMeter(
            config, self._schedule, self._validate_every, data.padding_share
        )
        self._validator = Validator(setup.config, setup.model, setup.tokenizers, setup.corpus.dev)
        self._checkpointer = Checkpointer(run, setup, self.updater, self._warn)

    def restore(self) -> None:
        """Restore the run's newest valid checkpoint; without any, start from the beginning.

        Raises:
            CheckpointError: if all are damaged, or it is one of other data.
        """
        self.position = self._checkpointer.restore()

    def train(self) -> Result:
        """Make updates until the training ends.

        Raises:
            DivergedError: if the loss or a gradient is no longer finite.
            RunInterruptedError: if SIGINT or SIGTERM came, after a checkpoint.
        """
        position = self.position
        self._logs = Logs(self._run, position.step, self._warn)
        self._began = time.monotonic() - position.seconds
        reason = self._schedule.reason_to_end(position)
        if reason:
            return self._result(reason)
        compile_ahead(self._setup, self.updater, self._on_event)
        self._on_event(Phase("Making the first updates"))
        self._checkpointer.postpone()
        self._meter.resume()
        with stop_requested(self._warn) as request:
            for batch in batches_from(self._setup.data, position):
                self._update(batch)
                # Read once: a signal that comes later waits for the next update.
                signal_number = request.signal_number
                validates = self._is_validation_due()
                saves = validates or signal_number or self._checkpointer.is_due()
                if saves or position.step % PROGRESS_EVERY == 0:
                    self._record(self._meter.progress(position))
                if validates:
                    self._validate()
                if saves:
                    self._checkpointer.save(position, validates)
                    self._meter.resume()
                reason = self._schedule.reason_to_end(position)
                if reason:
                    break
                if signal_number:
                    raise interrupted(signal_number, position.step, self._run.path)
        return self._result(reason)

    def _update(self, batch: Batch) -> None:
        position = self.position
        learning_rate = self._schedule.learning_rate(position.step, position.seconds)
        loss, norm = self.updater.update(batch, position.step, learning_rate)
        self._meter.updated(loss, norm, int(batch.pairs), learning_rate)
        position.step += 1
        position.batch += 1
        position.seconds = time.monotonic() - self._began

    def _is_validation_due(self) -> bool:
        position = self.position
        ends = self._schedule.share_done(position.step, position.seconds) >= 1
        return ends or position.step % self._validate_every == 0

    def _validate(self) -> None:
        position = self.position
        began = time.monotonic()
        self._on_event(Phase("Validating", "translations"))
        scores, samples = self._validator.translate()
        self._on_event(Phase("Validating", "loss"))
        dev_loss = self._validator.loss()
        now = time.monotonic()
        is_best = position.best_dev_bleu is None or scores.bleu > position.best_dev_bleu
        if is_best:
            position.best_dev_bleu, position.best_step = scores.bleu, position.step
        position.validations_since_best = 0 if is_best else position.validations_since_best + 1
        position.last_dev_bleu = scores.bleu
        position.seconds = now - self._began
        self._meter.validated(now - began)
        self._record(
            Validation(
                step=position.step,
                epoch=position.epoch + 1,
                seconds=position.seconds,
                dev_loss=dev_loss,
                dev_bleu=scores.bleu,
                dev_chrf=scores.chrf,
                signature=scores.bleu_signature,
                is_best=is_best,
                samples=samples,
            )
        )

    def _record(self, event: Progress | Validation) -> None:
        self._logs.write(event)
        self._on_event(event)

    def _warn(self, text: str) -> None:
        self._on_event(Notice(text))

    def _result(self, reason: str) -> Result:
        position = self.position
        return Result(
            str(self._run.path),
            reason,
            position.step,
            position.seconds,
            position.best_step,
            position.best_dev_bleu,
        )


def batches_from(data: TrainingData, position: Position) -> Iterator[Batch]:
    """Yield batches without end, from a position on.

    The caller counts `position.batch` after each. Before the first batch of another epoch,
    `position.epoch` becomes that epoch, and `position.batch` 0.
    """
    while True:
        yield from data.batches(position.epoch, skip=position.batch)
        position.epoch += 1
        position.batch = 0
