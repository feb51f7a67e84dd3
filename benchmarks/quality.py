"""BLEU of dev after a given time of training, for s2s and other programs on the same cores.

    python -m venv joey
    joey/bin/pip install joeynmt==2.3.0 'protobuf<3.21' importlib_metadata sentencepiece==0.2.0
    python benchmarks/quality.py --joey joey/bin/python --budget 20 --folder quality

All train on the files that `s2s export-split` writes of Tatoeba, with the same SentencePiece
vocabulary of 8,000: an RNN (GRU of 256 units, bidirectional, additive attention) and a Transformer
(4 + 4 layers of 256 units). s2s trains on the corpus itself, which has the same split, with
`--budget`. Joey NMT trains as long as the whole process of s2s took, or for the budget if s2s did
not train, with the batch given here, a warm-up of 400 updates to a learning rate of 1e-3, and no
validation. So do the models of TensorFlow's tutorials (see tutorial.py), and the Transformer of
Keras' example (see keras_example.py), in Keras' `fit`. All then translate the dev split greedily.
`s2s eval --hypotheses` scores the translations with all references, and `s2s compare` tests whether
they differ by chance. Trainings that the folder has already are not repeated.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from peers import LAYERS, S2S, VOCABULARY, Joey, Material, describe, run

PROGRAMS = ("s2s", "Joey NMT", "tutorial", "Keras example")
KERAS = "keras_example.py"


def s2s(material: Material, kind: str, folder: Path, minutes: float) -> tuple[list[str], float]:
    """Return the translations of dev after a training, and the seconds that the training took."""
    settings = [f"tokenizer.model={material.model}", f"tokenizer.vocabulary_size={VOCABULARY}"]
    if kind == "transformer":
        settings += [f"model.encoder_layers={LAYERS}", f"model.decoder_layers={LAYERS}"]
    path = str(folder / f"s2s-{kind}")
    command = [*S2S, "train", "--model", kind, "--data", material.data, "--run", path]
    for setting in settings:
        command += ["--set", setting]
    start = time.perf_counter()
    run([*command, "--budget", f"{minutes}m"])
    seconds = time.perf_counter() - start
    source = str(material.split / "dev.en")
    translated = run([*S2S, "translate", "--run", path, "--input", source])
    return translated.split("\n")[:-1], seconds


def joey(
    python: str, material: Material, kind: str, folder: Path, batch: int, seconds: float
) -> list[str]:
    """Return the translations of dev after a training of so many seconds."""
    folder = folder / f"joey-{kind}"
    folder.mkdir(exist_ok=True)
    model = Joey.new(python, folder, material, kind, batch)
    model.train(seconds)
    translations, _ = model.translate(material.split / "dev")
    return translations


def keras_fit(
    script: list[str], material: Material, folder: Path, batch: int, seconds: float
) -> list[str]:
    """Return the translations of dev by a script that trains by Keras' `fit` for so many seconds.

    Args:
        script: its name, and the options that only it has.
        material: the corpus and the vocabulary.
        folder: will have the translations.
        batch: pairs.
        seconds: of the process, without the search.
    """
    name, *options = script
    output = folder / f"{'-'.join([name.removesuffix('.py'), *options[1:]])}.es"
    command = [sys.executable, str(Path(__file__).with_name(name)), *options]
    command += ["--split", str(material.split), "--tokenizer", str(material.model)]
    command += ["--batch", str(batch), "--seconds", str(seconds), "--output", str(output)]
    run(command)
    return output.read_text("utf-8").split("\n")[:-1]


def main() -> None:
    """Train what is not trained yet, and print a row for each model and program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--joey", help="the Python of a virtual environment with Joey NMT")
    parser.add_argument("--models", nargs="+", default=["transformer", "rnn"])
    parser.add_argument("--programs", nargs="+", default=PROGRAMS, choices=PROGRAMS)
    parser.add_argument("--budget", type=float, default=20, help="minutes")
    parser.add_argument("--batch", type=int, default=64, help="pairs of the other programs' batch")
    parser.add_argument("--data", default="tatoeba")
    parser.add_argument("--folder", type=Path, default=Path("quality"))
    options = parser.parse_args()
    if "Joey NMT" in options.programs and not options.joey:
        parser.error("--joey is missing; or leave Joey NMT out by --programs")
    folder = options.folder.resolve()
    folder.mkdir(exist_ok=True)
    path = folder / "results.json"
    found = json.loads(path.read_text("utf-8")) if path.exists() else {}
    material = Material(folder, options.data)

    def translated(kind: str, program: str) -> tuple[list[str], float]:
        if program == "s2s":
            return s2s(material, kind, folder, options.budget)
        own = found.get(f"{kind} / s2s")
        seconds = own["seconds"] if own else 60 * options.budget
        script = {"tutorial": ["tutorial.py", "--model", kind], "Keras example": [KERAS]}
        if program in script:
            return keras_fit(script[program], material, folder, options.batch, seconds), seconds
        return joey(options.joey, material, kind, folder, options.batch, seconds), seconds

    def hypotheses(kind: str, program: str) -> Path:
        return folder / f"{kind}-{program.lower().replace(' ', '-')}.es"

    for kind in options.models:
        for program in options.programs:
            name = f"{kind} / {program}"
            if name in found or (program == "Keras example" and kind != "transformer"):
                continue
            translations, seconds = translated(kind, program)
            file = hypotheses(kind, program)
            file.write_text("".join(f"{text}\n" for text in translations), "utf-8")
            found[name] = {"seconds": seconds, **material.scores("dev", file)}
            path.write_text(json.dumps(found, indent=1), "utf-8")
            print(f"{name}: BLEU {found[name]['bleu']:.2f}", flush=True)
    print("\n| model | program | minutes | BLEU | chrF |\n|---|---|---|---|---|")
    for name, row in found.items():
        kind, program = name.split(" / ")
        figures = f"{row['seconds'] / 60:.1f} | {row['bleu']:.2f} | {row['chrf']:.2f}"
        print(f"| {kind} | {program} | {figures} |")
    print(f"\n{describe(options.joey)}\n")
    systems = [str(hypotheses(*name.split(" / "))) for name in found]
    if len(systems) > 1:
        print(run([*S2S, "compare", *systems, *material.test_set("dev"), "--markdown"]))


if __name__ == "__main__":
    main()
