"""Draw the dev BLEU of trainings against minutes, as an SVG.

    python benchmarks/learning.py learning.svg Transformer=runs/001-transformer RNN=runs/002-rnn

Each run is a folder with a metrics.jsonl. The minutes are those of the training, validations
included. It needs matplotlib, which the extra `plot` installs.
"""

import argparse
from pathlib import Path

from seq2seq_cli.runs.run import Run

WIDTH, HEIGHT = 7.2, 4.0  # inches
COLOURS = ("#2f6fbf", "#d1603d", "#3b8f5a", "#8458b3", "#7a6a53", "#b03a6f")


def course(run: Run) -> tuple[list[float], list[float]]:
    """Return the minutes and the dev BLEU of each validation of a run."""
    entries = [entry for entry in run.metrics() if entry["kind"] == "validation"]
    if not entries:
        raise SystemExit(f"{run.path} has no validations")
    return [entry["seconds"] / 60 for entry in entries], [entry["dev_bleu"] for entry in entries]


def draw(path: Path, courses: dict[str, tuple[list[float], list[float]]]) -> None:
    """Write an SVG with a line for each course; the same courses give the same bytes."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    axes = drawn.subplots()
    for i, (label, (minutes, scores)) in enumerate(courses.items()):
        colour = COLOURS[i % len(COLOURS)]
        axes.plot(minutes, scores, color=colour, marker="o", markersize=3, label=label)
    axes.set(xlabel="minutes of training", ylabel="dev BLEU", xlim=0, ylim=0)
    axes.grid(color="#dddddd")
    axes.legend()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "s2s"}):
        drawn.savefig(path, format="svg", metadata={"Date": None, "Title": "dev BLEU by minutes"})


def main() -> None:
    """Read the runs, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("svg", type=Path, metavar="SVG")
    parser.add_argument("runs", nargs="+", metavar="LABEL=RUN")
    options = parser.parse_args()
    named = [text.rpartition("=") for text in options.runs]
    if not all(label and folder for label, _, folder in named):
        parser.error("each run is given as LABEL=RUN")
    draw(options.svg, {label: course(Run(Path(folder))) for label, _, folder in named})


if __name__ == "__main__":
    main()
