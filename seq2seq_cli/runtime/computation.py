"""Precision and shards of a batch: chosen for this machine, and stored with the run."""

import importlib.metadata
import json
import time
from dataclasses import asdict, dataclass, field

import tensorflow as tf

from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.runtime.parallel import number_of_shards, parts_at_once
from seq2seq_cli.runtime.probe import PRECISIONS, Clock, Model, fastest_precision


@dataclass(frozen=True)
class Computation:
    """How the updates of a run are computed.

    Attributes:
        precision: dtype of matrix products, float32 or bfloat16.
        shards: number of shards of a batch that are computed in parallel.
        device: a description of the device that it was chosen for.
        versions: the versions of the packages whose kernels compute, by name.
        milliseconds: the time of each measured alternative, by name; empty if nothing was
            measured.
        shape_cost: see `parallel.cost_of_a_shape`. It determines the batches. 0 if it is unknown.
    """

    precision: str
    shards: int
    device: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)
    shape_cost: int = 0

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
        numbers = (found.shards, found.shape_cost)
        if found.precision not in PRECISIONS or any(type(each) is not int for each in numbers):
            raise ValueError(
                f"precision is {found.precision!r}, shards {found.shards!r} and shape_cost "
                f"{found.shape_cost!r}"
            )
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
    """Choose precision and shards of a run: those of the config, or the defaults of this machine.

    The default precision is float32, or bfloat16 if it is clearly faster at products of this
    model's widths. The number of shards is not measured.

    Args:
        config: its `precision` and `shards` are used if they are set.
        model: the model whose widths are measured.
        device: a description of the device, for the record.
        clock: returns seconds.
    """
    shards = number_of_shards(config)
    precision: str = config.precision
    milliseconds: dict[str, float] = {}
    if precision == "auto" and _xla_on_cpu(config):
        precision = "float32"
    elif precision == "auto":
        precision, milliseconds = fastest_precision(model, shards, clock)
    return Computation(precision, shards, device, _versions(), milliseconds)


def choose_decoding_precision(
    precision: str, model: Model, clock: Clock = time.perf_counter
) -> str:
    """Return the dtype of matrix products in decoding: `precision`, or for `auto` the fastest."""
    if precision != "auto":
        return precision
    return fastest_precision(model, parts_at_once(), clock)[0]


def _xla_on_cpu(training: TrainingConfig) -> bool:
    """Return whether XLA multiplies on a CPU, which is slow in bfloat16."""
    return training.compile == "xla" and not tf.config.get_visible_devices("GPU")


def _versions() -> dict[str, str]:
    """Return the versions of the packages whose kernels compute."""
    return {name: importlib.metadata.version(name) for name in ("tensorflow", "keras")}
