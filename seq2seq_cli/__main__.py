"""The process of `s2s`; `python -m seq2seq_cli` is the same."""

import atexit
import os
import sys
import threading

from seq2seq_cli.cli import main


def run() -> None:
    """Run the command line and end the process.

    At exit, Python destroys its objects one by one, which takes a second with TensorFlow. It also
    ends daemon threads, which aborts the process if one of them is in TensorFlow. This function
    ends the process at once, after other threads have ended, the registered exit functions have run
    and buffers are written. An error that is a bug ends the process as usual, with a traceback.
    """
    status: str | int | None = None
    try:
        main()
    except SystemExit as end:
        status = end.code
    if isinstance(status, str):
        sys.exit(status)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status or 0)


if __name__ == "__main__":
    run()
