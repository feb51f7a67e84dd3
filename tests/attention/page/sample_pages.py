"""Pages of invented attention, for the tests in a browser."""

import numpy as np

from seq2seq_cli.attention.maps import Attention, ReadRun, RunnerUp
from seq2seq_cli.attention.tokens import Tokens

PAIRS = [
    ("I will not inject disinfectant.", "No inyectaré desinfectante."),
    ("I like apples.", "Me gustan las manzanas."),
    ("We want two books.", "Queremos dos libros."),
]
HOSTILE = (
    "<script>document.title='broken'</script> </script> <!-- \u202eabc " + "w" * 5000,
    "<img src=x onerror=alert(1)> \"q\" 'q' &amp; \u2066evil </bdi>\u2028",
)
LONG = (
    " ".join(f"word{number}" for number in range(200)),
    " ".join(f"palabra{number}" for number in range(190)),
)


def tokens(text: str, begins: bool = False, ends: bool = True) -> Tokens:
    """Return the pieces of a text, of at most six characters, and its words."""
    pieces, word_of = ["<s>"] * begins, [0] * begins
    words = ["<s>"] * begins
    for word in text.split():
        parts = [word[i : i + 6] for i in range(0, len(word), 6)]
        pieces += [f"▁{parts[0]}", *parts[1:]]
        word_of += [len(words)] * len(parts)
        words.append(word)
    if ends:
        pieces.append("</s>")
        word_of.append(len(words))
        words.append("</s>")
    return Tokens(pieces, words, word_of)


def weights(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Return rows that sum to 1, highest near the diagonal."""
    rows, columns = shape[-2:]
    distance = np.arange(rows)[:, np.newaxis] / rows - np.arange(columns) / columns
    scores = random.gumbel(size=shape) + 6 * np.exp(-((8 * distance) ** 2))
    exponents = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (exponents / exponents.sum(axis=-1, keepdims=True)).astype(np.float32)


def attention(pair: tuple[str, str], kind: str, seed: int = 1) -> Attention:
    """Return attention of an RNN, a Transformer or a decoder-only model."""
    random = np.random.default_rng([seed, *map(len, pair)])
    source, target, read = tokens(pair[0]), tokens(pair[1]), tokens(pair[1], True, False)
    s, t = len(source.pieces), len(target.pieces)
    maps = {
        "rnn": {"cross": (1, 1, t, s)},
        "transformer": {"cross": (2, 4, t, s), "encoder": (2, 4, s, s), "decoder": (2, 4, t, t)},
        "decoder_only": {"stack": (2, 4, s + t, s + t)},
    }[kind]
    logs = np.log(random.beta(3, 0.5, size=t))
    runners_up = tuple((RunnerUp("▁otro", 0.1), RunnerUp("▁<b>", 0.02)) for _ in range(t))
    return Attention(
        *pair,
        *(source, target, read, logs),
        maps={name: weights(random, *shape) for name, shape in maps.items()},
        words=[],
        runners_up=runners_up,
    )


def run(name: str, kind: str, pairs: list[tuple[str, str]], seed: int = 1) -> ReadRun:
    """Return a run that has read some pairs; that of a blank source is None."""
    attentions = [attention(pair, kind, seed) if pair[0] else None for pair in pairs]
    return ReadRun(name, f"{kind} of the tests", attentions)


def explained_run(name: str, pairs: list[tuple[str, str]]) -> ReadRun:
    """Return a run of an RNN with an explanation of each translation, as JSON has it."""
    read = run(name, "rnn", pairs)
    return read._replace(explanations=[each and explanation(each) for each in read.attentions])


def explanation(found: Attention) -> dict:
    fates = [(None, "▁No", "kept"), (None, "▁<i>", "dropped"), (0, "▁a", "kept")]
    fates += [(0, "▁b", "kept"), (3, "</s>", "finished"), (None, "▁¿", "kept")]
    others = [{"piece": piece, "probability": p} for piece, p in found.runners_up[0]]
    pieces = [{"piece": "▁x", "probability": 0.5, "runners_up": others}] * 2
    return {
        "words": [
            {
                "word": word,
                "probability": probability,
                "looked_at": [{"word": "not", "weight": 0.75}],
                "pieces": pieces,
            }
            for word, probability in zip(found.target_words, found.probabilities, strict=True)
        ],
        "search": [
            {"parent": parent, "text": text, "total": -i, "score": -i / 2, "fate": fate}
            for i, (parent, text, fate) in enumerate(fates, start=2)
        ],
        "nearest": [
            {
                "source": "We inject the medicine!",
                "target": "Inyectamos la medicina.",
                "similarity": 0.4,
                "shared": ["inject", "medicine"],
                "parts": [
                    {"text": text, "is_shared": text in ("inject", "medicine!")}
                    for text in ("We", " ", "inject", " ", "the", " ", "medicine!")
                ],
            }
        ],
        "unseen": ["<u>"],
        "never_together": [["inject", "disinfectant"]],
        "training_sources": "10 of the 20 training sources",
    }
