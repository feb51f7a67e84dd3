"""What a model needs to know of its tokenizers."""

from typing import NamedTuple


class Vocabularies(NamedTuple):
    """Sizes of the vocabularies.

    source, target: number of ids.
    joint: whether an id means the same in source and target.
    tags: number of the source's last ids, which are tags; of the target's, too, if joint.
    """

    source: int
    target: int
    joint: bool = True
    tags: int = 0
