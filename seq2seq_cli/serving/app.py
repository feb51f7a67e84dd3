"""The application: routes, errors and middleware."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from threading import Thread
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route

from seq2seq_cli.serving import api, libretranslate
from seq2seq_cli.serving.guard import INTERNAL, Guard
from seq2seq_cli.serving.limits import RequestError
from seq2seq_cli.serving.page.page import page_headers, serve_page
from seq2seq_cli.serving.reference import reference_page
from seq2seq_cli.serving.service import Service


def make_app(service: Service, origins: Sequence[str] = (), logs_requests: bool = False) -> Any:
    """Return the ASGI application of a service.

    Args:
        service: the application warms it up at its start, and closes it at its end.
        origins: other sites whose pages may use the API (CORS).
        logs_requests: see Guard.
    """
    app = FastAPI(
        title="s2s",
        version=version("s2s"),
        summary="Translation by trained runs",
        docs_url=None,  # FastAPI's page would load scripts from another site
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.service = service
    # This route handles requests. The next one only adds the description to OpenAPI.
    app.router.routes.append(Route("/v1/translate", api.translate_request, methods=["POST"]))
    app.include_router(api.translation)
    app.include_router(api.probes)
    app.include_router(libretranslate.router)
    app.add_exception_handler(RequestError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _no_route)
    app.add_exception_handler(Exception, _failed)
    page = serve_page()

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def index() -> HTMLResponse:
        return HTMLResponse(page, headers=page_headers())

    @app.get("/docs", response_class=HTMLResponse, include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(reference_page(app.openapi()), headers=page_headers())

    paths = {route.path for route in app.routes if isinstance(route, Route)}
    guarded = Guard(app, service.limits, service.metrics, paths, logs_requests)
    if origins:  # also for the refusals of the guard
        return CORSMiddleware(
            guarded,
            allow_origins=list(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type", "x-api-key"],
        )
    return guarded


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    Thread(target=service.warm_up, name="warm-up", daemon=True).start()
    yield
    service.close()


def _error(message: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    # JSON is escaped: a field name can contain a lone surrogate, which UTF-8 cannot encode.
    body = json.dumps({"error": message})
    return Response(body, status, headers, media_type="application/json")


async def _refused(request: Request, error: Any) -> Response:
    return _error(error.message, error.status, error.headers)


async def _invalid(request: Request, error: Any) -> Response:
    """Describe the invalid fields, without their values."""
    problems = error.errors()
    if any(each["type"] == "json_invalid" for each in problems):
        return _error("the body is not valid JSON", 400)
    told = [f"{'.'.join(map(str, each['loc'][1:])) or 'body'}: {each['msg']}" for each in problems]
    return _error("; ".join(told[:5])[:1000], 422)


async def _no_route(request: Request, error: Any) -> Response:
    return _error(error.detail, error.status_code, error.headers)


async def _failed(request: Request, error: Any) -> Response:
    return _error(INTERNAL, 500)
