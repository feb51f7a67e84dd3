"""Export a run: write, compare with the run, and only then give the result its name."""

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.decoding.loading import LoadedRun, load_run
from seq2seq_cli.errors import DiskError, UsageError
from seq2seq_cli.evaluation.metrics import score
from seq2seq_cli.evaluation.test_sets import read_split
from seq2seq_cli.export import bundle, ctranslate2
from seq2seq_cli.export.card import NAME, Facts, model_card
from seq2seq_cli.export.program import Agreement, Program, compare, run_translations
from seq2seq_cli.runs.bundles import SUFFIX
from seq2seq_cli.runs.disk import disk_errors, publish
from seq2seq_cli.runs.run import Run
from seq2seq_cli.work import ShowWork, show_nothing

KINDS = ("bundle", "ctranslate2")
SENTENCES = 200
"""Most dev sentences that an export translates before it is done."""


@dataclass(frozen=True)
class Export:
    """What was written.

    Attributes:
        path: the file or the folder.
        kind: one of KINDS.
        agreements: how the export and the run agreed.
    """

    path: Path
    kind: str
    agreements: list[Agreement]

    def record(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "path": str(self.path),
            "kind": self.kind,
            "agreements": [asdict(each) for each in self.agreements],
        }


def check_output(path: Path, kind: str, quantization: str | None) -> None:
    """Check early whether an export can be written to a path.

    Raises:
        UsageError: if something is there, or an option does not fit the kind.
        DiskError: if its parent does not exist.
    """
    if quantization is not None and kind != "ctranslate2":
        raise UsageError(
            f"--quantization is for --to ctranslate2, and --to is {kind}. Leave it out"
        )
    if kind == "bundle" and path.suffix != SUFFIX:
        raise UsageError(f"{path}: the name of a bundle ends in {SUFFIX}. Give {path}{SUFFIX}")
    if kind == "ctranslate2":
        ctranslate2.import_ctranslate2()
    if os.path.lexists(path):
        raise UsageError(f"{path}: exists already; nothing is overwritten. Give a new name")
    if not path.absolute().parent.is_dir():
        raise DiskError(f"{path}: there is no folder {path.parent}. Make it first")


def export(
    run: Run,
    path: Path,
    kind: str,
    command: str,
    quantization: str | None = None,
    data: DataConfig | None = None,
    warn: Callable[[str], None] = print,
    show: ShowWork = show_nothing,
) -> Export:
    """Export a run as a whole or not at all.

    Args:
        run: the run.
        path: the file or folder to make; its parent exists.
        kind: one of KINDS.
        command: the arguments of `s2s` that do this, for the model card.
        quantization: of the weights, for CTranslate2; None for float32.
        data: the run's `[data]`, perhaps with a new path of the corpus; None for the run's own.
        warn: called for each damaged checkpoint.
        show: shows how many pairs have been read.

    Raises:
        UsageError: if the model cannot be exported so.
        ExportError: if the export does not translate as the run does.
        DataError: if the corpus cannot be read, or is not the run's.
        DiskError: if it cannot be written.
    """
    check_output(path, kind, quantization)
    quantization = quantization or "float32"
    loaded = load_run(run, warn)
    if kind == "ctranslate2":
        ctranslate2.check_model(loaded.model, loaded.tokenizers)
    facts, sentences, expected = _facts(run, loaded, data or loaded.data, command, show)
    with disk_errors(path.parent):
        scratch = tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.absolute().parent)
    with scratch as folder, disk_errors(path):
        made = Path(folder, path.name)
        program, promised = _write(loaded, run, facts, kind, quantization, made)
        agreements = compare(program, sentences, expected, promised)
        check_output(path, kind, None)  # it took some time
        publish(made, path)
    return Export(path, kind, agreements)


def _facts(
    run: Run, loaded: LoadedRun, data: DataConfig, command: str, show: ShowWork
) -> tuple[Facts, list[str], dict[str, list[str]]]:
    """Return the facts of the card, the dev sentences, and the run's translations of them."""
    fingerprint = loaded.state.data_fingerprint
    of, corpus = read_split(data, fingerprint, str(run.path), "dev", show)
    sentences, references = of.sources[:SENTENCES], of.references[:SENTENCES]
    expected = run_translations(loaded, sentences)
    facts = Facts(
        run.path.name.removesuffix(SUFFIX),
        run.config(),
        loaded.state,
        loaded.languages,
        corpus.description,
        len(corpus.train),
        {name: score(found, references) for name, found in expected.items()},
        len(sentences),
        command,
    )
    return facts, sentences, expected


def _write(
    loaded: LoadedRun, run: Run, facts: Facts, kind: str, quantization: str, made: Path
) -> tuple[Program, float]:
    """Write an export; return its translator, and the share of equal translations it promises."""
    scores = json.dumps(facts.record(), indent=2) + "\n"
    if kind == "bundle":
        usage = bundle.USAGE.format(name=made.name)
        card = model_card(facts, usage)
        bundle.write_bundle(loaded, run, {NAME: card, "scores.json": scores}, made)
        return bundle.bundle_program(made), bundle.PROMISED
    made.mkdir()
    ctranslate2.write_ctranslate2(loaded, quantization, made)
    usage = ctranslate2.usage(loaded.tokenizers, quantization)
    promised = ctranslate2.PROMISED[quantization]
    texts = {
        NAME: model_card(facts, usage),
        "config.toml": facts.config.to_toml(),
        "scores.json": scores,
    }
    for name, text in texts.items():
        (made / name).write_text(text, encoding="utf-8")
    return ctranslate2.ctranslate2_program(made, loaded.tokenizers), promised
