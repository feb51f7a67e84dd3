"""The figures of a training on disk: metrics.jsonl and TensorBoard's logs in the run folder."""

from collections.abc import Callable
from dataclasses import asdict

import tensorflow as tf

from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.events import Progress, Validation

# With this description TensorBoard shows a tensor as a scalar; tf.summary.scalar does the same, but
# needs TensorBoard installed for writing.
_SCALAR = tf.compat.v1.SummaryMetadata(
    plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars"),
    data_class=tf.compat.v1.SummaryMetadata.DESCRIPTOR.file.enum_types_by_name["DataClass"]
    .values_by_name["DATA_CLASS_SCALAR"]
    .number,
)


class Logs:
    """Appends to both logs of a run.

    Args:
        run: the run's folder.
        updates: how many were made. A resumed training makes later ones again, so their entries
            are dropped.
        warn: receives a sentence about broken lines, which are dropped too.
    """

    def __init__(self, run: Run, updates: int, warn: Callable[[str], None]):
        self._run = run
        run.forget_metrics_after(updates, warn)
        self._writer = tf.summary.create_file_writer(str(run.logs))

    def write(self, event: Progress | Validation) -> None:
        """Record all figures of an event."""
        kind = "validation" if isinstance(event, Validation) else "training"
        values = asdict(event)
        self._run.append_metrics({"kind": kind, **values})
        with self._writer.as_default(step=event.step):
            for name, value in values.items():
                if isinstance(value, float):
                    tf.summary.write(f"{kind}/{name}", tf.constant(value), metadata=_SCALAR)
        self._writer.flush()
