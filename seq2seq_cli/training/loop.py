"""The training loop: from a config to checkpoints in a run folder."""

import itertools
import time
from collections.abc import Iterator
from contextlib import closing

from seq2seq_cli.config import Config
from seq2seq_cli.data.pipeline import Batch, TrainingData
from seq2seq_cli.errors import WorkerError
from seq2seq_cli.runs.attention_history import Snapshot
from seq2seq_cli.runs.naming import new_run
from seq2seq_cli.runs.resuming import changes, raised_limits, stored_config
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.state import Position
from seq2seq_cli.runtime.computation import Computation
from seq2seq_cli.runtime.xla_cache import limit_xla_cache
from seq2seq_cli.training.checkpointing import INEXACT, Checkpointer
from seq2seq_cli.training.divergence import DivergenceCheck, Update
from seq2seq_cli.training.events import (
    Notice,
    OnEvent,
    Phase,
    Result,
    Validation,
    showing_phases,
)
from seq2seq_cli.training.extension import extension
from seq2seq_cli.training.interruption import StopRequest, interrupted, stop_requested
from seq2seq_cli.training.logs import Recorder, record_changes, record_start
from seq2seq_cli.training.progress import ProgressMeter
from seq2seq_cli.training.requirements import memory_errors
from seq2seq_cli.training.schedule import Schedule
from seq2seq_cli.training.setup import Setup, compile_ahead, computation_of, set_up
from seq2seq_cli.training.team import ALONE, Team
from seq2seq_cli.training.token_counts import TokenCounts
from seq2seq_cli.training.validation import Validator

PROGRESS_EVERY = 10
"""Updates between two Progress events."""


def train(
    config: Config,
    on_event: OnEvent,
    resume: Run | None = None,
    name: str | None = None,
    device: str = "",
    accept_changes: bool = False,
    team: Team = ALONE,
) -> Result:
    """Train until a limit of the config is reached, or dev BLEU no longer rises.

    Args:
        config: everything that determines the result.
        on_event: receives everything that users may want to see.
        resume: the run to continue, or to start if it has no checkpoint; None for a new run.
        name: of a new run; None for the next number.
        device: a description of it, for the summary.
        accept_changes: whether `resume` may continue with another config, other data or versions.
        team: the workers; this process is the chief.

    Raises:
        UsageError: see `set_up`.
        DataError: if the corpus cannot be used.
        CheckpointError: if the checkpoints of `resume` are damaged, or from other data or versions.
        LockedError: if another process is training in the run's folder.
        DivergedError: if the loss, a gradient or a weight is no longer finite.
        RunInterruptedError: if SIGINT, SIGTERM or SIGHUP came, after a checkpoint.
        DiskError: if a checkpoint cannot be saved, before the first update if possible.
        WorkerError: if another worker is lost, after a checkpoint if updates were made.
    """
    limit_xla_cache()
    team.connect()
    on_event = team.watched(on_event)
    with memory_errors(config):
        setup = set_up(config, on_event, resume, team.size)
    run = resume or new_run(name, config.model.label)
    with run.lock(), memory_errors(config, run):
        if resume is None:
            run.write(config, setup.tokenizers.files())
        computation = computation_of(run, setup, device, on_event)
        trainer = Trainer(setup, run, computation, on_event, team)
        if resume is not None:
            trainer.restore(accept_changes)
            trainer.change(run.config())
        team.begin(setup, computation, run, trainer.position)
        summary = setup.summary(run, computation)
        record_start(run, summary)
        on_event(summary)
        return trainer.train()


class Trainer:
    """Makes updates, validates and saves until training ends.

    Args:
        setup: everything that training works with.
        run: receives checkpoints and logs.
        computation: how updates are computed.
        on_event: receives all events but the Summary.
        team: the workers, of which this process is the chief.

    Attributes:
        position: the progress of training.
        updater: makes the updates.
    """

    def __init__(
        self,
        setup: Setup,
        run: Run,
        computation: Computation,
        on_event: OnEvent,
        team: Team = ALONE,
    ):
        config = setup.config.training
        self.position = Position.at_start()
        self.updater = setup.updater(computation, team.share)
        self._team = team
        self._setup = setup
        self._run = run
        self._on_event = on_event
        self._together = config.parts
        self._validate_every = config.validate_every_steps or setup.updates_per_epoch
        self._schedule = Schedule(config, setup.updates_per_epoch)
        self._divergence = DivergenceCheck(config, setup.data, run, computation.precision)
        self._meter = ProgressMeter(
            config,
            self._schedule,
            self._validate_every,
            setup.data.padding_share,
            self._divergence,
        )
        self._validator = Validator(
            setup.config, setup.model, setup.tokenizers, setup.corpus.dev, self._warn, team
        )
        self._counts = TokenCounts(setup.tokenizers)
        self._checkpointer = Checkpointer(run, setup, self.updater, self._warn)

    def restore(self, accept_changes: bool = False) -> None:
        """Restore the run's newest valid checkpoint; without any, start from the beginning.

        Args:
            accept_changes: whether other data or versions are allowed.

        Raises:
            CheckpointError: if all are damaged, or it is from other data or versions.
        """
        self.position = self._checkpointer.restore(accept_changes)

    def change(self, before: Config) -> None:
        """Write the changed values to the run's config, and report them."""
        now = self._setup.config
        raised, changed = raised_limits(before, now), changes(before, now)
        if changed.keys() - raised.keys():
            texts = [f"{key} was {old!r} and is {new!r}" for key, (old, new) in changed.items()]
            record_changes(self._run, self.position.step, texts)
            self._warn(f"{'; '.join(texts)}. {INEXACT}")
        elif raised:
            self._warn(extension(before, now, self._setup.updates_per_epoch, self.position))
        if (stored := stored_config(before, now)) != before:
            self._run.rewrite_config(stored)

    def train(self) -> Result:
        """Make updates until training ends.

        Raises:
            DivergedError: if the loss, a gradient or a weight is no longer finite.
            RunInterruptedError: if SIGINT, SIGTERM or SIGHUP came, after a checkpoint.
            DiskError: if a checkpoint cannot be saved, before the first update if possible.
            WorkerError: if another worker is lost.
        """
        position, trackers = self.position, self._setup.config.training.trackers
        recording = Recorder(self._run, position.step, trackers, self._on_event)
        with closing(recording) as recorder:
            self._began = time.monotonic() - position.seconds
            reason = self._schedule.reason_to_end(position)
            if reason:
                return self._end(reason, recorder)
            self._checkpointer.probe()
            compile_ahead(self._setup, self.updater, self._on_event)
            self._team.start(self._checkpointer.saved)
            self._on_event(Phase("Making the first updates"))
            seconds = time.monotonic() - self._began
            if self._schedule.is_warming_up(position):
                position.seconds_before_updates += seconds - position.seconds
            position.seconds = seconds
            if not position.step and self._schedule.share_done(position) >= 1:
                self._warn(
                    f"the time limit has passed before the first update, after {seconds:.0f} s of "
                    "preparation. Training ends after one update. Give more time with --budget"
                )
            self._checkpointer.postpone()
            self._meter.resume()
            with stop_requested(self._warn) as request:
                try:
                    reason = self._make_updates(request, recorder)
                except WorkerError:
                    self._save_after_a_loss(recorder)
                    raise
            return self._end(reason, recorder)

    def _make_updates(self, request: StopRequest, recorder: Recorder) -> str:
        """Make updates until the training ends, and return the reason for its end."""
        position = self.position
        for batches in batches_from(self._setup.data, position, self._together):
            self._update(batches)
            # Read once: a later signal waits for the next update.
            signal_number = request.signal_number or self._team.signal(self._warn)
            validates = self._is_validation_due()
            saves = validates or signal_number or self._checkpointer.is_due()
            if saves or position.step % PROGRESS_EVERY == 0:
                recorder.record(self._meter.progress(position))
            if saves:
                self._divergence.check_weights(position.step, self._checkpointer.saved)
                self._team.compare(self._checkpointer.saved, self._warn)
            if validates:
                self._validate(recorder)
            if saves:
                self._checkpointer.save(position, validates)
                self._meter.resume()
            reason = self._schedule.reason_to_end(position)
            if reason:
                break
            if signal_number:
                raise interrupted(signal_number, position.step, self._run.path)
        return reason

    def _save_after_a_loss(self, recorder: Recorder) -> None:
        """Save the progress after a worker is lost.

        If a validation is due, nothing is saved. The resumed run then repeats the validation.
        """
        position = self.position
        if position.step == self._checkpointer.saved_step or self._is_validation_due():
            return
        if self._meter.has_updates:
            recorder.record(self._meter.progress(position))
        self._divergence.check_weights(position.step, self._checkpointer.saved)
        self._checkpointer.save(position, validated=False)
        self._warn(f"Saved a checkpoint at step {position.step}, because a worker was lost")

    def _update(self, batches: list[Batch]) -> None:
        position = self.position
        learning_rate = self._schedule.learning_rate(position)
        self._team.announce(batches, position.step, learning_rate)
        loss, norm = self.updater.update(batches, position.step, learning_rate)
        pairs = sum(int(batch.pairs) for batch in batches)
        where = position.epoch, position.batch, len(batches)
        self._meter.updated(Update(loss, norm, pairs, learning_rate, *where))
        for batch in batches:
            self._counts.add(batch)
        position.step += 1
        position.batch += len(batches)
        position.seconds = time.monotonic() - self._began

    def _is_validation_due(self) -> bool:
        position = self.position
        ends = self._schedule.share_done(position) >= 1
        return ends or position.step % self._validate_every == 0

    def _validate(self, recorder: Recorder) -> None:
        position = self.position
        began = time.monotonic()
        show = showing_phases(self._on_event)
        with self.updater.averaged():
            scores, samples, faults = self._validator.translate(show)
            attention = self._validator.attention()
            maps = self._validator.attention_maps()
            dev_loss = self._validator.loss(show)
        self._divergence.check_dev_loss(position.step, dev_loss)
        raw_dev_loss = self._validator.loss(show, False) if self.updater.averages else None
        now = time.monotonic()
        is_best = position.validated(scores.bleu)
        position.seconds = now - self._began
        self._meter.validated(now - began)
        if maps:
            recorder.logs.keep_attention(Snapshot(position.step, scores.bleu, maps))
        recorder.record(
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
                raw_dev_loss=raw_dev_loss,
                attention_entropy=attention.entropy if attention else None,
                attention_still_share=attention.still_share if attention else None,
                unigram_loss=self._counts.unigram_loss(),
                untrained_share=self._counts.untrained_share(self._setup.data.parts_per_epoch),
                **faults._asdict(),
            )
        )

    def _warn(self, text: str) -> None:
        self._on_event(Notice(text))

    def _end(self, reason: str, recorder: Recorder) -> Result:
        """Record that training has ended, and return its result."""
        position = self.position
        result = Result(
            run=str(self._run.path),
            reason=reason,
            step=position.step,
            seconds=position.seconds,
            best_step=position.best_step,
            best_dev_bleu=position.best_dev_bleu,
        )
        recorder.logs.end(result)
        return result


def batches_from(
    data: TrainingData, position: Position, together: int = 1
) -> Iterator[list[Batch]]:
    """Yield the batches of each update endlessly, from a position on.

    The caller adds their number to `position.batch` after each update. Before the first batch of
    another epoch, `position.epoch` becomes that epoch, and `position.batch` 0.

    Args:
        data: the batches.
        position: before the first update.
        together: batches of an update; the last one of an epoch may have fewer.
    """
    while True:
        batches = iter(data.batches(position.epoch, skip=position.batch))
        while group := list(itertools.islice(batches, together)):
            yield group
        position.epoch += 1
        position.batch = 0
