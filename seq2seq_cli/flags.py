"""Flags that libraries read from variables of the environment."""

import os


def set_flag(variable: str, flag: str) -> None:
    """Add a flag to a variable of the environment, before the flags there, which prevail."""
    flags = os.environ.get(variable, "").split()
    if flag not in flags:
        os.environ[variable] = " ".join([flag, *flags])
