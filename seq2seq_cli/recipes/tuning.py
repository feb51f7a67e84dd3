"""`s2s recipe tune`: a search for the values of config keys with the best dev BLEU."""

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from seq2seq_cli.config import Config
from seq2seq_cli.config.files import changed_config
from seq2seq_cli.errors import DivergedError, UsageError
from seq2seq_cli.recipes.continuing import check_same_config, interruptions
from seq2seq_cli.recipes.search_space import Choice, Space, check_packages
from seq2seq_cli.recipes.trials import Trial, TrialFile, best_of
from seq2seq_cli.recipes.tuning_plot import plot
from seq2seq_cli.runs.disk import disk_errors, make_durably, write_durably
from seq2seq_cli.runs.lock import locked
from seq2seq_cli.runs.metrics_log import VALIDATION, of_kind
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.events import Event, Heading, Notice, OnEvent, Result, Validation
from seq2seq_cli.training.loop import train

BEST, PLOT = "best.toml", "tuning.svg"

NEVER_STOPPED = 4
"""Number of trials that are never stopped, so that the median rule has a basis."""

_FIRST_JUDGED = 1  # counted from 0: a first validation says little
_DRAWS = 50  # of the estimator, before values are drawn uniformly


def tune(
    base: Config,
    space: Space,
    folder: Path,
    trials: int,
    on_event: OnEvent,
    seed: int = 0,
    device: str = "",
) -> list[Trial]:
    """Make trials until there are `trials`, and return all.

    Values are drawn by the tree-structured Parzen estimator (Bergstra et al. 2011, "Algorithms for
    hyper-parameter optimization"), in its implementation by Optuna. The first trial has the values
    of the base config, if they are in the space. No values are tried twice: where the estimator
    draws only earlier values, they are drawn uniformly. A trial is stopped at a validation if its
    best dev BLEU so far is below the median of the completed trials after the same number of
    validations (Golovin et al. 2017, "Google Vizier", section 3.2.2). Called again with the same
    folder, it continues: finished trials are kept, and the interrupted one continues.

    Args:
        base: the config of all keys that are not in the space.
        space: the values to draw from.
        folder: receives the runs, tuning.json, tuning.svg and best.toml.
        trials: their number, together with those of earlier calls.
        on_event: receives the events of each run.
        seed: determines the draws.
        device: a description of it, for the summaries.

    Raises:
        UsageError: if the folder has the trials or runs of another tuning, a package is missing,
            or all trials failed.
        RunInterruptedError: if a signal came, after a checkpoint.
    """
    check_packages()
    with disk_errors(folder):
        make_durably(folder)
    with locked(folder, "is tuning here", "give another folder"):
        file = TrialFile(folder, _asked(base, space, seed))
        tuning = _Tuning(base, space, folder, file, on_event, seed, device)
        tuning.run(trials)
        if file.trials and all(trial.state == "failed" for trial in file.trials):
            reasons = "\n".join(f"  {trial.name}: {trial.reason}" for trial in file.trials)
            raise UsageError(
                f"{folder}: all trials failed:\n{reasons}\n"
                "Change the space or the base config, and give another folder"
            )
        tuning.write()
        return file.trials


class _StoppedError(Exception):
    """Ends training from within its events."""


def _asked(base: Config, space: Space, seed: int) -> dict[str, dict[str, Any]]:
    """Return the settings that determine the trials."""
    dimensions = {key: asdict(dimension) for key, dimension in space.items()}
    fixed = {key: value for key, value in base.flat().items() if key != "training.device"}
    return {"space": dimensions, "config": fixed, "draws": {"seed": seed}}


@dataclass(frozen=True)
class _Tuning:
    """What the trials of a call of `tune` have in common; see its arguments."""

    base: Config
    space: Space
    folder: Path
    file: TrialFile
    on_event: OnEvent
    seed: int
    device: str

    def run(self, trials: int) -> None:
        """Make trials until there are `trials`, or the space has no more values."""
        for number in range(trials):
            if number < len(self.file.trials) and self.file.trials[number].state != "running":
                continue
            trial = self._begun(number)
            if trial is None:
                self.on_event(Notice("The space has no more values that were not tried"))
                break
            values = ", ".join(f"{key} = {value}" for key, value in trial.values.items())
            self.on_event(Heading(f"{trial.name} ({number + 1} of {trials}): {values}"))
            self.file.put(trial)
            trial = self._ended(trial)
            self.file.put(trial)
            self.on_event(Notice(f"{trial.name} {trial.state}: {trial.reason}"))
            self.write()

    def write(self) -> None:
        """Write the plot of the trials so far, and the config of the best one."""
        with disk_errors(self.folder):
            write_durably(self.folder / PLOT, plot(self.file.trials, self.space))
            if best := best_of(self.file.trials):
                config = changed_config(self.base, best.values, "[space]").to_toml()
                head = f"# {best.name} of s2s recipe tune: dev BLEU {best.dev_bleu:.2f}\n"
                write_durably(self.folder / BEST, (head + config).encode())

    def _begun(self, number: int) -> Trial | None:
        """Return the trial that was interrupted, or a new one; None if there are no new values."""
        trials, space = self.file.trials, self.space
        if number < len(trials):
            return trials[number]

        def identities(values: dict[str, Any]) -> dict[str, Any]:
            return {key: dimension.identity(values[key]) for key, dimension in space.items()}

        tried = [identities(trial.values) for trial in trials]
        values: dict[str, Any] = {key: self.base.flat()[key] for key in space}
        covered = all(space[key].covers(value) for key, value in values.items())
        if covered and identities(values) not in tried:
            return Trial(number, values)
        optuna, study = _optuna(), _study(trials, space, self.seed + number)
        draws = 0
        while len(tried) < math.prod(dimension.size for dimension in space.values()):
            if draws == _DRAWS:  # the estimator can prefer the same values again and again
                study.sampler = optuna.samplers.RandomSampler(self.seed + number)
            drawn = study.ask(_distributions(space))
            if identities(drawn.params) not in tried:
                return Trial(number, dict(drawn.params))
            study.tell(drawn, state=optuna.trial.TrialState.FAIL)
            draws += 1
        return None

    def _ended(self, trial: Trial) -> Trial:
        """Train, and return the finished trial."""
        run = Run(self.folder / trial.name)
        others = [each for each in self.file.trials if each.number != trial.number]
        study = _study(others, self.space, 0)
        study.enqueue_trial(trial.values)
        asked = study.ask(_distributions(self.space))
        reported: list[float] = []

        def watch(event: Event) -> None:
            self.on_event(event)
            if not isinstance(event, Validation):
                return
            entries = _validations(run)  # those before an interruption, too
            for entry in entries[len(reported) :]:
                asked.report(entry["dev_bleu"], len(reported))
                reported.append(entry["dev_bleu"])
            if asked.should_prune():
                raise _StoppedError

        try:
            config = changed_config(self.base, trial.values, "[space]")
        except UsageError as error:  # values that contradict each other
            return replace(trial, state="failed", reason=str(error))
        if run.has_config:
            check_same_config(run, config)
        try:
            with interruptions(trial.name):
                path = str(run.path.absolute())
                result = train(config, watch, run if run.has_config else None, path, self.device)
        except _StoppedError:
            reason = f"dev BLEU {max(reported):.1f} is below the median of the completed trials"
            return replace(_with_figures(trial, run), state="stopped", reason=reason)
        except DivergedError as error:
            return replace(_with_figures(trial, run), state="failed", reason=str(error))
        except UsageError as error:  # a model that does not fit in memory
            return replace(trial, state="failed", reason=str(error))
        return _done(trial, run, result)


def _done(trial: Trial, run: Run, result: Result) -> Trial:
    trial = _with_figures(trial, run)
    return replace(
        trial,
        state="done",
        dev_bleu=result.best_dev_bleu,
        steps=result.step,
        seconds=result.seconds,
        reason=result.reason,
    )


def _with_figures(trial: Trial, run: Run) -> Trial:
    """Return the trial with the figures of its validations."""
    entries = _validations(run)
    if not entries:
        return trial
    bleus = tuple(entry["dev_bleu"] for entry in entries)
    last = entries[-1]
    return replace(
        trial,
        dev_bleu=max(bleus),
        validations=bleus,
        steps=last["step"],
        seconds=last.get("seconds", 0.0),
    )


def _validations(run: Run) -> list[dict[str, Any]]:
    return of_kind(run.metrics(), VALIDATION)


def _optuna() -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _study(trials: list[Trial], space: Space, seed: int) -> Any:
    """Return a study in memory that knows the finished trials."""
    optuna = _optuna()
    states = optuna.trial.TrialState
    of = {"done": states.COMPLETE, "stopped": states.PRUNED, "failed": states.FAIL}
    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=NEVER_STOPPED + 1),
        pruner=optuna.pruners.MedianPruner(NEVER_STOPPED, n_warmup_steps=_FIRST_JUDGED),
    )
    for trial in trials:
        if trial.state == "running":
            continue
        state = of[trial.state]
        if trial.dev_bleu is None or not math.isfinite(trial.dev_bleu):
            state = states.FAIL
        study.add_trial(
            optuna.trial.create_trial(
                state=state,
                value=None if state is states.FAIL else trial.dev_bleu,
                params=trial.values,
                distributions=_distributions(space),
                intermediate_values=dict(enumerate(trial.validations)),
            )
        )
    return study


def _distributions(space: Space) -> dict[str, Any]:
    distributions = _optuna().distributions
    found = {}
    for key, dimension in space.items():
        if isinstance(dimension, Choice):
            found[key] = distributions.CategoricalDistribution(dimension.values)
        elif dimension.is_whole:
            found[key] = distributions.IntDistribution(
                int(dimension.low), int(dimension.highest), dimension.log, int(dimension.step or 1)
            )
        else:
            found[key] = distributions.FloatDistribution(
                dimension.low, dimension.highest, dimension.log, dimension.step
            )
    return found
