"""The metrics of training for TensorBoard, which need not be installed to write them."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from seq2seq_cli.attention.evolution import evolutions
from seq2seq_cli.attention.heat_map_image import heat_map_image
from seq2seq_cli.attention.themes import LIGHT
from seq2seq_cli.errors import DiskError
from seq2seq_cli.runs.attention_history import Snapshot
from seq2seq_cli.runs.disk import disk_errors
from seq2seq_cli.runs.metrics_log import DIAGNOSIS
from seq2seq_cli.training.entries import SAMPLE, Entry, scalars

_EVENTS = "events.out.tfevents.*"


def _metadata(plugin: str, kind: str, description: str = "") -> Any:
    """Return the metadata by which TensorBoard shows a tensor in a plugin, with a description.

    tf.summary.scalar, text and image do the same, but need TensorBoard to be installed.
    """
    metadata = tf.compat.v1.SummaryMetadata
    kinds = metadata.DESCRIPTOR.file.enum_types_by_name["DataClass"].values_by_name
    data = metadata.PluginData(plugin_name=plugin)
    return metadata(
        plugin_data=data, data_class=kinds[kind].number, summary_description=description
    )


_SCALAR = _metadata("scalars", "DATA_CLASS_SCALAR")
_TEXT = _metadata("text", "DATA_CLASS_TENSOR")


class TensorBoardLog:
    """Writes the entries of metrics.jsonl as events.

    Existing files are replaced, so that no update occurs twice after a resume.

    Args:
        folder: of the events.
        entries: those that exist already.
        config: all values by dotted key, the hyper-parameters.
        attention: of earlier validations.

    Raises:
        DiskError: if the events cannot be written, also by the methods.
    """

    def __init__(
        self,
        folder: Path,
        entries: Iterable[Entry],
        config: Mapping[str, Any],
        attention: Iterable[Snapshot],
    ):
        self._folder = folder
        with self._disk_errors():
            for old in folder.glob(_EVENTS):
                old.unlink()
            self._writer = tf.summary.create_file_writer(str(folder))
            self._write_hyperparameters(config)
            for entry in entries:
                self._write(entry)
            for snapshot in attention:
                self._write_attention(snapshot)
            self._writer.flush()

    def write(self, entry: Entry) -> None:
        """Write an entry; it is in the file on return."""
        with self._disk_errors():
            self._write(entry)
            self._writer.flush()

    def write_attention(self, snapshot: Snapshot) -> None:
        """Write an image of each map; they are in the file on return."""
        with self._disk_errors():
            self._write_attention(snapshot)
            self._writer.flush()

    @contextlib.contextmanager
    def _disk_errors(self) -> Iterator[None]:
        """Raise a DiskError if the block fails to write.

        TensorFlow reports a full disk as an exhausted resource, as it does a lack of memory.
        """
        try:
            with disk_errors(self._folder):
                yield
        except tf.errors.OpError as error:
            raise DiskError(
                f"{self._folder}: the events for TensorBoard cannot be written: {error.message}. "
                "Free some space, or check the disk"
            ) from error

    def _write_attention(self, snapshot: Snapshot) -> None:
        with self._writer.as_default(step=snapshot.step):
            for number, evolution in enumerate(evolutions([snapshot])):
                pixels = heat_map_image(
                    evolution.frames[0].weights, evolution.queries, evolution.keys, LIGHT
                )
                height, width, _ = pixels.shape
                image = [str(width), str(height), tf.io.encode_png(pixels)]
                description = f"{evolution.source} → {evolution.reference}"
                metadata = _metadata("images", "DATA_CLASS_BLOB_SEQUENCE", description)
                tf.summary.write(f"attention/{number}", tf.stack(image), metadata=metadata)

    def _write(self, entry: Entry) -> None:
        with self._writer.as_default(step=entry["step"]):
            for name, value in scalars(entry).items():
                tf.summary.write(name, tf.constant(value), metadata=_SCALAR)
            for number, sample in enumerate(entry.get("samples", ())):
                tf.summary.write(f"samples/{number}", _text(sample), metadata=_TEXT)
            if entry.get("kind") == DIAGNOSIS:
                tf.summary.write("diagnosis", tf.constant(entry["text"]), metadata=_TEXT)

    def _write_hyperparameters(self, config: Mapping[str, Any]) -> None:
        """Write the config for the HParams plugin, whose format only TensorBoard itself has."""
        with contextlib.suppress(ImportError), self._writer.as_default(step=0):
            from tensorboard.plugins.hparams import summary_v2

            values = {
                key: value if isinstance(value, bool | int | float) else str(value)
                for key, value in config.items()
                if value is not None
            }
            event = summary_v2.hparams_pb(values)
            tf.summary.experimental.write_raw_pb(event.SerializeToString())


def _text(sample: Iterable[str]) -> tf.Tensor:
    """Return a sample as a table in Markdown, which TensorBoard renders."""
    return tf.constant([[name, text] for name, text in zip(SAMPLE, sample, strict=True)])
