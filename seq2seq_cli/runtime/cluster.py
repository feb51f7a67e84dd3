"""The workers of a training run, read from TF_CONFIG."""

import json
import os
from dataclasses import dataclass
from typing import Any

from seq2seq_cli.errors import UsageError

VARIABLE = "TF_CONFIG"
_EXAMPLE = (
    '{"cluster": {"worker": ["10.0.0.1:4711", "10.0.0.2:4711"]}, '
    '"task": {"type": "worker", "index": 0}}'
)


@dataclass(frozen=True)
class Cluster:
    """The workers of a training run, and the index of this process among them.

    Attributes:
        addresses: HOST:PORT of each worker; the first one is the chief.
        index: the index of this worker.
    """

    addresses: tuple[str, ...]
    index: int

    @classmethod
    def from_environment(cls) -> "Cluster | None":
        """Return the cluster of TF_CONFIG, or None if it is not set or names no worker.

        Raises:
            UsageError: if it is invalid, or names tasks other than workers and a chief.
        """
        text = os.environ.get(VARIABLE, "")
        if not text.strip():
            return None
        try:
            addresses, index = _parsed(text)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(
                f"{VARIABLE}: {text!r} does not describe a worker: {error}. An example is "
                f"{_EXAMPLE}"
            ) from error
        return cls(tuple(addresses), index) if addresses else None

    @property
    def size(self) -> int:
        """The number of workers."""
        return len(self.addresses)

    @property
    def is_chief(self) -> bool:
        """Whether this worker controls the training and writes the run."""
        return self.index == 0

    def name(self, index: int) -> str:
        """Return the name of a worker for messages."""
        chief = ", the chief" if index == 0 else ""
        return f"worker {index} ({self.addresses[index]}{chief})"

    def host_and_port(self, index: int) -> tuple[str, int]:
        """Return the host and port on which a worker listens."""
        return _host_and_port(self.addresses[index])

    def environment(self) -> str:
        """Return the value of TF_CONFIG for this cluster and worker."""
        task = {"type": "worker", "index": self.index}
        return json.dumps({"cluster": {"worker": self.addresses}, "task": task})


def _parsed(text: str) -> tuple[list[str], int]:
    """Return the addresses of all workers, the chief first, and the index of this one.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: if the text is invalid.
    """
    given: dict[str, Any] = json.loads(text)
    cluster, task = dict(given.get("cluster", {})), given.get("task", {})
    chiefs, workers = list(cluster.pop("chief", [])), list(cluster.pop("worker", []))
    addresses = [*chiefs, *workers]
    if not addresses:
        return [], 0
    if cluster:
        raise ValueError(f"it has tasks of type {', '.join(cluster)}; use only chief and worker")
    for address in addresses:
        _host_and_port(address)
    if len(set(addresses)) < len(addresses):
        raise ValueError("an address occurs twice")
    if not {"type", "index"} <= task.keys():
        raise ValueError("it has no task with a type and an index")
    kind, number = task["type"], int(task["index"])
    if not 0 <= number < len({"chief": chiefs, "worker": workers}.get(kind, [])):
        raise ValueError(f"the cluster has no task {kind} {number}")
    return addresses, number + (len(chiefs) if kind == "worker" else 0)


def _host_and_port(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise ValueError(f"{address!r} is not HOST:PORT")
    return host.strip("[]"), int(port)
