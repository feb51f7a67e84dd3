"""The vocabularies of a corpus: those it was prepared with, or learned from its training side."""

from seq2seq_cli.config.data import TokenizerConfig
from seq2seq_cli.data.corpus import Corpus
from seq2seq_cli.data.pairs import Pairs
from seq2seq_cli.data.tokenizers.pair import Tokenizers, spread, train_tokenizers


def tokenizers_of(corpus: Corpus, config: TokenizerConfig) -> Tokenizers:
    """Return the vocabularies that a corpus was prepared with, or learn them.

    Those of the preparation are used only if they were learned with the same `config`.
    """
    folder = corpus.vocabulary(config)
    return Tokenizers.load(folder) if folder else learn_tokenizers(corpus.train, config)


def learn_tokenizers(pairs: Pairs, config: TokenizerConfig) -> Tokenizers:
    """Learn the vocabularies from `tokenizer.training_pairs` pairs at most, evenly spaced."""
    rows = spread(range(len(pairs)), config.training_pairs)
    return train_tokenizers(*pairs.take(rows), config)
