"""A model for LiteRT, a runtime for phones and small devices, with a script that translates."""

import runpy
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import tensorflow as tf

from seq2seq_cli.decoding.loading import LoadedRun
from seq2seq_cli.export.format import LIMITS, Format, sentencepieces, write_texts
from seq2seq_cli.export.greedy import GreedyDecoder
from seq2seq_cli.export.program import Program
from seq2seq_cli.export.saved_functions import save_functions
from seq2seq_cli.runs.run import Run

SCRIPT = Path(__file__).with_name("litert_script.py")

_USAGE = """```sh
pip install ai-edge-litert sentencepiece
python {name}/translate.py "A sentence."
```

The model translates one sentence at a time, greedily. The weights are {quantization}."""


class LiteRT(Format):
    """A folder with a model for LiteRT, the SentencePiece models and a script."""

    name = "litert"
    package = "ai_edge_litert"
    promised: ClassVar = {"float32": 0.995, "int8": 0.9}
    searches: ClassVar = {"greedy": 1}
    kept = LIMITS

    def check_model(self, loaded: LoadedRun) -> None:
        """See Format.check_model. The tokenizers must work outside TensorFlow."""
        sentencepieces(loaded.tokenizers, self.name)

    def usage(self, loaded: LoadedRun, name: str, quantization: str) -> str:
        """See Format.usage."""
        return _USAGE.format(name=shlex.quote(name), quantization=quantization)

    def write(
        self, loaded: LoadedRun, run: Run, texts: dict[str, str], quantization: str, path: Path
    ) -> None:
        """See Format.write."""
        path.mkdir()
        (path / "model.tflite").write_bytes(self._converted(loaded, quantization))
        (path / "source.spm").write_bytes(loaded.tokenizers.source.serialise())
        (path / "target.spm").write_bytes(loaded.tokenizers.target.serialise())
        (path / "translate.py").write_bytes(SCRIPT.read_bytes())
        write_texts(path, texts)

    def program(self, path: Path, loaded: LoadedRun) -> Program:
        """See Format.program. It is the script's translator."""
        translator = runpy.run_path(str(path / "translate.py"))["Translator"](path)

        def translate(sentences: Sequence[str], beam: int) -> list[str]:
            assert beam == 1
            return [translator.translate(sentence) for sentence in sentences]

        return translate

    def _converted(self, loaded: LoadedRun, quantization: str) -> bytes:
        """Return the content of the model file."""
        config = self.search(loaded.decoding, beam=1)
        tokenizers = sentencepieces(loaded.tokenizers, self.name)
        translate = tf.function(
            GreedyDecoder(loaded.model, *tokenizers, config).__call__,
            input_signature=[tf.TensorSpec([None], tf.int32, "pieces")],
            autograph=False,
        )
        functions = {"translate": translate.get_concrete_function()}
        with tempfile.TemporaryDirectory() as folder:
            save_functions(functions, loaded.model, [], Path(folder))
            converter = tf.lite.TFLiteConverter.from_saved_model(folder, list(functions))
            if quantization == "int8":
                converter.optimizations = [tf.lite.Optimize.DEFAULT]
            return converter.convert()
