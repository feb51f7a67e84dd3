"""The choice of sacreBLEU's tokenizer for a text."""

import re
from collections.abc import Iterable

_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_OTHERS = re.compile(  # kana, Thai, Lao, Tibetan, Burmese, Khmer
    r"[\u3040-\u30ff\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff]"
)
_LETTERS = re.compile(r"\w")


def bleu_tokenizer(texts: Iterable[str]) -> str:
    """Return the name of the tokenizer of sacreBLEU that suits the script of most letters.

    It is "13a", sacreBLEU's default, for scripts that write spaces between words. A sentence of
    another script would be a single word, and BLEU 0: so it is "zh" for Chinese, which separates
    its characters, and "char" for Japanese, Thai and others.
    """
    text = "".join(texts)
    han, others = len(_HAN.findall(text)), len(_OTHERS.findall(text))
    if 2 * (han + others) <= len(_LETTERS.findall(text)):
        return "13a"
    return "zh" if 10 * others < han else "char"
