"""Precision and parts of a batch: measured on this machine, and stored with the run."""

import importlib.metadata
import json
import time
from dataclasses import asdict, dataclass, field

import tensorflow as tf

from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.runtime.parallel import most_shards, parts_at_once
from seq2seq_cli.runtime.probe import PRECISIONS, Clock, Model, Probe


@dataclass(frozen=True)
class Computation:
    """How the updates of a run are computed.

    Attributes:
        precision: dtype of matrix products, float32 or bfloat16.
        shards: number of parts of a batch that are computed in parallel.
        device: a description of the device that it was chosen for.
        versions: the versions of the packages whose kernels compute, by name.
        milliseconds: the time of each measured alternative, by name; empty if nothing was
            measured.
    """

    precision: str
    shards: int
    device: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return all fields as JSON."""
        return json.dumps(asdict(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> "Computation":
        """Read the result of `to_json`.

        Raises:
            ValueError: if `text` is something else.
        """
        try:
            found = cls(**json.loads(text))
        except TypeError as error:
            raise ValueError(str(error)) from error
        if found.precision not in PRECISIONS or type(found.shards) is not int:
            raise ValueError(f"precision is {found.precision!r} and shards {found.shards!r}")
        return found

    def described(self, compiled: str) -> str:
        """Return a description.

        Args:
            compiled: `training.compile`.
        """
        names = {"auto": "parts compiled by XLA", "xla": "XLA", "graph": "plain graph"}
        parts = f", {self.shards} parts of a batch at once" if self.shards > 1 else ""
        return f"{names[compiled]}, {self.precision}{parts}"

    def differences(self, device: str) -> list[str]:
        """Return the changes since this was chosen: in the device and the versions of packages."""
        before = {"device": self.device, **self.versions}
        now = {"device": device, **_versions()}
        return [
            f"{name} {before[name]} before, {now[name]} now"
            for name in before
            if name in now and before[name] != now[name]
        ]


def choose_computation(
    config: TrainingConfig, model: Model, device: str = "", clock: Clock = time.perf_counter
) -> Computation:
    """Choose precision and shards of a run: those of the config, or the fastest ones.

    The defaults are float32 and one part per core. Another choice must be clearly faster at
    products of this model's widths. If several workers or devices share the shards, the number of
    shards is not measured, so it is the same for any number of workers.

    Args:
        config: its `precision` and `shards` are used if they are set.
        model: the model whose widths are measured.
        device: a description of the device, for the record.
        clock: returns seconds.
    """
    most = most_shards(config)
    probe = Probe(model, clock)
    precision: str = config.precision
    if precision == "auto":
        precision = "float32" if _xla_on_cpu(config) else probe.fastest_precision(most)
    shards = config.shards or most
    if config.shards is None and most > 1 and not config.is_shared:
        shards = probe.fastest_shards(precision, most)
    return Computation(precision, shards, device, _versions(), probe.milliseconds)


def choose_decoding_precision(
    precision: str, model: Model, clock: Clock = time.perf_counter
) -> str:
    """Return the dtype of matrix products in decoding: `precision`, or for `auto` the fastest."""
    if precision != "auto":
        return precision
    return Probe(model, clock).fastest_precision(parts_at_once())


def _xla_on_cpu(training: TrainingConfig) -> bool:
    """Return whether XLA multiplies on a CPU, which is slow in bfloat16."""
    return training.compile == "xla" and not tf.config.get_visible_devices("GPU")


def _versions() -> dict[str, str]:
    """Return the versions of the packages whose kernels compute."""
    return {name: importlib.metadata.version(name) for name in ("tensorflow", "keras")}
