"""The hypotheses that a beam search kept and dropped, as a tree."""

from typing import Any, NamedTuple

import tensorflow as tf

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.decoding.compaction import Progress
from seq2seq_cli.decoding.constraints import IMPOSSIBLE
from seq2seq_cli.decoding.hypotheses import Tensors
from seq2seq_cli.decoding.ranking import scores
from seq2seq_cli.decoding.search import Search
from seq2seq_cli.models.seq2seq import Memory, Seq2Seq, Step

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


class RecordedSearch(Search):
    """A search for one sentence at a time that records the candidates of each step.

    It gives the results of `Search`: each step is that of `Search`.

    Args:
        model: any Seq2Seq.
        config: the options of the search; a beam.

    Attributes:
        nodes: of the last search, in the order of the steps; parents come first.
    """

    def __init__(self, model: Seq2Seq, config: DecodingConfig):
        super().__init__(model, config, compiled=False)
        self.nodes: list[Node] = []

    def _begin(self, *arguments: tf.Tensor) -> Progress:
        self.nodes = []
        self._live: list[int | None] = [None]
        return super()._begin(*arguments)

    def _step(self, p: Progress, memory: Memory, predict: Step) -> Progress:
        if len(p.sentences["row_B"]) != 1:
            raise ValueError("a search of one sentence at a time can be recorded")
        after = super()._step(p, memory, predict)
        fates = self._fates()
        score_C = scores(
            self._candidates["total"],
            p.t + 1,
            self._candidates.get("coverage"),
            p.sentences["mask_BS"],
            self._config,
        )[0].numpy()
        live: list[int | None] = []
        tokens_C, totals_C = (self._candidates[name][0].numpy() for name in ("token", "total"))
        for i, fate in enumerate(fates):
            if fate is None:
                continue
            parent = self._live[self._parents[i]]
            if fate == KEPT:
                live.append(len(self.nodes))
            self.nodes.append(
                Node(parent, int(tokens_C[i]), float(totals_C[i]), float(score_C[i]), fate)
            )
        self._live = live + [None] * (self._beams - len(live))
        return after

    def _expand(self, p: Progress, memory: Memory, predict: Step) -> Any:
        found = super()._expand(p, memory, predict)
        self._candidates, parent_BC, _ = found
        count = self._candidates["token"].shape[1]
        self._parents = range(count) if parent_BC is None else parent_BC[0].numpy()
        return found

    def _finish(self, p: Progress, candidates: Tensors) -> Any:
        found = super()._finish(p, candidates)
        self._ends = found[0][0].numpy()
        return found

    def _fates(self) -> list[str | None]:
        """Return the fate of each candidate, the best first; None if there is none."""
        kept, found = 0, []
        for i, total in enumerate(self._candidates["total"][0].numpy()):
            fate: str | None = DROPPED
            if total == IMPOSSIBLE:
                fate = None
            elif self._ends[i]:
                fate = FINISHED if i < self._beams else DROPPED
            elif kept < self._beams:
                fate = KEPT
                kept += 1
            found.append(fate)
        return found
