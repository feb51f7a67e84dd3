"""The limits of a request, and the error of a request that exceeds them."""

from dataclasses import dataclass


class RequestError(Exception):
    """A refused request: its HTTP status, the message, and more headers."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None):
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}


@dataclass(frozen=True)
class Limits:
    """The limits of a request.

    Attributes:
        body_bytes: maximum size of a request's body.
        sentences: maximum number of sentences in a request.
        characters: maximum number of characters in all texts of a field of a request together.
        waiting: maximum number of sentences that wait to be translated, over all requests.
        seconds: maximum time from the arrival of a request to the end of its response.
        upload_seconds: maximum time for the headers to arrive, and again for the body.
        hypotheses: maximum value of `beam` and `n_best`.
        tokens: maximum value of `max_length`.
        streams: maximum number of translations that are streamed at a time.
        requests: maximum number of requests that are answered at a time.
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
    """Check the number and the length of texts, and that they are valid Unicode.

    Args:
        texts: the texts of a request.
        name: the name of their field.
        limits: see Limits.

    Raises:
        RequestError: 413 if there are too many texts or characters, 422 if one contains NUL or half
            of a surrogate pair.
    """
    if len(texts) > limits.sentences:
        raise RequestError(
            413,
            f"{name}: {len(texts):,} sentences; the limit per request is {limits.sentences:,}. "
            "Send several requests",
        )
    if (characters := sum(map(len, texts))) > limits.characters:
        raise RequestError(
            413,
            f"{name}: {characters:,} characters; the limit per request is {limits.characters:,}. "
            "Send several requests",
        )
    check_characters(texts, name)


def check_characters(texts: list[str], name: str) -> None:
    """Check that texts are valid Unicode without NUL.

    Raises:
        RequestError: 422 if one contains NUL or half of a surrogate pair.
    """
    for number, text in enumerate(texts):
        if "\0" in text:
            raise RequestError(422, f"{name}: text {number} contains a NUL character. Remove it")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise RequestError(
                422, f"{name}: text {number} contains half of a surrogate pair. Remove it"
            ) from None
