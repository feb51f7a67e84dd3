"""Training speed of s2s and of other programs, in pairs per second.

    python -m venv joey
    joey/bin/pip install joeynmt==2.3.0 'protobuf<3.21' importlib_metadata sentencepiece==0.2.0
    python benchmarks/training.py --joey joey/bin/python --json training.json

All train on the same pairs of Tatoeba with the same SentencePiece vocabulary of 8,000: an RNN (GRU
of 256 units, bidirectional, additive attention) and a Transformer (4 + 4 layers of 256 units, 4
heads, 1,024 inner units). The programs are s2s; Joey NMT 2.3 on PyTorch; the models of TensorFlow's
tutorials in Keras' `fit`; and their Keras layers in the loop of s2s. Each trial is a process of its
own, warmed up before the clock starts. The programs take turns, so that a drift of the machine
affects all. All programs run with `--batches` pairs per batch. s2s also runs with `--tokens` tokens
per batch. Trials that are in the JSON file already are not run again.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from peers import LAYERS, S2S, VOCABULARY, Joey, Material, describe, run


def s2s(material: Material, kind: str, size: list[str], steps: int) -> float:
    """Return the pairs per second of s2s."""
    settings = [*size, f"tokenizer.model={material.model}"]
    settings += [f"tokenizer.vocabulary_size={VOCABULARY}"]
    if kind == "transformer":
        settings += [f"model.encoder_layers={LAYERS}", f"model.decoder_layers={LAYERS}"]
    command = [*S2S, "bench", "train", "--json", "--trials", "1"]
    command += ["--model", kind, "--data", material.data, "--steps", str(steps)]
    for setting in settings:
        command += ["--set", setting]
    return json.loads(run(command))["pairs_per_second"]


def tutorial(material: Material, kind: str, batch: int, steps: int, loop: str) -> float:
    """Return the pairs per second of Keras' layers, in one of two loops."""
    script = str(Path(__file__).with_name("tutorial.py"))
    command = [sys.executable, script, "--model", kind, "--batch", str(batch), "--loop", loop]
    command += ["--steps", str(steps), "--data", material.data]
    command += ["--tokenizer", str(material.model)]
    return json.loads(run(command))["pairs_per_second"]


def joey(python: str, material: Material, kind: str, batch: int, steps: int) -> float:
    """Return the pairs per second of Joey NMT, by the speed that it logs."""
    with tempfile.TemporaryDirectory() as folder:
        model = Joey.new(python, Path(folder), material, kind, batch, 3 * steps, steps)
        model.train()
        return model.tokens_per_second() / material.tokens_per_pair


def main() -> None:
    """Run the trials, print a line for each, and a table at the end."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--joey", help="the Python of a virtual environment with Joey NMT")
    parser.add_argument("--models", nargs="+", default=["rnn", "transformer"])
    parser.add_argument("--batches", nargs="+", type=int, default=[64, 128, 256], help="pairs")
    parser.add_argument("--tokens", nargs="+", type=int, default=[1024, 2048, 4096])
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--data", default="tatoeba")
    parser.add_argument("--json", type=Path, required=True, help="where to keep the figures")
    options = parser.parse_args()
    found = json.loads(options.json.read_text("utf-8")) if options.json.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        material = Material(Path(folder), options.data)
        programs: dict[tuple[str, str, str], Callable[[], float]] = {}
        for kind in options.models:
            for batch in options.batches:
                size, pairs = [f"training.batch_pairs={batch}"], f"{batch} pairs"
                programs[kind, pairs, "s2s"] = partial(s2s, material, kind, size, options.steps)
                if options.joey:
                    programs[kind, pairs, "Joey NMT"] = partial(
                        joey, options.joey, material, kind, batch, options.steps // 3
                    )
                for name, loop in (("tutorial", "fit"), ("Keras layers", "s2s")):
                    programs[kind, pairs, name] = partial(
                        tutorial, material, kind, batch, options.steps, loop
                    )
            for tokens in options.tokens:
                size = [f"training.batch_tokens={tokens}"]
                programs[kind, f"{tokens} tokens", "s2s"] = partial(
                    s2s, material, kind, size, options.steps
                )
        for trial in range(options.trials):
            for key, program in programs.items():
                rates = found.setdefault(" / ".join(key), [])
                if len(rates) <= trial:
                    rates.append(program())
                    print(f"{' / '.join(key)}: {rates[-1]:.0f}", flush=True)
                    options.json.write_text(json.dumps(found, indent=1), "utf-8")
    print("\n| model | batch | program | pairs/s | spread |\n|---|---|---|---|---|")
    for kind, batch, name in programs:
        rates = found[f"{kind} / {batch} / {name}"]
        spread = f"{min(rates):.0f} to {max(rates):.0f}"
        print(f"| {kind} | {batch} | {name} | {statistics.median(rates):.0f} | {spread} |")
    print(f"\n{describe(options.joey)}")


if __name__ == "__main__":
    main()
