"""Common code of the comparisons with other programs: a corpus in files, and Joey NMT 2.3."""

import importlib.metadata
import json
import re
import signal
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from seq2seq_cli.config import Config
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.export import export
from seq2seq_cli.data.lengths import token_lengths
from seq2seq_cli.data.vocabularies import learn_tokenizers
from seq2seq_cli.runtime.machine import cores, processor_name

UNITS, LAYERS, HEADS, INNER_UNITS, VOCABULARY = 256, 4, 4, 1024, 8000
LENGTH = 64  # tokens of the longest sentence
S2S = [sys.executable, "-m", "seq2seq_cli"]


class Material:
    """The corpus and the vocabulary, as files that every program reads.

    Args:
        folder: will have them; a split that is there is used again.
        data: the corpus, as `--data` takes it.

    Attributes:
        split: the folder that `s2s export-split` writes.
        data: the corpus.
        model: the SentencePiece model; its pieces are in vocabulary.txt.
        tokens_per_pair: mean number of target tokens per training pair, EOS included.
    """

    def __init__(self, folder: Path, data: str):
        self.data = data
        self.split = folder / "split"
        tables = {"data": {"corpus": data}, "tokenizer": {"vocabulary_size": VOCABULARY}}
        config = Config.model_validate(tables)
        corpus = read_corpus(config.data)
        if not self.split.exists():
            export(corpus, ("en", "es"), self.split)
        tokenizers = learn_tokenizers(corpus.train, config.tokenizer)
        self.model = folder / "model.spm"
        self.model.write_bytes(tokenizers.source.serialise())
        pieces = tokenizers.source.pieces(list(range(4, tokenizers.source.vocabulary_size)))
        self.vocabulary = folder / "vocabulary.txt"
        self.vocabulary.write_text("\n".join(pieces) + "\n", "utf-8")
        _, targets = token_lengths(corpus.train, tokenizers)
        self.tokens_per_pair = float(targets.mean())

    def test_set(self, name: str) -> list[str]:
        """Return the options by which `s2s eval` and `s2s compare` take the split `name`."""
        files = json.loads((self.split / "split.json").read_text("utf-8"))["splits"][name]["files"]
        source, *references = (str(self.split / file) for file in files)
        options = ["--source-file", source]
        return options + [word for file in references for word in ("--reference-file", file)]

    def scores(self, name: str, hypotheses: Path) -> dict[str, Any]:
        """Return what `s2s eval` says of a file of translations of the split `name`."""
        command = [*S2S, "eval", "--json", "--hypotheses", str(hypotheses), *self.test_set(name)]
        found: dict[str, Any] = json.loads(run(command))
        return found


JOEY_TRAINING = {
    "optimizer": "adam",
    "adam_betas": [0.9, 0.98],
    "learning_rate": 0.001,
    "learning_rate_min": 0.0,
    "learning_rate_warmup": 400,
    "scheduling": "warmupinversesquareroot",
    "normalization": "tokens",
    "loss": "crossentropy",
    "label_smoothing": 0.1,
    "clip_grad_norm": 1.0,
    "batch_type": "sentence",
    "epochs": 1000,
    "overwrite": True,
}


def _joey_model(kind: str) -> dict[str, Any]:
    """Return Joey NMT's table `model` for an `rnn` or a `transformer`."""
    encoder: dict[str, Any]
    decoder: dict[str, Any]
    if kind == "rnn":
        layer = {"type": "recurrent", "rnn_type": "gru", "hidden_size": UNITS, "dropout": 0.1}
        layer["embeddings"] = {"embedding_dim": UNITS, "dropout": 0.1}
        encoder = {**layer, "bidirectional": True}
        decoder = {**layer, "hidden_dropout": 0.1, "init_hidden": "bridge"}
        decoder |= {"input_feeding": True, "attention": "bahdanau"}
    else:
        encoder = decoder = {
            "type": "transformer",
            "num_layers": LAYERS,
            "num_heads": HEADS,
            "hidden_size": UNITS,
            "ff_size": INNER_UNITS,
            "embeddings": {"embedding_dim": UNITS, "scale": True},
            "dropout": 0.1,
            "layer_norm": "pre",
        }
    tied = kind == "transformer"
    return {"tied_embeddings": tied, "tied_softmax": tied, "encoder": encoder, "decoder": decoder}


class Joey:
    """A model of Joey NMT in its own folder, which also has its config.

    Args:
        python: the Python of its virtual environment.
        folder: has its model and its output.
        config: in Joey NMT's format.
    """

    def __init__(self, python: str, folder: Path, config: dict[str, Any]):
        self.python, self.folder, self.config = python, folder, config

    @classmethod
    def load(cls, python: str, folder: Path) -> "Joey":
        """Return the model in a folder."""
        return cls(python, folder, json.loads((folder / "config.yaml").read_text("utf-8")))

    @classmethod
    def new(
        cls,
        python: str,
        folder: Path,
        material: Material,
        kind: str,
        batch: int,
        updates: int = 10**7,
        logging_steps: int = 100,
        validation_steps: int | None = None,
    ) -> "Joey":
        """Return a model of the sizes above, not yet trained.

        Args:
            python: the Python of its virtual environment.
            folder: will have its model.
            material: the corpus and the vocabulary.
            kind: `rnn` or `transformer`.
            batch: number of pairs in a training batch.
            updates: number of updates after which training ends.
            logging_steps: number of updates between two log lines with the speed.
            validation_steps: number of updates between two validations on dev, a multiple of
                `logging_steps`; none without it.
        """
        side = {
            "level": "bpe",
            "voc_file": str(material.vocabulary),
            "tokenizer_type": "sentencepiece",
            "tokenizer_cfg": {"model_file": str(material.model)},
            "max_length": LENGTH,
        }
        config = {
            "name": kind,
            "joeynmt_version": "2.3.0",
            "model_dir": f"{folder}/model",
            "use_cuda": False,
            "random_seed": 1,
            "data": {
                "train": f"{material.split}/train",
                "dev": f"{material.split}/dev",
                "dataset_type": "plain",
                "src": {"lang": "en", **side},
                "trg": {"lang": "es", **side},
            },
            "testing": {"beam_size": 1, "batch_size": 64, "batch_type": "sentence"},
            "training": {
                **JOEY_TRAINING,
                "batch_size": batch,
                "updates": updates,
                "logging_freq": logging_steps,
                "validation_freq": validation_steps or logging_steps * 10**6,
            },
            "model": _joey_model(kind),
        }
        return cls(python, folder, config)

    def train(self, seconds: float | None = None) -> None:
        """Train until the updates are done, or for so many seconds from the start of the process.

        At the end of that time an interrupt ends the training, and Joey NMT saves its weights.
        """
        command = [*self._command("train"), "--skip-test"]
        with (self.folder / "train.log").open("w") as log:
            # A background process of a shell ignores interrupts, and so do its children.
            process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                process.wait()
        if process.returncode:
            raise SystemExit((self.folder / "train.log").read_text("utf-8")[-3000:])

    def tokens_per_second(self) -> float:
        """Return the speed of the training: the mean of the logged values without the first."""
        logged = (self.folder / "model" / "train.log").read_text("utf-8")
        rates = [float(rate) for rate in re.findall(r"Tokens per Sec: +([\d.]+)", logged)]
        return statistics.mean(rates[1:])

    def translate(self, split: Path, beam: int = 1, batch: int = 64) -> tuple[list[str], float]:
        """Return the translations of a split, and the seconds that the search took.

        `split` is the path of its files, without the language.
        """
        self.config["data"]["dev"] = str(split)
        self.config["testing"] |= {"beam_size": beam, "batch_size": batch}
        run([*self._command("test"), "--output-path", str(self.folder / "translations")])
        translations = (self.folder / "translations.dev").read_text("utf-8").split("\n")[:-1]
        logged = (self.folder / "model" / "test.log").read_text("utf-8")
        return translations, float(re.findall(r"Generation took ([\d.]+)", logged)[-1])

    def _command(self, mode: str) -> list[str]:
        path = self.folder / "config.yaml"
        path.write_text(json.dumps(self.config, indent=1), "utf-8")  # which is YAML, too
        return [self.python, "-m", "joeynmt", mode, str(path)]


def run(command: list[str]) -> str:
    """Return stdout of a command; exit with stderr if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}:\n{done.stderr[-3000:]}")
    return done.stdout


def describe(python: str | None, *packages: str) -> str:
    """Return the processor and the versions of packages, these included.

    `python` is that of Joey NMT's virtual environment, or None without Joey NMT.
    """
    names = ("tensorflow", "keras", "sentencepiece", *packages)
    versions = [f"{name} {importlib.metadata.version(name)}" for name in names]
    if python:
        code = "import joeynmt as j, torch as t; print(f'{j.__version__}, torch {t.__version__}')"
        versions.append(f"Joey NMT {run([python, '-c', code]).strip()}")
    return f"{cores()} cores of {processor_name()}; {', '.join(versions)}"
