"""Architectures behind one seam; `build_model` is the only branch on their kind."""

from seq2seq_cli.config import ModelConfig
from seq2seq_cli.models.rnn import RNN
from seq2seq_cli.models.seq2seq import Seq2Seq


def build_model(
    config: ModelConfig, source_vocabulary: int, target_vocabulary: int, seed: int = 0
) -> Seq2Seq:
    """Build the model that `config` describes, with initial weights that follow from `seed`."""
    return RNN(
        source_vocabulary,
        target_vocabulary,
        embedding_units=config.embedding_units,
        encoder_units=config.encoder_units,
        decoder_units=config.decoder_units,
        attention_units=config.attention_units,
        dropout=config.dropout,
        seed=seed,
        cell=config.cell,
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        bidirectional=config.bidirectional,
        attention=config.attention,
        wiring=config.wiring,
        input_feeding=config.input_feeding,
        bridge=config.bridge,
        variational_dropout=config.variational_dropout,
    )
