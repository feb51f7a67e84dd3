"""The metrics in an entry of metrics.jsonl, for programs that show them."""

from collections.abc import Mapping
from typing import Any

from seq2seq_cli.runs.metrics_log import TRAINING, VALIDATION

Entry = Mapping[str, Any]

SAMPLE = ("source", "reference", "translation")
"""The parts of a sample of a validation, in order."""


def scalars(entry: Entry) -> dict[str, float]:
    """Return the metrics of an entry, by names such as training/loss."""
    kind = entry.get("kind")
    if kind not in (TRAINING, VALIDATION):
        return {}
    return {f"{kind}/{name}": value for name, value in entry.items() if isinstance(value, float)}
