"""Export a run: write, compare with the run, and only then give the result its name."""

import json
import os
import shlex
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.decoding.loading import LoadedRun, load_run
from seq2seq_cli.errors import DiskError, UsageError
from seq2seq_cli.evaluation.metrics import score
from seq2seq_cli.evaluation.test_sets import read_split
from seq2seq_cli.export.bundle import Bundle
from seq2seq_cli.export.card import NAME, Facts, model_card
from seq2seq_cli.export.ctranslate2 import CTranslate2
from seq2seq_cli.export.format import Format
from seq2seq_cli.export.litert import LiteRT
from seq2seq_cli.export.program import Agreement, compare
from seq2seq_cli.export.saved_model import SavedModel
from seq2seq_cli.runs.bundles import SUFFIX
from seq2seq_cli.runs.disk import disk_errors, publish
from seq2seq_cli.runs.run import Run
from seq2seq_cli.work import ShowWork, Warn, show_nothing

FORMATS: dict[str, Format] = {
    each.name: each for each in (Bundle(), CTranslate2(), SavedModel(), LiteRT())
}
SENTENCES = 200
"""Maximum number of dev sentences that the run and the export translate for the comparison."""


@dataclass(frozen=True)
class Export:
    """What was written.

    Attributes:
        path: the file or the folder.
        kind: a key of FORMATS.
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
        UsageError: if the path exists, an option does not fit the format, or a package is not
            installed.
        DiskError: if its parent does not exist.
    """
    form = FORMATS[kind]
    form.check_quantization(quantization)
    form.check_path(path)
    form.check_package()
    if os.path.lexists(path):
        raise UsageError(f"{path}: exists already; nothing is overwritten. Give a new name")
    if not os.path.isdir(path.absolute().parent):
        raise DiskError(f"{path}: there is no folder {path.parent}. Make it first")


def export(
    run: Run,
    path: Path,
    kind: str,
    quantization: str | None = None,
    data: DataConfig | None = None,
    warn: Warn = print,
    show: ShowWork = show_nothing,
) -> Export:
    """Export a run completely or not at all.

    Args:
        run: the run.
        path: the file or folder to make; its parent exists.
        kind: a key of FORMATS.
        quantization: type of the weights; None for the format's usual type.
        data: the run's `[data]`, perhaps with a new path of the corpus; None for the run's own.
        warn: called for each damaged checkpoint, and for keys of the run's search that the format
            does not support.
        show: shows how many pairs have been read.

    Raises:
        UsageError: if the model cannot be exported so.
        ExportError: if the export does not translate as the run does.
        DataError: if the corpus cannot be read, or is not the run's.
        DiskError: if it cannot be written.
    """
    check_output(path, kind, quantization)
    form = FORMATS[kind]
    command = ["s2s", "export", _name(run), path.name, "--to", kind]
    command += ["--quantization", quantization] if quantization else []
    quantization = form.check_quantization(quantization)
    loaded = load_run(run, warn)
    form.check_model(loaded)
    if unsupported := form.unsupported(loaded.decoding):
        warn(
            f"--to {kind} does not support {', '.join(unsupported)} of the run. Its translations "
            "can differ from those of s2s translate"
        )
    data = data or loaded.data
    facts, sentences, expected = _facts(run, loaded, form, data, shlex.join(command), show)
    texts = {
        NAME: model_card(facts, form.usage(loaded, path.name, quantization)),
        "config.toml": facts.config.to_toml(),
        "scores.json": json.dumps(facts.record(), indent=2) + "\n",
    }
    with disk_errors(path.parent):
        scratch = tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.absolute().parent)
    with scratch as folder, disk_errors(path):
        made = Path(folder, path.name)
        form.write(loaded, run, texts, quantization, made)
        program, promised = form.program(made, loaded), form.promised[quantization]
        agreements = compare(program, sentences, expected, promised)
        check_output(path, kind, None)  # it took some time
        publish(made, path)
    return Export(path, kind, agreements)


def _name(run: Run) -> str:
    """Return the name of a run, without the extension if it is a bundle."""
    return run.name.removesuffix(SUFFIX)


def _facts(
    run: Run,
    loaded: LoadedRun,
    form: Format,
    data: DataConfig,
    command: str,
    show: ShowWork,
) -> tuple[Facts, list[str], dict[str, list[str]]]:
    """Return the facts of the card, the dev sentences, and the run's translations of them."""
    fingerprint = loaded.state.data_fingerprint
    dev, corpus = read_split(data, fingerprint, str(run.path), "dev", show)
    sentences, references = dev.sources[:SENTENCES], dev.references[:SENTENCES]
    expected = form.expected(loaded, sentences)
    facts = Facts(
        run=_name(run),
        config=run.config(),
        state=loaded.state,
        languages=loaded.languages,
        corpus=corpus.description,
        pairs=len(corpus.train),
        scores={name: score(found, references) for name, found in expected.items()},
        sentences=len(sentences),
        command=command,
        unsupported=form.unsupported(loaded.decoding),
    )
    return facts, sentences, expected
