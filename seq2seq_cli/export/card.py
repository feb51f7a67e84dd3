"""The model card: data, scores with signatures, limits, licence and the command that repeats it."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seq2seq_cli.config import Config
from seq2seq_cli.config.data import CATALOG, is_address
from seq2seq_cli.evaluation.metrics import Scores
from seq2seq_cli.runs.state import State

NAME = "README.md"
_LICENCES = {
    "phrasebook": "Apache-2.0, as s2s, with which it comes.",
    "tatoeba": "CC BY 2.0. Name tatoeba.org and the authors of the sentences as the source.",
}
_UNKNOWN_LICENCE = "not known to s2s. Ask the owner of the corpus before you pass the model on."


@dataclass(frozen=True)
class Facts:
    """The facts that a model card states.

    Attributes:
        run: its name.
        config: the run's.
        state: of the checkpoint.
        languages: source and target.
        corpus: a description of the corpus.
        pairs: number of training pairs.
        scores: by the name of the search, on `sentences` dev sentences.
        sentences: number of dev sentences that were translated.
        command: the command that makes the export from a run of this name.
        unsupported: constraints of the run's search that the export does not have.
    """

    run: str
    config: Config
    state: State
    languages: tuple[str, str]
    corpus: str
    pairs: int
    scores: dict[str, Scores]
    sentences: int
    command: str
    unsupported: Sequence[str] = ()

    def record(self) -> dict[str, Any]:
        """Return the scores as they stand in `scores.json`."""
        return {
            "dev_bleu": self.state.dev_bleu,
            "update": self.state.step,
            "searches": {name: asdict(each) for name, each in self.scores.items()},
        }


def model_card(facts: Facts, usage: str) -> str:
    """Return the card in Markdown.

    Args:
        facts: of the run and its scores.
        usage: how to use the export, in Markdown.
    """
    source, target = facts.languages
    sources = facts.config.data.mixture
    licences = {each.corpus: _LICENCES.get(each.corpus, _UNKNOWN_LICENCE) for each in sources}
    named = "\n".join(f"- {_short(name)}: {licence}" for name, licence in licences.items())
    longest = facts.config.decoding.max_source_tokens
    return f"""# {facts.run}: translation from {source} to {target}

A model of s2s: {facts.config.model.description}, after {facts.state.step:,} updates.

## Use

{usage}

## Data

{facts.corpus}: {facts.pairs:,} training pairs. Its fingerprint is
`{facts.state.data_fingerprint}`.

Licences of the data:

{named}

## Scores

These are the run's scores in float32, without a length penalty{_without(facts)}, on
{facts.sentences} sentences of the dev split, which were not used for training:

| search | BLEU | chrF |
|---|---|---|
{_rows(facts)}

Signatures: {_signatures(facts)}.

{_dev_bleu(facts)}

## Limits

The model knows the kind of text that it was trained on. It translates other text worse, even if the
translation reads well. It was not tested for bias or harm. Each sentence is translated on its own,
without its context. s2s cuts sources of more than {longest:,} tokens.
{_unsupported(facts)}
## Repeat it

`config.toml` is the configuration of the training.

```sh
s2s train --config config.toml --run {shlex.quote(facts.run)}
{facts.command}
```

Versions: {", ".join(f"{name} {version}" for name, version in facts.state.versions.items())}.
"""


def _short(corpus: str) -> str:
    """Return the name of a corpus without the folders of a path."""
    is_path = not corpus.startswith(CATALOG) and not is_address(corpus)
    return Path(corpus).name if is_path else corpus


def _without(facts: Facts) -> str:
    return " and the constraints that this export does not support" if facts.unsupported else ""


def _unsupported(facts: Facts) -> str:
    if not facts.unsupported:
        return ""
    return (
        f"\nThe run also has {', '.join(facts.unsupported)}, which this export does not support.\n"
    )


def _rows(facts: Facts) -> str:
    return "\n".join(
        f"| {name} | {each.bleu:.2f} | {each.chrf:.2f} |" for name, each in facts.scores.items()
    )


def _signatures(facts: Facts) -> str:
    signatures = {
        text
        for each in facts.scores.values()
        for text in (each.bleu_signature, each.chrf_signature)
    }
    return ", ".join(f"`{text}`" for text in sorted(signatures))


def _dev_bleu(facts: Facts) -> str:
    if facts.state.dev_bleu is None:
        return "The checkpoint was not validated in training."
    return f"BLEU on the dev split in training: {facts.state.dev_bleu:.2f}."
