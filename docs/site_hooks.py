"""Shows code on the site: a page that links to a file of Python leads to a page with its code.

In the repository such a link leads to the file itself. MkDocs calls the functions whose names begin
with `on_`; mkdocs.yml names this file.
"""

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\]\(([^)\s:]+\.py)\)")


def linked_files(text: str, folder: Path) -> list[Path]:
    """Return the files of Python that a page links to, as paths from the repository's root.

    Args:
        text: Markdown.
        folder: where the page is.
    """
    found = [(folder / target).resolve() for target in _LINK.findall(text)]
    return [path.relative_to(ROOT) for path in found if path.is_file()]


def with_links_to_pages(text: str, folder: Path) -> str:
    """Return a page whose links to files of Python lead to pages with their code."""

    def page_of(match: re.Match[str]) -> str:
        linked = linked_files(match[0], folder)
        if not linked:
            return match[0]
        page = ROOT / "docs" / "code" / linked[0].with_suffix(".md")
        return f"]({Path(os.path.relpath(page, folder)).as_posix()})"

    return _LINK.sub(page_of, text)


def code_page(path: Path) -> str:
    """Return a page with the code of a file, as Markdown."""
    code = (ROOT / path).read_text("utf-8")
    return f'# {path.name}\n\n`{path.as_posix()}`\n\n~~~~~python linenums="1"\n{code}~~~~~\n'


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each file of Python that a page links to."""
    from mkdocs.structure.files import File

    docs = Path(config["docs_dir"])
    pages = {path: path.read_text("utf-8") for path in sorted(docs.rglob("*.md"))}
    linked = {path for page, text in pages.items() for path in linked_files(text, page.parent)}
    for path in sorted(linked):
        name = f"code/{path.with_suffix('.md').as_posix()}"
        files.append(File.generated(config, name, content=code_page(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Replace the links of a page."""
    del files
    return with_links_to_pages(markdown, (Path(config["docs_dir"]) / page.file.src_uri).parent)
