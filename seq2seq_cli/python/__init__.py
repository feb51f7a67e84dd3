"""Trained runs from Python: load, translate, score, attention.

A string gives a string; a list gives a list. Errors that you can act on are subclasses of
`seq2seq_cli.errors.S2SError`; warnings are ordinary Python warnings.
"""

import os

from seq2seq_cli.attention.maps import Attention
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.python.model import Model, ScoredTranslation, warn
from seq2seq_cli.python.options import options_as_keywords
from seq2seq_cli.runs.naming import find_run
from seq2seq_cli.runtime import devices, parallel, tensorflow

__all__ = ["Attention", "Model", "ScoredTranslation", "load"]


def load(*runs: str | os.PathLike[str], device: str = "auto") -> Model:
    """Load a trained run for translating, or several runs as an ensemble.

        >>> import seq2seq_cli as s2s
        >>> model = s2s.load("runs/001-rnn-additive")
        >>> model.translate("I like apples.")
        'Me gustan las manzanas.'

    Args:
        runs: names of runs in `runs/`, or their paths; the default is the newest run. Several must
            have the same languages and target vocabulary.
        device: `auto` (a GPU if there is one), `cpu`, `gpu` or `gpu:N`. A later call with
            another device is an error.

    Raises:
        CheckpointError: if there is no such run, or it has no valid checkpoint.
        UsageError: if the device cannot be used, or the runs cannot form an ensemble.
    """
    names: list[str | None] = [os.fspath(run) for run in runs] or [None]
    with options_as_keywords():
        found = [find_run(name, warn) for name in names]
        device = _checked_device(device)
    configs = [run.config() for run in found]
    with options_as_keywords():
        tensorflow.import_tensorflow(None)
        devices.use_device(device)
        parallel.share_threads(parallel.parts_at_once())

        from seq2seq_cli.decoding.loading import load_ensemble

        return Model(load_ensemble(found, warn, configs))


def _checked_device(device: str) -> str:
    """Return a device that has a valid name.

    Raises:
        UsageError: if it does not.
    """
    values = Overrides()
    values.set("training.device", device, "load()")
    return load_config(values).training.device
