"""Write a template, its styles, scripts and data into one file."""

import base64
import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_SHARED = Path(__file__).parent  # page.html.j2, which templates extend
_IMPORT = re.compile(r'^import (\{.*\}) from "\./(\S+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async function|function|class|const) (\w+))", re.MULTILINE)


@dataclass(frozen=True)
class SingleFilePage:
    """A kind of page, made of the files of a folder.

    Nothing is loaded from elsewhere, and no script runs but those that are written here.

    Attributes:
        folder: of the files.
        template: the name of a template that extends page.html.j2.
        styles: names of style sheets.
        scripts: names of JavaScript modules, each after those that it imports.
        compiles: whether a script may compile code, as Vega does.
        borrowed: another folder, of files that are not in `folder`.
        connects: whether a script may send requests to the server that the page is from.
    """

    folder: Path
    template: str
    styles: Sequence[str]
    scripts: Sequence[str] = ()
    compiles: bool = False
    borrowed: Path | None = None
    connects: bool = False

    def render(self, title: str, data: Any = None, library: str = "", **values: Any) -> str:
        """Return the page as HTML. Texts are escaped.

        Args:
            title: of the page.
            data: what the scripts read, as JSON, from the element `data`; None for nothing.
            library: a script that runs before the page's own.
            values: for the variables of the template.
        """
        environment = Environment(
            loader=ChoiceLoader([FileSystemLoader(each) for each in (*self._folders, _SHARED)]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        library = as_parsed(library)
        script = joined(self._folders, self.scripts) if self.scripts else ""
        return environment.get_template(self.template).render(
            title=title,
            version=version("s2s"),
            connects=self.connects,
            style=Markup("\n".join(map(self._text, self.styles))),
            script_sources=Markup(self._sources([text for text in (library, script) if text])),
            data=None if data is None else Markup(script_json(data)),
            library=Markup(library),
            script=Markup(script),
            **values,
        )

    @property
    def _folders(self) -> list[Path]:
        return [self.folder, self.borrowed] if self.borrowed else [self.folder]

    def _text(self, name: str) -> str:
        return _text(self._folders, name)

    def _sources(self, scripts: Sequence[str]) -> str:
        """Return the scripts that may run, as a Content-Security-Policy names them."""
        digests = [hashlib.sha256(text.encode()).digest() for text in scripts]
        sources = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
        if self.compiles:
            sources.append("'unsafe-eval'")
        return " ".join(sources or ["'none'"])


def _text(folders: Sequence[Path], name: str) -> str:
    """Return the text of a file of the first folder that has it."""
    found = next((each for each in folders if os.path.isfile(each / name)), folders[0])
    return (found / name).read_text("utf-8")


def joined(folders: Sequence[Path], scripts: Sequence[str]) -> str:
    """Return JavaScript modules as one script, each in a scope of its own.

    Args:
        folders: where the modules are.
        scripts: their names.

    Raises:
        ValueError: if a module imports one that does not come before it.
    """
    parts = ["const modules = {};"]
    for number, name in enumerate(scripts):
        text = _text(folders, name)
        for _, imported in _IMPORT.findall(text):
            if imported not in scripts[:number]:
                raise ValueError(f"{name} imports {imported}, which does not come before it")
        body = _EXPORT.sub(r"\1", _IMPORT.sub(r'const \1 = modules["\2"];', text))
        exported = ", ".join(names for _, names in _EXPORT.findall(text))
        parts.append(f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();')
    return "\n".join(parts)


def script_json(record: Any) -> str:
    """Return JSON that cannot end the HTML element that contains it."""
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def as_parsed(script: str) -> str:
    """Return a script that cannot end its element, with the line ends that a browser hashes."""
    closed = re.sub("</(script)", r"<\\/\1", script, flags=re.IGNORECASE)
    return closed.replace("\r\n", "\n").replace("\r", "\n")
