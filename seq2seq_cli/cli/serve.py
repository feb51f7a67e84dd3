"""The command that translates for other programs over HTTP: serve."""

import importlib.util
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from seq2seq_cli.cli import completion
from seq2seq_cli.cli.options import DeviceOption, SetOption, warn
from seq2seq_cli.cli.resources import find_one, start_tensorflow
from seq2seq_cli.errors import DataError, UsageError, os_reason
from seq2seq_cli.serving.limits import Limits

_USUAL = Limits()
_MODULES = ("fastapi", "httptools", "prometheus_client", "py3langid", "uvicorn")

ServedRunsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--run",
        help="A run's name in runs/, or its path. Repeat it to serve several runs.",
        autocompletion=completion.runs,
    ),
]
PortOption = Annotated[int, typer.Option(help="Port to listen on.", metavar="N", min=0, max=65535)]
BatchOption = Annotated[
    int, typer.Option("--batch", help="Maximum number of sentences in a batch.", metavar="N", min=1)
]
DelayOption = Annotated[
    float,
    typer.Option("--delay", help="Maximum wait for other sentences, in ms.", metavar="MS", min=0),
]
CompiledBeamOption = Annotated[
    list[int] | None,
    typer.Option(
        "--compile-beam",
        help="Also compile the search with this beam. Searches that are not compiled are slower.",
        metavar="K",
    ),
]
KeysOption = Annotated[
    Path | None,
    typer.Option(
        "--api-keys",
        help="File with one API key per line. Requests then need a key.",
        metavar="FILE",
    ),
]
OriginOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-origin", help="Site whose pages may use the API (CORS).", metavar="ORIGIN"
    ),
]
BodyOption = Annotated[int, typer.Option(help="Maximum bytes per request.", metavar="N", min=1)]
SentencesOption = Annotated[
    int, typer.Option(help="Maximum sentences per request.", metavar="N", min=1)
]
CharactersOption = Annotated[
    int, typer.Option(help="Maximum characters in the texts of a field.", metavar="N", min=1)
]
WaitingOption = Annotated[
    int | None,
    typer.Option(
        help=f"Maximum number of waiting sentences. The default is {_USUAL.waiting}, or "
        "--max-sentences if that is more.",
        metavar="N",
        min=1,
    ),
]
SecondsOption = Annotated[
    float, typer.Option(help="Maximum seconds for a response.", metavar="S", min=0.1)
]
UploadOption = Annotated[
    float,
    typer.Option(help="Maximum seconds to receive headers or a body.", metavar="S", min=0.1),
]
HypothesesOption = Annotated[
    int, typer.Option(help="Maximum beam and n_best of a request.", metavar="N", min=1)
]


def serve(
    runs: ServedRunsOption = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: PortOption = 8000,
    batch: BatchOption = 64,
    delay: DelayOption = 5.0,
    compile_beam: CompiledBeamOption = None,
    api_keys: KeysOption = None,
    allow_origin: OriginOption = None,
    max_bytes: BodyOption = _USUAL.body_bytes,
    max_sentences: SentencesOption = _USUAL.sentences,
    max_characters: CharactersOption = _USUAL.characters,
    max_waiting: WaitingOption = None,
    max_hypotheses: HypothesesOption = _USUAL.hypotheses,
    max_seconds: SecondsOption = _USUAL.seconds,
    upload_seconds: UploadOption = _USUAL.upload_seconds,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="Log route, status and time of each request.")
    ] = False,
    settings: SetOption = None,
    device: DeviceOption = None,
) -> None:
    """Translate for programs and browsers over HTTP (needs the extra `serve`)."""
    if any(importlib.util.find_spec(module) is None for module in _MODULES):
        raise UsageError("serve needs more packages. Install them: pip install 's2s[serve]'")
    if max_waiting is not None and max_waiting < max_sentences:
        raise UsageError(
            f"--max-waiting {max_waiting} is less than --max-sentences {max_sentences}, so a large "
            "request could never be accepted. Raise the first, or lower the second"
        )
    limits = Limits(
        body_bytes=max_bytes,
        sentences=max_sentences,
        characters=max_characters,
        waiting=max_waiting or max(_USUAL.waiting, max_sentences),
        seconds=max_seconds,
        upload_seconds=upload_seconds,
        hypotheses=max_hypotheses,
    )
    keys = read_keys(api_keys) if api_keys else []
    _check_beams(compile_beam or [], max_hypotheses)
    port = _check_address(host, port)
    found = [find_one(name, settings) for name in runs or (None,)]
    _check_names([each.run.path.name for each in found])
    # oneDNN keeps memory for each shape of a batch, and requests bring new shapes all the time.
    # Translating is no slower without it.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    start_tensorflow(device)

    from seq2seq_cli.cli import console
    from seq2seq_cli.decoding.loading import load_run
    from seq2seq_cli.serving.app import make_app
    from seq2seq_cli.serving.engine import RunEngine
    from seq2seq_cli.serving.server import make_server
    from seq2seq_cli.serving.server import serve as listen
    from seq2seq_cli.serving.service import Service

    loaded = [(load_run(run, warn, config), config.model.description) for run, config in found]
    engine = RunEngine(loaded, compile_beam or [], batch)
    service = Service(engine, limits, batch, delay / 1000, keys)
    app = make_app(service, allow_origin or [], access_log)
    # TensorFlow has set up the root logger already, hence `force`.
    level = logging.INFO if access_log else logging.WARNING
    logging.basicConfig(level=level, format="%(message)s", force=True)
    server = make_server(app, host, port, upload_seconds, max_seconds + upload_seconds)
    shown = f"[{host}]" if ":" in host else host
    console.show_notice(f"http://{shown}:{port}; Ctrl-C ends it")
    listen(server)


def read_keys(path: Path) -> list[str]:
    """Return the API keys of a file, one per line.

    Raises:
        DataError: if the file cannot be read, or contains no key.
    """
    try:
        keys = [line.strip() for line in path.read_text("utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else "it is not UTF-8"
        raise DataError(f"--api-keys {path}: {reason}") from None
    found = [key for key in keys if key]
    if not found:
        raise DataError(f"--api-keys {path}: the file contains no key. Write one per line")
    return found


def _check_beams(beams: Sequence[int], most: int) -> None:
    for beam in beams:
        if not 1 <= beam <= most:
            raise UsageError(
                f"--compile-beam {beam}: the beam of a request is from 1 to {most} "
                "(--max-hypotheses)"
            )


def _check_names(names: Sequence[str]) -> None:
    """Check that runs have different names, by which requests select them.

    Raises:
        UsageError: if two have the same name.
    """
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"--run {name}: two runs have this name. Leave out or rename one of them"
            )


def _check_address(host: str, port: int) -> int:
    """Check that the address is free, before slow imports. Return the port; for 0, a free one.

    Raises:
        UsageError: if it is in use or invalid.
    """
    import socket

    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return int(probe.getsockname()[1])
    except OSError as error:
        raise UsageError(
            f"--host {host} --port {port}: {error.strerror or error}. Choose another"
        ) from None
