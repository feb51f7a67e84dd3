"""Training speed beside that of other trainers, side by side: pairs a second.

    python -m venv joey
    joey/bin/pip install joeynmt==2.3.0 'protobuf<3.21' importlib_metadata sentencepiece==0.2.0
    python benchmarks/training.py --joey joey/bin/python --json training.json

All train on the same pairs of Tatoeba with the same SentencePiece vocabulary of 8,000: an RNN (GRU
of 256 units, bidirectional, additive attention) and a Transformer (4 + 4 layers of 256 units, 4
heads, 1,024 inside). The programs: this one; Joey NMT 2.3 on PyTorch; the models of TensorFlow's
tutorials in Keras' `fit`; their Keras layers in this project's loop. Each trial is a process of its
own, warmed up before the clock starts, and the programs take turns, so that a drift of the machine
hits all. The first comparison is at `--batches` pairs a batch, for each of them; this program also
runs at batches of `--tokens` tokens. Trials that are in the JSON file already are not run again.
"""

import argparse
import importlib.metadata
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from seq2seq_cli.config import Config
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.pipeline import learn_tokenizers, token_lengths

JOEY_STEPS = 20  # in a window of its log; the first window is not counted
JOEY = """
name: "{kind}"
joeynmt_version: "2.3.0"
model_dir: "{folder}/model"
use_cuda: False
random_seed: 1
data:
  train: "{data}/train"
  dev: "{data}/dev"
  dataset_type: "plain"
  src: &side
    lang: "en"
    level: "bpe"
    voc_file: "{data}/vocabulary.txt"
    tokenizer_type: "sentencepiece"
    tokenizer_cfg: {{model_file: "{data}/model.spm"}}
    max_length: 64
  trg:
    <<: *side
    lang: "es"
testing: {{beam_size: 1, batch_size: 64, batch_type: "sentence"}}
training:
  optimizer: "adam"
  learning_rate: 0.0001
  learning_rate_min: 0.0
  scheduling: "exponential"
  decrease_factor: 1.0
  normalization: "tokens"
  loss: "crossentropy"
  label_smoothing: 0.1
  clip_grad_norm: 1.0
  batch_size: {batch}
  batch_type: "sentence"
  epochs: 100
  updates: {updates}
  logging_freq: {steps}
  validation_freq: {steps}000000
  overwrite: True
model:
  tied_embeddings: {tied}
  tied_softmax: {tied}
"""
JOEY_RNN = """
  encoder: {type: "recurrent", rnn_type: "gru", embeddings: {embedding_dim: 256, dropout: 0.1},
            hidden_size: 256, bidirectional: True, dropout: 0.1}
  decoder: {type: "recurrent", rnn_type: "gru", embeddings: {embedding_dim: 256, dropout: 0.1},
            hidden_size: 256, dropout: 0.1, hidden_dropout: 0.1, init_hidden: "bridge",
            input_feeding: True, attention: "bahdanau"}
"""
JOEY_TRANSFORMER = """
  encoder: {type: "transformer", num_layers: 4, num_heads: 4, hidden_size: 256, ff_size: 1024,
            embeddings: {embedding_dim: 256, scale: True}, dropout: 0.1, layer_norm: "pre"}
  decoder: {type: "transformer", num_layers: 4, num_heads: 4, hidden_size: 256, ff_size: 1024,
            embeddings: {embedding_dim: 256, scale: True}, dropout: 0.1, layer_norm: "pre"}
"""


class Material:
    """The corpus and the vocabulary, as files that every program reads.

    Attributes:
        folder: where they are.
        tokens_a_pair: target tokens of a pair on average, EOS included.
    """

    def __init__(self, folder: Path, data: str):
        self.folder = folder
        self.data = data
        tables = {"data": {"corpus": data}, "tokenizer": {"vocabulary_size": 8000}}
        config = Config.model_validate(tables)
        corpus = read_corpus(config.data)
        tokenizers = learn_tokenizers(corpus.train, config.tokenizer)
        (folder / "model.spm").write_bytes(tokenizers.source.serialise())
        size = tokenizers.source.vocabulary_size
        pieces = tokenizers.source.pieces(list(range(4, size)))
        (folder / "vocabulary.txt").write_text("\n".join(pieces) + "\n", "utf-8")
        for name, pairs in (("train", corpus.train), ("dev", list(corpus.dev)[:64])):
            for side, language in enumerate(("en", "es")):
                lines = "".join(f"{pair[side]}\n" for pair in pairs)
                (folder / f"{name}.{language}").write_text(lines, "utf-8")
        _, targets = token_lengths(corpus.train, tokenizers)
        self.tokens_a_pair = float(targets.mean())


def s2s(material: Material, kind: str, size: list[str], steps: int) -> float:
    """Return the pairs a second of this project."""
    settings = [*size, f"tokenizer.model={material.folder / 'model.spm'}"]
    settings += ["tokenizer.vocabulary_size=8000"]
    if kind == "transformer":
        settings += ["model.encoder_layers=4", "model.decoder_layers=4"]
    command = [sys.executable, "-m", "seq2seq_cli", "bench", "train", "--json", "--trials", "1"]
    command += ["--model", kind, "--data", material.data, "--steps", str(steps)]
    for setting in settings:
        command += ["--set", setting]
    return json.loads(run(command))["pairs_per_second"]


def tutorial(material: Material, kind: str, batch: int, steps: int, loop: str) -> float:
    """Return the pairs a second of Keras' layers, in one of two loops."""
    script = str(Path(__file__).with_name("tutorial.py"))
    command = [sys.executable, script, "--model", kind, "--batch", str(batch), "--loop", loop]
    command += ["--steps", str(steps), "--data", material.data]
    command += ["--tokenizer", str(material.folder / "model.spm")]
    return json.loads(run(command))["pairs_per_second"]


def joey(python: str, material: Material, kind: str, batch: int) -> float:
    """Return the pairs a second of Joey NMT, by the speed that it logs."""
    with tempfile.TemporaryDirectory() as folder:
        config = JOEY.format(
            kind=kind,
            folder=folder,
            data=material.folder,
            batch=batch,
            steps=JOEY_STEPS,
            updates=3 * JOEY_STEPS,
            tied=kind == "transformer",
        )
        config += JOEY_RNN if kind == "rnn" else JOEY_TRANSFORMER
        path = Path(folder, "config.yaml")
        path.write_text(config, "utf-8")
        run([python, "-m", "joeynmt", "train", str(path), "--skip-test"])
        logged = Path(folder, "model", "train.log").read_text("utf-8")
    rates = [float(rate) for rate in re.findall(r"Tokens per Sec: +([\d.]+)", logged)]
    return statistics.mean(rates[1:3]) / material.tokens_a_pair


def run(command: list[str]) -> str:
    """Return stdout of a command; the error of one that fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}:\n{done.stderr[-3000:]}")
    return done.stdout


def describe(python: str | None) -> str:
    """Return what the figures depend on: processor and versions."""
    name = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text("utf-8"))
    names = ("tensorflow", "keras", "sentencepiece")
    versions = [f"{name} {importlib.metadata.version(name)}" for name in names]
    if python:
        code = "import joeynmt as j, torch as t; print(f'{j.__version__}, torch {t.__version__}')"
        versions.append(f"Joey NMT {run([python, '-c', code]).strip()}")
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores of {name[1] if name else 'unknown'}; {', '.join(versions)}"


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
                programs[kind, pairs, "s2s"] = lambda k=kind, s=size: s2s(
                    material, k, s, options.steps
                )
                if options.joey:
                    programs[kind, pairs, "Joey NMT"] = lambda k=kind, b=batch: joey(
                        options.joey, material, k, b
                    )
                for name, loop in (("tutorial", "fit"), ("Keras layers", "s2s")):
                    programs[kind, pairs, name] = lambda k=kind, b=batch, lo=loop: tutorial(
                        material, k, b, options.steps, lo
                    )
            for tokens in options.tokens:
                size = [f"training.batch_tokens={tokens}"]
                programs[kind, f"{tokens} tokens", "s2s"] = lambda k=kind, s=size: s2s(
                    material, k, s, options.steps
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
