"""Runs whose translations are scripted, so that recipes are tested without models."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

from seq2seq_cli.decoding.translator import Translation
from seq2seq_cli.special_tokens import EOS


class ScriptedTranslator:
    """Translates by a function, and keeps what it was given.

    Args:
        script: returns the translation of a sentence, or several, the best first.
        calls: after so many, the next one is interrupted; None for never.

    Attributes:
        seen: the sentences with their numbers.
    """

    def __init__(self, script: Callable[[str], str | list[str]], calls: int | None = None):
        self.seen: list[tuple[int, str]] = []
        self._script = script
        self._calls = calls

    def translate(
        self,
        sentences: Sequence[str],
        first_number: int = 0,
        progress: Callable[[int], None] = lambda done: None,
    ) -> list[Translation]:
        if self._calls == 0:
            raise KeyboardInterrupt
        self._calls = None if self._calls is None else self._calls - 1
        self.seen += enumerate(sentences, start=first_number)
        progress(len(sentences))
        return [self._translation(sentence) for sentence in sentences]

    def _translation(self, sentence: str) -> Translation:
        if not sentence.strip():
            return Translation("")
        found = self._script(sentence)
        texts = [found] if isinstance(found, str) else found
        best, *others = [Translation(text, ids=(7, EOS)) for text in texts]
        return Translation(best.text, ids=best.ids, others=tuple(others))


def loading(*translators: ScriptedTranslator) -> Callable[..., SimpleNamespace]:
    """Return what stands for `load_run` and `load_ensemble`: each call loads the next translator.

    Its `decoding` is that of the last translator that was asked for.
    """
    remaining = list(translators)

    def load(*arguments: object) -> SimpleNamespace:
        translator = remaining.pop(0)
        return SimpleNamespace(translator=lambda config, reverse: translator)

    return load


def scripted_run(name: str = "a", saved_at: str = "2026-01-01", fingerprint: str | None = None):
    """Return what recipes need of a run."""
    checkpoint = SimpleNamespace(
        path=Path("step-00000009"), state=SimpleNamespace(saved_at=saved_at)
    )
    return SimpleNamespace(
        path=Path("runs") / name,
        name=name,
        best_checkpoint=lambda warn: checkpoint,
        data_fingerprint=lambda: fingerprint,
    )


def turned(text: str) -> str:
    """Return the words of a text in the other order."""
    return " ".join(reversed(text.split()))
