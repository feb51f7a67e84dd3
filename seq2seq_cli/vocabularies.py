"""What a model needs to know of its tokenizers."""

from typing import NamedTuple


class Vocabularies(NamedTuple):
    """Sizes of the vocabularies.

    source, target: number of ids.
    joint: whether an id means the same in source and target.
    """

    source: int
    target: int
    joint: bool = True
