"""The options of a search as keywords."""

import difflib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypedDict

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import CheckpointError, UsageError


class Options(TypedDict, total=False):
    """The keys of `[decoding]` except `n_best`; `DecodingConfig` describes them.

    A key that is left out has the value of the run's config.
    """

    beam: int
    mbr: int
    mbr_utility: Literal["chrf", "bleu"]
    rerank: str
    rerank_weight: float
    rerank_hypotheses: int
    length_penalty: float
    length_penalty_kind: Literal["gnmt", "simple"]
    coverage_penalty: float
    sample: bool
    temperature: float
    top_k: int | None
    top_p: float
    seed: int
    repetition_penalty: float
    no_repeat_ngram: int
    max_length: int | None
    max_length_ratio: float
    max_length_extra: int
    min_length: int
    min_length_ratio: float
    max_source_tokens: int
    precision: Literal["auto", "float32", "bfloat16"]
    batch_sentences: int
    batch_tokens: int


_OF_SAMPLING = {"temperature", "top_k", "top_p"}
# The keywords of `translate` that have no default in `[decoding]`, or another meaning there.
_OTHER_KEYWORDS = ("n_best", "prefix", "with_scores", "replace_unknown", "to")


# The options and config keys that errors name. Paths in errors may contain others.
_FLAGS = "|".join(
    name.replace("_", "-")
    for name in (*Options.__annotations__, *_OTHER_KEYWORDS, "alignments", "device", "run")
)
_KEYS = "|".join([*DecodingConfig.model_fields, "device"])


def with_options(
    defaults: DecodingConfig, origin: str, options: Mapping[str, Any]
) -> DecodingConfig:
    """Return a run's `[decoding]` with options applied.

    `sample=False` also resets the other options of sampling to their defaults.

    Args:
        defaults: the run's.
        origin: of the defaults, for errors.
        options: keys of `[decoding]`, with their values.

    Raises:
        TypeError: if there is no such option; names the nearest one.
        UsageError: if a value is wrong, or contradicts another.
    """
    if not options:
        return defaults
    values, given = Overrides(), Overrides()
    unused = _OF_SAMPLING if options.get("sample") is False else set()
    for key, value in defaults.model_dump(exclude_none=True, exclude=unused).items():
        values.set(f"decoding.{key}", value, origin)
    for key, value in options.items():
        if key not in DecodingConfig.model_fields:
            raise TypeError(_unknown_option(key))
        given.set(f"decoding.{key}", value, "translate()")
    given.sample_instead_of_beam()
    decoding = load_config(values, given).decoding
    if "seed" in options and not decoding.sample:
        raise UsageError("seed is for sample=True; without sampling nothing is random")
    return decoding


def _unknown_option(name: str) -> str:
    known = [*Options.__annotations__, *_OTHER_KEYWORDS]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"the options are {', '.join(sorted(known))}"
    return f"translate() has no option {name!r}; {hint}"


@contextmanager
def options_as_keywords() -> Iterator[None]:
    """Name options in an error as in Python: `top_k` for `--top-k` and `decoding.top_k`."""
    try:
        yield
    except (UsageError, CheckpointError) as error:
        text = re.sub(rf" \(--(?:{_FLAGS})\)", "", str(error))
        text = re.sub(
            rf"(?<!\S)--({_FLAGS})(?![\w-])", lambda match: match[1].replace("-", "_"), text
        )
        text = re.sub(rf"(?<![\w./-])(?:decoding|training)\.(?=(?:{_KEYS})\b)", "", text)
        raise type(error)(text.replace("sample = true", "sample = True")) from None
