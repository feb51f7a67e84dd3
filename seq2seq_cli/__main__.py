"""The process of `s2s`; `python -m seq2seq_cli` is the same."""

import atexit
import os
import sys
import threading

from seq2seq_cli.cli import main


def run() -> None:
    """Run the command line and end the process.

    Python takes its objects down one by one when it ends, which lasts a second with TensorFlow in
    it. This ends the process at once: after the functions that are registered for the end have run,
    and what is buffered is written. An error that is a bug ends it the usual way, with a traceback.
    """
    status: str | int | None = None
    try:
        main()
    except SystemExit as end:
        status = end.code
    if isinstance(status, str) or threading.active_count() > 1:
        sys.exit(status)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status or 0)


if __name__ == "__main__":
    run()
