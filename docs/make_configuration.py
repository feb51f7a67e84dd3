"""Write docs/configuration.md from the tables of the configuration.

Without --write it prints the page:

    python docs/make_configuration.py --write
"""

import ast
import inspect
import itertools
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

from pydantic_core import PydanticUndefined

from seq2seq_cli.config.data import CorpusConfig, DataConfig, TokenizerConfig
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.config.messages import allowed_values
from seq2seq_cli.config.model import MODELS
from seq2seq_cli.config.table import Table
from seq2seq_cli.config.training import TrainingConfig

PAGE = Path(__file__).with_name("configuration.md")

INTRODUCTION = """\
# Configuration

<!-- Written by `python docs/make_configuration.py --write`. Do not edit this page. -->

A configuration is a TOML file with five tables. Every key has a default, so a file lists only the
values that differ. Each kind of model has its own keys in `[model]`:

```toml
[model]
kind = "transformer"
encoder_layers = 4
decoder_layers = 4

[training]
epochs = 10
```

`s2s train --config FILE` accepts a path or the name of a shipped config. `--set KEY=VALUE`
overrides a key of the file, and options such as `--epochs` override the same keys:

```sh
s2s init my.toml --data my.tsv                    # a commented file for a corpus
s2s config show --set model.kind=transformer      # every key with its value
s2s config check phrasebook-transformer           # lists all errors of a file
s2s train --config phrasebook-transformer --set training.epochs=2 --set model.dropout=0.2
```

`s2s init` counts the pairs of the corpus, and chooses sizes and a schedule by rules of thumb. It
prints a rough training time for two CPU cores.

Unknown keys, wrong types and impossible combinations are errors. The message names the file or the
option, the key, the allowed values, the given value and the nearest known key. The folder of a run
has the resolved configuration in `config.toml`, which is also a config file.

A key that a config file does not set has its default. *Unset* in the tables below means that the
key has no value by default."""

TABLES: dict[str, type[Table]] = {
    "[data]": DataConfig,
    "[[data.sources]]": CorpusConfig,
    "[tokenizer]": TokenizerConfig,
    **{f'[model] of kind = "{kind}"': table for kind, table in MODELS.items()},
    "[training]": TrainingConfig,
    "[decoding]": DecodingConfig,
}


def page() -> str:
    """Return the page in Markdown."""
    parts = [INTRODUCTION]
    for title, table in TABLES.items():
        heading = "` of `".join(title.split(" of "))
        parts.append(f"## `{heading}`\n\n{_summary(table)}\n\n{_rows(table)}")
    return "\n\n".join(parts) + "\n"


def _summary(table: type[Table]) -> str:
    """Return the first line of the table's docstring without the table's name."""
    line = (inspect.getdoc(table) or "").partition("\n")[0]
    text = line.partition(": ")[2]
    text = text[:1].upper() + text[1:]
    defaults = getattr(table, "training_defaults", {})
    for key, value in defaults.items():
        text += f" With this kind, the default of `training.{key}` is {_toml(value)}."
    return text


def _rows(table: type[Table]) -> str:
    descriptions = field_docstrings(table)
    rows = ["| key | default | takes | |", "|---|---|---|---|"]
    for name, field in table.model_fields.items():
        cells = (f"`{name}`", _default(field), _takes(table, name), descriptions[name])
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def field_docstrings(table: type[Table]) -> dict[str, str]:
    """Return the docstring below each field of a table and of its base classes, on one line."""
    found: dict[str, str] = {}
    for base in reversed(table.__mro__):
        if not issubclass(base, Table):
            continue
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(definition, ast.ClassDef)
        for field, below in itertools.pairwise(definition.body):
            match field, below:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    found[name] = " ".join(text.split())
    return found


def _takes(table: type[Table], name: str) -> str:
    """Return the values that a key takes: code with TOML's quotes, large numbers in groups."""
    text, form, pattern = allowed_values(table, name).partition("of the form ")
    if form:
        return f"{text}{form}`{pattern}`"
    text = re.sub(r"'(\w+)'", r'`"\1"`', text).removeprefix("one of ")
    text = re.sub(r"\d{5,}(\.0)?", lambda number: f"{int(float(number[0])):,}", text)
    return re.sub(r"(such as )(.*)", r"\1`\2`", text)


def _default(field: Any) -> str:
    if field.default_factory is not None:
        return "by other keys"
    if field.default is PydanticUndefined:
        return "required"
    return "unset" if field.default is None else _toml(field.default)


def _toml(value: Any) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def main() -> None:
    """Print or write the page."""
    if "--write" in sys.argv:
        PAGE.write_text(page(), "utf-8")
    else:
        sys.stdout.write(page())


if __name__ == "__main__":
    main()
