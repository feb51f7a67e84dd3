"""What each fast path is worth: how much slower training and decoding are without it.

    python benchmarks/worth.py --json worth.json
    python benchmarks/worth.py --only layer_norm scan --models rnn --precisions float32

Each row takes one fast path away and puts plain TensorFlow or Keras in its place, in this process.
The update or the search is then traced with it and without it, and both are timed in turns on the
same batch: 64 pairs of 16 tokens, models of the widths that `s2s train` has by default, 4 + 4
layers in the Transformer, vocabularies of 8,000. A row's figure is the median time without the fast
path, divided by the median time with it. The machine should do nothing else.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import keras
import numpy as np
import tensorflow as tf
from peers import describe

from seq2seq_cli.config import Config
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.decoding import compaction, search, strategies
from seq2seq_cli.models import build_model, reference
from seq2seq_cli.models.layers import (
    attention,
    blocks,
    cells,
    decoders,
    embeddings,
    encoder,
    multi_head_attention,
    normalisation,
    regularisation,
)
from seq2seq_cli.models.ops import cache, products
from seq2seq_cli.models.ops.scan import product
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runtime.devices import use_device
from seq2seq_cli.runtime.machine import cores
from seq2seq_cli.runtime.parallel import share_threads
from seq2seq_cli.special_tokens import BOS, EOS
from seq2seq_cli.training import loss, optimizers
from seq2seq_cli.training.step import Updater
from seq2seq_cli.vocabularies import Vocabularies

ROWS, LENGTH, VOCABULARY, BEAMS = 64, 16, 8000, 5
UPDATES, SEARCHES = 4, 2  # of one trial
MODELS: dict[str, dict[str, Any]] = {
    "rnn": {"model.kind": "rnn"},
    "transformer": {
        **{"model.kind": "transformer", "model.encoder_layers": 4, "model.decoder_layers": 4},
    },
}
Run = Callable[[], None]
Patch = tuple[Any, str, Any]  # what to replace in which module, and by what


def plain_layer_norm(x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, dtype: Any) -> tf.Tensor:
    """Return the textbook's layer normalisation."""
    return tf.cast(reference.layer_norm(x, gamma, beta), dtype or x.dtype)


def plain_bytes(key: tf.Tensor, counter: list, shape: tf.Tensor) -> tf.Tensor:
    """Return random numbers as TensorFlow's own dropout draws them: a float for each value."""
    seed = tf.stack([tf.cast(key[0], tf.int32), counter[0] * 1000 + counter[1]])
    return tf.random.stateless_uniform(shape, seed, maxval=256.0)


def plain_softmax(scores: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """Return TensorFlow's softmax of what the mask leaves."""
    scores = tf.cast(scores, tf.float32)
    if mask is None:
        return tf.nn.softmax(scores)
    return tf.where(mask, tf.nn.softmax(tf.where(mask, scores, tf.float32.min)), 0.0)


def plain_cross_entropy(logits: tf.Tensor, labels: tf.Tensor, smoothing: float) -> tf.Tensor:
    """Return the cross-entropy by TensorFlow's own operations."""
    logits = tf.cast(logits, tf.float32)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return (1 - smoothing) * losses - smoothing * tf.reduce_mean(tf.nn.log_softmax(logits), axis=-1)


def plain_scan(body: Callable, sequences: list, state: list, factors: dict) -> tuple:
    """Run the body in TensorFlow's own loop, with the gradient that it derives."""
    length = tf.shape(sequences[0])[0]
    _, outputs = body([x[0] for x in sequences], state, factors, product)
    arrays = [
        tf.TensorArray(x.dtype, length, element_shape=x.shape, clear_after_read=False)
        for x in (*state, *outputs)
    ]

    def iterate(t: tf.Tensor, state: list, arrays: list) -> tuple:
        state, outputs = body([x[t] for x in sequences], state, factors, product)
        pairs = zip(arrays, (*state, *outputs), strict=True)
        return t + 1, state, [array.write(t, x) for array, x in pairs]

    loop = (lambda t, *_: t < length, iterate, (0, state, arrays))
    found = [array.stack() for array in tf.while_loop(*loop, maximum_iterations=length)[2]]
    return found[: len(state)], found[len(state) :]


def plain_matmul(a: tf.Tensor, b: tf.Tensor, transpose_b: bool = False) -> tf.Tensor:
    """Return tf.matmul."""
    return tf.matmul(a, b, transpose_b=transpose_b)


def keras_adam(states: str, seed: int, **options: Any) -> keras.optimizers.Optimizer:
    """Return Keras' own Adam."""
    del states, seed
    return keras.optimizers.Adam(**options)


def repeated(
    query: tf.Tensor, mask: tf.Tensor, shared: Any = None, own: Any = None, bias: Any = None
) -> tuple:
    """Attend to keys and values that are repeated for each row of a sentence."""
    if shared is not None:
        times = tf.shape(query)[0] // tf.shape(shared.keys_BHSD)[0]
        shared = cache.KeysValues(*(tf.repeat(x, times, axis=0) for x in shared))
    return cache.attend_step(query, mask, shared, own, bias)


def copying_step(make_step: Callable, in_place: bool) -> Callable:
    """Return a decoding step that copies the caches."""
    del in_place
    return make_step(in_place=False)


SOFTMAXES = [(module, "masked_softmax") for module in (attention, multi_head_attention, cache)]
PRODUCTS = [(module, "batched_matmul") for module in (attention, products)]
SCANS = [(module, "scan") for module in (cells, decoders, encoder)]
TABLE = products.dense
TRAINING: dict[str, list[Patch]] = {
    "dense: sums of columns": [
        (products, "_add_bias", lambda rows, bias: tf.nn.bias_add(rows, bias)),
    ],
    "dense: ReLU": [(products, "_relu", tf.nn.relu)],
    "dense by a table": [
        (
            *(embeddings, "dense"),
            lambda x, table, bias, transpose: TABLE(x, tf.transpose(table), bias),
        )
    ],
    "batched_matmul": [(*each, plain_matmul) for each in PRODUCTS],
    "masked_softmax": [(*each, plain_softmax) for each in SOFTMAXES],
    "layer_norm": [(normalisation, "layer_norm", plain_layer_norm)],
    "add_dropout": [
        (
            *(regularisation, "add_dropout"),
            lambda x, y, *options: x + regularisation.dropout(tf.cast(y, x.dtype), *options),
        )
    ],
    "random_bytes": [(regularisation, "random_bytes", plain_bytes)],
    "softmax_cross_entropy": [(loss, "softmax_cross_entropy", plain_cross_entropy)],
    "scan": [(*each, plain_scan) for each in SCANS],
    "apply_adam": [(optimizers, "Adam", keras_adam)],
    "fused kernels and loops": [],
    "shards": [],
}
DECODING: dict[str, list[Patch]] = {
    "batched_matmul": [(*each, plain_matmul) for each in PRODUCTS],
    "masked_softmax": [(*each, plain_softmax) for each in SOFTMAXES],
    "attend_step: keys of a sentence shared": [
        (blocks, "attend_step", repeated),
    ],
    "cache written in place": [],
    "finished sentences leave": [(compaction, "_STAY", 0.0)],
    "strategies.top by blocks": [(strategies, "top", tf.math.top_k)],
}


ONLY_IN = {  # of the models here
    **dict.fromkeys(("dense: ReLU", "dense by a table", "layer_norm"), "transformer"),
    **dict.fromkeys(("add_dropout", "batched_matmul", "masked_softmax"), "transformer"),
    **dict.fromkeys(("attend_step: keys of a sentence shared",), "transformer"),
    "cache written in place": "transformer",
    "scan": "rnn",
}


@contextmanager
def patched(patches: list[Patch]) -> Iterator[None]:
    """Replace functions while a graph is traced."""
    with ExitStack() as stack:
        for each in patches:
            stack.enter_context(mock.patch.object(*each))
        yield


def make_config(model: str) -> Config:
    """Return the config of a model."""
    overrides = Overrides()
    for key, value in {**MODELS[model], "training.batch_pairs": ROWS}.items():
        overrides.set(key, value, "worth.py")
    return load_config(overrides)


def make_batch() -> Batch:
    """Return random ids, a fifth of them padding."""
    rng = np.random.default_rng(0)
    source, target = rng.integers(4, VOCABULARY, (2, ROWS, LENGTH)).astype(np.int32)
    target[:, 0] = BOS
    for ids in (source, target):
        lengths = rng.integers(LENGTH * 6 // 10, LENGTH, ROWS)
        ids[np.arange(ROWS), lengths] = EOS
        ids[np.arange(LENGTH) > lengths[:, None]] = 0
    return Batch(tf.constant(source), tf.constant(target), tf.constant(ROWS))


def training(model: Seq2Seq, config: Config, precision: str, name: str = "") -> Run:
    """Return what makes some updates, without the fast path of that name."""
    shards = 1 if name == "shards" else cores()
    if name == "fused kernels and loops":
        config = config.model_copy(
            update={"training": config.training.model_copy(update={"compile": "graph"})}
        )
    batch = make_batch()
    with patched(TRAINING.get(name, [])):
        updater = Updater(model, config.training, precision, shards)
        updater.update([batch], 0, 0.0)

    def run() -> None:
        for number in range(UPDATES):
            found, _ = updater.update([batch], number, 0.0)
        float(found)

    return run


def decoding(model: Seq2Seq, precision: Any, name: str = "") -> Run:
    """Return what translates a batch some times, without the fast path of that name."""
    source, maximum = make_batch().source_BS, np.full(ROWS, 2 * LENGTH, np.int32)
    maximum[::2] = LENGTH
    patches = DECODING.get(name, [])
    if name == "cache written in place":
        patches = [(model, "make_step", partial(copying_step, model.make_step))]
    with patched(patches):
        found = search.Search(model, DecodingConfig(beam=BEAMS, precision=precision))
        found(source, maximum)

    def run() -> None:
        for _ in range(SEARCHES):
            found(source, maximum)

    return run


def slowdown(fast: Run, plain: Run, trials: int) -> tuple[float, float]:
    """Return the median seconds of both, timed in turns."""
    times: dict[Run, list[float]] = {fast: [], plain: []}
    for run in times:
        run()
    for trial in range(trials):
        for run in list(times)[:: -1 if trial % 2 else 1]:
            began = time.perf_counter()
            run()
            times[run].append(time.perf_counter() - began)
    return statistics.median(times[fast]), statistics.median(times[plain])


def measure(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each fast path, model, precision and use."""
    vocabularies = Vocabularies(VOCABULARY, VOCABULARY)
    for kind in options.models:
        config = make_config(kind)
        model = build_model(config.model, vocabularies)
        for precision in options.precisions:
            uses = {
                "training": (TRAINING, partial(training, model, config, precision)),
                "decoding": (DECODING, partial(decoding, model, precision)),
            }
            for use, (paths, make) in uses.items():
                own = [name for name in paths if ONLY_IN.get(name, kind) == kind]
                wanted = [n for n in own if any(each in n for each in options.only or [n])]
                if not wanted:
                    continue
                fast = make()
                for name in wanted:
                    before, after = slowdown(fast, make(name), options.trials)
                    row = {"path": name, "use": use, "model": kind, "precision": precision}
                    yield row | {"fast_ms": 1000 * before, "plain_ms": 1000 * after}


def to_table(rows: list[dict[str, Any]]) -> str:
    """Return a Markdown table: a row for each path and use, a column for each model."""
    columns = list(dict.fromkeys((row["model"], row["precision"]) for row in rows))
    lines = ["| without | in | " + " | ".join(", ".join(column) for column in columns) + " |"]
    lines.append("|---|---|" + "---|" * len(columns))
    cells_of: dict[tuple[str, str], dict[tuple[str, str], str]] = {}
    for row in rows:
        percent = 100 * (row["plain_ms"] / row["fast_ms"] - 1)
        found = cells_of.setdefault((row["path"], row["use"]), {})
        found[row["model"], row["precision"]] = f"{percent:+.0f} %"
    for key, found in cells_of.items():
        lines.append(f"| {' | '.join([*key, *(found.get(c, '') for c in columns)])} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--only", nargs="+", metavar="NAME", help="rows whose name contains one of these")
    add("--models", nargs="+", choices=MODELS, default=list(MODELS), help="by default both")
    both = ["float32", "bfloat16"]
    add("--precisions", nargs="+", choices=both, default=both, help="by default both")
    add("--trials", type=int, default=3, help="of each, in turns; 3 by default")
    add("--json", type=Path, metavar="OUT", help="write the rows to a file, too")
    options = parser.parse_args()
    use_device("cpu")
    share_threads(cores())
    rows = []
    for row in measure(options):
        rows.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    print(f"{describe(None)}\n\n{to_table(rows)}")


if __name__ == "__main__":
    main()
