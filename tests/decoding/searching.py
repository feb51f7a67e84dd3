"""A search with as few options as a test wants."""

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.decoding.search import Search


def search(model, attention=False, compiled=False, **config):
    return Search(model, DecodingConfig(**{"length_penalty": 0.0, **config}), attention, compiled)
