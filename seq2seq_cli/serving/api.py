"""The routes of the API: translate, score, models, health, metrics."""

import json
import math
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import ValidationError

from seq2seq_cli.data.tokenizers.tokenizer import SPECIAL_PIECES
from seq2seq_cli.serving.limits import RequestError
from seq2seq_cli.serving.schemas import (
    Alternative,
    ErrorAnswer,
    Hypothesis,
    ModelAnswer,
    ModelDirection,
    ModelsAnswer,
    ScoreAnswer,
    ScoreRequest,
    ScoreValue,
    StateAnswer,
    TranslateAnswer,
    TranslateRequest,
    TranslationAnswer,
    WordAttention,
)
from seq2seq_cli.serving.service import Chosen, Service

if TYPE_CHECKING:
    from seq2seq_cli.attention.maps import Attention

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": text}
    for status, text in {
        400: "The body is not valid JSON.",
        401: "The API key is missing or wrong.",
        404: "No run has this name or these languages.",
        408: "The body did not arrive in time.",
        413: "The body or the texts are too large, or there are too many texts.",
        422: "A field or an option is invalid.",
        503: "The server is overloaded. Retry-After gives the seconds to wait.",
        504: "The request took too long.",
    }.items()
}


# Both are coroutines: FastAPI would run functions in threads, which takes longer.
async def service_of(request: Request) -> Service:
    """Return the service of the application."""
    service: Service = request.app.state.service
    return service


async def check_key(request: Request) -> None:
    """Check the key in the headers of a request.

    Raises:
        RequestError: 401 if a key is required, but missing or wrong.
    """
    (await service_of(request)).check_key(key_of(request))


def key_of(request: Request) -> str | None:
    """Return the key in the headers of a request, or None."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key")


Serving = Annotated[Service, Depends(service_of)]
translation = APIRouter(prefix="/v1", dependencies=[Depends(check_key)], responses=_ERRORS)
probes = APIRouter()


async def translate_request(request: Request) -> Response:
    """Do the same as `translate`. Parsing takes a third of the time of FastAPI's own."""
    await check_key(request)
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise RequestError(422, "the content-type must be application/json")
    try:
        asked = TranslateRequest.model_validate(json.loads(await request.body()))
    except ValidationError as error:
        told = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError(
            [{**each, "loc": ("body", *each["loc"])} for each in told]
        ) from None
    except (ValueError, RecursionError):
        raise RequestError(400, "the body is not valid JSON") from None
    return await translate(asked, await service_of(request))


@translation.post("/translate", response_model=TranslateAnswer)
async def translate(asked: TranslateRequest, service: Serving) -> Response:
    """Translate one or several sentences. With `stream`, send each token as a server-sent event."""
    texts = service.texts(asked.text, "text")
    service.texts(asked.prefix, "prefix")
    chosen = service.choose(asked.model, asked.source, asked.target)
    options = asked.options()
    if asked.stream:
        return await _streamed(service, chosen, texts, asked.prefix, options, asked.attention)
    found = await service.translate(chosen, texts, options, asked.prefix)
    answers = [_translation(each) for each in found]
    if asked.attention:
        pairs = [(text, each.text) for text, each in zip(texts, found, strict=True)]
        for each, read in zip(answers, await service.attention(chosen, pairs), strict=True):
            each.attention = read and word_attention(read)
    direction = chosen.direction
    answer = TranslateAnswer(
        model=chosen.run.name,
        source=direction.source,
        target=direction.target,
        translations=answers,
    )
    # This saves FastAPI's validation of the response.
    return Response(answer.model_dump_json(), media_type="application/json")


@translation.post("/score")
async def score(asked: ScoreRequest, service: Serving) -> ScoreAnswer:
    """Return the log-probabilities of given translations."""
    sources = service.texts(asked.source_text, "source_text")
    targets = service.texts(asked.translation, "translation")
    if len(sources) != len(targets):
        raise RequestError(
            422, f"there are {len(sources)} sentences, but {len(targets)} translations"
        )
    chosen = service.choose(asked.model, asked.source, asked.target)
    found = await service.score(chosen, [*zip(sources, targets, strict=True)])
    values = [
        ScoreValue(
            log_probability=each.log_probability,
            tokens=each.tokens,
            token_log_probabilities=each.token_log_probabilities,
            cut=bool(each.cut),
        )
        for each in found
    ]
    return ScoreAnswer(model=chosen.run.name, scores=values)


@translation.get("/models")
async def models(service: Serving) -> ModelsAnswer:
    """List the served runs and the limits of a request."""
    limits = service.limits
    return ModelsAnswer(
        models=[
            ModelAnswer(
                name=run.name,
                description=run.description,
                checkpoint=run.checkpoint,
                directions=[ModelDirection(**each._asdict()) for each in run.directions],
                decoding=run.decoding.model_dump(),
            )
            for run in service.engine.runs
        ],
        limits={
            "sentences": limits.sentences,
            "characters": limits.characters,
            "hypotheses": limits.hypotheses,
            "seconds": limits.seconds,
        },
    )


@probes.get("/health")
async def health() -> StateAnswer:
    """Report that the server is running."""
    return StateAnswer(status="ok")


@probes.get("/ready", response_model=StateAnswer, responses={503: {"model": StateAnswer}})
async def ready(service: Serving) -> Any:
    """Report whether the models are loaded and warmed up. Until then the status is 503."""
    if service.is_ready:
        return StateAnswer(status="ready")
    state = f"failed: {service.failure}" if service.failure else "warming up"
    return JSONResponse({"status": state}, 503, {"retry-after": "1"})


@probes.get("/metrics", dependencies=[Depends(check_key)], response_class=Response)
async def metrics(service: Serving) -> Response:
    """Return counts and times in Prometheus' text format."""
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _hypothesis(found: Any) -> Hypothesis:
    return Hypothesis(
        text=found.text,
        score=_finite(found.score),
        log_probability=_finite(found.log_probability),
    )


def _translation(found: Any) -> TranslationAnswer:
    return TranslationAnswer(
        **dict(_hypothesis(found)),
        is_complete=found.is_complete,
        cut=found.cut,
        others=[_hypothesis(each) for each in found.others],
    )


def word_attention(read: "Attention") -> WordAttention:
    """Return the attention between words, and the alternatives to each target word."""
    side = read.target_side
    first = [side.word_of.index(word) for word in range(len(side.words))]
    return WordAttention(
        source_words=read.source_words,
        target_words=read.target_words,
        weights=[[round(float(weight), 5) for weight in row] for row in read.word_weights],
        probabilities=[round(each, 5) for each in read.probabilities],
        alternatives=[_alternatives(read, token) for token in first],
    )


def _alternatives(read: "Attention", token: int) -> list[Alternative]:
    """Return alternatives to the first token of a word, each as the beginning of a word."""
    piece = read.target_side.pieces[token]
    begins_word = piece.startswith("▁") or piece in SPECIAL_PIECES
    return [
        Alternative(text=text, probability=round(each.probability, 5))
        for each in (read.runners_up[token] if read.runners_up else ())
        if (each.piece.startswith("▁") or not begins_word)
        and (text := each.piece.replace("▁", ""))
        and not text.startswith("<")
    ]


async def _streamed(
    service: Service,
    chosen: Chosen,
    texts: list[str],
    prefix: str,
    options: dict[str, Any],
    attention: bool,
) -> StreamingResponse:
    """Return the events: one `token` for each token of the translation, then `done`."""
    if len(texts) != 1 or not texts[0].strip():
        raise RequestError(422, "stream: needs exactly one sentence that is not blank")
    if wrong := sorted(key for key, value in options.items() if (key, value) != ("beam", 1)):
        raise RequestError(
            422, f"stream: supports only greedy decoding; leave out {', '.join(wrong)}"
        )
    service.check_prefix(chosen, prefix)
    growths = service.grow(chosen, texts[0], prefix)
    first = await anext(growths, None)

    async def events() -> AsyncIterator[str]:
        growth, text, cut = first, "", False
        while growth is not None:
            text, token, cut = growth.text, growth.chosen[-1], growth.cut
            record = {"text": text, "token": token.piece, "probability": token.probability}
            if attention:
                record["weights"] = [round(float(each), 5) for each in growth.view.weights[-1]]
            yield f"event: token\ndata: {json.dumps(record)}\n\n"
            growth = await anext(growths, None)
        record = {"text": text, "model": chosen.run.name, "cut": cut}
        yield f"event: done\ndata: {json.dumps(record)}\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")
