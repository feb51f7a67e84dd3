"""Time of `s2s data prepare` with and without Apache Beam, and a comparison of what they write.

    python benchmarks/beam.py --sizes 1000000 10000000 --json beam.json
    python benchmarks/beam.py --data spa-eng.zip
    python benchmarks/beam.py --stages --sizes 1000000

Without --data, the corpora are those of benchmarks/scale.py: the phrasebook's pairs, repeated and
numbered. CPU time is that of all processes of a command. The two folders must have the same bytes.
With --stages, one process does all the work, and the CPU time of each pipeline is printed.
"""

import argparse
import filecmp
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest import mock

from scale import S2S, write_corpus


def prepare(out: Path, data: Path, *options: str) -> dict[str, float]:
    """Prepare a corpus, and return the seconds that passed and those of the processors."""
    began = time.monotonic()
    command = [*S2S, "data", "prepare", str(out), "--quiet", "--data", str(data), *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"exit code {process.returncode}: {' '.join(command)}")
    cpu = used.ru_utime + used.ru_stime
    return {"seconds": time.monotonic() - began, "cpu_seconds": cpu}


def same(a: Path, b: Path) -> bool:
    """Return whether two folders have the same files with the same bytes."""
    names = [sorted(p.relative_to(f) for p in f.rglob("*") if p.is_file()) for f in (a, b)]
    if names[0] != names[1]:
        return False
    return all(filecmp.cmp(a / name, b / name, shallow=False) for name in names[0])


def measure(data: Path, folder: Path, options: list[str]) -> dict[str, object]:
    """Prepare a corpus both ways."""
    plain = prepare(folder / "plain", data)
    beam = prepare(folder / "beam", data, "--beam", *options)
    ratios = {name: beam[name] / plain[name] for name in plain}
    identical = same(folder / "plain", folder / "beam")
    return {"plain": plain, "beam": beam, "ratios": ratios, "same_bytes": identical}


def stages(data: Path, folder: Path) -> dict[str, object]:
    """Return the CPU seconds of each pipeline in one process, and the sizes of files (bytes)."""
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.config.overrides import Overrides
    from seq2seq_cli.data.preparation.beam_import import import_beam
    from seq2seq_cli.runtime.tensorflow import import_tensorflow

    import_tensorflow()
    import_beam()
    from seq2seq_cli.data.preparation import beam_workers
    from seq2seq_cli.data.preparation.beam_prepare import prepare_with_beam

    used: dict[str, float] = {}
    sizes: dict[str, int] = {}
    run, submit = beam_workers.BeamWorkers._run, beam_workers.BeamWorkers.submit
    submitted = [""]

    def timed_submit(workers: Any, function: Any, *arguments: Any) -> None:
        submitted[0] = function.__name__
        submit(workers, function, *arguments)

    def timed_run(workers: Any, runner: Any, build: Any) -> None:
        began = time.process_time()
        run(workers, runner, build)
        name = getattr(getattr(build, "func", None), "__name__", submitted[0]).lstrip("_")
        used[name] = used.get(name, 0) + time.process_time() - began
        now: Counter[str] = Counter()
        for path in folder.rglob("*.*"):
            if path.is_file():
                kind = "shards" if "array_record" in path.name else path.name.split(".", 1)[1]
                now[kind] += path.stat().st_size
        sizes.update(now)

    overrides = Overrides()
    overrides.set("data.corpus", str(data), "benchmark")
    began = time.process_time()
    with (
        mock.patch.object(beam_workers.BeamWorkers, "_run", timed_run),
        mock.patch.object(beam_workers.BeamWorkers, "submit", timed_submit),
    ):
        prepare_with_beam(
            load_config(overrides), folder / "beam", "--direct_running_mode=in_memory"
        )
    used["launcher"] = time.process_time() - began - sum(used.values())
    return {"cpu_seconds": used, "bytes": sizes}


def main() -> None:
    """Measure each size or one corpus; the exit code is 1 if the bytes differ."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000])
    parser.add_argument("--data", type=Path, help="a corpus, instead of --sizes")
    parser.add_argument("--stages", action="store_true", help="measure each pipeline")
    parser.add_argument("--beam-options", help="as for `s2s data prepare`")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    given = parser.parse_args()
    options = ["--beam-options", given.beam_options] if given.beam_options else []
    rows = []
    for pairs in [None] if given.data else given.sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            data = given.data or folder / "corpus.tsv"
            if pairs is not None:
                write_corpus(data, pairs)
            found = stages(data, folder) if given.stages else measure(data, folder, options)
            rows.append({"pairs": pairs, **found})
        print(json.dumps(rows[-1]), flush=True)
    if given.json:
        versions = {name: version(name) for name in ("s2s", "tensorflow", "apache-beam", "numpy")}
        given.json.write_text(json.dumps({"versions": versions, "rows": rows}, indent=1))
    sys.exit(not all(row.get("same_bytes", True) for row in rows))


if __name__ == "__main__":
    main()
