"""Models like those of TensorFlow's tutorials, of Keras' layers: speed and translations.

    python benchmarks/tutorial.py --model transformer --batch 64 --steps 60
    python benchmarks/tutorial.py --model rnn --batch 64 --steps 60 --loop s2s
    python benchmarks/tutorial.py --model rnn --split split --seconds 600 --output tutorial.es

`nmt_with_attention` has a bidirectional GRU, a GRU decoder and, after it, attention to the
encoder's values. `transformer` has the post-norm stacks of Vaswani et al. (2017). `--loop fit`
trains as the tutorials do: Keras' `fit` on batches of sentences in random order, padded to the
longest, in float32. `--loop s2s` uses the same layers with the batches, loss and updates of s2s.
The program prints JSON with the pairs per second, after as many batches for warming up.

With `--split`, a folder of `s2s export-split`, it trains on train.en and train.es by `fit` for so
many seconds, and writes greedy translations of dev.en. The model reads all earlier tokens again for
each token. The optimizer is that of the tutorials: Adam with a learning rate of 0.001, or of the
schedule of Vaswani et al. (2017).
"""

import argparse
import itertools
import json
import math
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from seq2seq_cli.config import Config
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.pairs import Pairs, PairsInMemory
from seq2seq_cli.data.pipeline import TrainingData
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.data.vocabularies import learn_tokenizers
from seq2seq_cli.decoding.encoding import padded, token_ids
from seq2seq_cli.models.seq2seq import Memory, Seq2Seq
from seq2seq_cli.runtime.devices import use_device
from seq2seq_cli.runtime.parallel import number_of_shards, share_threads
from seq2seq_cli.special_tokens import BOS, EOS
from seq2seq_cli.training.step import Updater

UNITS, INNER_UNITS, HEADS, LAYERS, DROPOUT = 256, 1024, 4, 4, 0.1


class TutorialRNN(Seq2Seq):
    """The model of nmt_with_attention, with an additive score."""

    def __init__(self, vocabulary: int):
        super().__init__("tutorial_rnn")
        self.source = layers.Embedding(vocabulary, UNITS, mask_zero=True)
        self.encoder = layers.Bidirectional(layers.GRU(UNITS, return_sequences=True))
        self.values = layers.Dense(UNITS)
        self.target = layers.Embedding(vocabulary, UNITS, mask_zero=True)
        self.decoder = layers.GRU(UNITS, return_sequences=True)
        self.attention = layers.AdditiveAttention()
        self.norm = layers.LayerNormalization()
        self.output_layer = layers.Dense(vocabulary)

    def encode(self, source_BS: tf.Tensor, training: bool = False) -> Memory:
        """See Seq2Seq.encode."""
        values = self.values(self.encoder(self.source(source_BS), training=training))
        return {"values": values, "mask": tf.not_equal(source_BS, 0)}

    def hidden(self, target_BT: tf.Tensor, memory: Memory, training: bool = False) -> tf.Tensor:
        """See Seq2Seq.hidden."""
        states = self.decoder(self.target(target_BT), training=training)
        context = self.attention([states, memory["values"]], mask=[None, memory["mask"]])
        return self.norm(states + context)

    def logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """See Seq2Seq.logits."""
        return self.output_layer(hidden)


class Block(layers.Layer):
    """Attention and a feed-forward network, each followed by a residual and a normalisation."""

    def __init__(self, cross: bool):
        super().__init__()
        heads = {"num_heads": HEADS, "key_dim": UNITS // HEADS, "dropout": DROPOUT}
        self.attention = layers.MultiHeadAttention(**heads)
        self.cross = layers.MultiHeadAttention(**heads) if cross else None
        self.inner = layers.Dense(INNER_UNITS, activation="relu")
        self.outer = layers.Dense(UNITS)
        self.dropout = layers.Dropout(DROPOUT)
        self.norms = [layers.LayerNormalization() for _ in range(3 if cross else 2)]

    def call(
        self,
        x: tf.Tensor,
        mask: tf.Tensor | None,
        values: tf.Tensor | None = None,
        values_mask: tf.Tensor | None = None,
        training: bool = False,
    ) -> tf.Tensor:
        """Return the outputs. With `values`, a query does not see later positions."""
        attended = self.attention(
            x, x, attention_mask=mask, use_causal_mask=values is not None, training=training
        )
        x = self.norms[0](x + attended)
        if self.cross is not None:
            crossed = self.cross(x, values, attention_mask=values_mask, training=training)
            x = self.norms[2](x + crossed)
        inner = self.dropout(self.outer(self.inner(x)), training=training)
        return self.norms[1](x + inner)


class TutorialTransformer(Seq2Seq):
    """The model of the Transformer tutorial."""

    def __init__(self, vocabulary: int):
        super().__init__("tutorial_transformer")
        self.source = layers.Embedding(vocabulary, UNITS)
        self.target = layers.Embedding(vocabulary, UNITS)
        self.encoder = [Block(cross=False) for _ in range(LAYERS)]
        self.decoder = [Block(cross=True) for _ in range(LAYERS)]
        self.dropout = layers.Dropout(DROPOUT)
        self.output_layer = layers.Dense(vocabulary)

    def embed(self, table: layers.Embedding, ids: tf.Tensor, training: bool) -> tf.Tensor:
        """Return a vector for each id and its position."""
        positions = tf.range(tf.shape(ids)[1], dtype=tf.float32)[:, tf.newaxis]
        exponents = tf.range(UNITS // 2, dtype=tf.float32) * (-2 * math.log(10_000) / UNITS)
        angles = positions * tf.exp(exponents)
        vectors = table(ids) * math.sqrt(UNITS) + tf.concat([tf.sin(angles), tf.cos(angles)], 1)
        return self.dropout(vectors, training=training)

    def encode(self, source_BS: tf.Tensor, training: bool = False) -> Memory:
        """See Seq2Seq.encode."""
        mask = tf.not_equal(source_BS, 0)[:, tf.newaxis]
        values = self.embed(self.source, source_BS, training)
        for block in self.encoder:
            values = block(values, mask, training=training)
        return {"values": values, "mask": mask}

    def hidden(self, target_BT: tf.Tensor, memory: Memory, training: bool = False) -> tf.Tensor:
        """See Seq2Seq.hidden."""
        x = self.embed(self.target, target_BT, training)
        for block in self.decoder:
            x = block(x, None, memory["values"], memory["mask"], training=training)
        return x

    def logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """See Seq2Seq.logits."""
        return self.output_layer(hidden)


def masked_loss(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Return the mean loss per token, as the tutorials do."""
    losses = keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
    real = tf.cast(tf.not_equal(labels, 0), losses.dtype)
    return tf.reduce_sum(losses * real) / tf.reduce_sum(real)


class Noam(keras.optimizers.schedules.LearningRateSchedule):
    """The schedule of Vaswani et al. (2017), equation 3, with 4,000 updates of warm-up."""

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """Return the learning rate of an update."""
        updates = tf.cast(step, tf.float32) + 1
        return UNITS**-0.5 * tf.minimum(updates**-0.5, updates * 4000**-1.5)

    def get_config(self) -> dict:
        """Return nothing, for there are no arguments."""
        return {}


def batches(pairs: Pairs, tokenizers: Tokenizers, batch: int, longest: int) -> tf.data.Dataset:
    """Return batches without end of sentences in random order, padded to the longest."""

    def ids(source: tf.Tensor, target: tf.Tensor) -> tuple[tuple[tf.Tensor, tf.Tensor], tf.Tensor]:
        sources = tokenizers.source.tokenize(source)
        targets = tf.concat(
            [tf.fill([tf.shape(target)[0], 1], BOS), tokenizers.target.tokenize(target)], axis=1
        )
        sources, targets = sources[:, :longest].to_tensor(), targets[:, : longest + 1].to_tensor()
        return (sources, targets[:, :-1]), targets[:, 1:]

    # A random order, since a corpus may be sorted by length.
    rows = np.random.default_rng(0).permutation(len(pairs))
    return (
        tf.data.Dataset.from_tensor_slices(pairs.take(rows))
        .repeat()
        .batch(batch)
        .map(ids, tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )


def fit(model: Seq2Seq, data: tf.data.Dataset, batch: int, steps: int) -> float:
    """Return the pairs per second of Keras' `fit`."""
    ends: list[float] = []
    clock = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: ends.append(time.perf_counter())
    )
    # With XLA, which Keras would use, each new length of a batch would be compiled again.
    model.compile(keras.optimizers.Adam(1e-4), masked_loss, jit_compile=False)
    model.fit(data, epochs=1, steps_per_epoch=2 * steps, verbose=0, callbacks=[clock])
    return steps * batch / (ends[-1] - ends[steps - 1])


def fit_for(
    model: Seq2Seq,
    data: tf.data.Dataset,
    optimizer: keras.optimizers.Optimizer,
    ends: float,
    jit_compile: bool | str = False,
) -> None:
    """Train by Keras' `fit` until `time.perf_counter` is `ends`."""

    def stop(batch: int, logs: dict) -> None:
        model.stop_training = time.perf_counter() >= ends

    clock = keras.callbacks.LambdaCallback(on_train_batch_end=stop)
    model.compile(optimizer, masked_loss, jit_compile=jit_compile)
    model.fit(data, epochs=1, steps_per_epoch=10**9, verbose=0, callbacks=[clock])


def adam(kind: str) -> keras.optimizers.Optimizer:
    """Return the optimizer of the tutorial of an `rnn` or a `transformer`."""
    rate = 1e-3 if kind == "rnn" else Noam()
    return keras.optimizers.Adam(rate, beta_2=0.999 if kind == "rnn" else 0.98, epsilon=1e-9)


def translate(
    model: Seq2Seq,
    tokenizers: Tokenizers,
    sentences: list[str],
    batch: int,
    longest: int | None = None,
) -> list[str]:
    """Return greedy translations; each step reads all earlier tokens again.

    Sources and translations are cut to `longest` tokens.
    """

    @tf.function(reduce_retracing=True)
    def next_ids(source_BS: tf.Tensor, target_BT: tf.Tensor) -> tf.Tensor:
        logits_BTV = model((source_BS, target_BT))
        return tf.argmax(logits_BTV[:, -1], axis=-1, output_type=tf.int32)

    found: list[str] = []
    for first in range(0, len(sentences), batch):
        ids = token_ids(tokenizers.source, sentences[first : first + batch])
        source_BS = padded(ids)[:, :longest]
        target_BT = np.full([len(source_BS), 1], BOS, np.int32)
        most = longest or 2 * source_BS.shape[1] + 10
        while target_BT.shape[1] <= most and not (target_BT == EOS).any(axis=1).all():
            following = next_ids(tf.constant(source_BS), tf.constant(target_BT)).numpy()
            target_BT = np.concatenate([target_BT, following[:, np.newaxis]], axis=1)
        found += tokenizers.target.detokenize(target_BT.tolist())
    return found


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file of a split, in which only a line feed ends a line."""
    return path.read_text("utf-8").split("\n")[:-1]


def read_train(split: Path) -> Pairs:
    """Return the training pairs of a folder of s2s export-split."""
    return PairsInMemory(read_lines(split / "train.en"), read_lines(split / "train.es"))


def update(model: Seq2Seq, config: Config, data: TrainingData, steps: int) -> float:
    """Return the pairs per second of the loop of s2s."""
    updater = Updater(model, config.training, shards=number_of_shards(config.training))

    def trial() -> float:
        began, pairs = time.perf_counter(), 0
        for number, batch in enumerate(itertools.islice(data.batches(epoch=0), steps)):
            updater.update([batch], number, 1e-4)
            pairs += int(batch.pairs)
        return pairs / (time.perf_counter() - began)

    trial()
    return trial()


def main() -> None:
    """Print the pairs per second, or write translations."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", choices=["rnn", "transformer"], required=True)
    parser.add_argument("--loop", choices=["fit", "s2s"], default="fit")
    parser.add_argument("--batch", type=int, default=64, help="pairs")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--data", default="tatoeba")
    parser.add_argument("--tokenizer", help="a SentencePiece model")
    parser.add_argument("--split", type=Path, help="a folder of s2s export-split")
    parser.add_argument("--seconds", type=float, default=600, help="of the process, with --split")
    parser.add_argument("--output", type=Path, default=Path("tutorial.es"), help="translations")
    options = parser.parse_args()
    ends = time.perf_counter() + options.seconds
    use_device("cpu")
    training = {"batch_pairs": options.batch, "label_smoothing": 0.0}
    tokenizer = {"vocabulary_size": 8000, "model": options.tokenizer}
    tables = {"data": {"corpus": options.data}, "tokenizer": tokenizer, "training": training}
    config = Config.model_validate(tables)
    if options.loop == "s2s":
        share_threads(number_of_shards(config.training))

    if options.split:
        pairs: Pairs = read_train(options.split)
    else:
        pairs = read_corpus(config.data).train
    tokenizers = learn_tokenizers(pairs, config.tokenizer)
    make = TutorialRNN if options.model == "rnn" else TutorialTransformer
    model = make(tokenizers.target.vocabulary_size)
    ids = tf.ones([1, 2], tf.int32)
    model((ids, ids))
    data = batches(pairs, tokenizers, options.batch, config.training.max_source_tokens)
    if options.split:
        fit_for(model, data, adam(options.model), ends)
        dev = read_lines(options.split / "dev.en")
        translations = translate(model, tokenizers, dev, options.batch)
        options.output.write_text("".join(f"{text}\n" for text in translations), "utf-8")
        return
    if options.loop == "fit":
        rate = fit(model, data, options.batch, options.steps)
    else:
        updates = TrainingData(pairs, tokenizers, config.training)
        rate = update(model, config, updates, options.steps)
    weights = sum(math.prod(v.shape) for v in model.trainable_variables)
    print(json.dumps({"pairs_per_second": rate, "parameters": weights}))


if __name__ == "__main__":
    main()
