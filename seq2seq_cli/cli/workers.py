"""How training starts: alone, as the chief of several workers, or as another worker."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from seq2seq_cli.cli.options import warn
from seq2seq_cli.cli.resources import fetch_data, start_tensorflow
from seq2seq_cli.errors import UsageError

if TYPE_CHECKING:
    from seq2seq_cli.cli.training_display import TrainingDisplay
    from seq2seq_cli.config import Config
    from seq2seq_cli.config.overrides import Overrides
    from seq2seq_cli.config.training import TrainingConfig
    from seq2seq_cli.runtime.cluster import Cluster
    from seq2seq_cli.runtime.peers import Peers

_STRATEGY = "training.strategy"


def find_cluster(layers: "list[Overrides]") -> "tuple[Cluster | None, Overrides]":
    """Return the workers of the training, and the strategy in effect as a further layer.

    There are no workers if this process trains alone. The further layer is empty if the last one
    names the strategy; a resumed run may have another one.

    Args:
        layers: values of the config file and of options.

    Raises:
        UsageError: if TF_CONFIG is missing or invalid.
    """
    from seq2seq_cli.config.overrides import Overrides
    from seq2seq_cli.runtime.cluster import VARIABLE, Cluster

    in_effect = Overrides()
    strategy = _given(layers).strategy
    if strategy not in ("auto", "workers"):
        return None, in_effect
    cluster = Cluster.from_environment()
    if strategy == "workers" and cluster is None:
        raise UsageError(
            f"--strategy workers: the environment variable {VARIABLE} names no workers. Set it for "
            "each worker, or start several on this machine: s2s launch --workers 2 -- train"
        )
    several = cluster is not None and cluster.size > 1
    if _STRATEGY not in layers[-1]:
        in_effect.set(_STRATEGY, "workers" if several else strategy, VARIABLE)
    return cluster if several else None, in_effect


def follow_chief(cluster: "Cluster", layers: "list[Overrides]", quiet: bool) -> None:
    """Train as a worker other than the chief.

    Args:
        cluster: the workers.
        layers: values of the config file and of options; the chief must have the same.
        quiet: whether to show only notices.

    Raises:
        WorkerError: if another worker does not connect, is lost, or ends with an error.
        UsageError: if the chief has a different config.
        DataError: if the corpus cannot be used, or differs from the chief's.
    """
    from seq2seq_cli.runtime.joining import join
    from seq2seq_cli.training.interruption import interruption_errors

    seconds = _given(layers).wait_seconds
    with interruption_errors(), join(cluster, seconds, warn) as peers:
        config = _config_of_chief(peers.receive()[0]["config"], layers)
        fetch_data(config.data, quiet)
        peers.tell(fetched=True)
        with started(config, quiet, cluster) as (display, _):
            from seq2seq_cli.training.follower import follow

            follow(config, cluster, peers, display)


@contextmanager
def led(cluster: "Cluster | None", config: "Config", quiet: bool) -> "Iterator[Peers | None]":
    """Wait for the other workers, and send them the config. Yield None if there are none.

    All workers download the corpus before TensorFlow connects them, which has a time limit.

    Raises:
        WorkerError: if a worker does not connect, or cannot download.
        DataError: if the corpus cannot be downloaded here.
    """
    if cluster is None:
        yield None
        return
    from seq2seq_cli.runtime.joining import join

    with join(cluster, config.training.wait_seconds, warn) as peers:
        fetch_data(config.data, quiet)
        peers.tell(config=config.to_toml())
        peers.receive()  # each worker has the corpus
        yield peers


@contextmanager
def started(
    config: "Config", quiet: bool, cluster: "Cluster | None" = None
) -> "Iterator[tuple[TrainingDisplay, str]]":
    """Start TensorFlow. Yield the display of the training, and a description of the device."""
    from seq2seq_cli.cli.training_display import TrainingDisplay
    from seq2seq_cli.training.events import Phase

    training = config.training
    with TrainingDisplay(quiet=quiet) as display:
        display(Phase("Starting TensorFlow"))
        yield display, start_tensorflow(training.device, training, cluster.size if cluster else 1)


def _given(layers: "list[Overrides]") -> "TrainingConfig":
    """Return the keys that determine how workers start: the given values, or the defaults."""
    from pydantic import ValidationError

    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.config.training import TrainingConfig

    values = {}
    for layer in layers:
        for name in ("strategy", "wait_seconds", "device"):
            if f"training.{name}" in layer:
                values[name] = layer[f"training.{name}"]
    try:
        return TrainingConfig.model_validate(values)
    except ValidationError:
        load_config(*layers)  # its error names the key and its origin
        raise


def _config_of_chief(text: str, layers: "list[Overrides]") -> "Config":
    """Return the chief's config, with this worker's device if its options name one.

    Raises:
        UsageError: if this worker was started with other options; names each key that differs.
    """
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.config.overrides import Overrides
    from seq2seq_cli.runs.resuming import changes

    chief = Overrides.parse(text, "the config of the chief")
    config = load_config(chief)
    if changed := changes(config, load_config(chief, *layers)):
        lines = [
            f"  {key}: {theirs!r} there, {mine!r} here" for key, (theirs, mine) in changed.items()
        ]
        raise UsageError(
            "\n".join(
                ["the chief has a different config:", *lines, "Start all workers with the same"]
            )
        )
    if not any("training.device" in layer for layer in layers):
        return config
    device = _given(layers).device  # of this machine
    return config.model_copy(
        update={"training": config.training.model_copy(update={"device": device})}
    )
