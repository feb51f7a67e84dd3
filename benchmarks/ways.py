"""How long two ways through the code are: translating one sentence, and a training update.

    python benchmarks/ways.py --run runs/001-rnn-additive

For `s2s translate "x"`: the project's files in which a function runs between `main` and the first
decoding step. For a training of an RNN: the project's frames on the stack, from the training loop
to the first matrix product in the decoder. Code that runs while a module is imported does not
count.
"""

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest import mock

import seq2seq_cli
from seq2seq_cli.cli import main as command_line
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.runtime.tensorflow import import_tensorflow

PACKAGE = Path(seq2seq_cli.__file__).parent
DECODER = "models/rnn.py hidden"
LOOP = "training/loop.py"
PRODUCTS = {"matmul", "einsum", "tensordot", "mat_mul", "batch_mat_mul_v3"}
Profiler = Callable[[FrameType, str, Any], None]


class _StepReachedError(Exception):
    """The first decoding step begins."""


def translation_files(*arguments: str) -> list[str]:
    """Return the project's files entered by `s2s translate "x"` before the first decoding step.

    Args:
        arguments: further arguments of the command.
    """
    entered: dict[str, None] = {}
    steps: set[CodeType] = set()

    def see(frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        if event == "return" and code.co_name == "make_step" and hasattr(value, "__code__"):
            steps.add(value.__code__)
        elif event == "call" and code in steps:
            raise _StepReachedError
        elif event == "call" and _is_own(code) and not _is_import(frame):
            entered[_name(code)] = None

    streams = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr")}
    argv = ["s2s", "translate", "x", *arguments]
    # The command line replaces the streams.
    with mock.patch.multiple(sys, argv=argv, **streams), _profiled(see):
        try:
            command_line()
        except _StepReachedError:
            return list(entered)
    raise RuntimeError("the command made no decoding step")


def update_frames(train: Callable[[], object]) -> list[str]:
    """Return the project's frames from the training loop to the decoder's first matrix product.

    Args:
        train: trains a new RNN; its first update traces the graph.
    """
    found: list[str] = []

    def see(frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        if found or event != "call" or code.co_name not in PRODUCTS or _is_own(code):
            return
        own = [each.f_code for each in _stack(frame) if _is_own(each.f_code)][::-1]
        frames = [f"{_name(code)} {code.co_name}" for code in own]
        if DECODER in frames:
            begin = next(i for i, name in enumerate(frames) if name.startswith(LOOP))
            found.extend(frames[begin:])

    with _profiled(see):
        train()
    return found


def train_tiny() -> None:
    """Train an RNN with additive attention for one update, in a temporary folder."""
    from seq2seq_cli.training.loop import train

    settings = {
        **{"data.dev_pairs": 20, "data.test_pairs": 20, "tokenizer.kind": "bytes"},
        **{"model.encoder_units": 8, "model.decoder_units": 8, "model.embedding_units": 8},
        **{"training.steps": 1, "training.shards": 1, "training.compile": "graph"},
    }
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus.tsv")
        lines = (f"{i} {7 * i}\t{i} {3 * i}\n" for i in range(500))
        corpus.write_text("".join(lines), encoding="utf-8")
        overrides = Overrides()
        for key, value in {**settings, "data.corpus": str(corpus)}.items():
            overrides.set(key, value, "ways")
        train(load_config(overrides), lambda event: None, name=str(Path(folder, "run")))


@contextmanager
def _profiled(profiler: Profiler) -> Iterator[None]:
    """Call a profiler in this thread and in those that begin in the block."""
    _profile(profiler)
    try:
        yield
    finally:
        _profile(None)


def _profile(profiler: Profiler | None) -> None:
    threading.setprofile(profiler)
    sys.setprofile(profiler)


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame and its callers, the innermost first."""
    while frame:
        yield frame
        frame = frame.f_back


def _is_own(code: CodeType) -> bool:
    return code.co_filename.startswith(str(PACKAGE))


def _name(code: CodeType) -> str:
    return str(Path(code.co_filename).relative_to(PACKAGE))


def _is_import(frame: FrameType) -> bool:
    """Return whether a frame runs for the import of a module, below `main`."""
    for each in _stack(frame):
        if each.f_code is command_line.__code__:
            return False
        if each.f_code.co_name == "<module>":
            return True
    return False


def main() -> None:
    """Print both ways."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", help="the run to translate with; the newest by default")
    options = parser.parse_args()
    import_tensorflow()
    files = translation_files(*(["--run", options.run] if options.run else []))
    print(
        f"{len(files)} files from the command line to the first decoding step:", *files, sep="\n  "
    )
    frames = update_frames(train_tiny)
    way = "from the training loop to the decoder's first product"
    print(f"{len(frames)} frames {way}:", *frames, sep="\n  ")


if __name__ == "__main__":
    main()
