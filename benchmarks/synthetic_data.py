"""The effect of synthetic pairs on a small sample of a corpus, with a control of equal training.

    python benchmarks/synthetic_data.py sample-1 --split-seed 1 --pairs 14000 --mono 42000

All runs are in the folder and make the same number of updates. The shipped recipes train
`transformer`, `rnn` and `reverse`, from Spanish to English. Then `tatoeba-student` trains `student`
on the pairs and on those that `s2s recipe diversify` makes with these models. The control,
`alone`, starts from the same weights and sees only the real pairs. With `--mono`, `back` has
translations of other Spanish sentences of the corpus by `reverse` instead. At the end,
`s2s compare` scores the runs on the dev split. The same command continues an interrupted one; use
another folder for other numbers.
"""

import argparse
import random
import subprocess
from pathlib import Path

from peers import S2S, describe

SETTINGS = (
    "data.dev=split/dev",
    "data.test=split/test",
    "training.budget_seconds=100000",  # more than --steps takes
    "training.validate_every_steps=250",
    "training.precision=bfloat16",  # a measured choice could differ between the runs
)


def s2s(folder: Path, *arguments: str) -> None:
    """Run a command in the folder, and exit if it fails."""
    print("s2s", *arguments, flush=True)
    if subprocess.run([*S2S, *arguments], cwd=folder, check=False).returncode:
        raise SystemExit(f"s2s {arguments[0]} failed")


def write_sample(folder: Path, pairs: int, mono: int) -> None:
    """Write random pairs of the training side, and random targets of the other pairs."""
    sources, targets = (
        (folder / "split" / f"train.{language}").read_text("utf-8").split("\n")[:-1]
        for language in ("en", "es")
    )
    if pairs > len(sources):
        raise SystemExit(f"--pairs {pairs}: the training side has {len(sources)}")
    chosen = sorted(random.Random(0).sample(range(len(sources)), pairs))
    for language, lines in (("en", sources), ("es", targets)):
        text = "".join(f"{lines[i]}\n" for i in chosen)
        (folder / f"sample.{language}").write_text(text, "utf-8")
    known = {targets[i] for i in chosen}
    others = [i for i in range(len(targets)) if targets[i] not in known]
    if mono > len(others):
        raise SystemExit(f"--mono {mono}: there are {len(others)} other targets")
    text = "".join(f"{targets[i]}\n" for i in sorted(random.Random(1).sample(others, mono)))
    (folder / "mono.es").write_text(text, "utf-8")


def train(folder: Path, name: str, steps: int, *arguments: str) -> None:
    """Train a run, or continue it."""
    command = ["train", "--run", name, "--quiet"]
    if (folder / "runs" / name).exists():
        s2s(folder, *command, "--resume")
    else:
        settings = [word for setting in SETTINGS for word in ("--set", setting)]
        s2s(folder, *command, "--steps", str(steps), *settings, *arguments)


def make(folder: Path, file: str, recipe: str, *arguments: str) -> None:
    """Make a file of synthetic pairs, unless it is there."""
    if not (folder / file).exists():
        s2s(folder, "recipe", recipe, *arguments, "--output", file, "--quiet")


def train_student(folder: Path, name: str, steps: int, synthetic: str | None) -> None:
    """Train the student on the sample, and on a file of synthetic pairs if given."""
    sources = '{corpus = "sample"}'
    if synthetic:
        sources += f', {{corpus = "{synthetic}", columns = "en es", train_only = true}}'
    train(folder, name, steps, "--config", "tatoeba-student", "--set", f"data.sources=[{sources}]")


def main() -> None:
    """Train the runs that are missing, and compare all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="for the runs; those in it are not trained again")
    parser.add_argument("--data", default="tatoeba")
    parser.add_argument("--split-seed", type=int, default=0)
    parser.add_argument("--pairs", type=int, default=14_000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--mono", type=int, default=0)
    given = parser.parse_args()
    folder, steps = given.folder, given.steps
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "split").exists():
        seed = f"data.split_seed={given.split_seed}"
        s2s(folder, "export-split", "split", "--data", given.data, "--set", seed)
    write_sample(folder, given.pairs, given.mono)
    transformer = ("--config", "tatoeba-transformer", "--data", "sample")
    train(folder, "transformer", steps, *transformer)
    train(folder, "reverse", steps, *transformer, "--source", "es", "--target", "en")
    train(folder, "rnn", steps, "--config", "tatoeba-rnn-general", "--data", "sample")
    forward = ("--forward", "transformer", "--forward", "rnn")
    make(folder, "diversified.tsv", "diversify", *forward, "--backward", "reverse")
    train_student(folder, "student", steps, "diversified.tsv")
    train_student(folder, "alone", steps, None)
    names = ["alone", "student", "transformer", "rnn"]
    if given.mono:
        make(folder, "back.tsv", "back-translate", "--run", "reverse", "--input", "mono.es")
        train_student(folder, "back", steps, "back.tsv")
        names.insert(1, "back")
    s2s(folder, "compare", *names, "--split", "dev", "--metric", "bleu", "--metric", "chrf")
    print(describe(None))


if __name__ == "__main__":
    main()
