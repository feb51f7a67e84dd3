"""The options that say how to search for translations, for the commands that have all of them."""

from typing import Annotated, Any

import typer

from seq2seq_cli.cli.options import Flag, decoding_flags
from seq2seq_cli.errors import UsageError

NBestOption = Annotated[
    int | None,
    typer.Option("--n-best", help="Translations of each sentence: N lines, the best first."),
]
SampleOption = Annotated[bool, typer.Option("--sample", help="Draw each token by its probability.")]
TemperatureOption = Annotated[
    float | None, typer.Option(help="Sampling: above 1 more varied, below 1 less.")
]
TopKOption = Annotated[
    int | None, typer.Option("--top-k", help="Sampling: the N most probable tokens.")
]
TopPOption = Annotated[
    float | None,
    typer.Option("--top-p", help="Sampling: only the most probable tokens, up to this sum."),
]
SeedOption = Annotated[int | None, typer.Option(help="Sampling: determines the random draws.")]
MBROption = Annotated[
    int | None,
    typer.Option("--mbr", help="Return the most typical of N beams or samples.", metavar="N"),
]
MaxLengthOption = Annotated[
    int | None, typer.Option("--max-length", help="Maximum number of tokens of a translation.")
]


def search_flags(sample: bool, seed: int | None, **values: Any) -> list[Flag]:
    """Return the flags of --sample, --seed and others, which are called like keys of `[decoding]`.

    Raises:
        UsageError: if there is a seed and nothing is drawn.
    """
    if seed is not None and not sample:
        raise UsageError("--seed is for --sample; a search for the best draws nothing")
    return decoding_flags(sample=sample or None, seed=seed, **values)
