"""Train Joey NMT, and add its dev BLEU by minutes to the courses that `learning.py` draws.

    python benchmarks/joey_course.py docs/learning.json --joey joey/bin/python --folder joey-course
    python benchmarks/learning.py docs/learning.json docs/learning.svg

See quality.py for the virtual environment `joey`, and for the model, the corpus and the settings,
which suit a training of a few epochs: small batches and a high learning rate. Joey NMT translates
dev greedily at each validation. `s2s eval --hypotheses` scores these translations with all
references, after the training. The minutes are those from the start of the process, validations
included.
"""

import argparse
import time
from pathlib import Path

from learning import Course, read, write
from peers import Joey, Material, describe


def course(model: Joey, material: Material, start: float) -> Course:
    """Return the minutes since `start`, in seconds, and the dev BLEU of each validation."""
    paths = (model.folder / "model").glob("*.hyps")
    points = []
    for path in sorted(paths, key=lambda path: int(path.stem)):  # the name is the update
        minutes = (path.stat().st_mtime - start) / 60
        points.append((round(minutes, 1), round(material.scores("dev", path)["bleu"], 2)))
    return points


def main() -> None:
    """Train, score the translations of each validation, and add the course."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("courses", type=Path, metavar="JSON", help="a file of learning.py")
    parser.add_argument("--joey", required=True, help="the Python of its virtual environment")
    parser.add_argument("--label", default="Joey NMT")
    parser.add_argument("--model", default="transformer", choices=["transformer", "rnn"])
    parser.add_argument("--minutes", type=float, default=85)
    parser.add_argument("--batch", type=int, default=64, help="pairs")
    parser.add_argument("--validate-every", type=int, default=500, help="a multiple of 100 updates")
    parser.add_argument("--data", default="tatoeba")
    parser.add_argument("--folder", type=Path, default=Path("joey-course"))
    options = parser.parse_args()
    folder = options.folder.resolve()
    if folder.exists():
        parser.error(f"{folder} exists; give another --folder")
    folder.mkdir(parents=True)
    material = Material(folder, options.data)
    given = (options.joey, folder, material, options.model, options.batch)
    model = Joey.new(*given, validation_steps=options.validate_every)
    start = time.time()
    model.train(60 * options.minutes)
    points = course(model, material, start)
    write(options.courses, read(options.courses) | {options.label: points})
    print(f"{model.tokens_per_second():.0f} tokens/s; {describe(options.joey)}")
    print(points)


if __name__ == "__main__":
    main()
