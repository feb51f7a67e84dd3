"""Whether every combination of model options learns: its loss after a few steps on real text.

    python benchmarks/grid.py --data tatoeba --json grid.json

Each model is 64 wide and makes the first 300 updates of 3,000; its loss is the mean of the last 30,
in nats per token, without label smoothing. A model that had learned nothing but how frequent each
token is would reach the entropy of the unigram distribution of the target tokens, which is printed
first. Combinations that are in the JSON file already are not trained again.
"""

import argparse
import itertools
import json
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from seq2seq_cli.config import Config
from seq2seq_cli.data.pipeline import TrainingData
from seq2seq_cli.runs.state import Position
from seq2seq_cli.runtime.computation import Computation
from seq2seq_cli.runtime.devices import use_device
from seq2seq_cli.special_tokens import BOS, PAD
from seq2seq_cli.training.schedule import Schedule
from seq2seq_cli.training.setup import Setup, build_trainable, set_up

Options = dict[str, str | int | bool]
MEASURED_STEPS = 30


def combinations() -> Iterator[Options]:
    """Yield the `[model]` tables of the grid."""
    scores = ("additive", "dot", "general", "concat", "scaled_dot")
    wirings: list[Options] = [
        {"wiring": "bahdanau"},
        {"wiring": "luong", "input_feeding": True},
        {"wiring": "luong", "input_feeding": False},
    ]
    for cell, layers, bidirectional, score, wiring in itertools.product(
        ("gru", "lstm"), (1, 3), (True, False), scores, wirings
    ):
        depth: Options = {"encoder_layers": layers, "decoder_layers": layers}
        yield {
            **{"kind": "rnn", "cell": cell, **depth, "bidirectional": bidirectional},
            **{"attention": score, **wiring},
            **{"embedding_units": 64, "attention_units": 64},
            **{"encoder_units": 32 if bidirectional else 64, "decoder_units": 64},
        }
    for kind, norm, activation, positions in itertools.product(
        ("transformer", "decoder_only"),
        ("pre", "post"),
        ("relu", "gelu", "swiglu"),
        ("sinusoidal", "learned"),
    ):
        yield {
            **{"kind": kind, "norm": norm, "activation": activation, "positions": positions},
            **{"units": 64, "inner_units": 256},
        }


def unigram_entropy(data: TrainingData, steps: int) -> float:
    """Return the entropy of the target tokens of the first batches, in nats."""
    batches = itertools.islice(data.batches(epoch=0), steps)
    tokens = np.concatenate([batch.target_BT.numpy().ravel() for batch in batches])
    counts = np.bincount(tokens[(tokens != PAD) & (tokens != BOS)]).astype(float)
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def loss_after(setup: Setup, steps: int) -> float:
    """Train a model, and return its mean loss over the last updates."""
    updater = setup.updater(Computation("float32", shards=1))
    schedule = Schedule(setup.config.training, setup.updates_per_epoch)
    losses, position = [], Position.at_start()
    for batch in itertools.islice(setup.data.batches(epoch=0), steps):
        rate = schedule.learning_rate(position)
        losses.append(updater.update([batch], position.step, rate)[0])
        position.step += 1
    return float(np.mean(losses[-MEASURED_STEPS:]))


def main() -> None:
    """Train each combination, print a line for each, and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default="tatoeba", help="a corpus, as of s2s train")
    parser.add_argument("--steps", type=int, default=300, help="updates of each model")
    parser.add_argument("--json", type=Path, required=True, help="where to keep the losses")
    options = parser.parse_args()
    use_device("cpu")
    training = {"steps": 10 * options.steps, "compile": "graph", "label_smoothing": 0.0}
    training |= {"batch_tokens": 512, "max_source_tokens": 24, "max_target_tokens": 24}
    tables = {"data": {"corpus": options.data}, "tokenizer": {"vocabulary_size": 4000}}
    config = Config.model_validate({**tables, "training": training})
    common = set_up(config)
    bound = unigram_entropy(common.data, options.steps)
    print(f"unigram {bound:.3f}", flush=True)
    losses = json.loads(options.json.read_text("utf-8")) if options.json.exists() else {}
    for model in combinations():
        name = " ".join(f"{key}={value}" for key, value in model.items())
        if name not in losses:
            began = time.monotonic()
            config = Config.model_validate({**tables, "training": training, "model": model})
            setup = replace(common, config=config, model=build_trainable(config, common.tokenizers))
            losses[name] = loss_after(setup, options.steps)
            print(f"{losses[name]:.3f}  {time.monotonic() - began:.0f} s  {name}", flush=True)
            options.json.write_text(json.dumps(losses, indent=1), "utf-8")
    above = [name for name, loss in losses.items() if math.isnan(loss) or loss >= bound]
    worst = max(losses, key=lambda name: losses[name])
    print(f"{len(losses)} combinations; worst {losses[worst]:.3f}: {worst}")
    raise SystemExit(f"not below a unigram model: {above}" if above else 0)


if __name__ == "__main__":
    main()
