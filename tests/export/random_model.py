"""A model with initial weights, which translates at random, but always alike."""

from pathlib import Path

from conftest import checkpoint_state, tiny_config, toy_pairs

from seq2seq_cli.data.tokenizers.pair import train_tokenizers
from seq2seq_cli.decoding.loading import LoadedRun
from seq2seq_cli.models import build_model
from seq2seq_cli.special_tokens import TO

SOURCES = [source for source, _ in toy_pairs()[::17]]


def random_model(**settings: object) -> LoadedRun:
    """Return the model of a tiny config as if it had been loaded from a run."""
    config = tiny_config(None, **{"model__kind": "transformer", **settings})
    sources, targets = zip(*toy_pairs(), strict=True)
    tokenizers = train_tokenizers(sources, targets, config.tokenizer)
    if config.data.both_directions:
        tags = [TO + language for language in config.data.directions]
        tokenizers = tokenizers.with_tags(tags).towards(config.data.target_language)
    model = build_model(config.model, tokenizers.vocabularies, seed=3)
    return LoadedRun(
        (Path("run"),),
        model,
        tokenizers,
        config.decoding,
        "step-1",
        checkpoint_state(1),
        config.data,
        ("en", "es"),
        print,
    )
