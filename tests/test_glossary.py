import re
from pathlib import Path

from seq2seq_cli.config import Config
from seq2seq_cli.config.model import MODELS

ROOT = Path(__file__).parents[1]
GLOSSARY = (ROOT / "docs/glossary.md").read_text("utf-8")
NAMES = re.findall(r"`([^`]+)`", GLOSSARY)
KEYS = {key for kind in MODELS.values() for key in Config(model=kind()).flat()}


def test_terms_are_in_alphabetical_order():
    terms = re.findall(r"^- \*\*(.+?)\*\*:", GLOSSARY, flags=re.MULTILINE)
    assert len(terms) >= 30
    assert terms == sorted(terms, key=str.casefold)


def test_names_are_those_of_the_code_and_the_configuration():
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "seq2seq_cli").rglob("*.py"))
    unknown = []
    for name in NAMES:
        key = name.partition(" = ")[0]
        if "/" in name:
            known = (ROOT / "seq2seq_cli" / name).is_file()
        elif "." in key:
            known = key in KEYS
        else:
            known = re.search(rf"\b(class|def) {key}\b|^{key} = |\b{key}: ", code, re.MULTILINE)
        if not known:
            unknown.append(name)
    assert unknown == []
