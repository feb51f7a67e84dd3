"""The start of the commands that train several models in one process."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq_cli.cli.resources import fetch_data, start_tensorflow

if TYPE_CHECKING:
    from seq2seq_cli.cli.training_display import TrainingDisplay
    from seq2seq_cli.config import Config


@contextmanager
def several_trainings(
    folder: Path, config: "Config", quiet: bool
) -> "Iterator[tuple[TrainingDisplay, str]]":
    """Check the folder and the corpus, start TensorFlow, and show the events of the runs.

    Args:
        folder: receives the runs.
        config: of one of the runs; all have the same corpus and the same device.
        quiet: whether to show nothing.

    Yields:
        What shows the events, and a description of the device.

    Raises:
        DiskError: if the folder cannot be written.
        DataError: if the corpus does not exist.
        UsageError: if the device cannot be used.
    """
    from seq2seq_cli.cli.training_display import TrainingDisplay
    from seq2seq_cli.config.training import TrainingConfig
    from seq2seq_cli.runs.disk import check_writable
    from seq2seq_cli.training.events import Phase

    check_writable(folder)
    fetch_data(config.data, quiet)
    with TrainingDisplay(quiet=quiet) as display:
        display(Phase("Starting TensorFlow"))
        # All train in this process, and XLA needs all threads for the one function it computes.
        threads = TrainingConfig(shards=1, strategy=config.training.strategy)
        yield display, start_tensorflow(config.training.device, threads)
