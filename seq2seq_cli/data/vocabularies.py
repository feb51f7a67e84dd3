"""The vocabularies of a corpus: from its preparation, or learned from its training side."""

from collections.abc import Iterator

from seq2seq_cli.config.data import DataConfig, TokenizerConfig
from seq2seq_cli.data.corpus import Corpus
from seq2seq_cli.data.pairs import Pairs, spread
from seq2seq_cli.data.tokenizers.pair import Tokenizers, train_tokenizers
from seq2seq_cli.errors import CheckpointError, DataError
from seq2seq_cli.special_tokens import TO
from seq2seq_cli.work import ShowWork, show_nothing, shown

LEARNING = "Learning the vocabulary"


def tokenizers_of(
    corpus: Corpus, config: TokenizerConfig, show: ShowWork = show_nothing
) -> Tokenizers:
    """Return the vocabularies that a corpus was prepared with, or learn them.

    Those of the preparation are used only if they were learned with the same `config`.

    Raises:
        DataError: if those of the preparation are damaged.
    """
    folder = corpus.vocabulary(config)
    if not folder:
        return learn_tokenizers(corpus.train, config, show)
    try:
        return Tokenizers.load(folder)
    except CheckpointError as error:
        raise DataError(
            f"{corpus.description}: the vocabulary in {folder} is missing or damaged. Prepare the "
            "corpus again"
        ) from error


def tags_of(corpus: Corpus, data: DataConfig) -> list[str]:
    """Return the tags that the vocabulary needs: those of target languages, and the corpus' own."""
    languages = data.target_languages if len(data.target_languages) > 1 else []
    own = corpus.train.tags.sequences if corpus.train.tags else []
    tags = [tag for sequence in own for tag in sequence]
    return [*dict.fromkeys([*(TO + language for language in languages), *tags])]


def learn_tokenizers(
    pairs: Pairs, config: TokenizerConfig, show: ShowWork = show_nothing
) -> Tokenizers:
    """Learn the vocabularies from `tokenizer.training_pairs` pairs at most, evenly spaced.

    Args:
        pairs: the training side.
        config: the table `[tokenizer]`.
        show: shows the number of sentences that have been read. Training has no measure.
    """
    sides = pairs.take(spread(range(len(pairs)), config.training_pairs))
    sources, targets = (_told(side, show) for side in sides)
    return train_tokenizers(sources, targets, config)


def _told(sentences: list[str], show: ShowWork) -> Iterator[str]:
    yield from shown(sentences, show, LEARNING, "sentences read", len(sentences))
    show(LEARNING)
