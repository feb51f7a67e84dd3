"""The hypotheses that a beam search kept and dropped, as a tree."""

from typing import NamedTuple

import numpy as np

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.decoding.compaction import Progress
from seq2seq_cli.decoding.constraints import IMPOSSIBLE
from seq2seq_cli.decoding.ranking import scores
from seq2seq_cli.decoding.search import Expansion

KEPT, FINISHED, DROPPED = "kept", "finished", "dropped"


class Node(NamedTuple):
    """A hypothesis that the search considered.

    Attributes:
        parent: the index of the hypothesis that it continues by one token; None for the first.
        token: the id of that token.
        total: its log-probability in nats, penalties of repetition included.
        score: ranks finished hypotheses; includes the penalties of `[decoding]`.
        fate: `kept` if the search continued it, `finished` if it ended among the best K of the
            step, `dropped` otherwise.
    """

    parent: int | None
    token: int
    total: float
    score: float
    fate: str


class BeamTree:
    """Records the candidates of each step of a search for one sentence at a time.

        tree = BeamTree(config)
        Search(model, config, compiled=False, on_step=tree.record)

    Args:
        config: the options of the search; a beam.

    Attributes:
        nodes: of the last search, in the order of the steps; parents come first.
    """

    def __init__(self, config: DecodingConfig):
        self._config = config
        self.nodes: list[Node] = []
        self._live: list[int | None] = []  # the node of each live hypothesis

    def record(self, p: Progress, expansion: Expansion) -> None:
        """Add the candidates of a step.

        Raises:
            ValueError: if there are several sentences.
        """
        if len(p.sentences["row_B"]) != 1:
            raise ValueError("a search of one sentence at a time can be recorded")
        if p.t == 0:
            self.nodes, self._live = [], [None]
        candidates, beam = expansion.candidates, self._config.beam
        token_C, total_C = (candidates[name][0].numpy() for name in ("token", "total"))
        score_BC = scores(
            candidates["total"],
            p.t + 1,
            candidates.get("coverage"),
            p.sentences["mask_BS"],
            self._config,
        )
        parents = range(beam) if expansion.parent_BC is None else expansion.parent_BC[0].numpy()
        fates = _fates(total_C, expansion.ends_BC[0].numpy(), beam)
        live: list[int | None] = []
        for i, fate in enumerate(fates):
            if fate is None:
                continue
            if fate == KEPT:
                live.append(len(self.nodes))
            parent = self._live[parents[i]]
            score = float(score_BC[0, i])
            self.nodes.append(Node(parent, int(token_C[i]), float(total_C[i]), score, fate))
        self._live = live + [None] * (beam - len(live))


def _fates(total_C: np.ndarray, ends_C: np.ndarray, beam: int) -> list[str | None]:
    """Return the fate of each candidate, the best first; None if there is none."""
    kept, found = 0, []
    for i, (total, ends) in enumerate(zip(total_C, ends_C, strict=True)):
        fate: str | None = DROPPED
        if total == IMPOSSIBLE:
            fate = None
        elif ends:
            fate = FINISHED if i < beam else DROPPED
        elif kept < beam:
            fate = KEPT
            kept += 1
        found.append(fate)
    return found
