"""Size, agreement and speed of the exports of runs.

    taskset -c 0 python benchmarks/exports.py runs/001-rnn-additive runs/002-transformer

Each run is exported in every format and with every type of weights that it can have. Agreement is
that of `s2s export`, of dev sentences. The time is that of one sentence after the other, greedily:
the mean of `--sentences` dev sentences after the first, which is not counted, and the median of
`--trials` passes over them. A bundle is translated by s2s itself.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from seq2seq_cli.decoding.loading import LoadedRun, load_run
from seq2seq_cli.errors import UsageError
from seq2seq_cli.evaluation.test_sets import read_split
from seq2seq_cli.export.exporting import FORMATS, export
from seq2seq_cli.export.program import Program
from seq2seq_cli.runs.naming import find_run
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runtime.devices import use_device
from seq2seq_cli.runtime.tensorflow import import_tensorflow


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", nargs="+", help="names below runs/, or paths")
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=[*FORMATS])
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--trials", type=int, default=3)
    arguments = parser.parse_args()
    import_tensorflow()
    print(use_device("cpu"))
    print("| run | format | weights | MB | equal | ms per sentence |\n|---|---|---|---|---|---|")
    for name in arguments.runs:
        run = find_run(name)
        loaded = load_run(run, print)
        dev, _ = read_split(loaded.data, loaded.state.data_fingerprint, name, "dev")
        sentences = dev.sources[: arguments.sentences + 1]
        for kind in arguments.formats:
            for row in rows(run, loaded, kind, sentences, arguments.trials):
                print(f"| {run.path.name} | {kind} | {row} |", flush=True)


def rows(
    run: Run, loaded: LoadedRun, kind: str, sentences: Sequence[str], trials: int
) -> Iterator[str]:
    """Yield a row of the table for each type of weights, or the reason why there is none."""
    form = FORMATS[kind]
    for quantization in form.promised:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "export").with_suffix(form.suffix)
            given = quantization if len(form.promised) > 1 else None
            try:
                made = export(run, path, kind, given)
            except UsageError as error:
                yield f"refused: {error}"
                return
            files = [each for each in (path, *path.rglob("*")) if each.is_file()]
            size = sum(each.stat().st_size for each in files) / 1e6
            equal = ", ".join(f"{a.search}: {a.equal} of {a.sentences}" for a in made.agreements)
            taken = milliseconds(form.program(path, loaded), sentences, trials)
            yield f"{quantization} | {size:.1f} | {equal} | {taken:.1f}"


def milliseconds(program: Program, sentences: Sequence[str], trials: int) -> float:
    """Return the time of a sentence."""
    program(sentences[:1], 1)
    seconds = []
    for _ in range(trials):
        began = time.perf_counter()
        for sentence in sentences[1:]:
            program([sentence], 1)
        seconds.append(time.perf_counter() - began)
    return 1000 * statistics.median(seconds) / (len(sentences) - 1)


if __name__ == "__main__":
    main()
