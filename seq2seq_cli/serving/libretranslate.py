"""LibreTranslate's routes, as far as trained runs support them."""

import json
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from seq2seq_cli.serving.api import Serving, key_of
from seq2seq_cli.serving.limits import RequestError, check_characters
from seq2seq_cli.serving.service import Service

router = APIRouter(tags=["LibreTranslate"])
"""Each route accepts JSON or a form."""

_NAMES = {
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
}


@router.post("/translate")
async def translate(request: Request, service: Serving) -> dict[str, Any]:
    """Translate `q`, a text or a list of texts, from `source` to `target`, line by line."""
    fields = await _fields(request, service)
    if fields.get("format", "text") != "text":
        raise RequestError(400, "format: only 'text' is supported")
    given = fields.get("q")
    if not isinstance(given, str | list) or not all(isinstance(each, str) for each in given):
        raise RequestError(400, "q: must be a text or a list of texts")
    texts = service.texts(given, "q")
    source, target = _text(fields, "source") or "auto", _text(fields, "target")
    detected = None
    if source == "auto":
        detected = _detected(service, " ".join(texts), target)[0]
        source = str(detected["language"])
    chosen = service.choose(None, source, target)
    lines = [_lines(text) for text in texts]
    flat = service.texts([line for each in lines for line in each], "q")
    found = iter(await service.translate(chosen, flat, {}))
    joined = ["\n".join(next(found).text for _ in each) for each in lines]
    answer: dict[str, Any] = {"translatedText": joined[0] if isinstance(given, str) else joined}
    if detected:
        answer["detectedLanguage"] = detected
    return answer


@router.get("/languages")
async def languages(service: Serving) -> list[dict[str, Any]]:
    """List the source languages, each with its target languages."""
    targets: dict[str, list[str]] = {}
    for source, target in _directions(service):
        if target not in targets.setdefault(source, []):
            targets[source].append(target)
    return [
        {"code": code, "name": _NAMES.get(code, code), "targets": found}
        for code, found in targets.items()
    ]


@router.post("/detect")
async def detect(request: Request, service: Serving) -> list[dict[str, Any]]:
    """Return each source language, with the confidence in per cent that `q` is in it."""
    fields = await _fields(request, service)
    text = _text(fields, "q")
    if text is None:
        raise RequestError(400, "q: must be a text")
    service.texts(text, "q")
    return _detected(service, text)


def _directions(service: Service) -> list[tuple[str, str]]:
    return [each for run in service.engine.runs for each in run.directions]


def _lines(text: str) -> list[str]:
    """Return the lines of a text. A line break at its end does not begin a line."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _detected(service: Service, text: str, target: str | None = None) -> list[dict[str, Any]]:
    """Return the source languages of the runs, the most probable first.

    Languages that py3langid does not know come last.

    Args:
        service: has the runs.
        text: the text whose language is detected.
        target: if a run translates into it, only the source languages of such runs count.
    """
    directions = _directions(service)
    fitting = [each for each in directions if each[1] == target] or directions
    codes = list(dict.fromkeys(source for source, _ in fitting))
    shares = {code: 100.0 if len(codes) == 1 else 0.0 for code in codes}
    if len(codes) > 1 and (identifier := _identifier(tuple(codes))):
        shares.update((code, 100 * float(share)) for code, share in identifier.rank(text))
    ranked = sorted(shares.items(), key=lambda each: -each[1])
    return [{"language": code, "confidence": round(share, 1)} for code, share in ranked]


@lru_cache(1)
def _identifier(codes: tuple[str, ...]) -> Any:
    """Return a classifier of these languages, or None if it knows none of them."""
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known = [code for code in codes if code in identifier.nb_classes]
    identifier.set_languages(known)
    return identifier if known else None


async def _fields(request: Request, service: Service) -> dict[str, Any]:
    """Check the key, and return the fields of a JSON body or a form.

    Raises:
        RequestError: 400 if the body has no fields, 401 if the key is missing or wrong, 415 if the
            body is a multipart form.
    """
    body = await request.body()
    content_type = request.headers.get("content-type", "")
    if content_type.startswith("multipart/"):
        raise RequestError(
            415, "send application/json or application/x-www-form-urlencoded, not multipart"
        )
    try:
        if content_type.startswith("application/json"):
            fields = json.loads(body)
        else:
            found = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=20)
            fields = {name: values[0] for name, values in found.items()}
    except (ValueError, RecursionError):
        raise RequestError(400, "the body is neither JSON nor a form") from None
    if not isinstance(fields, dict):
        raise RequestError(400, "the body is not a JSON object")
    service.check_key(_text(fields, "api_key") or key_of(request))
    return fields


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise RequestError(400, f"{name}: must be a text")
    check_characters([value or ""], name)
    return value
