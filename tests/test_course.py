"""The chapters of the course: what they print, their exercises, and the notebooks made of them."""

import re

import nbformat
import pytest

import make_course
from course import exercises
from make_course import blocks, difference

PAGES = make_course.pages()
TEXTS = {path.stem: path.read_text("utf-8") for path in PAGES}
FAST = "\n## How the fast version does it\n"
PAGE = """\
# 1. A page

Some prose, [the next chapter](2-next.md), [code](../../seq2seq_cli/x.py) and [more](toy.py).

```python
print("a", 1 / 3)
```

```text
a 0.3333
```

```python
x = 2
```

<details markdown="1"><summary>A solution</summary>

```python
print(x)
```

</details>

```python
print(x, "apples")
```

<!-- within 1 -->

```text
3 apples
```
"""


def output_block(output: str, comment: str = ""):
    return make_course.Block(0, 0, "", output, comment, False)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
@pytest.mark.few_cases(2)
def test_a_chapter_runs_as_a_notebook_prints_what_its_page_says_and_solves_its_exercises(
    path, tmp_path, monkeypatch
):
    monkeypatch.setenv("PYTHONPATH", str(make_course.FOLDER.parents[1]))
    (written,) = make_course.write_notebooks([path], tmp_path, solved=True)
    drawn = set((tmp_path / "pictures").glob("*"))
    for picture in drawn:
        picture.unlink()
    done = make_course.execute(written)
    assert nbformat.read(written, 4) == done
    cells = [cell for cell in done.cells if cell.cell_type == "code"]
    wrong = []
    for block, cell in zip(blocks(path.read_text("utf-8")), cells, strict=True):
        printed = "".join(o.text for o in cell.outputs if o.get("name") == "stdout")
        if block.is_solution:
            assert printed.startswith("🟢"), printed
        else:
            wrong.append(difference(block, printed))
    assert not any(wrong), "\n".join(
        [f"run: python docs/make_course.py --write {path.stem}", *filter(None, wrong)]
    )
    shown = set(re.findall(r"\]\(pictures/([\w-]+\.svg)\)", path.read_text("utf-8")))
    assert {picture.name for picture in (tmp_path / "pictures").glob("*")} == shown
    assert shown <= {picture.name for picture in drawn}


@pytest.mark.parametrize("name", TEXTS)
def test_a_chapter_has_exercises_with_solutions_and_ends_with_the_fast_version(name):
    text = TEXTS[name]
    unsolved, solved = (
        [
            checked
            for block in blocks(text)
            if block.is_solution is is_solution
            for checked in re.findall(r"^check\((\w+)\)", block.code, re.MULTILINE)
        ]
        for is_solution in (False, True)
    )
    assert len(unsolved) >= 3
    assert unsolved == solved
    assert all(
        "🔴" in block.output
        for block in blocks(text)
        if "\ncheck(" in block.code and not block.is_solution
    )
    _, _, fast = text.partition(FAST)
    assert re.search(r"\]\(\.\./\.\./seq2seq_cli/models/(ops|layers)/", fast)
    assert "\n## " not in fast


def test_every_exercise_is_on_a_page():
    on_pages = re.findall(r"^check\((\w+)\)", "\n".join(TEXTS.values()), re.MULTILINE)
    assert set(on_pages) == set(exercises._TESTS)


def test_the_index_and_the_site_list_the_chapters_that_exist():
    index = (make_course.FOLDER / "index.md").read_text("utf-8")
    assert re.findall(r"\]\((\d-[\w-]+)\.md\)", index) == list(TEXTS)
    site = (make_course.FOLDER.parents[1] / "mkdocs.yml").read_text("utf-8")
    assert re.findall(r"course/(\d-[\w-]+)\.md", site) == list(TEXTS)


@pytest.mark.parametrize(
    ("page", "printed", "comment"),
    [
        ("loss 0.12", "loss 0.14", ""),
        ("5 words", "6 words", ""),
        ("a 1", "b 1", ""),
        ("1 2", "1", ""),
        ("[0.1 0.2]", "[0.1 0.2 0.3]", ""),
        ("1e-07", "3e-07", ""),
        ("BLEU 90", "BLEU 86", "within 3"),
        ("one\ntwo", "one", "an example"),
        ("", "a line", ""),
    ],
)
def test_an_output_that_differs_is_seen(page, printed, comment):
    assert difference(output_block(page, comment), printed)


@pytest.mark.parametrize(
    ("page", "printed", "comment"),
    [
        ("loss 0.12", "loss 0.13\n", ""),
        ("[ 0.1  0.2]", "[0.1 0.2]", ""),
        ("-0.0", "0.0", ""),
        ("BLEU 90", "BLEU 87", "within 3"),
        ("one\ntwo", "three\nfour", "an example"),
        ("", "", ""),
    ],
)
def test_an_output_that_differs_by_rounding_is_current(page, printed, comment):
    assert not difference(output_block(page, comment), printed)


def test_outputs_are_written_where_they_differ(tmp_path):
    page = tmp_path / "1-page.md"
    page.write_text(PAGE, "utf-8")
    assert make_course.write_outputs(page)
    written = page.read_text("utf-8")
    assert written == PAGE.replace("0.3333", "0.3333333333333333").replace("3 apples", "2 apples")
    assert not make_course.write_outputs(page)


def test_a_notebook_has_the_code_and_the_prose_of_its_page():
    made = make_course.notebook(PAGE, "../s2s")
    nbformat.validate(made)
    code = [cell.source for cell in made.cells if cell.cell_type == "code"]
    assert code == ['print("a", 1 / 3)', "x = 2", 'print(x, "apples")']
    prose = "\n".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert "(2-next.ipynb), [code](../s2s/seq2seq_cli/x.py) and [more](course/toy.py)" in prose
    solution = "<details><summary>A solution</summary>\n\n```python\nprint(x)\n```\n\n</details>"
    assert solution in [cell.source for cell in made.cells]
    assert "3 apples" not in prose


def test_a_solved_notebook_has_the_solutions_as_code():
    made = make_course.notebook(PAGE, "../s2s", solved=True)
    code = [cell.source for cell in made.cells if cell.cell_type == "code"]
    assert code == ['print("a", 1 / 3)', "x = 2", "print(x)", 'print(x, "apples")']
    assert not any("details" in cell.source for cell in made.cells)


def test_an_exercise_without_a_solution_is_red_and_says_why(capsys):
    def entropy(weights):
        return weights.sum()

    assert not exercises.check(entropy)
    assert capsys.readouterr().out.startswith(
        "🔴 entropy: the entropy of four equal weights: got 1.0"
    )
