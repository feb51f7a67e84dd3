"""Imports Apache Beam without its log lines."""

import importlib.util
import logging

from seq2seq_cli.errors import UsageError


def import_beam() -> None:
    """Import Apache Beam, and let it log nothing: its errors are exceptions, too.

    Raises:
        UsageError: if it is not installed; says how to install it.
    """
    if importlib.util.find_spec("apache_beam") is None:
        raise UsageError(
            "s2s data prepare --beam needs Apache Beam. Install it: pip install 's2s[beam]'"
        )
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL)
    logging.disable(logging.WARNING)  # it warns of packages for other clouds, by the root logger
    try:
        import apache_beam  # noqa: F401
    finally:
        logging.disable(logging.NOTSET)
