"""The export as one file, which s2s itself reads; see `runs.bundles`."""

from collections.abc import Sequence
from pathlib import Path

from seq2seq_cli.decoding.loading import LoadedRun, load_run
from seq2seq_cli.export.program import Program, comparable
from seq2seq_cli.runs import bundles
from seq2seq_cli.runs.averaging import Tensor
from seq2seq_cli.runs.run import Run

PROMISED = 1.0
USAGE = """Give the file wherever s2s takes a run:

```sh
s2s translate --run {name} "A sentence."
```"""


def write_bundle(loaded: LoadedRun, run: Run, extra: dict[str, str], path: Path) -> None:
    """Write a bundle.

    Args:
        loaded: the run's model.
        run: the run.
        extra: contents of further files, by name.
        path: the file to write; a folder with its name and ".folder" is made beside it.
    """
    folder = path.with_name(f"{path.name}.folder")
    made = Run(folder)
    tokenizer = {each.name: each.read_bytes() for each in run.tokenizer.iterdir()}
    made.write(run.config(), tokenizer)
    weights = [Tensor(v.path, v.numpy()) for v in loaded.model.trainable_variables]
    made.save(weights, [], loaded.state)
    for name in ("metrics.jsonl", "computation.json"):
        if (run.path / name).is_file():
            (folder / name).write_bytes((run.path / name).read_bytes())
    for name, text in extra.items():
        (folder / name).write_text(text, encoding="utf-8")
    bundles.pack(folder, path)


def bundle_program(path: Path) -> Program:
    """Return the translator of a bundle."""
    loaded = load_run(Run(bundles.unpack(path)), print)

    def translate(sentences: Sequence[str], beam: int) -> list[str]:
        found = loaded.translator(comparable(beam)).translate(list(sentences))
        return [each.text for each in found]

    return translate
