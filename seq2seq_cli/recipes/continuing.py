"""How a recipe continues with the runs of an earlier call in the same folder."""

from collections.abc import Iterator
from contextlib import contextmanager

from seq2seq_cli.config import Config
from seq2seq_cli.errors import RunInterruptedError, UsageError
from seq2seq_cli.runs.resuming import changes
from seq2seq_cli.runs.run import Run


def check_same_config(run: Run, config: Config) -> None:
    """Check that a run of an earlier call has the config of this one.

    Raises:
        UsageError: if it has another one.
    """
    if changed := changes(run.config(), config):
        lines = [f"  {key}: {old!r} there, {new!r} now" for key, (old, new) in changed.items()]
        raise UsageError(
            f"{run.path}: was trained with other settings:\n" + "\n".join(lines) + "\n"
            "To continue, give the same settings; or give another folder to start again"
        )


@contextmanager
def interruptions(name: str) -> Iterator[None]:
    """Say in the block that an interrupted training run continues with the recipe's command.

    Args:
        name: of the run.

    Raises:
        RunInterruptedError: if a signal came, after a checkpoint.
    """
    try:
        yield
    except RunInterruptedError as error:
        raise RunInterruptedError(
            f"Stopped in {name}, which is saved. The same command continues it",
            error.exit_code - 128,
        ) from error
