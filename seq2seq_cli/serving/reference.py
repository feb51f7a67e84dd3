"""The page of the API: its OpenAPI description as HTML, without scripts."""

from pathlib import Path
from typing import Any

from seq2seq_cli.attention.page.page import PAGE as ATTENTION_PAGE
from seq2seq_cli.html.single_file import SingleFilePage

_PAGE = SingleFilePage(
    Path(__file__).parent / "page",
    "reference.html.j2",
    ("page.css", "reference.css"),
    borrowed=ATTENTION_PAGE.folder,
)


def reference_page(description: dict[str, Any]) -> str:
    """Return the page of an OpenAPI description."""
    operations = [
        {"path": path, "method": method.upper(), **operation}
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = description.get("components", {}).get("schemas", {})
    return _PAGE.render("API of s2s", operations=operations, schemas=schemas, type_name=_type_name)


def _type_name(schema: dict[str, Any]) -> str:
    """Return the type of a field in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[1])
    if "anyOf" in schema:
        return " or ".join(_type_name(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type_name(schema.get('items', {}))}"
    return str(schema.get("type", "any"))
