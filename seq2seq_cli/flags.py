"""Flags that libraries read from environment variables."""

import os


def set_flag(variable: str, flag: str) -> None:
    """Add a flag to an environment variable, before its other flags, which take precedence."""
    flags = os.environ.get(variable, "")
    if f" {flag} " not in f" {flags} ":
        os.environ[variable] = f"{flag} {flags}".rstrip()
