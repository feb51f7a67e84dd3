"""The training loop: from a config to checkpoints in a run folder."""

import importlib.metadata
import math
import signal
import time
from collections.abc import Callable
from datetime import datetime, timezone

import numpy as np
import tensorflow as tf

from seq2seq_cli.config import Config
from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.data.corpus import Corpus, read_corpus
from seq2seq_cli.data.pipeline import Batch, TrainingData, tokenizers_of
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.errors import CheckpointError, DivergedError, RunInterruptedError
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runs import checkpoints
from seq2seq_cli.runs.checkpoints import Position, State
from seq2seq_cli.runs.run import COMPUTATION, Run, new_run
from seq2seq_cli.runtime.computation import Computation, choose_computation
from seq2seq_cli.runtime.xla_cache import limit_xla_cache
from seq2seq_cli.training.events import Event, Notice, Phase, Progress, Result, Summary, Validation
from seq2seq_cli.training.interruption import stop_requested
from seq2seq_cli.training.logs import Logs
from seq2seq_cli.training.pace import Pace
from seq2seq_cli.training.requirements import build_trainable, check_shards, memory_errors
from seq2seq_cli.training.schedule import Schedule
from seq2seq_cli.training.step import Updater
from seq2seq_cli.training.validation import Validator

REPORT_EVERY_STEPS = 10
Report = Callable[[Event], None]


def train(
    config: Config,
    report: Report,
    resume: Run | None = None,
    name: str | None = None,
    device: str = "",
) -> Result:
    """Train until a limit of the config is reached, or dev BLEU no longer rises.

    Args:
        config: everything that determines the result.
        report: told of everything that a person watching wants to know.
        resume: the run to go on with, or to begin anew where it has no checkpoint; None begins a
            new one.
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
    report(Phase("Reading the corpus"))
    corpus = read_corpus(config.data)
    if resume:
        tokenizers = Tokenizers.load(resume.tokenizer)
    else:
        report(Phase("Making the vocabulary"))
        tokenizers = tokenizers_of(corpus, config.tokenizer)
    report(Phase("Tokenizing the corpus"))
    data = TrainingData.from_config(corpus, tokenizers, config)
    report(Phase("Building the model"))
    if resume is None:
        check_shards(config.training, data.most_rows)
    model = build_trainable(config, tokenizers)
    run = resume or new_run(name, config.model.label)
    with run.lock(), memory_errors(config):
        if resume is None:
            run.write(config, tokenizers.files())
        computation = _computation(run, config.training, model, device, report)
        trainer = Trainer(config, run, corpus, tokenizers, data, model, computation, report)
        if resume is not None:
            trainer.restore()
        report(Summary(_summary(config, run, corpus, data, tokenizers, model, computation)))
        return trainer.train()


def _computation(
    run: Run, config: TrainingConfig, model: Seq2Seq, device: str, report: Report
) -> Computation:
    """Return how the run computes: as it did from its first update on, or else as is fastest here.

    What was chosen is kept in the run, so that a resumed training makes the same updates.
    """
    if text := run.computation():
        try:
            before = Computation.from_json(text)
        except ValueError as error:
            report(Notice(f"{run.path / COMPUTATION} cannot be read ({error}); measuring anew"))
        else:
            if differences := before.differences(device):
                report(
                    Notice(
                        f"This run was begun elsewhere: {'; '.join(differences)}. It goes on as "
                        f"it was begun, {before.described(config.compile)}, but the last "
                        "digits of its results may differ"
                    )
                )
            return before
    report(Phase("Measuring what is fastest on this device"))
    computation = choose_computation(config, model, device)
    run.write_computation(computation.to_json())
    return computation


class Trainer:
    """The loop and what it needs; `train` puts it together.

    Attributes:
        position: where the training stands.
        updater: makes the updates.
    """

    def __init__(
        self,
        config: Config,
        run: Run,
        corpus: Corpus,
        tokenizers: Tokenizers,
        data: TrainingData,
        model: Seq2Seq,
        computation: Computation,
        report: Report,
    ):
        self.position = Position.at_start()
        self._config = config.training
        self._run = run
        self._fingerprint = corpus.fingerprint
        self._data = data
        self._model = model
        self._report = report
        self.updater = Updater(model, config.training, computation.precision, computation.shards)
        self._schedule = Schedule(config.training, data.steps_per_epoch)
        self._validate_every = config.training.validate_every_steps or data.steps_per_epoch
        self._validator = Validator(config, model, tokenizers, corpus.dev)
        self._pace = Pace(
            self._schedule.total_steps,
            config.training.budget_seconds or math.inf,
            self._validate_every,
        )
        self._learning_rate = 0.0
        self._recent: list[tuple[tf.Tensor, tf.Tensor, int]] = []  # loss, norm, pairs of updates

    def train(self) -> Result:
        """Run the loop to its end."""
        position = self.position
        self._logs = Logs(self._run, position.step, self._notice)
        self._began = time.monotonic() - position.seconds
        reason = self._reason_to_stop()
        if not reason:
            if self._config.compile != "graph":
                self._compile()
            self._report(Phase("Making the first updates"))
        self._saved = self._resumed_updates = time.monotonic()
        with stop_requested(self._notice) as caught:
            while not reason:
                for batch in self._data.batches(position.epoch, skip=position.batch):
                    self._update(batch)
                    # Read once: a signal that comes later in this step waits for the next one.
                    stopped_by = caught.number
                    finished = self._share_done() >= 1
                    validate = finished or position.step % self._validate_every == 0
                    save = validate or stopped_by or self._is_checkpoint_due()
                    if save or position.step % REPORT_EVERY_STEPS == 0:
                        self._report_progress()
                    if validate:
                        self._validate()
                    if save:
                        self._save(dev_bleu=position.last_dev_bleu if validate else None)
                        self._resumed_updates = time.monotonic()
                    reason = self._reason_to_stop()
                    if reason:
                        break
                    if stopped_by:
                        raise RunInterruptedError(
                            f"Stopped by {signal.Signals(stopped_by).name} at step "
                            f"{position.step}, which is saved. Go on by: s2s train --resume --run "
                            f"{self._run.path}",
                            stopped_by,
                        )
                else:
                    position.epoch += 1
                    position.batch = 0
        return Result(
            str(self._run.path),
            reason,
            position.step,
            position.seconds,
            position.best_step,
            position.best_dev_bleu,
        )

    def restore(self) -> None:
        """Go back to the run's newest valid checkpoint; without any, begin anew.

        Raises:
            CheckpointError: if all are damaged, or it is one of other data.
        """
        if not checkpoints.checkpoints(self._run.checkpoints):
            self._notice(f"{self._run.path}: has no checkpoint yet; training begins anew")
            return
        newest = checkpoints.newest_valid(self._run.checkpoints, self._notice)
        state = newest.state
        if state.data_fingerprint != self._fingerprint:
            raise CheckpointError(
                f"{newest.path}: was trained on other data (fingerprint "
                f"{state.data_fingerprint[:12]}; now {self._fingerprint[:12]}). Restore the "
                "corpus, or begin a new run without --resume"
            )
        self.position = state.position
        newest.restore(checkpoints.MODEL, self._model.trainable_variables)
        newest.restore(checkpoints.OPTIMIZER, self.updater.variables)
        self._notice(f"Going on from {newest.path}")

    def _notice(self, text: str) -> None:
        self._report(Notice(text))

    def _compile(self) -> None:
        shapes = self._data.shapes(self._config.steps)
        text = f"Compiling for {len(shapes)} shapes of batches"
        self._report(Phase(text))
        self.updater.compile_for(shapes, lambda done: self._report(Phase(text, f"{done} done")))

    def _update(self, batch: Batch) -> None:
        position = self.position
        self._learning_rate = self._schedule.learning_rate(position.step, position.seconds)
        loss, norm = self.updater.step(batch, position.step, self._learning_rate)
        self._recent.append((loss, norm, int(batch.pairs)))
        position.step += 1
        position.batch += 1
        position.seconds = time.monotonic() - self._began

    def _report_progress(self) -> None:
        """Tell of the updates since the last report.

        Raises:
            DivergedError: if one of them was not finite.
        """
        position = self.position
        losses = [float(loss) for loss, _, _ in self._recent]
        norms = [float(norm) for _, norm, _ in self._recent]
        if not np.isfinite(losses + norms).all():
            raise DivergedError(
                f"the loss or its gradient is not finite at step {position.step} or up to "
                f"{len(losses) - 1} before it; no checkpoint was made of that. Lower "
                "training.peak_learning_rate or training.gradient_clip_norm and train again"
            )
        now = time.monotonic()
        pairs = sum(pairs for _, _, pairs in self._recent)
        seconds = now - self._resumed_updates
        self._pace.updated(len(losses), seconds)
        event = Progress(
            step=position.step,
            epoch=position.epoch + 1,
            loss=float(np.mean(losses)),
            learning_rate=self._learning_rate,
            gradient_norm=norms[-1],
            pairs_per_second=pairs / seconds,
            padding_share=self._data.padding_share,
            seconds=position.seconds,
            share_done=self._share_done(),
            seconds_left=self._pace.seconds_left(position.step, position.seconds),
            dev_bleu=position.last_dev_bleu,
        )
        self._recent, self._resumed_updates = [], now
        self._logs.write(event)
        self._report(event)

    def _validate(self) -> None:
        position = self.position
        began = time.monotonic()
        self._report(Phase("Validating", "translations"))
        scores, samples = self._validator.translate()
        position.last_dev_bleu = scores.bleu
        is_best = position.best_dev_bleu is None or scores.bleu > position.best_dev_bleu
        if is_best:
            position.best_dev_bleu, position.best_step = scores.bleu, position.step
        position.validations_since_best = 0 if is_best else position.validations_since_best + 1
        self._report(Phase("Validating", "loss"))
        dev_loss = self._validator.loss()
        now = time.monotonic()
        position.seconds = now - self._began
        self._pace.validated(now - began)
        event = Validation(
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
        self._logs.write(event)
        self._report(event)

    def _save(self, dev_bleu: float | None) -> None:
        state = State(
            step=self.position.step,
            position=self.position,
            dev_bleu=dev_bleu,
            data_fingerprint=self._fingerprint,
            saved_at=datetime.now(timezone.utc).isoformat(),
            versions={
                name: importlib.metadata.version(name)
                for name in ("s2s", "tensorflow", "keras", "tensorflow-text", "sentencepiece")
            },
        )
        checkpoints.save(
            self._run.checkpoints,
            self._model.trainable_variables,
            self.updater.variables,
            state,
        )
        checkpoints.prune(
            self._run.checkpoints, self._config.keep_checkpoints, self.position.best_step
        )
        self._saved = time.monotonic()

    def _share_done(self) -> float:
        return self._schedule.progress(self.position.step, self.position.seconds)

    def _is_checkpoint_due(self) -> bool:
        return time.monotonic() - self._saved >= 60 * self._config.checkpoint_minutes

    def _reason_to_stop(self) -> str:
        if self.position.validations_since_best >= self._config.patience:
            return f"dev BLEU has not risen in {self._config.patience} validations"
        if self.position.step and self._share_done() >= 1:
            return "the training is complete"
        return ""


def _summary(
    config: Config,
    run: Run,
    corpus: Corpus,
    data: TrainingData,
    tokenizers: Tokenizers,
    model: Seq2Seq,
    computation: Computation,
) -> list[tuple[str, str]]:
    dropped = {**corpus.dropped, "too long for training": data.too_long}
    training = config.training
    limits = [
        training.epoch_limit and f"{training.epoch_limit} epochs",
        training.steps and f"{training.steps} steps",
        training.budget_seconds and f"{training.budget_seconds / 60:g} minutes",
    ]
    pairs = training.batch_pairs
    size = f"{pairs:,} pairs" if pairs else f"about {training.batch_tokens:,} tokens"
    computed = computation.described(training.compile)
    measured = ", ".join(f"{name} {ms:.1f} ms" for name, ms in computation.milliseconds.items())
    parameters = sum(math.prod(v.shape) for v in model.trainable_variables)
    return [
        ("run", str(run.path)),
        (
            "data",
            f"{corpus.description}, {config.data.source_language} to "
            f"{config.data.target_language}, {corpus.pairs:,} pairs",
        ),
        (
            "splits",
            f"{data.pairs:,} train, {len(corpus.dev):,} dev, {len(corpus.test):,} test; "
            f"{corpus.shared or 'no'} train pairs share a sentence with the others",
        ),
        ("dropped", ", ".join(f"{n:,} {why}" for why, n in dropped.items() if n) or "nothing"),
        ("vocabulary", str(tokenizers)),
        ("model", f"{config.model.description}, {parameters:,} parameters"),
        (
            "batches",
            f"{data.steps_per_epoch:,} an epoch of {size}, {data.padding_share:.1%} padding",
        ),
        ("until", " or ".join(limit for limit in limits if limit)),
        ("device", f"{computation.device}, {computed}"),
        *([("measured", measured)] if measured else []),
    ]
