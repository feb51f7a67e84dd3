"""What stays of a training's events: metrics.jsonl and TensorBoard's logs in the run folder."""

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
        step: entries of later updates, which a resumed training makes again, are dropped.
        report: told of broken lines, which are dropped too.
    """

    def __init__(self, run: Run, step: int, report: Callable[[str], None]):
        self._run = run
        run.forget_metrics_after(step, report)
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
