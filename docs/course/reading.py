"""Code of s2s as a page shows it."""

import inspect
import re
from collections.abc import Callable
from typing import Any


def code_of(function: Callable[..., Any]) -> str:
    """Return the code of a function without its docstring."""
    return re.sub(r' *""".*?"""\n', "", inspect.getsource(function), count=1, flags=re.DOTALL)
