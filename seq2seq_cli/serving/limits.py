"""What a request may ask for, and the error of one that asks for more."""

from dataclasses import dataclass


class RequestError(Exception):
    """A request that is refused: its HTTP status, what to say, and more headers."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None):
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}


@dataclass(frozen=True)
class Limits:
    """What a request may ask for.

    Attributes:
        body_bytes: of a request.
        sentences: in a request.
        characters: in all texts of a request together.
        waiting: sentences of all requests that wait to be translated.
        seconds: from the arrival of a request to the end of its answer.
        upload_seconds: in which its headers, and then its body, must have arrived.
        hypotheses: `beam` and `n_best`.
        tokens: `max_length`.
        streams: translations that are streamed at the same time.
        requests: that are answered at the same time.
    """

    body_bytes: int = 1_000_000
    sentences: int = 128
    characters: int = 20_000
    waiting: int = 1024
    seconds: float = 30.0
    upload_seconds: float = 10.0
    hypotheses: int = 16
    tokens: int = 512
    streams: int = 8
    requests: int = 512


def check_texts(texts: list[str], name: str, limits: Limits) -> None:
    """Check that texts are few, short and Unicode.

    Args:
        texts: of a request.
        name: of their field.
        limits: see Limits.

    Raises:
        RequestError: 413 if there are too many or too long ones, 422 if one has a NUL or half of a
            surrogate pair.
    """
    if len(texts) > limits.sentences:
        raise RequestError(
            413,
            f"{name}: {len(texts):,} sentences; a request may have {limits.sentences:,}. Send "
            "several requests",
        )
    if (characters := sum(map(len, texts))) > limits.characters:
        raise RequestError(
            413,
            f"{name}: {characters:,} characters; a request may have {limits.characters:,}. Send "
            "several requests",
        )
    check_characters(texts, name)


def check_characters(texts: list[str], name: str) -> None:
    """Check that texts are Unicode, without NUL.

    Raises:
        RequestError: 422 if one has a NUL or half of a surrogate pair.
    """
    for number, text in enumerate(texts):
        if "\0" in text:
            raise RequestError(422, f"{name}: text {number} has a NUL character. Remove it")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise RequestError(
                422, f"{name}: text {number} has half of a surrogate pair, which is no character"
            )
