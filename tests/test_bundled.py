import sys
from pathlib import Path

from seq2seq_cli import bundled as module
from seq2seq_cli.bundled import bundled

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]


def test_the_wheel_has_each_bundled_file_where_the_package_looks_for_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    mapping = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert mapping == {path: f"seq2seq_cli/bundled/{path}" for path in mapping}
    assert [path for path in mapping if not (ROOT / path).exists()] == []


def test_the_source_distribution_has_the_documents():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    included = set(project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    documents = {path.name for pattern in ("*.md", "*.cff", "*.yml") for path in ROOT.glob(pattern)}
    assert all(name.startswith("/") for name in included)  # otherwise any folder of that name
    names = {name.removeprefix("/") for name in included}
    assert names >= {*documents, "LICENSE", "docs", "seq2seq_cli", "tests"}
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_an_installed_file_is_preferred_to_one_beside_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_PACKAGE", tmp_path / "package")
    assert bundled("configs") == tmp_path / "configs"
    (tmp_path / "package/bundled/configs").mkdir(parents=True)
    assert bundled("configs") == tmp_path / "package/bundled/configs"
