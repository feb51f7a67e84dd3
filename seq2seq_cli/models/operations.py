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
        recurrent = _rnn(config, source, target)
        products = recurrent + target * (width * vocabulary + _readout(config))
    else:
        products = _stacks(config, source, target) + target * config.units * vocabulary
    return 2 * rows * products


def _rnn(config: RNNConfig, source: int, target: int) -> int:
    """Return the multiplications in cells, bridge and attention."""
    cell = CELLS[config.cell]
    d, v = config.decoder_units, config.value_units

    def layer(inputs: int, units: int) -> int:
        """Return the multiplications of a cell for one token."""
        return (inputs + units) * cell.gates * units

    directions = 2 if config.bidirectional else 1
    encoder = layer(config.embedding_units, config.encoder_units)
    encoder += (config.encoder_layers - 1) * layer(v, config.encoder_units)
    bridges = len(cell.state_names) * config.decoder_layers if config.bridge == "projection" else 0
    bridge = bridges * (config.encoder_units if config.has_attention else v) * d
    decoder = layer(config.embedding_units, d) + (config.decoder_layers - 1) * layer(d, d)
    products = source * directions * encoder + bridge + target * decoder
    if config.has_attention:
        return products + _attention(config, source, target)
    return products + (v * cell.gates * d if config.wiring == "bahdanau" else 0)


def _attention(config: RNNConfig, source: int, target: int) -> int:
    """Return the multiplications of attention, and of what it gives to the cell."""
    gates, d, v = CELLS[config.cell].gates, config.decoder_units, config.value_units
    keys = query = score = 0  # of a key, of a query, and of a key with a query
    if config.attention == "location":
        query = d * config.attention_positions
    elif config.attention in ("additive", "concat"):
        keys, query = v * config.attention_units, d * config.attention_units
    else:
        keys, score = (v * d if config.attention == "general" else 0), d
    if config.wiring == "bahdanau":
        attended = gates * d  # the context enters the cell by way of the projected values
        step = source * (score + attended + v)
    else:
        attended = d
        step = source * (score + attended) + d * d
        if config.input_feeding:
            step += d * gates * d
    if config.attention_span == "local_p":
        query += d * d
    return source * (keys + v * attended) + target * (query + step)


def _readout(config: RNNConfig) -> int:
    """Return the multiplications of the readout that Bahdanau's wiring has, for one token."""
    if config.wiring == "luong":
        return 0
    joined = config.decoder_units + config.embedding_units + config.value_units
    return joined * config.embedding_units * (2 if config.readout == "maxout" else 1)


def _stacks(config: TransformerConfig | DecoderOnlyConfig, source: int, target: int) -> int:
    d = config.units
    feed_forward = (3 if config.activation == "swiglu" else 2) * d * config.inner_units

    q = config.head_width * config.heads  # width of queries
    kv = config.head_width * (config.key_value_heads or config.heads)  # width of keys and values

    def block(length: int, seen: int, kv: int) -> int:
        """Return the multiplications of self-attention and feed-forward network."""
        return length * (2 * d * (q + kv) + feed_forward + 2 * seen * q)

    if isinstance(config, DecoderOnlyConfig):
        return config.layers * (block(source, source, kv) + block(target, source + target, kv))
    stacks = config.weight_sharing == "stacks"
    encoder = config.encoder_layers * block(source, source, kv if stacks else q)
    # Layers that share their weights have the same keys and values of the source.
    memories = config.decoder_layers if config.weight_sharing == "none" else 1
    cross = target * (2 * d * q + 2 * source * q)
    decoder = config.decoder_layers * (block(target, target, kv) + cross)
    return encoder + decoder + memories * source * 2 * d * kv
