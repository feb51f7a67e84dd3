"""Dev losses of the same training in bfloat16 and in float32.

    python benchmarks/precision.py --steps 500 --seeds 0 1 2 --folder precision

A Transformer of 4 + 4 layers and the default RNN on Tatoeba. Both trainings of a pair have the same
seed, and so the same initial weights, batches and dropout. Trainings that the folder has already
are not repeated.
"""

import argparse
import itertools
import json
import sys
from pathlib import Path

from peers import LAYERS, VOCABULARY, describe, run


def dev_losses(
    folder: Path, data: str, kind: str, precision: str, seed: int, steps: int, every: int
) -> dict[int, float]:
    """Train, unless the folder has the training; return the dev loss by number of updates."""
    path = folder / f"{kind}-{precision}-{seed}"
    if not path.exists():
        command = [sys.executable, "-m", "seq2seq_cli", "train", "--model", kind]
        command += ["--data", data, "--steps", str(steps), "--run", str(path)]
        settings = [
            f"tokenizer.vocabulary_size={VOCABULARY}",
            f"training.precision={precision}",
            f"training.seed={seed}",
            f"training.validate_every_steps={every}",
            f"training.patience={steps}",
        ]
        if kind == "transformer":
            settings += [f"model.encoder_layers={LAYERS}", f"model.decoder_layers={LAYERS}"]
        for setting in settings:
            command += ["--set", setting]
        run(command)
    lines = (path / "metrics.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    if not any(row["kind"] == "end" and row["step"] == steps for row in rows):
        raise SystemExit(f"{path}: is not a training of {steps} updates. Remove it and try again")
    return {row["step"]: row["dev_loss"] for row in rows if row["kind"] == "validation"}


def main() -> None:
    """Print a row for each validation."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default="tatoeba")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--every", type=int, default=100, help="updates between validations")
    parser.add_argument("--folder", type=Path, default=Path("precision"))
    parser.add_argument("--models", nargs="+", default=["transformer", "rnn"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    options = parser.parse_args()
    print("| model | seed | updates | dev loss, float32 | bfloat16 | difference |")
    print("|---|---|---|---|---|---|", flush=True)
    for kind, seed in itertools.product(options.models, options.seeds):
        limits = seed, options.steps, options.every
        plain, short = (
            dev_losses(options.folder, options.data, kind, precision, *limits)
            for precision in ("float32", "bfloat16")
        )
        for step, loss in plain.items():
            figures = f"{loss:.4f} | {short[step]:.4f} | {short[step] / loss - 1:+.2%}"
            print(f"| {kind} | {seed} | {step} | {figures} |", flush=True)
    print(f"\n{describe(None)}")


if __name__ == "__main__":
    main()
