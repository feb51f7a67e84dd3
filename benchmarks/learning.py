"""Draw the dev BLEU of trainings against minutes, as an SVG.

    python benchmarks/learning.py docs/learning.json learning.svg Muon=runs/001-transformer

The JSON file keeps the courses of all trainings that were drawn, so the figure grows, and can be
drawn again without the runs. Each run is a folder with a metrics.jsonl. It is added to the file
under its label, or replaces the course of that label. The minutes are those of the training,
validations included. It needs matplotlib, which the extra `plot` installs.
"""

import argparse
import json
from pathlib import Path

from seq2seq_cli.runs.run import Run

WIDTH, HEIGHT = 7.2, 4.0  # inches
COLOURS = ("#2f6fbf", "#d1603d", "#3b8f5a", "#8458b3", "#7a6a53", "#b03a6f", "#1b9aaa")

Course = list[tuple[float, float]]  # minutes and dev BLEU of each validation


def course(run: Run) -> Course:
    """Return the minutes and the dev BLEU of each validation of a run."""
    entries = [entry for entry in run.metrics() if entry["kind"] == "validation"]
    if not entries:
        raise SystemExit(f"{run.path} has no validations")
    return [(round(entry["seconds"] / 60, 1), round(entry["dev_bleu"], 2)) for entry in entries]


def read(path: Path) -> dict[str, Course]:
    """Return the courses in a JSON file by their labels; none if there is no file."""
    courses: dict[str, Course] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return courses


def write(path: Path, courses: dict[str, Course]) -> None:
    """Write courses as JSON, a line for each."""
    lines = [f"{json.dumps(label)}: {json.dumps(points)}" for label, points in courses.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def draw(path: Path, courses: dict[str, Course]) -> None:
    """Write an SVG with a line for each course; the same courses give the same bytes."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    axes = drawn.subplots()
    for i, (label, points) in enumerate(courses.items()):
        minutes, scores = zip(*points, strict=True)
        colour = COLOURS[i % len(COLOURS)]
        axes.plot(minutes, scores, color=colour, marker="o", markersize=3, label=label)
    axes.set(xlabel="minutes of training", ylabel="dev BLEU", xlim=0, ylim=0)
    axes.grid(color="#dddddd")
    axes.legend(loc="lower right")
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "s2s"}):
        drawn.savefig(path, format="svg", metadata={"Date": None, "Title": "dev BLEU by minutes"})


def main() -> None:
    """Add the runs to the courses, and draw all of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("courses", type=Path, metavar="JSON", help="written if runs are given")
    parser.add_argument("svg", type=Path, metavar="SVG")
    parser.add_argument("runs", nargs="*", metavar="LABEL=RUN")
    options = parser.parse_args()
    named = [text.rpartition("=") for text in options.runs]
    if not all(label and folder for label, _, folder in named):
        parser.error("each run is given as LABEL=RUN")
    kept = options.courses
    courses = read(kept) | {label: course(Run(Path(folder))) for label, _, folder in named}
    if not courses:
        parser.error(f"{kept} has no courses, and no run is given")
    if named:
        write(kept, courses)
    draw(options.svg, courses)


if __name__ == "__main__":
    main()
