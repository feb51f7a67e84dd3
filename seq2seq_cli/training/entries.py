"""What an entry of metrics.jsonl has in it for programs that show figures."""

from collections.abc import Mapping
from typing import Any

Entry = Mapping[str, Any]

SAMPLE = ("source", "reference", "translation")
"""What a sample of a validation has, in order."""


def scalars(entry: Entry) -> dict[str, float]:
    """Return the figures of a training or a validation, by names such as training/loss."""
    kind = entry.get("kind")
    if kind not in ("training", "validation"):
        return {}
    return {f"{kind}/{name}": value for name, value in entry.items() if isinstance(value, float)}
