"""Flags that libraries read from environment variables."""

import os


def set_flag(variable: str, flag: str) -> None:
    """Add a flag to an environment variable, before its other flags, which take precedence."""
    flags = os.environ.get(variable, "").split()
    if flag not in flags:
        os.environ[variable] = " ".join([flag, *flags])
