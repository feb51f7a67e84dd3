"""The long suite of faults: all that docs/reliability.md promises, tried many times.

    python tests/reliability/long_suite.py docs/reliability-results.json --jobs 2

It prints its progress, and goes on after an interruption where it stood. `--jobs` runs so many
parts at once. `--quick` tries a little of each part. `--table` prints the results as a table for
docs/reliability.md.
"""

import argparse
import importlib.metadata
import itertools
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KINDS = ("rnn", "transformer", "decoder_only", "bfloat16", "parts")
TARGETS = ("tsv", "toml", "manifest", "state", "arrays", "metrics", "command")
PACKAGES = ("tensorflow", "keras", "hypothesis", "atheris")


@dataclass(frozen=True)
class Part:
    """A command of the suite, which is run again from its beginning if it is interrupted.

    Attributes:
        name: of the part.
        fault: what is tried.
        command: the arguments of Python.
        count: the regular expression of the counts in its output; all of them are added.
        factor: of the count, S2S_FAULTS, for parts that are run by pytest.
    """

    name: str
    fault: str
    command: list[str]
    count: str
    factor: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a part did.

    Attributes:
        fault: what was tried.
        count: how often.
        minutes: that it took.
        command: that was run.
        date: of its end.
        machine: the processor, and versions of Python and packages.
        passed: whether all was as promised.
    """

    fault: str
    count: int
    minutes: float
    command: str
    date: str
    machine: str
    passed: bool


def parts(quick: bool) -> Iterator[Part]:
    """Yield all parts, or all with small counts."""
    kills = 2 if quick else 25
    for number in range(1 if quick else 40):
        saves = 1 if quick else 8
        arguments = ["--count", str(kills), "--in-saves", str(saves), "--seed", str(number + 1)]
        name, fault = f"kills {number + 1}", "kill -9 of a training run at random moments"
        yield Part(name, fault, script("kills", *arguments), r'"count": (\d+)(?!.*"count")')
    for kind, number in itertools.product(KINDS, range(1 if quick else 4)):
        arguments = ["--kind", kind, "--steps", "48", "--every", "29" if quick else "4"]
        command = script("resumptions", *arguments, "--first", str(number))
        fault = f"a training run is resumed after each update ({kind})"
        yield Part(f"resume {kind} {number + 1}", fault, command, r'"count": (\d+)')
    fault = "two signals in each of seven phases"
    yield Part("second signals", fault, script("second_signals"), r'("signal")')
    fault = "workers of a training run are lost, or change in number"
    yield Part("workers", fault, script("workers", "--kills", "2" if quick else "20"), r'("tried")')
    yield from properties("1" if quick else "200")
    for target, number in itertools.product(TARGETS, range(1 if quick else 4)):
        runs = 2000 if quick else 250_000
        folder = str(Path(".fuzzing") / target)  # the next part goes on from the inputs in it
        command = script("fuzz", target, folder, f"-runs={runs}")
        name, fault = f"fuzz {target} {number + 1}", f"inputs of Atheris: {target}"
        yield Part(name, fault, command, r"Done (\d+) runs")
    factor = "1" if quick else "20"
    for name, fault in (("disk_faults", "the disk fails"), ("power_loss", "power is lost")):
        cases = r"(\d+) cases", "-s"
        yield pytest_part(f"tests/runs/test_{name}.py", f"{fault}: cases", factor, *cases)
    for name in ("runs/test_damage", "runs/test_mutations", "runs/test_lock"):
        yield pytest_part(f"tests/{name}.py", "damage, mutations, races: tests", factor)
    yield pytest_part("tests/training/test_signals.py", "signals: tests", factor)
    slow = ["-m", "pytest", "-n0", "-q", "--timeout=0", "-m", "slow", "tests"]
    yield Part("slow", "tests that `pytest` leaves out, as they take long", slow, r"(\d+) passed")


def properties(factor: str) -> Iterator[Part]:
    """Yield a part for each property of any input, which is tried 50 × `factor` times."""
    path = "tests/test_arbitrary_input.py"
    for name in re.findall(r"^def (test_any_\w+)", (ROOT / path).read_text("utf-8"), re.MULTILINE):
        count = r"(\d+) passing"
        fault = f"examples of Hypothesis: {name.removeprefix('test_').replace('_', ' ')}"
        yield pytest_part(f"{path}::{name}", fault, factor, count, "--hypothesis-show-statistics")


def script(name: str, *arguments: str) -> list[str]:
    """Return the arguments of Python for a script beside this one."""
    return [f"tests/reliability/{name}.py", *arguments]


def pytest_part(
    path: str, fault: str, factor: str, count: str = r"(\d+) passed", *arguments: str
) -> Part:
    """Return a part that runs the tests of a file."""
    command = ["-m", "pytest", "-n0", "-q", "--timeout=0", *arguments, path]
    return Part(path, fault, command, count, factor)


def run(part: Part) -> Outcome:
    """Run a part, and show what it prints."""
    began = time.monotonic()
    paths = [str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    environment.pop("S2S_FAULTS", None)
    if part.factor:
        environment["S2S_FAULTS"] = part.factor
    lines = []
    with subprocess.Popen(
        [sys.executable, *part.command],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(f"  {part.name}: {line}", end="", flush=True)
            lines.append(line)
    code = process.returncode
    found = re.findall(part.count, "".join(lines), re.DOTALL)
    set_factor = f"S2S_FAULTS={part.factor} " if part.factor else ""
    return Outcome(
        part.fault,
        sum(int(each) if each.isdigit() else 1 for each in found),
        round((time.monotonic() - began) / 60, 1),
        f"{set_factor}python {' '.join(part.command)}",
        datetime.now(timezone.utc).date().isoformat(),
        machine(),
        code == 0 and bool(found),
    )


def machine() -> str:
    """Return the processor, and the versions of Python and the packages."""
    names = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            names.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            names.append(f"no {package}")
    cpus = Path("/proc/cpuinfo")
    text = cpus.read_text("utf-8") if cpus.exists() else ""
    model = re.search(r"model name\s*: (.*)", text)
    return ", ".join([model[1] if model else platform.machine(), *names])


def table(outcomes: dict[str, dict]) -> str:
    """Return the results of parts that passed: a row for each fault, with the sum of its counts."""
    rows: dict[str, list] = {}
    for outcome in outcomes.values():
        if outcome["passed"]:
            row = rows.setdefault(outcome["fault"], [0, 0.0, outcome["command"], ""])
            row[0] += outcome["count"]
            row[1] += outcome["minutes"]
            row[3] = outcome["date"]
    lines = ["| fault | count | minutes | one of its commands | date |", "|---|---|---|---|---|"]
    for fault, (count, minutes, command, date) in rows.items():
        lines.append(f"| {fault} | {count:,} | {minutes:.0f} | `{command}` | {date} |")
    machines = sorted({outcome["machine"] for outcome in outcomes.values()})
    return "\n".join([*lines, "", *machines])


def main() -> None:
    """Run what has not passed yet; leave with 1 if a part fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="JSON; what passed in it is not run again")
    parser.add_argument("--quick", action="store_true", help="small counts")
    parser.add_argument(
        "--only", default="", help="only parts whose names begin so; 'kills 1 ' is one"
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of parts to run at once")
    parser.add_argument("--table", action="store_true", help="print the results and run nothing")
    given = parser.parse_args()
    outcomes = json.loads(given.results.read_text("utf-8")) if given.results.exists() else {}
    if given.table:
        print(table(outcomes))
        return
    chosen = [part for part in parts(given.quick) if f"{part.name} ".startswith(given.only)]
    left = [part for part in chosen if not _passed(outcomes, part, given.quick)]
    pool = ThreadPoolExecutor(given.jobs)
    pending = {pool.submit(run, part): part for part in left}
    try:
        for future in as_completed(pending):
            part, outcome = pending[future], future.result()
            outcomes[_key(part, given.quick)] = asdict(outcome)
            partial = given.results.with_name(given.results.name + ".partial")
            partial.write_text(json.dumps(outcomes, indent=1) + "\n", encoding="utf-8")
            partial.replace(given.results)
            print(f"{part.name}: {outcome.count:,} in {outcome.minutes} minutes", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)  # an interruption starts no further part
    failed = [part.name for part in chosen if not _passed(outcomes, part, given.quick)]
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


def _passed(outcomes: dict[str, dict], part: Part, quick: bool) -> bool:
    return outcomes.get(_key(part, quick), {}).get("passed", False)


def _key(part: Part, quick: bool) -> str:
    return f"quick {part.name}" if quick else part.name


if __name__ == "__main__":
    main()
