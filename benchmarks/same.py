"""Compare the numbers and the speed of two versions of the code.

    python benchmarks/same.py --before main --skip-speed
    python benchmarks/same.py --before main --only rnn-general --precisions float32 --json same.json

Run this after a refactoring that must change no numbers. Both versions are checked out into
temporary worktrees and used through the command line alone, so modules may move between them. Each
of four models is trained for 50 updates by both versions. The weights must have the same bytes, and
the last losses must be equal. Both versions then translate 100 sentences with the weights of
`before`, greedily and with a beam of 5. Texts and scores must be equal.

Speed is measured in the first of `--precisions`, one process at a time, the versions in turns. It
does not affect the exit code. A version that is more than 3 % slower is marked. The machine should
do nothing else.

The default corpus is the phrasebook. `s2s data stats` must print the same for it. Both versions
train on its hand-written phrases in the version of `before`, each alone and each joined with the
next.

Exit codes: 0 all the same, 1 a number differs or a command failed, 2 usage.
"""

import argparse
import itertools
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from differences import compare_times, compare_translations, difference, digest
from versions import WORKING_TREE, FailureError, Side, commit_of, git, run_together, worktree

PHRASES = Path("data", "phrasebook", "phrases.tsv")
PAIRS, SENTENCES, STEPS = 1300, 100, 50
SAME, DIFFERS, FAILED = "same", "DIFFERS", "FAILED"

TWO_LAYERS = {"encoder_layers": 2, "decoder_layers": 2}
MODELS: dict[str, dict[str, Any]] = {
    "rnn-additive": {
        **{"kind": "rnn", "cell": "gru", "attention": "additive", "wiring": "bahdanau"},
        **TWO_LAYERS,
    },
    "rnn-general": {
        **{"kind": "rnn", "cell": "lstm", "attention": "general", "wiring": "luong"},
        **{"input_feeding": "true", **TWO_LAYERS},
    },
    "transformer": {"kind": "transformer", **TWO_LAYERS},
    "decoder-only": {"kind": "decoder_only", "layers": 2},
}
TRAINING = {
    **{"training.seed": 1, "training.shards": 2, "training.batch_tokens": 1024},
    "training.validate_every_steps": STEPS,  # only at the end, where it cannot be avoided
    **{"tokenizer.vocabulary_size": 1000, "data.dev_pairs": 50, "data.test_pairs": 50},
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Row:
    """A comparison: a row of the table."""

    model: str
    precision: str
    check: str
    before: str
    after: str
    verdict: str
    note: str = ""


class Case:
    """One model in one precision, trained and used by both sides."""

    def __init__(
        self, model: str, precision: str, sides: Sequence[Side], options: argparse.Namespace
    ):
        self._model, self._precision, self._options = model, precision, options
        self._before, self._after = sides
        self._own = {side: side.folder / f"{model}-{precision}" for side in sides}
        self._decoded = dict.fromkeys(sides, self._own[self._before])  # the runs to translate with
        self._device = ["--device", options.device]
        settings = {f"model.{key}": value for key, value in MODELS[model].items()}
        settings |= {**TRAINING, "training.precision": precision}
        self._config = ["--data", str(options.folder / "corpus.tsv"), *self._device]
        for key, value in settings.items():
            self._config += ["--set", f"{key}={value}"]

    def rows(self, with_speed: bool) -> Iterator[Row]:
        """Make each comparison, and yield its rows."""
        checks: dict[str, Callable[[], Iterator[tuple[str, ...]]]] = {
            "weights": self._compare_training,
            "greedy": lambda: self._compare_translations("greedy", 1),
            "beam 5": lambda: self._compare_translations("beam 5", 5),
        }
        if with_speed:
            checks["ms per update"] = lambda: self._compare_speed("ms per update", self._train_time)
            checks["ms of beam 5"] = lambda: self._compare_speed("ms of beam 5", self._decode_time)
        for name, check in checks.items():
            show(f"{self._model}, {self._precision}: {name}")
            try:
                yield from (Row(self._model, self._precision, *columns) for columns in check())
            except (FailureError, ValueError) as error:
                show(str(error))
                last = str(error).split("\n")[-1]
                yield Row(self._model, self._precision, name, "", "", FAILED, last)

    def _compare_training(self) -> Iterator[tuple[str, ...]]:
        """Compare weights and loss after the same updates."""
        command = ["train", *self._config, "--steps", str(STEPS), "--run"]
        done = run_together({side: [*command, str(run)] for side, run in self._own.items()})
        for each in done.values():
            each.output()
        (before, old_loss), (after, new_loss) = map(read_run, self._own.values())
        hashes = digest(before), digest(after)
        if hashes[0] != hashes[1]:
            verdict, note = DIFFERS, difference(before, after)
        else:
            verdict, note = SAME, "" if before.keys() == after.keys() else "under other names"
        yield "weights", hashes[0][:12], hashes[1][:12], verdict, note
        equal = SAME if old_loss == new_loss else DIFFERS
        yield "loss", f"{old_loss:.7f}", f"{new_loss:.7f}", equal, ""

    def _decoding(self, side: Side, beam: int) -> list[str]:
        """Return the options of a translation as JSON."""
        sentences = str(self._options.folder / "sentences.txt")
        files = ["--run", str(self._decoded[side]), "--input", sentences]
        search = ["--beam", str(beam), "--set", f"decoding.precision={self._precision}"]
        return [*files, *search, *self._device, "--json"]

    def _compare_translations(self, name: str, beam: int) -> Iterator[tuple[str, ...]]:
        """Compare texts and scores, with the weights of `before` if `after` can load them."""
        commands = {side: ["translate", *self._decoding(side, beam)] for side in self._own}
        done = run_together(commands)
        before, after = self._before, self._after
        first = done[before].records()
        if done[after].code and self._decoded[after] == self._own[before]:
            show(f"{done[after].problem}\nIt cannot use that run; each side now uses its own.")
            self._decoded[after] = self._own[after]
            done = run_together({after: ["translate", *self._decoding(after, beam)]})
        second = done[after].records()
        equal, apart = compare_translations(first, second)
        verdict = SAME if equal == len(first) and apart == 0 else DIFFERS
        note = f"{equal} of {len(first)} texts equal, scores within {apart:.2g}"
        if self._decoded[after] != self._decoded[before]:
            note += "; each with its own weights"
        yield name, f"{first[0]['score']:.7f}", f"{second[0]['score']:.7f}", verdict, note

    def _compare_speed(
        self, name: str, measure: Callable[[Side], float]
    ) -> Iterator[tuple[str, ...]]:
        """Measure both sides in turns, and swap their order after each turn."""
        times: dict[Side, list[float]] = {side: [] for side in self._own}
        for trial in range(self._options.trials):
            for side in list(times)[:: -1 if trial % 2 else 1]:
                times[side].append(measure(side))
        yield name, *compare_times(*times.values())

    def _train_time(self, side: Side) -> float:
        command = ["bench", "train", *self._config, "--steps", "10", "--trials", "2", "--json"]
        return run_together({side: command})[side].number("step_ms")

    def _decode_time(self, side: Side) -> float:
        command = ["bench", "decode", *self._decoding(side, 5), "--trials", "5"]
        return 1000 * run_together({side: command})[side].number("seconds")


def read_run(run: Path) -> tuple[dict[str, np.ndarray], float]:
    """Return the weights of a run's newest checkpoint and the last loss of its training.

    Raises:
        FailureError: if a file is missing, or has another format than expected.
    """
    try:
        newest = max((run / "checkpoints").glob("step-*"))
        arrays = safetensors.numpy.load_file(newest / "model.safetensors")
        metrics = map(json.loads, (run / "metrics.jsonl").read_text("utf-8").splitlines())
        return arrays, [entry["loss"] for entry in metrics if entry["kind"] == "training"][-1]
    except (OSError, ValueError, LookupError, safetensors.SafetensorError) as error:
        raise FailureError(f"{run}: is not laid out as expected: {error!r}") from error


def compare_phrasebooks(sides: Sequence[Side]) -> Row:
    """Compare the output of `s2s data stats` for the phrasebook, with its fingerprint."""
    show("phrasebook: data stats")
    done = run_together({side: ["data", "stats", "--json"] for side in sides})
    try:
        before, after = (done[side].records()[0] for side in sides)
    except FailureError as error:
        show(str(error))
        return Row("", "", "phrasebook", "", "", FAILED, str(error).split("\n")[-1])
    others = sorted(key for key in {**before, **after} if before.get(key) != after.get(key))
    old, new = (str(each.get("fingerprint"))[:12] for each in (before, after))
    return Row("", "", "phrasebook", old, new, DIFFERS if others else SAME, ", ".join(others))


def in_company(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return each pair, and each pair joined with the next, so that lengths vary."""
    neighbours = itertools.pairwise(pairs)
    return [*pairs, *((f"{a[0]} {b[0]}", f"{a[1]} {b[1]}") for a, b in neighbours)]


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Return the first two columns of a TSV file."""
    try:
        rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise FailureError(f"{path}: cannot be read as UTF-8 text: {error}") from error
    return [(row[0], row[1]) for row in rows if len(row) > 1]


def write_material(folder: Path, pairs: Sequence[tuple[str, str]]) -> None:
    """Write corpus.tsv to train on, and sentences.txt with other source sentences to translate."""
    pairs = pairs[: PAIRS + SENTENCES]
    every = len(pairs) // SENTENCES
    if every < 4:
        raise FailureError(f"the corpus has {len(pairs)} pairs; at least {4 * SENTENCES} needed")
    held_out = range(0, every * SENTENCES, every)
    lines = [f"{pair[0]}\t{pair[1]}\n" for i, pair in enumerate(pairs) if i not in held_out]
    (folder / "corpus.tsv").write_text("".join(lines), "utf-8")
    (folder / "sentences.txt").write_text("".join(f"{pairs[i][0]}\n" for i in held_out), "utf-8")


def compare(sides: Sequence[Side], options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of the table."""
    if options.data is None:
        write_material(options.folder, in_company(read_pairs(sides[0].tree / PHRASES)[1:]))
        yield compare_phrasebooks(sides)
    else:
        write_material(options.folder, read_pairs(options.data))
    for precision in options.precisions:
        with_speed = not options.skip_speed and precision == options.precisions[0]
        for model in options.only:
            yield from Case(model, precision, sides, options).rows(with_speed)


def show(text: str) -> None:
    """Print a text to stderr."""
    print(text, file=sys.stderr, flush=True)


def to_table(rows: Sequence[Row]) -> str:
    """Return a Markdown table with aligned columns."""
    cells = [list(Row.__annotations__), *([*asdict(row).values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    lines = ([x.ljust(width) for x, width in zip(line, widths, strict=True)] for line in cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options; a wrong one ends the program with exit code 2."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--before", required=True, metavar="COMMIT", help="the version to compare with")
    help_text = "the version to check; by default the working tree, untracked files included"
    add("--after", default=WORKING_TREE, metavar="COMMIT", help=help_text)
    help_text = f"models to compare, of {', '.join(MODELS)}; by default all"
    add("--only", nargs="+", choices=MODELS, default=list(MODELS), metavar="MODEL", help=help_text)
    precisions = ["float32", "bfloat16"]
    help_text = "of matrix products, in training and translation: float32, bfloat16 or both"
    add("--precisions", nargs="+", choices=precisions, default=precisions, help=help_text)
    add("--trials", type=int, default=3, help="measurements of each speed, 3 by default")
    add("--skip-speed", action="store_true", help="compare numbers only")
    help_text = "a TSV file, source TAB target, whose first lines are used, not the phrasebook"
    add("--data", type=Path, metavar="PATH", help=help_text)
    add("--device", default="cpu", help="as of s2s train; cpu by default")
    help_text = "a new folder that keeps runs and texts; by default a temporary one"
    add("--folder", type=Path, metavar="WORK", help=help_text)
    add("--json", type=Path, metavar="OUT", help="write the table to a file, too")
    options = parser.parse_args(arguments)
    if options.trials < 1:
        parser.error("--trials must be at least 1")
    if options.data and not options.data.is_file():
        parser.error(f"--data {options.data}: no such file")
    if options.folder and options.folder.exists():
        parser.error(f"--folder {options.folder}: exists already; name a new one")
    if options.json and not options.json.absolute().parent.is_dir():
        parser.error(f"--json {options.json}: its folder does not exist")
    for key in ("before", "after"):
        try:
            setattr(options, f"{key}_commit", commit_of(getattr(options, key)))
        except FailureError as error:
            parser.error(f"--{key}: {error}")
    return options


def stop(number: int, _frame: object) -> None:
    """End the program after a signal; ignore further signals while it cleans up."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    show(f"stopped by {signal.Signals(number).name}")
    sys.exit(128 + number)


def main() -> None:
    """Compare, and print the table."""
    for each in SIGNALS:
        if signal.getsignal(each) != signal.SIG_IGN:  # as nohup and a shell's & have it
            signal.signal(each, stop)
    options = parse(None)
    commits = {"before": options.before_commit, "after": options.after_commit}
    changed = git("diff", "--shortstat", *commits.values()) or "no file changed"
    title = f"{options.before} ({commits['before'][:12]}) to {options.after}: {changed}"
    show(title)
    with ExitStack() as stack:
        if options.folder:
            options.folder.mkdir(parents=True)
        folder = options.folder or stack.enter_context(tempfile.TemporaryDirectory())
        options.folder = Path(folder).resolve()
        rows = []
        try:
            sides = [
                stack.enter_context(worktree(name, commit, options.folder))
                for name, commit in commits.items()
            ]
            for row in compare(sides, options):
                show(f"    {row.check}: {row.verdict}" + (f", {row.note}" if row.note else ""))
                rows.append(row)
        except FailureError as error:
            show(f"error: {error}")
            sys.exit(2)
    wrong = [row for row in rows if row.verdict in (DIFFERS, FAILED)]
    if options.json:
        found = {"versions": commits, "same": not wrong, "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(f"{title}\n\n{to_table(rows)}\n")
    print(f"{len(wrong)} of {len(rows)} comparisons differ" if wrong else "all the same")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
