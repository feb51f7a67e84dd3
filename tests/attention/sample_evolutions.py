"""Invented snapshots of a training."""

import numpy as np

from seq2seq_cli.runs.attention_history import SentenceAttention, Side, Snapshot

HOSTILE = "</title><script>1</script>\u202e & \u0007"


def snapshots(number: int = 4) -> list[Snapshot]:
    """Return snapshots of two sentences, the second of which has hostile texts."""
    source = Side(["▁app", "les", "</s>"], ["apples", "</s>"], [0, 0, 1])
    target = Side(["▁man", "za", "nas", "</s>"], ["manzanas", "</s>"], [0, 0, 0, 1])
    hostile = Side([HOSTILE, "</s>"], [HOSTILE, "</s>"], [0, 1])
    random = np.random.default_rng(5)

    def weights(rows: int, columns: int) -> list[list[float]]:
        return random.dirichlet(np.ones(columns), rows).round(4).tolist()

    return [
        Snapshot(
            1000 * step,
            12.3 * step,
            [
                SentenceAttention("apples", "manzanas", source, target, weights(4, 3)),
                SentenceAttention(HOSTILE, HOSTILE, hostile, hostile, weights(2, 2)),
            ],
        )
        for step in range(1, number + 1)
    ]
