"""Word documents (DOCX): the text of the body, headers, footers and notes."""

import io
import re
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

from seq2seq_cli.documents.passages import Format, Passage, missing_extra
from seq2seq_cli.errors import DataError

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_BODY = "word/document.xml"
_PARTS = re.compile(r"word/(?:document|header\d*|footer\d*|footnotes|endnotes|comments)\.xml")
_LARGEST = 1 << 28  # bytes of a part
_INSIDE = {f"{_W}{name}" for name in ("rPr", "softHyphen", "lastRenderedPageBreak")}
_MARKS = [  # the ends of bookmarks and comments, which keep their place in the text
    f"{_W}{name}{end}" for name in ("bookmark", "commentRange") for end in ("Start", "End")
]
_UNSEEN = {f"{_W}{name}" for name in ("lang", "noProof", "proofErr")}  # ignored in comparisons


def read(content: bytes, name: str) -> list[Passage]:
    """Return the texts of neighbouring runs that have the same format.

    Raises:
        DataError: if it is not a DOCX document.
        UsageError: if lxml is not installed.
    """
    passages: list[Passage] = []
    number = 0
    for tree in _trees(content, name).values():
        for paragraph in tree.iter(f"{_W}p"):
            number += 1
            for position, group in enumerate(_groups(paragraph)):
                text = "".join(node.text or "" for node in group)
                passages.append(Passage(text, number, continues=position > 0))
    return passages


def write(content: bytes, texts: Sequence[str]) -> bytes:
    """Return the document with other texts. Parts that do not change are copied."""
    from lxml import etree

    following = iter(texts)
    changed: dict[str, bytes] = {}
    for part, tree in _trees(content, "").items():
        is_changed = False
        for paragraph in tree.iter(f"{_W}p"):
            for group in _groups(paragraph):
                new = next(following)
                if new != "".join(node.text or "" for node in group):
                    is_changed = True
                    _set_text(group, new)
        if is_changed:
            changed[part] = etree.tostring(
                tree, xml_declaration=True, encoding="UTF-8", standalone=True
            )
    return _with_parts(content, changed) if changed else content


def _set_text(group: list[Any], text: str) -> None:
    first, *others = group
    first.text = text
    first.set(_SPACE, "preserve")
    for node in others:
        node.text = ""


def _with_parts(content: bytes, changed: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            new.writestr(info, changed.get(info.filename) or old.read(info), info.compress_type)
    return out.getvalue()


def _body_first(part: str) -> tuple[bool, str]:
    return part != _BODY, part


def _trees(content: bytes, name: str) -> dict[str, Any]:
    """Return the XML of each part that has text, the body first."""
    try:
        from lxml import etree
    except ImportError as error:
        raise missing_extra("lxml", error) from error
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    trees: dict[str, Any] = {}
    part = _BODY
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if part not in archive.namelist():
                raise DataError(f"{name}: not a DOCX document: it has no {part}")
            if damaged := archive.testzip():
                raise DataError(f"{name}: {damaged} in it is damaged. Save it again")
            parts = sorted(filter(_PARTS.fullmatch, archive.namelist()), key=_body_first)
            for part in parts:
                if archive.getinfo(part).file_size > _LARGEST:
                    raise DataError(f"{name}: {part} has more than {_LARGEST >> 20} MB")
                trees[part] = etree.fromstring(archive.read(part), parser)
                if not trees[part].tag.startswith(_W):
                    raise DataError(
                        f"{name}: {part} is not transitional Open XML. Save it as a Word document"
                    )
    except etree.XMLSyntaxError as error:
        raise DataError(f"{name}: {part}:{error.lineno}: {error.msg}. Save it again") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise DataError(f"{name}: not a DOCX document, or damaged: {error}") from error
    return trees


def _groups(paragraph: Any) -> list[list[Any]]:
    """Return the texts of a paragraph. Neighbouring runs of the same format form one text."""
    from lxml import etree

    groups: list[list[Any]] = []
    last: Any = None
    found = paragraph.iter(f"{_W}r", *_MARKS)
    # The others belong to text boxes.
    nodes = [node for node in found if next(node.iterancestors(f"{_W}p")) is paragraph]
    ignored = _marks_of_no_text(nodes)
    for node in nodes:
        if node in ignored:
            continue
        if node.tag in _MARKS:
            last = None
            continue
        properties = node.find(f"{_W}rPr")
        seen = [] if properties is None else [p for p in properties if p.tag not in _UNSEEN]
        shown = (node.getparent(), [etree.tostring(each) for each in seen])
        for child in node:
            if child.tag == f"{_W}t":
                if shown == last:
                    groups[-1].append(child)
                else:
                    groups.append([child])
                last = shown
            elif child.tag not in _INSIDE:
                last = None  # a tab, a line break, a picture, a field
    return groups


def _marks_of_no_text(nodes: list[Any]) -> set[Any]:
    """Return the ends of empty ranges, and of Word's bookmark of the place of the last change.

    Args:
        nodes: the runs and marks of a paragraph.
    """
    found: set[Any] = set()
    started: dict[tuple[str, Any], tuple[Any, int]] = {}
    runs = 0
    for node in nodes:
        if node.tag not in _MARKS:
            runs += 1
            continue
        key = node.tag.removesuffix("Start").removesuffix("End"), node.get(f"{_W}id")
        if node.tag.endswith("Start"):
            started[key] = node, runs
        elif key in started:
            start, before = started[key]
            if runs == before or start.get(f"{_W}name") == "_GoBack":
                found |= {start, node}
    return found


DOCX = Format(read, write, unit="paragraph")
