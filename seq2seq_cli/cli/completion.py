"""Shell completion: the values that Tab offers for an option.

If no value here starts with the typed word, the shell offers files.
"""

from typing import get_args


def runs(incomplete: str) -> list[str]:
    """Return the names of the runs in runs/, the newest number first."""
    from seq2seq_cli.runs.naming import folders_of_runs
    from seq2seq_cli.runs.run import Run

    names = [path.name for path in reversed(folders_of_runs()) if Run(path).has_config]
    return _beginning(incomplete, names)


def configs(incomplete: str) -> list[str]:
    """Return the names of the shipped configs."""
    from seq2seq_cli.config.files import shipped_configs

    return _beginning(incomplete, [*shipped_configs()])


def models(incomplete: str) -> list[str]:
    """Return the architectures."""
    from seq2seq_cli.config.model import MODELS

    return _beginning(incomplete, [kind.replace("_", "-") for kind in MODELS])


def attentions(incomplete: str) -> list[str]:
    """Return the scores, and the names of the papers' models."""
    from seq2seq_cli.config.model import RNNConfig
    from seq2seq_cli.config.overrides import ATTENTION_ALIASES

    scores = get_args(RNNConfig.model_fields["attention"].annotation)
    names = [name.replace("_", "-") for name in [*scores, *ATTENTION_ALIASES]]
    return _beginning(incomplete, names)


def corpora(incomplete: str) -> list[str]:
    """Return the names of the corpora that are not files."""
    from seq2seq_cli.config.data import CORPORA

    return _beginning(incomplete, [*CORPORA])


def devices(incomplete: str) -> list[str]:
    """Return the devices."""
    return _beginning(incomplete, ["auto", "cpu", "gpu"])


def strategies(incomplete: str) -> list[str]:
    """Return the ways to share a batch."""
    from seq2seq_cli.config.training import TrainingConfig

    return _beginning(incomplete, [*get_args(TrainingConfig.model_fields["strategy"].annotation)])


def settings(incomplete: str) -> list[str]:
    """Return the keys of the config with "=" after them."""
    from seq2seq_cli.config import Config
    from seq2seq_cli.config.model import MODELS

    keys = {key: None for kind in MODELS.values() for key in Config(model=kind()).flat()}
    return _beginning(incomplete, [f"{key}=" for key in keys])


def _beginning(incomplete: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
