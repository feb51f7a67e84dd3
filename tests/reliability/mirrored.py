"""One process that shares each batch between logical devices of its processor.

    python tests/reliability/mirrored.py [graph|auto]

It prints, as JSON, how far the weights are from those of a training on one device.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import tensorflow as tf
from forked import forked, wait_for
from together import config_of, difference

from seq2seq_cli.config import Config
from seq2seq_cli.training.events import ignore
from seq2seq_cli.training.loop import train
from seq2seq_cli.training.objective import Objective

_DEVICES = 4
_CLOSE = {"graph": 0.0, "auto": 1e-5}
"""By as much weights may differ: with `auto`, only one device has kernels of XLA."""


def train_on(config: Config, run: Path, devices: int) -> None:
    """Train in this process, on so many logical devices."""
    (processor,) = tf.config.list_physical_devices("CPU")
    logical = [tf.config.LogicalDeviceConfiguration()] * devices
    tf.config.set_logical_device_configuration(processor, logical)
    used = []
    sum_of_devices = Objective._gradients_of_devices

    def recorded(objective: Objective, *arguments: Any) -> Any:
        used.append(len(objective._devices))
        return sum_of_devices(objective, *arguments)

    with mock.patch.object(Objective, "_gradients_of_devices", recorded):
        train(config, ignore, name=str(run))
    assert set(used) == ({devices} if devices > 1 else set()), used


def main() -> None:
    """Train on one device and on several, with each way of compiling that both have."""
    for compiled in sys.argv[1:] or ("graph", "auto"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            settings = {
                "training__compile": compiled,
                "training__device": "auto",
                "training__batch_tokens": 512,
            }
            for strategy, devices in (("one", 1), ("mirrored", _DEVICES)):
                config = config_of(folder, 4, training__strategy=strategy, **settings)
                log = folder / "log"
                run = folder / strategy
                wait_for(forked(lambda c=config, r=run, d=devices: train_on(c, r, d), log), log)
            found = difference(folder / "one", folder / "mirrored")
            print(json.dumps({"compiled": compiled, "devices": _DEVICES, "difference": found}))
            assert found <= _CLOSE[compiled], found


if __name__ == "__main__":
    main()
