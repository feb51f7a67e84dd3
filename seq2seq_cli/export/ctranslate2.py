"""Transformers for CTranslate2 (github.com/OpenNMT/CTranslate2), an engine in C++."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from seq2seq_cli.data.lines import canonical
from seq2seq_cli.data.tokenizers.pair import Tokenizer
from seq2seq_cli.decoding.encoding import length_limits
from seq2seq_cli.decoding.loading import LoadedRun
from seq2seq_cli.errors import UsageError
from seq2seq_cli.export.ctranslate2_weights import convert
from seq2seq_cli.export.format import LENGTHS, REMEDY, Format, sentencepieces, write_texts
from seq2seq_cli.export.program import Program
from seq2seq_cli.models.transformer import Transformer
from seq2seq_cli.runs.run import Run
from seq2seq_cli.special_tokens import BOS, PAD

_KNOWN: dict[str, tuple] = {  # keys of [model] and their supported values; other keys may have any
    "positions": ("sinusoidal", "learned", "rotary", "relative"),
    "parallel_blocks": (False,),
}

_USAGE = """`pip install ctranslate2 sentencepiece`, then in Python, in this folder:

```python
import unicodedata, ctranslate2, sentencepiece
translator = ctranslate2.Translator(".")
source = sentencepiece.SentencePieceProcessor("source.spm")
target = sentencepiece.SentencePieceProcessor("target.spm")
sentences = ["A sentence."]
texts = [unicodedata.normalize("NFC", sentence.strip()) for sentence in sentences]
pieces = [[{leading}*source.encode(text, out_type=str), "</s>"] for text in texts]
longest = {maximum}
found = translator.translate_batch(
    pieces, beam_size=5, min_decoding_length=0, max_decoding_length=longest,
    suppress_sequences={suppressed},
)
print([" ".join(target.decode(each.hypotheses[0]).split()) for each in found])
```

The weights are {quantization}. CTranslate2 divides the score of a translation by its length, unless
`length_penalty=0` is given."""


class CTranslate2(Format):
    """A folder for CTranslate2, with the SentencePiece models."""

    name = package = "ctranslate2"
    promised: ClassVar = {"float32": 0.995, "int8": 0.9, "int16": 0.9, "bfloat16": 0.9}
    kept = LENGTHS

    def check_model(self, loaded: LoadedRun) -> None:
        """See Format.check_model. The tokenizers must work outside s2s."""
        if not isinstance(loaded.model, Transformer):
            raise UsageError(
                "--to ctranslate2: CTranslate2 supports only Transformers with an encoder and a "
                f"decoder; this model is {loaded.model.name}. {REMEDY}"
            )
        for key, known in _KNOWN.items():
            value = getattr(loaded.model.config, key)
            if value not in known:
                raise UsageError(
                    f"--to ctranslate2: model.{key} = {value!r} is not supported, only "
                    f"{' or '.join(map(repr, known))}. {REMEDY}"
                )
        sentencepieces(loaded.tokenizers, self.name)

    def usage(self, loaded: LoadedRun, name: str, quantization: str) -> str:
        """See Format.usage."""
        leading = "".join(f'"{piece}", ' for piece in _leading(loaded.tokenizers.source))
        config = loaded.decoding
        ratio, extra = config.max_length_ratio, config.max_length_extra
        maximum = f"int({ratio} * max(map(len, pieces))) + {extra}"
        if config.max_length is not None:
            maximum = f"min({config.max_length}, {maximum})"
        return _USAGE.format(
            leading=leading,
            maximum=maximum,
            suppressed=_suppressed(loaded.tokenizers.target),
            quantization=quantization,
        )

    def write(
        self, loaded: LoadedRun, run: Run, texts: dict[str, str], quantization: str, path: Path
    ) -> None:
        """See Format.write."""
        source, target = loaded.tokenizers.source, loaded.tokenizers.target
        path.mkdir()
        convert(loaded.model, (_vocabulary(source), _vocabulary(target)), path, quantization)
        (path / "source.spm").write_bytes(source.serialise())
        (path / "target.spm").write_bytes(target.serialise())
        write_texts(path, texts)

    def program(self, path: Path, loaded: LoadedRun) -> Program:
        """See Format.program. It uses CTranslate2's search and the SentencePiece models."""
        import ctranslate2
        import sentencepiece

        translator = ctranslate2.Translator(str(path), device="cpu")
        source, target = (
            sentencepiece.SentencePieceProcessor(str(path / f"{side}.spm"))
            for side in ("source", "target")
        )
        before = _leading(loaded.tokenizers.source)
        excluded = _suppressed(loaded.tokenizers.target)

        def translate(sentences: Sequence[str], beam: int) -> list[str]:
            texts = [canonical(sentence) for sentence in sentences]
            pieces = [[*before, *source.encode(text, out_type=str), "</s>"] for text in texts]
            found, config = [""] * len(pieces), self.search(loaded.decoding, beam)
            for length, chosen in _by_length(pieces).items():
                results = translator.translate_batch(
                    [pieces[i] for i in chosen],
                    beam_size=beam,
                    length_penalty=0,
                    min_decoding_length=0,
                    max_decoding_length=int(length_limits(np.array(length), config)[0]),
                    suppress_sequences=excluded,
                )
                for i, result in zip(chosen, results, strict=True):
                    found[i] = " ".join(target.decode(result.hypotheses[0]).split())
            return found

        return translate


def _vocabulary(tokenizer: Tokenizer) -> list[str]:
    """Return the piece of each id.

    Raises:
        UsageError: if two ids have the same one.
    """
    pieces = tokenizer.pieces(range(tokenizer.vocabulary_size))
    if len(set(pieces)) < len(pieces):
        twice = next(piece for piece in pieces if pieces.count(piece) > 1)
        raise UsageError(
            f"--to ctranslate2: the vocabulary has two ids for {twice!r}, and CTranslate2 knows "
            "ids by their pieces. Take another --to"
        )
    return pieces


def _leading(source: Tokenizer) -> list[str]:
    """Return the pieces that every source begins with."""
    return source.pieces(source.leading)


def _suppressed(target: Tokenizer) -> list[list[str]]:
    """Return the pieces that no translation has, each as a sequence."""
    tags = range(target.text_size, target.vocabulary_size)
    return [[piece] for piece in target.pieces([PAD, BOS, *tags])]


def _by_length(pieces: Sequence[Sequence[str]]) -> dict[int, list[int]]:
    """Return the indices of sentences by the number of their pieces."""
    found: dict[int, list[int]] = {}
    for i, each in enumerate(pieces):
        found.setdefault(len(each), []).append(i)
    return found
