import numpy as np
import pytest

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.decoding.encoding import length_limits


@pytest.mark.parametrize(
    ("options", "prefix", "maximum", "minimum"),
    [
        ({}, 0, [12, 50], [0, 0]),
        ({}, 20, [21, 50], [0, 0]),
        ({"max_length": 5}, 0, [5, 5], [0, 0]),
        ({"max_length": 40}, 0, [12, 40], [0, 0]),
        ({"max_length": 40, "min_length": 30}, 0, [30, 40], [30, 30]),
        ({"min_length": 30}, 0, [30, 50], [30, 30]),
        ({"max_length_extra": 0, "min_length_ratio": 1.55}, 0, [2, 40], [2, 31]),
        ({"min_length_ratio": 3.0}, 0, [12, 60], [3, 60]),
        ({"max_length": 5, "min_length_ratio": 1.0}, 0, [5, 5], [1, 5]),
    ],
)
def test_a_minimum_raises_the_ratio_and_the_maximum_limits_both(options, prefix, maximum, minimum):
    found = length_limits(np.array([1, 20]), DecodingConfig(**options), prefix)
    assert [limit.tolist() for limit in found] == [maximum, minimum]
