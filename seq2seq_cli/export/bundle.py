"""The export as one file, which s2s itself reads; see `runs.bundles`."""

import os
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar

from seq2seq_cli.decoding.loading import LoadedRun, load_run
from seq2seq_cli.decoding.translator import Translator
from seq2seq_cli.export.format import BEAM_CONSTRAINTS, CONSTRAINTS, Format, write_texts
from seq2seq_cli.export.program import Program
from seq2seq_cli.runs import bundles
from seq2seq_cli.runs.averaging import Tensor
from seq2seq_cli.runs.run import Run

_USAGE = """Give the file wherever s2s takes a run:

```sh
s2s translate --run {name} "A sentence."
```"""


class Bundle(Format):
    """A run without the state of its training."""

    name = "bundle"
    suffix = bundles.SUFFIX
    promised: ClassVar = {"float32": 1.0}
    kept = CONSTRAINTS + BEAM_CONSTRAINTS

    def usage(self, loaded: LoadedRun, name: str, quantization: str) -> str:
        """See Format.usage."""
        return _USAGE.format(name=shlex.quote(name))

    def write(
        self, loaded: LoadedRun, run: Run, texts: dict[str, str], quantization: str, path: Path
    ) -> None:
        """See Format.write. It also creates a folder beside the file: its name plus ".folder"."""
        folder = path.with_name(f"{path.name}.folder")
        made = Run(folder)
        made.write(run.config(), run.tokenizer_files())
        weights = [Tensor(v.path, v.numpy()) for v in loaded.model.trainable_variables]
        made.save(weights, [], loaded.state)
        for name in ("metrics.jsonl", "computation.json"):
            if os.path.isfile(run.path / name):
                (folder / name).write_bytes((run.path / name).read_bytes())
        write_texts(folder, texts)
        bundles.pack(folder, path)

    def program(self, path: Path, loaded: LoadedRun) -> Program:
        """See Format.program."""
        unpacked = load_run(Run(bundles.unpack(path)), print)

        @cache
        def translator(beam: int) -> Translator:
            return unpacked.translator(self.search(loaded.decoding, beam))

        def translate(sentences: Sequence[str], beam: int) -> list[str]:
            return [each.text for each in translator(beam).translate(sentences)]

        return translate
