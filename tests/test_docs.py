"""What README.md and the pages in docs/ show: links, commands, config files and code."""

import functools
import re
import shlex
import sys
from pathlib import Path

import pytest
import tensorflow as tf
import typer
from conftest import tiny_config

import make_configuration
from seq2seq_cli.cli import app
from seq2seq_cli.cli.options import config_layers
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.decoding.search import Search
from seq2seq_cli.recipes.search_space import read_space
from seq2seq_cli.training.step import Updater

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
command_of = functools.cache(typer.main.get_command)  # which takes a moment
SCRIPT = re.compile(r"python\s+((?:benchmarks|docs)/\w+\.py)([^`;&\n]*)")


def blocks(language: str) -> list[tuple[str, str]]:
    """Return the name of the page and the text of each block in a language."""
    found = [(page, *block) for page, text in PAGES.items() for block in FENCE.findall(text)]
    return [(page, body) for page, name, body in found if name == language]


def commands(shell: str) -> list[list[str]]:
    """Return the arguments of each `s2s` in lines of shell."""
    found: list[list[str]] = []
    for line in shell.splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        begins, is_own = True, False
        for word in words:
            if set(word) <= set("&|;()<>") or (begins and word in ("do", "time")):
                begins, is_own = True, False
            elif begins:
                begins, is_own = False, word == "s2s"
                if is_own:
                    found.append([])
            elif is_own:
                found[-1].append(word)
    return found


def in_text(text: str) -> list[str]:
    """Return each piece of code in the prose of a page that is a command of `s2s`."""
    code = re.findall(r"`(s2s [^`]+)`", FENCE.sub("", text))
    general = re.compile("COMMAND|--help|s2s --")
    return [" ".join(words.split()) for words in code if not general.search(words)]


SHELL = [(page, arguments) for page, body in blocks("sh") for arguments in commands(body)] + [
    (page, arguments)
    for page, body in blocks("text")
    for line in re.findall(r"^\$ (.*)", body, re.MULTILINE)
    for arguments in commands(line)
]
PROSE = [
    (page, arguments)
    for page, text in PAGES.items()
    for shell in in_text(text)
    for arguments in commands(shell)
]


def parse(arguments: list[str]) -> dict:
    """Return the values of a command's options.

    Raises:
        Exception: if there is no such command or option, or a value is wrong or missing.
    """
    command = command_of(app)
    names = list(arguments)
    while hasattr(command, "commands"):
        command = command.commands[names.pop(0)]
    return command.make_context("s2s", names).params


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    names = (re.sub(r"[^\w\- ]", "", heading).strip().lower() for heading in headings)
    return {name.replace(" ", "-") for name in names}


def test_shell_is_split_into_commands():
    shell = "a && s2s x 'b c' | d; for m in e; do s2s y $m; done  # s2s no\ns2s z\n"
    assert commands(shell) == [["x", "b c"], ["y", "$m"], ["z"]]


def test_options_are_parsed():
    assert parse(["train", "--steps", "40"])["steps"] == 40
    for wrong, message in (
        (["trane"], "'trane'"),
        (["train", "--step", "4"], "No such option: --step"),
        (["train", "--steps", "x"], "unable to parse string as an integer"),
        (["ablate"], "Missing parameter: folder"),
    ):
        with pytest.raises(Exception, match=message):
            parse(wrong)


@pytest.mark.parametrize(("page", "arguments"), SHELL)
def test_commands_of_the_pages_exist_with_their_options(page, arguments):
    given = parse(arguments)
    config = given.get("config")
    if config and (config.endswith(".toml") or config == "$config"):  # the reader's own
        config = None
    settings = config_layers(
        config, given.get("settings"), model=given.get("model"), attention=given.get("attention")
    )
    load_config(*settings)


@pytest.mark.parametrize(("page", "arguments"), PROSE)
def test_commands_in_the_text_exist_with_their_options(page, arguments):
    try:
        parse(arguments)
    except Exception as error:
        if type(error).__name__ != "MissingParameter":  # the text may leave arguments out
            raise


@pytest.mark.parametrize("page", PAGES)
def test_scripts_and_extras_of_the_pages_exist(page):
    for path, options in SCRIPT.findall(PAGES[page]):
        script = (ROOT / path).read_text("utf-8")
        for option in re.findall(r" (--[\w-]+)", options):
            assert f'"{option}"' in script, f"{path} {option}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(re.findall(r"'\.\[(\w+)\]'", PAGES[page]))
    assert extras <= project["optional-dependencies"].keys()


@pytest.mark.parametrize(("page", "body"), blocks("toml"))
def test_config_files_of_the_pages_are_valid(page, body, tmp_path):
    tomllib.loads(body)
    (tmp_path / "c.toml").write_text(body, "utf-8")
    if body.startswith("[space]"):
        read_space(tmp_path / "c.toml", load_config(Overrides()))
        return
    load_config(Overrides.read(tmp_path / "c.toml"))


@pytest.mark.parametrize(("page", "body"), blocks("python"))
def test_code_of_the_pages_compiles_and_its_imports_exist(page, body):
    compile(body, page, "exec")
    for statement in re.findall(r"^(?:from .* )?import (?:\([^)]*\)|.*)$", body, re.MULTILINE):
        exec(statement, {})


@pytest.mark.parametrize("page", PAGES)
def test_pages_link_to_what_exists(page):
    text = CODE.sub("", FENCE.sub("", PAGES[page]))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        path = ((ROOT / page).parent / name).resolve() if name else ROOT / page
        assert path.exists(), target
        if anchor and path.suffix == ".md":  # of our own pages it names a view
            assert anchor in anchors(path.read_text("utf-8")), target


def test_every_page_is_in_the_site():
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    assert set(re.findall(r"[\w/-]+\.md", navigation)) == {
        page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")
    }


def test_the_readme_is_short():
    assert PAGES["README.md"].count("\n") <= 120


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_every_package_has_a_line(page):
    packages = [path.parent.name for path in (ROOT / "seq2seq_cli").glob("*/__init__.py")]
    assert [name for name in packages if f"\n| `{name}/` |" not in PAGES[page]] == []


def test_the_page_of_the_configuration_is_current():
    assert PAGES["docs/configuration.md"] == make_configuration.page(), (
        "run: python docs/make_configuration.py --write"
    )


def test_the_page_of_the_configuration_describes_every_key():
    for table in make_configuration.TABLES.values():
        assert make_configuration.field_docstrings(table).keys() >= table.model_fields.keys()


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    version = project["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.findall(r"^## (\d\S+)", PAGES["CHANGELOG.md"], re.MULTILINE)[0] == version


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_code_of_the_python_interface_runs(page, home):
    (body,) = [body for name, body in blocks("python") if name == page and "s2s.load" in body]
    exec(body, {})


def test_the_model_of_the_page_holds_what_every_model_must_and_learns(capsys):
    model_block, check_block = (b for page, b in blocks("python") if "architecture" in page)
    assert 30 <= model_block.count("\n") <= 50
    names: dict = {}
    exec(model_block, names)
    exec(check_block, names)
    deviations = [float(line.split()[0]) for line in capsys.readouterr().out.splitlines()]
    assert len(deviations) > 5
    assert max(deviations) < 1e-5

    model, source_BS, target_BT = names["model"], names["source_BS"], names["target_BT"]
    updater = Updater(model, tiny_config("x", training__compile="graph").training)
    batch = Batch(source_BS, target_BT, tf.constant(2))
    losses = [float(updater.update([batch], number, 0.05)[0]) for number in range(30)]
    assert losses[-1] < losses[0] / 2
    found = Search(model, DecodingConfig(beam=3))(source_BS, [5, 5])
    assert found.ids_BNT.shape == (2, 1, 5)
