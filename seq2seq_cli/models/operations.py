"""The number of floating-point operations in the matrix products of a model, by formulas.

A product of (n, k) and (k, m) takes 2 n k m: a multiplication and an addition count as two.
"""

from seq2seq_cli.config.model import (
    DecoderOnlyConfig,
    ModelConfig,
    RNNConfig,
    TransformerConfig,
)
from seq2seq_cli.models.layers.cells import CELLS


def forward_operations(
    config: ModelConfig, vocabulary: int, rows: int, source: int, target: int
) -> int:
    """Return the operations from a batch to its logits, padding included.

    Args:
        config: the model's table.
        vocabulary: size of the target's.
        rows: of the batch.
        source: its length, in tokens.
        target: length of the decoder's input, in tokens.
    """
    if isinstance(config, RNNConfig):
        width = config.decoder_units if config.wiring == "luong" else config.embedding_units
        products = _rnn(config, source, target) + target * width * vocabulary
    else:
        products = _stacks(config, source, target) + target * config.units * vocabulary
    return 2 * rows * products


def _rnn(config: RNNConfig, source: int, target: int) -> int:
    cell = CELLS[config.cell]
    d, v = config.decoder_units, config.value_units

    def layer(inputs: int, units: int) -> int:
        """Return the multiplications of a cell for one token."""
        return (inputs + units) * cell.gates * units

    directions = 2 if config.bidirectional else 1
    encoder = layer(config.embedding_units, config.encoder_units)
    encoder += (config.encoder_layers - 1) * layer(v, config.encoder_units)
    bridges = len(cell.state_names) * config.decoder_layers if config.bridge == "projection" else 0
    decoder = layer(config.embedding_units, d) + (config.decoder_layers - 1) * layer(d, d)

    keys = query = score = 0  # of a key, of a query, and of a key with a query
    if config.attention in ("additive", "concat"):
        keys, query = v * config.attention_units, d * config.attention_units
    else:
        keys, score = (v * d if config.attention == "general" else 0), d
    if config.wiring == "bahdanau":
        attended = cell.gates * d  # the context enters the cell through the projected values
        readout = (d + config.embedding_units + v) * config.embedding_units
        step = source * (score + attended + v) + readout
    else:
        attended = d
        step = source * (score + attended) + d * d
        if config.input_feeding:
            step += layer(0, d)
    word = directions * encoder + keys + v * attended
    bridge = bridges * config.encoder_units * d
    return source * word + bridge + target * (decoder + query + step)


def _stacks(config: TransformerConfig | DecoderOnlyConfig, source: int, target: int) -> int:
    d = config.units
    feed_forward = (3 if config.activation == "swiglu" else 2) * d * config.inner_units

    def block(length: int, seen: int) -> int:
        """Return the multiplications of self-attention and feed-forward network."""
        return length * (4 * d * d + feed_forward + 2 * seen * d)

    if isinstance(config, DecoderOnlyConfig):
        return config.layers * (block(source, source) + block(target, source + target))
    cross = target * (2 * d * d + 2 * source * d) + source * 2 * d * d
    encoder = config.encoder_layers * block(source, source)
    return encoder + config.decoder_layers * (block(target, target) + cross)
