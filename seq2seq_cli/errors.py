"""The errors that users can act on, with the exit codes of the command line."""

import errno


class S2SError(Exception):
    """A problem that users can solve. The message says what is wrong, where, and what to do."""

    exit_code = 1


class ExportError(S2SError):
    """An exported model does not translate like its run."""


class UsageError(S2SError):
    """An option, a config key or their combination is invalid."""

    exit_code = 2


class OutOfMemoryError(UsageError):
    """A computation does not fit in memory with these options."""


class DataError(S2SError):
    """A corpus or another input file cannot be used as it is."""

    exit_code = 3


class CheckpointError(S2SError):
    """There is no valid checkpoint, or it belongs to another model."""

    exit_code = 4


class LockedError(S2SError):
    """Another process is training in the same run folder, or is writing the same output."""

    exit_code = 5


class DivergedError(S2SError):
    """The loss or a gradient is no longer finite."""

    exit_code = 6


class DiskError(S2SError):
    """A file could not be written, because of missing space or permission."""

    exit_code = 7


class WorkerError(S2SError):
    """A worker of training or of a preparation is lost, did not start, or has failed."""

    def __init__(self, message: str, exit_code: int = 8):
        super().__init__(message)
        self.exit_code = exit_code


class RunInterruptedError(S2SError):
    """A signal ended training after its state had been saved."""

    def __init__(self, message: str, signal_number: int):
        super().__init__(message)
        self.exit_code = 128 + signal_number


def os_reason(error: OSError) -> str:
    """Return why the operating system refused to read or write an open file."""
    return "it is closed" if error.errno == errno.EBADF else error.strerror or str(error)
