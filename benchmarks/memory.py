"""Compare the memory that `s2s train --dry-run` estimates with what training takes.

    python benchmarks/memory.py
    python benchmarks/memory.py --only base --json memory.json

Each case runs in two processes of its own. One estimates, as --dry-run does. The other sets
training up, compiles, and makes three updates. Its memory is the maximum of its resident memory.
The two larger models have a corpus of random sentences with 37,000 different words.
"""

import argparse
import itertools
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

_SYLLABLES = [consonant + vowel for consonant in "bdfglmnprst" for vowel in "aeiou"]
_WORDS = 37_000
_RATE = 1e-6
_SMALL = ["training.steps=8"]
_BASE = ["training.steps=3", "training.batch_tokens=2048", "training.parts=1"]
_BIG = ["training.steps=1", "training.batch_tokens=1024", "training.parts=1", "training.shards=1"]
_BFLOAT16, _RECOMPUTE = "training.optimizer_states=bfloat16", "training.recompute=true"
_GRAPH = "training.compile=graph"
CASES = {
    "RNN": ("", _SMALL),
    "RNN, bfloat16 states": ("", [*_SMALL, _BFLOAT16]),
    "Transformer": ("", ["model.kind=transformer", *_SMALL]),
    "Transformer, recompute": ("", ["model.kind=transformer", *_SMALL, _RECOMPUTE]),
    "base": ("transformer-base", _BASE),
    "base, plain graph": ("transformer-base", [*_BASE, _GRAPH]),
    "base, bfloat16 states": ("transformer-base", [*_BASE, _BFLOAT16]),
    "base, recompute": ("transformer-base", [*_BASE, _RECOMPUTE]),
    "base, recompute, bfloat16 states": ("transformer-base", [*_BASE, _RECOMPUTE, _BFLOAT16]),
    "big": ("transformer-big", _BIG),
    "big, bfloat16 states": ("transformer-big", [*_BIG, _BFLOAT16]),
    "big, recompute, bfloat16 states": ("transformer-big", [*_BIG, _RECOMPUTE, _BFLOAT16]),
}
"""Name, shipped config, and values of keys."""


def write_corpus(path: Path, pairs: int = 12_000) -> None:
    """Write pairs of random sentences of 4 to 60 words."""
    rng = random.Random(0)
    words = ["".join(syllables) for syllables in itertools.product(_SYLLABLES, repeat=3)][:_WORDS]
    with path.open("w", encoding="utf-8") as file:
        for _ in range(pairs):
            length = rng.randint(4, 60)
            sides = [" ".join(rng.choices(words, k=length)) for _ in range(2)]
            file.write("\t".join(sides) + "\n")


def estimate_or_measure(kind: str, config_name: str, assignments: list[str]) -> int:
    """Return the bytes of one case, in this process.

    Args:
        kind: `estimate` or `measure`.
        config_name: a shipped config, or "" for the defaults.
        assignments: KEY=VALUE of each changed key.
    """
    from seq2seq_cli.runtime.tensorflow import import_tensorflow

    import_tensorflow()
    from seq2seq_cli.config.files import find_config, load_config
    from seq2seq_cli.config.overrides import Overrides
    from seq2seq_cli.runtime.computation import choose_computation
    from seq2seq_cli.runtime.memory import peak_memory
    from seq2seq_cli.training.events import ignore
    from seq2seq_cli.training.plan import memory_of
    from seq2seq_cli.training.setup import compile_ahead, set_up

    changed = Overrides.read(find_config(config_name)) if config_name else Overrides()
    for assignment in assignments:
        changed.set_assignment(assignment)
    config = load_config(changed)
    setup = set_up(config)
    computation = choose_computation(config.training, setup.model)
    if kind == "estimate":
        return memory_of(setup, computation).total
    updater = setup.updater(computation)
    compile_ahead(setup, updater, ignore)
    # A single update has a single shape, in the estimate as in the measurement.
    most = (config.training.steps or 1) * config.training.parts
    batches = itertools.cycle([*itertools.islice(setup.data.batches(epoch=0), most)])
    for number in range(3):
        updater.update([*itertools.islice(batches, config.training.parts)], number, _RATE)
    return peak_memory()


def main() -> None:
    """Print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="the cases whose names contain this")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        kind, config_name, *assignments = options.child
        print(estimate_or_measure(kind, config_name, assignments))
        return
    figures = {}
    print("| model | estimated, MB | measured, MB | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "random.tsv"
        write_corpus(corpus)
        for name, (config_name, assignments) in CASES.items():
            if options.only not in name:
                continue
            own = [f"data.corpus={corpus}", "tokenizer.kind=words"] if config_name else []
            command = [sys.executable, __file__, "--child"]
            found = [
                int(
                    subprocess.run(
                        [*command, kind, config_name, *own, *assignments],
                        check=True,
                        capture_output=True,
                    ).stdout.split()[-1]
                )
                for kind in ("estimate", "measure")
            ]
            figures[name] = found
            estimated, measured = found
            print(
                f"| {name} | {estimated / 1e6:,.0f} | {measured / 1e6:,.0f} "
                f"| {estimated / measured:.2f} |",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
