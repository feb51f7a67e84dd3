"""The options of the search for translations, for the commands that have all of them."""

from typing import Annotated, Any

import typer

from seq2seq_cli.cli.options import Flag, decoding_flags
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.errors import UsageError

NBestOption = Annotated[
    int | None,
    typer.Option(
        "--n-best", help="Number of translations per sentence, one per line, the best first."
    ),
]
SampleOption = Annotated[bool, typer.Option("--sample", help="Draw each token by its probability.")]
TemperatureOption = Annotated[
    float | None, typer.Option(help="Sampling: values above 1 give more variety, below 1 less.")
]
TopKOption = Annotated[
    int | None, typer.Option("--top-k", help="Sampling: use only the N most probable tokens.")
]
TopPOption = Annotated[
    float | None,
    typer.Option("--top-p", help="Sampling: use only the most probable tokens, up to this sum."),
]
SeedOption = Annotated[int | None, typer.Option(help="Random seed of sampling.")]
MBROption = Annotated[
    int | None,
    typer.Option(
        "--mbr", help="Minimum Bayes risk: return the most typical of N hypotheses.", metavar="N"
    ),
]
MaxLengthOption = Annotated[
    int | None, typer.Option("--max-length", help="Maximum number of tokens of a translation.")
]


def search_flags(sample: bool, seed: int | None, **values: Any) -> list[Flag]:
    """Return the flags of --sample, --seed and others, named like the keys of `[decoding]`."""
    return decoding_flags(sample=sample or None, seed=seed, **values)


def check_seed(seed: int | None, decoding: DecodingConfig) -> None:
    """Check that --seed is given only to a search that samples.

    Args:
        seed: the value of --seed.
        decoding: the search, with all options.

    Raises:
        UsageError: if not.
    """
    if seed is not None and not decoding.sample:
        raise UsageError("--seed is for --sample; without sampling nothing is random. Leave it out")
