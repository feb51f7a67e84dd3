"""Dev losses of a training in bfloat16 beside those of the same in float32.

    python benchmarks/precision.py --steps 500 --folder precision

A Transformer of 4 + 4 layers on Tatoeba, with one seed, and so the same batches and dropout.
"""

import argparse
import json
import sys
from pathlib import Path

from peers import LAYERS, VOCABULARY, describe, run


def dev_losses(folder: Path, data: str, precision: str, steps: int, every: int) -> dict[int, float]:
    """Train, if that is not done yet; return the dev loss after the steps at which it was taken."""
    path = folder / precision
    if not path.exists():
        command = [sys.executable, "-m", "seq2seq_cli", "train", "--model", "transformer"]
        command += ["--data", data, "--steps", str(steps), "--run", str(path)]
        for setting in (
            f"model.encoder_layers={LAYERS}",
            f"model.decoder_layers={LAYERS}",
            f"tokenizer.vocabulary_size={VOCABULARY}",
            f"training.precision={precision}",
            f"training.validate_every_steps={every}",
        ):
            command += ["--set", setting]
        run(command)
    lines = (path / "metrics.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {row["step"]: row["dev_loss"] for row in rows if row["kind"] == "validation"}


def main() -> None:
    """Print a row for each validation."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default="tatoeba")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--every", type=int, default=100, help="steps between validations")
    parser.add_argument("--folder", type=Path, default=Path("precision"))
    options = parser.parse_args()
    given = (options.steps, options.every)
    plain = dev_losses(options.folder, options.data, "float32", *given)
    short = dev_losses(options.folder, options.data, "bfloat16", *given)
    print("| updates | dev loss, float32 | bfloat16 | difference |\n|---|---|---|---|")
    for step, loss in plain.items():
        print(f"| {step} | {loss:.4f} | {short[step]:.4f} | {short[step] / loss - 1:+.2%} |")
    print(f"\n{describe(None)}")


if __name__ == "__main__":
    main()
