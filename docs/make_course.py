"""Run the pages of the course, write their outputs, and make notebooks of them.

A page in docs/course/ is Markdown. A block of Python that prints is followed by a block of text
with what it prints. Without options the outputs are computed and compared:

    python docs/make_course.py                        # or of some: 3-additive-attention
    python docs/make_course.py --write                # writes outputs and pictures
    python docs/make_course.py --notebooks my-course  # writes notebooks and what they import
    python docs/make_course.py --notebooks my-course --execute
    python docs/make_course.py --notebooks my-course --solved    # with the exercises solved

A comment before an output says how far its numbers may be off on another machine:

    <!-- within 3 -->    each number, by at most 3
    <!-- an example -->  only the number of lines is compared

Without one, integers are equal, and the last digit of other numbers may differ by one.
"""

import argparse
import io
import os
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

FOLDER = Path(__file__).with_name("course")
_BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n"
    r"(?:\n(?P<comment><!-- .*? -->\n\n?)?```text\n(?P<output>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
_SOLUTION = re.compile(r"^<details.*?^</details>\n", re.MULTILINE | re.DOTALL)
_FOLD = re.compile(r"^</?details.*\n", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]\d+)?(?![\w])")


class Block(NamedTuple):
    """A block of Python.

    Attributes:
        start, end: where it begins and ends in its page, output included.
        code: without the fences.
        output: what the page says that it prints; empty if it says nothing.
        comment: how the output is compared.
        is_solution: whether it solves an exercise.
    """

    start: int
    end: int
    code: str
    output: str
    comment: str
    is_solution: bool


def pages() -> list[Path]:
    """Return the chapters that exist, in their order."""
    return sorted(FOLDER.glob("[0-9]-*.md"))


def blocks(text: str) -> list[Block]:
    """Return the blocks of Python of a page."""
    solutions = [match.span() for match in _SOLUTION.finditer(text)]
    return [
        Block(
            *match.span(),
            match["code"],
            match["output"] or "",
            (match["comment"] or "").strip().removeprefix("<!-- ").removesuffix(" -->"),
            any(start <= match.start() < end for start, end in solutions),
        )
        for match in _BLOCK.finditer(text)
    ]


def run(block: Block, page: str, names: dict[str, Any]) -> str:
    """Run a block with the names of the blocks before it; return what it prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(block.code, page, "exec"), names)
    return printed.getvalue()


def difference(block: Block, printed: str) -> str:
    """Return how an output differs from that of the page by more than is allowed, or nothing."""
    expected, found = block.output.rstrip("\n"), printed.rstrip("\n")
    if block.comment == "an example":
        same = len(expected.splitlines()) == len(found.splitlines())
    else:
        numbers = [_NUMBER.findall(text) for text in (expected, found)]
        words = ["".join(_NUMBER.sub("0", text).split()) for text in (expected, found)]
        same = words[0] == words[1] and all(
            abs(float(a) - float(b)) <= _tolerance(a, block.comment)
            for a, b in zip(*numbers, strict=True)
        )
    return "" if same else f"the page says:\n{expected}\n\nthe code prints:\n{found}\n"


def _tolerance(number: str, comment: str) -> float:
    if comment.startswith("within "):
        return float(comment.removeprefix("within ")) + 1e-9
    mantissa, _, exponent = number.partition("e")
    decimals = len(mantissa.partition(".")[2])
    if not decimals:
        return 0.0
    return 1.01 * 10.0 ** (int(exponent or 0) - decimals)


def run_page(path: Path) -> list[tuple[Block, str]]:
    """Run a page in the current folder; return its blocks, and what each but solutions prints."""
    names: dict[str, Any] = {"__name__": "__main__"}
    chapter = [b for b in blocks(path.read_text("utf-8")) if not b.is_solution]
    return [(block, run(block, path.name, names)) for block in chapter]


def write_outputs(path: Path) -> bool:
    """Run a page and write its outputs into it; return whether one had differed."""
    text, differs = path.read_text("utf-8"), False
    for block, printed in reversed(run_page(path)):
        if block.output.rstrip() == printed.rstrip():
            continue
        differs = True
        comment = f"<!-- {block.comment} -->\n\n" if block.comment else ""
        output = f"\n{comment}```text\n{printed.rstrip()}\n```\n" if printed.strip() else ""
        code = f"```python\n{block.code}```\n"
        text = text[: block.start] + code + output + text[block.end :]
    if differs:
        path.write_text(text, "utf-8")
    return differs


def notebook(text: str, root: str, solved: bool = False) -> Any:
    """Return a page as a notebook: outputs are left out, and solutions are folded.

    Args:
        text: the page.
        root: path of the repository from where the notebook will be.
        solved: make the solutions cells of code, too.
    """
    from nbformat import v4

    if solved:
        text = _FOLD.sub("", text)
    cells: list[Any] = []
    done = 0
    for block in blocks(text):
        if not block.is_solution:
            cells += _prose_cells(text[done : block.start], root)
            cells.append(v4.new_code_cell(block.code.rstrip()))
            done = block.end
    cells += _prose_cells(text[done:], root)
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"  # else it is random
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def _prose_cells(text: str, root: str) -> list[Any]:
    """Return cells of Markdown; each solution is one of its own. Links lead where they did."""
    from nbformat import v4

    text = re.sub(r"\]\((\d-[\w-]+)\.md\)", r"](\1.ipynb)", text)
    text = re.sub(r"\]\((\w+\.py)\)", r"](course/\1)", text)
    text = re.sub(r"\]\(\.\./(\.\./)?", lambda up: f"]({root}/" + ("" if up[1] else "docs/"), text)
    text = text.replace('<details markdown="1">', "<details>")
    pieces = re.split(f"({_SOLUTION.pattern})", text, flags=_SOLUTION.flags)
    return [v4.new_markdown_cell(piece.strip()) for piece in pieces if piece.strip()]


def write_notebooks(chapters: Sequence[Path], folder: Path, solved: bool = False) -> list[Path]:
    """Write notebooks, pictures and what the notebooks import into a folder."""
    import nbformat

    (folder / "course").mkdir(parents=True, exist_ok=True)
    for module in FOLDER.glob("*.py"):
        shutil.copy(module, folder / "course")
    shutil.copytree(FOLDER / "pictures", folder / "pictures", dirs_exist_ok=True)
    root = Path(os.path.relpath(FOLDER.parents[1], folder)).as_posix()
    written = []
    for path in chapters:
        written.append(folder / f"{path.stem}.ipynb")
        nbformat.write(notebook(path.read_text("utf-8"), root, solved), written[-1])
    return written


def execute(path: Path) -> Any:
    """Execute a notebook, write its outputs into it, and return it."""
    import nbformat
    from nbclient import NotebookClient

    read = nbformat.read(path, 4)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(read, timeout=600, resources=resources).execute()
    nbformat.write(read, path)
    return read


def main() -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("chapters", nargs="*", help="names of pages; all if none is given")
    parser.add_argument("--write", action="store_true", help="write outputs and pictures")
    parser.add_argument("--notebooks", type=Path, help="folder to write notebooks to")
    parser.add_argument("--execute", action="store_true", help="execute the notebooks")
    parser.add_argument("--solved", action="store_true", help="solve the exercises in notebooks")
    given = parser.parse_args()
    chosen = [path for path in pages() if not given.chapters or path.stem in given.chapters]
    if given.chapters and len(chosen) < len(set(given.chapters)):
        parser.error(f"the chapters are {', '.join(path.stem for path in pages())}")
    if given.notebooks:
        for path in write_notebooks(chosen, given.notebooks, given.solved):
            print(path)
            if given.execute:
                execute(path)
        return 0
    sys.path.insert(0, str(FOLDER.parent))
    with TemporaryDirectory() as temporary:
        os.chdir(FOLDER if given.write else temporary)  # where pictures are written
        return run_pages(chosen, given.write)


def run_pages(chosen: Sequence[Path], write: bool) -> int:
    """Write or compare the outputs of pages; return the exit code."""
    wrong = 0
    for path in chosen:
        if write:
            print(f"{path.name}: {'written' if write_outputs(path) else 'current'}")
            continue
        differences = [difference(block, printed) for block, printed in run_page(path)]
        wrong += any(differences)
        print("\n".join([f"{path.name}:", *filter(None, differences)]))
    return min(1, wrong)


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    raise SystemExit(main())
