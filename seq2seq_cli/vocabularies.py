"""The properties of tokenizers that a model needs."""

from typing import NamedTuple


class Vocabularies(NamedTuple):
    """Sizes of the vocabularies.

    Attributes:
        source, target: number of ids.
        joint: whether an id means the same in source and target.
        tags: number of the source's last ids, which are tags; also of the target's, if joint.
    """

    source: int
    target: int
    joint: bool = True
    tags: int = 0
