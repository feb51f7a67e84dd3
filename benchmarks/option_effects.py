"""The effect of training options on the dev BLEU of a small Transformer, in equal time.

    python benchmarks/option_effects.py effects.json --data tatoeba --budget 4m --seeds 0 1 2

Each row changes options of one training, and is repeated for each seed. The corpus is a random
sample of the pairs of `--data`. It is small, so that a training sees each pair many times. With a
budget in which the model does not overfit, regularisation can only harm. The precision is fixed,
since a choice by measured speed could differ between the trainings. Dev BLEU is the best of a
training, with greedy search. Each training is compared with the unchanged one of the same seed. The
difference is the mean over the seeds, with its standard error. With `--only`, the changes are those
that contain one of its texts. Results in the file are kept, so an interrupted script goes on; use
another file for another corpus or budget. The machine should do nothing else.
"""

import argparse
import json
import math
import random
import statistics
import tempfile
from pathlib import Path
from typing import Any

from peers import S2S, describe, run

from seq2seq_cli.config import Config
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.runs.run import Run

BASE = (
    "model.kind=transformer",
    "model.units=128",
    "model.inner_units=512",
    "model.encoder_layers=3",
    "model.decoder_layers=3",
    "model.dropout=0.2",
    "model.attention_dropout=0",
    "training.precision=float32",
    "training.validate_every_steps=1000",
)
CHANGES: tuple[tuple[str, ...], ...] = (
    (),
    ("training.optimizer=adamw", "training.weight_decay=0.1"),
    ("training.optimizer=muon",),
    ("training.optimizer=lion", "training.peak_learning_rate=0.0003"),
    ("training.optimizer=adafactor",),
    ("training.schedule=linear",),
    ("training.schedule=inverse_sqrt",),
    ("training.schedule=constant",),
    ("training.schedule=warmup_stable_decay",),
    ("training.ema=0.999",),
    ("training.schedule=constant", "training.ema=0.999"),
    ("training.batch_tokens=4096", "training.parts=8"),
    ("model.dropout=0.1",),
    ("model.dropout=0.3",),
    ("model.attention_dropout=0.1",),
    ("model.inner_dropout=0.1",),
    ("training.r_drop=2",),
    ("training.source_word_dropout=0.1",),
    ("training.target_word_dropout=0.1",),
    ("training.label_smoothing=0",),
    ("tokenizer.sampling_alpha=0.5",),
    ("tokenizer.kind=bpe",),
    ("tokenizer.kind=bpe", "tokenizer.sampling_alpha=0.1"),
    ("data.both_directions=true",),
    ("model.encoder_layers=5", "model.decoder_layers=1"),
    ("model.encoder_layers=5", "model.decoder_layers=1", "model.encoder_layer_drop=0.1"),
)


def sample(data: str, pairs: int, path: Path) -> None:
    """Write a random sample of the training pairs of a corpus as TSV."""
    config = Config.model_validate({"data": {"corpus": data}})
    corpus = read_corpus(config.data).train
    chosen = sorted(random.Random(0).sample(range(len(corpus)), pairs))
    lines = zip(*corpus.take(chosen), strict=True)
    path.write_text("".join(f"{source}\t{target}\n" for source, target in lines), "utf-8")


def trained(data: Path, change: tuple[str, ...], seed: int, budget: str) -> dict[str, Any]:
    """Train with changed options; return the best dev BLEU, the dev loss then, and the updates."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        command = [*S2S, "train", "--data", str(data), "--run", str(path), "--budget", budget]
        for setting in (*BASE, *change, f"training.seed={seed}"):
            command += ["--set", setting]
        run([*command, "--quiet"])
        validations = [entry for entry in Run(path).metrics() if entry["kind"] == "validation"]
    best = max(validations, key=lambda entry: entry["dev_bleu"])
    updates = validations[-1]["step"]
    return {"bleu": best["dev_bleu"], "loss": best["dev_loss"], "updates": updates}


def table(results: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Return a row for each change: its mean dev BLEU, difference, dev loss and updates."""
    lines = [
        "| change | seeds | dev BLEU | difference | dev loss | updates |",
        "|---|---|---|---|---|---|",
    ]
    base = results[name_of(())]
    for change, seeds in results.items():
        bleu, loss, updates = (
            statistics.mean(each[key] for each in seeds.values())
            for key in ("bleu", "loss", "updates")
        )
        differences = [each["bleu"] - base[seed]["bleu"] for seed, each in seeds.items()]
        difference = f"{statistics.mean(differences):+.2f}"
        if len(differences) > 1:
            error = statistics.stdev(differences) / math.sqrt(len(differences))
            difference += f" ± {error:.2f}"
        shown = difference if seeds is not base else ""
        lines.append(
            f"| {change} | {len(seeds)} | {bleu:.2f} | {shown} | {loss:.3f} | {updates:,.0f} |"
        )
    return "\n".join(lines)


def name_of(change: tuple[str, ...]) -> str:
    """Return a change as it is shown."""
    return ", ".join(f"`{setting}`" for setting in change) or "none"


def selected(texts: list[str]) -> list[tuple[str, ...]]:
    """Return the unchanged training, and the changes whose name contains one of the texts."""
    return [change for change in CHANGES if not change or any(t in name_of(change) for t in texts)]


def main() -> None:
    """Train what the file of results does not have yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path, help="JSON; what is in it is not trained again")
    parser.add_argument("--data", default="tatoeba")
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--budget", default="4m")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="in a row's name")
    parser.add_argument("--table", action="store_true", help="print the results and train nothing")
    given = parser.parse_args()
    for text in given.only:
        if not any(text in name_of(change) for change in CHANGES):
            parser.error(f"argument --only: no row has {text} in its name")
    if given.table and not given.results.exists():
        parser.error(f"{given.results}: no such file, so there is nothing to print")
    results = json.loads(given.results.read_text("utf-8")) if given.results.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "sample.tsv"
        if not given.table:
            sample(given.data, given.pairs, data)
        for seed in [] if given.table else given.seeds:
            for change in selected(given.only):
                seeds = results.setdefault(name_of(change), {})
                if str(seed) not in seeds:
                    seeds[str(seed)] = trained(data, change, seed, given.budget)
                    print(seed, name_of(change), seeds[str(seed)], flush=True)
                    text = json.dumps(results, indent=1) + "\n"
                    given.results.write_text(text, "utf-8")
    print(table(results))
    print(describe(None))


if __name__ == "__main__":
    main()
