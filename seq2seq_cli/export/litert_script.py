"""Translate with a model for LiteRT.

`python translate.py "A sentence."` translates its arguments; without any, it translates the lines
of stdin. It needs the packages ai-edge-litert and sentencepiece. The files model.tflite, source.spm
and target.spm must be in the same folder.
"""

import sys
import unicodedata
from pathlib import Path

import numpy as np
import sentencepiece
from ai_edge_litert.interpreter import Interpreter


class Translator:
    """Translates one sentence at a time, greedily.

    Args:
        folder: contains the files.
    """

    def __init__(self, folder: Path):
        self._source, self._target = (
            sentencepiece.SentencePieceProcessor(str(folder / f"{side}.spm"))
            for side in ("source", "target")
        )
        self._run = Interpreter(str(folder / "model.tflite")).get_signature_runner("translate")

    def translate(self, sentence: str) -> str:
        """Return the translation, on one line."""
        text = unicodedata.normalize("NFC", sentence.strip())
        if not text:
            return ""
        pieces = [*self._source.encode(text), 0]  # the model replaces 0 by the end of the sentence
        found = self._run(pieces=np.array(pieces, np.int32))["translation"]
        translation = self._target.decode(found.tolist())
        return " ".join(translation.replace("\0", "\N{REPLACEMENT CHARACTER}").split())


if __name__ == "__main__":
    translator = Translator(Path(__file__).parent)
    for line in sys.argv[1:] or sys.stdin:
        print(translator.translate(line), flush=True)
