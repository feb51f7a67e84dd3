"""BLEU of dev after a given time of training, for s2s and Joey NMT on the same cores.

    python -m venv joey
    joey/bin/pip install joeynmt==2.3.0 'protobuf<3.21' importlib_metadata sentencepiece==0.2.0
    python benchmarks/quality.py --joey joey/bin/python --budget 20 --folder quality

Both train on the same pairs of Tatoeba with the same SentencePiece vocabulary of 8,000: an RNN (GRU
of 256 units, bidirectional, additive attention) and a Transformer (4 + 4 layers of 256 units). s2s
trains with `--budget`. Joey NMT trains as long as the whole process of s2s took, with the batch
given here, a warm-up of 400 updates to a learning rate of 1e-3, and no validation. Both then
translate the dev split greedily, and sacreBLEU scores it with all references. Trainings that the
folder has already are not repeated.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from peers import LAYERS, VOCABULARY, Joey, Material, describe, run

from seq2seq_cli.evaluation.test_split import score


def s2s(material: Material, kind: str, folder: Path, minutes: float) -> tuple[list[str], float]:
    """Return the translations of dev after a training, and the seconds that the training took."""
    settings = [f"tokenizer.model={material.model}", f"tokenizer.vocabulary_size={VOCABULARY}"]
    if kind == "transformer":
        settings += [f"model.encoder_layers={LAYERS}", f"model.decoder_layers={LAYERS}"]
    program, path = [sys.executable, "-m", "seq2seq_cli"], str(folder / f"s2s-{kind}")
    command = [*program, "train", "--model", kind, "--data", material.data, "--run", path]
    for setting in settings:
        command += ["--set", setting]
    start = time.perf_counter()
    run([*command, "--budget", f"{minutes}m"])
    seconds = time.perf_counter() - start
    source = str(material.folder / "dev.en")
    return run([*program, "translate", "--run", path, "--input", source]).splitlines(), seconds


def joey(
    python: str, material: Material, kind: str, folder: Path, batch: int, seconds: float
) -> list[str]:
    """Return the translations of dev after a training of so many seconds."""
    folder = folder / f"joey-{kind}"
    folder.mkdir(exist_ok=True)
    model = Joey.new(python, folder, material, kind, batch)
    model.train(seconds)
    translations, _ = model.translate(material.folder / "dev")
    return translations


def main() -> None:
    """Train what is not trained yet, and print a row for each model and program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--joey", required=True, help="the Python of its virtual environment")
    parser.add_argument("--models", nargs="+", default=["transformer", "rnn"])
    parser.add_argument("--budget", type=float, default=20, help="minutes")
    parser.add_argument("--batch", type=int, default=64, help="pairs of Joey NMT's batch")
    parser.add_argument("--data", default="tatoeba")
    parser.add_argument("--folder", type=Path, default=Path("quality"))
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    path = options.folder / "results.json"
    found = json.loads(path.read_text("utf-8")) if path.exists() else {}
    material = Material(options.folder.resolve(), options.data)

    def keep(name: str, translations: list[str], seconds: float) -> None:
        scores = score(translations, material.references["dev"])
        found[name] = {
            "bleu": scores.bleu,
            "chrf": scores.chrf,
            "seconds": seconds,
            "signature": scores.bleu_signature,
        }
        path.write_text(json.dumps(found, indent=1), "utf-8")
        print(f"{name}: BLEU {scores.bleu:.2f}", flush=True)

    for kind in options.models:
        if f"{kind} / s2s" not in found:
            keep(f"{kind} / s2s", *s2s(material, kind, options.folder, options.budget))
        if f"{kind} / Joey NMT" not in found:
            seconds = found[f"{kind} / s2s"]["seconds"]
            given = (options.joey, material, kind, options.folder, options.batch, seconds)
            keep(f"{kind} / Joey NMT", joey(*given), seconds)
    print("\n| model | program | minutes | BLEU | chrF |\n|---|---|---|---|---|")
    for name, row in found.items():
        kind, program = name.split(" / ")
        figures = f"{row['seconds'] / 60:.1f} | {row['bleu']:.2f} | {row['chrf']:.2f}"
        print(f"| {kind} | {program} | {figures} |")
    print(f"\n{describe(options.joey)}; {row['signature']}")


if __name__ == "__main__":
    main()
