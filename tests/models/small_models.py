"""Models of a few hundred weights, without dropout unless it is asked for."""

from seq2seq_cli.config.model import DecoderOnlyConfig, RNNConfig, TransformerConfig
from seq2seq_cli.models import build_model
from seq2seq_cli.models.decoder_only import DecoderOnly
from seq2seq_cli.models.rnn import RNN
from seq2seq_cli.models.transformer import Transformer
from seq2seq_cli.vocabularies import Vocabularies

RNN_SIZES = {
    **{"embedding_units": 6, "encoder_units": 5, "decoder_units": 7, "attention_units": 4},
    "dropout": 0.0,
}
STACK_SIZES = {
    **{"units": 8, "heads": 2, "inner_units": 12, "dropout": 0.0, "attention_dropout": 0.0},
}
LAYERS = {"encoder_layers": 1, "decoder_layers": 1}
TWENTY = Vocabularies(20, 20)


def both(vocabulary: int) -> Vocabularies:
    """Return a vocabulary that source and target share."""
    return Vocabularies(vocabulary, vocabulary)


def small_rnn(
    vocabularies: Vocabularies = TWENTY, seed: int = 1, kind: type[RNN] = RNN, **options
) -> RNN:
    return kind(RNNConfig(**RNN_SIZES | options), vocabularies, seed)


def small_transformer(vocabularies: Vocabularies = TWENTY, seed: int = 1, **options) -> Transformer:
    return build_model(TransformerConfig(**STACK_SIZES | LAYERS | options), vocabularies, seed)


def small_decoder_only(
    vocabularies: Vocabularies = TWENTY, seed: int = 1, **options
) -> DecoderOnly:
    config = DecoderOnlyConfig(**STACK_SIZES | {"layers": 2} | options)
    return build_model(config, vocabularies, seed)
