"""The model of Keras' example of translation, trained on a split for some time: translations.

    s2s export-split split --data tatoeba
    python benchmarks/keras_example.py --split split --tokenizer model.spm --seconds 600

The example is "English-to-Spanish translation with a sequence-to-sequence Transformer" of keras.io.
As there, the model has one post-norm block of 256 units on each side, with 8 heads of 256 units,
2,048 inner units and learned positions. A dropout of 0.5 stands before the output. RMSprop with
Keras' defaults trains it, by `fit`, on batches of 64 pairs of exactly 20 tokens; longer sentences
are cut. The search is greedy, reads all earlier tokens again for each one, and ends after 20.

Two things differ. The example takes away case and punctuation and has a vocabulary of words, so it
could not be scored against the references; here the SentencePiece model of the other programs is
used. And the decoder attends to the tokens of the source, without those that pad it.

The program trains on train.en and train.es, and writes translations of dev.en.
"""

import argparse
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from tutorial import fit_for, read_lines, read_train, translate

from seq2seq_cli.config import Config
from seq2seq_cli.data.pairs import Pairs
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.data.vocabularies import learn_tokenizers
from seq2seq_cli.models.seq2seq import Memory, Seq2Seq
from seq2seq_cli.runtime.devices import use_device
from seq2seq_cli.special_tokens import BOS

UNITS, INNER_UNITS, HEADS, DROPOUT, LENGTH = 256, 2048, 8, 0.5, 20


class Block(layers.Layer):
    """Attention to the own side, to the other side if there is one, and a feed-forward network."""

    def __init__(self, cross: bool):
        super().__init__()
        self.attention = layers.MultiHeadAttention(HEADS, UNITS)
        self.cross = layers.MultiHeadAttention(HEADS, UNITS) if cross else None
        self.inner = layers.Dense(INNER_UNITS, activation="relu")
        self.outer = layers.Dense(UNITS)
        self.norms = [layers.LayerNormalization() for _ in range(3 if cross else 2)]

    def call(
        self,
        x: tf.Tensor,
        mask: tf.Tensor | None,
        values: tf.Tensor | None = None,
        values_mask: tf.Tensor | None = None,
    ) -> tf.Tensor:
        """Return the outputs. With `values`, a query does not see later positions."""
        attended = self.attention(x, x, attention_mask=mask, use_causal_mask=values is not None)
        x = self.norms[0](x + attended)
        if self.cross is not None:
            x = self.norms[2](x + self.cross(x, values, attention_mask=values_mask))
        return self.norms[1](x + self.outer(self.inner(x)))


class KerasExample(Seq2Seq):
    """The model of the example."""

    def __init__(self, vocabulary: int):
        super().__init__("keras_example")
        self.tables = [layers.Embedding(vocabulary, UNITS) for _ in range(2)]
        self.positions = [layers.Embedding(LENGTH, UNITS) for _ in range(2)]
        self.encoder, self.decoder = Block(cross=False), Block(cross=True)
        self.dropout = layers.Dropout(DROPOUT)
        self.output_layer = layers.Dense(vocabulary)

    def embed(self, side: int, ids: tf.Tensor) -> tf.Tensor:
        """Return a vector for each id and its position, on side 0 (source) or 1 (target)."""
        return self.tables[side](ids) + self.positions[side](tf.range(tf.shape(ids)[1]))

    def encode(self, source_BS: tf.Tensor, training: bool = False) -> Memory:
        """See Seq2Seq.encode."""
        mask = tf.not_equal(source_BS, 0)[:, tf.newaxis]
        return {"values": self.encoder(self.embed(0, source_BS), mask), "mask": mask}

    def hidden(self, target_BT: tf.Tensor, memory: Memory, training: bool = False) -> tf.Tensor:
        """See Seq2Seq.hidden."""
        x = self.decoder(self.embed(1, target_BT), None, memory["values"], memory["mask"])
        return self.dropout(x, training=training)

    def logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """See Seq2Seq.logits."""
        return self.output_layer(hidden)


def batches(pairs: Pairs, tokenizers: Tokenizers, batch: int) -> tf.data.Dataset:
    """Return batches without end, of sentences in random order, all of LENGTH tokens."""

    def ids(source: tf.Tensor, target: tf.Tensor) -> tuple[tuple[tf.Tensor, tf.Tensor], tf.Tensor]:
        found = tokenizers.target.tokenize(target)
        begun = tf.concat([tf.fill([tf.shape(target)[0], 1], BOS), found], axis=1)
        target_BT = begun.to_tensor(shape=[batch, LENGTH + 1])
        source_BS = tokenizers.source.tokenize(source).to_tensor(shape=[batch, LENGTH])
        return (source_BS, target_BT[:, :-1]), target_BT[:, 1:]

    rows = np.random.default_rng(0).permutation(len(pairs))
    return (
        tf.data.Dataset.from_tensor_slices(pairs.take(rows))
        .repeat()
        .batch(batch)
        .map(ids, tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )


def main() -> None:
    """Train for a time, and write translations."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--split", type=Path, required=True, help="a folder of s2s export-split")
    parser.add_argument("--tokenizer", required=True, help="a SentencePiece model")
    parser.add_argument("--batch", type=int, default=64, help="pairs")
    parser.add_argument("--seconds", type=float, default=600, help="of the process")
    parser.add_argument("--output", type=Path, default=Path("keras.es"), help="translations")
    options = parser.parse_args()
    ends = time.perf_counter() + options.seconds
    use_device("cpu")
    tokenizer = {"vocabulary_size": 8000, "model": options.tokenizer}
    config = Config.model_validate({"tokenizer": tokenizer})
    pairs = read_train(options.split)
    tokenizers = learn_tokenizers(pairs, config.tokenizer)
    model = KerasExample(tokenizers.target.vocabulary_size)
    ids = tf.ones([1, 2], tf.int32)
    model((ids, ids))
    data = batches(pairs, tokenizers, options.batch)
    fit_for(model, data, keras.optimizers.RMSprop(), ends, jit_compile="auto")
    dev = read_lines(options.split / "dev.en")
    translations = translate(model, tokenizers, dev, options.batch, LENGTH)
    options.output.write_text("".join(f"{text}\n" for text in translations), "utf-8")


if __name__ == "__main__":
    main()
