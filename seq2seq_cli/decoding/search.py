"""Search over the interface of `models.seq2seq`: one loop for every architecture.

Greedy decoding, beam search and sampling are this loop with different `strategies`. The
dictionaries of hypotheses are those of `hypotheses`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.decoding.compaction import Progress, first_capacity, gather_rows, run_compacted
from seq2seq_cli.decoding.constraints import (
    IMPOSSIBLE,
    constrain,
    exclude_special_tokens,
    penalise_repetition,
)
from seq2seq_cli.decoding.hypotheses import (
    Hypotheses,
    Sizes,
    Tensors,
    continued,
    empty_hypotheses,
    no_hypotheses,
)
from seq2seq_cli.decoding.ranking import length_penalty, scores
from seq2seq_cli.decoding.strategies import Choose, Options, beam, greedy, sampling, uniform
from seq2seq_cli.models.ops.compute import computing
from seq2seq_cli.models.seq2seq import Memory, Seq2Seq, State, Step
from seq2seq_cli.runtime.computation import choose_decoding_precision
from seq2seq_cli.special_tokens import EOS, PAD


class Expansion(NamedTuple):
    """What a step of the search considers, for each of C candidates, the best first.

    Attributes:
        candidates: the continued hypotheses.
        parent_BC: the live hypothesis that each continues; None if candidate k continues k.
        ends_BC: whether it ends here.
    """

    candidates: Tensors
    parent_BC: tf.Tensor | None
    ends_BC: tf.Tensor


class Search:
    """Finds translations, in one graph for batches of every shape.

    With a beam, the K best hypotheses continue; of the best K continuations, those with EOS are
    finished. A sentence is done when no live hypothesis can become better than the N best finished
    ones; or when K have finished, and no live one currently has a better score.

    Args:
        model: any Seq2Seq.
        config: the options of the search. In a graph that serves every request, `beam`, `n_best`
            and `length_penalty` may be scalar tensors (int32, int32, float32).
        attention: whether to return it.
        compiled: whether to use a graph; without one, the first sentences come sooner, all others
            later.
        on_step: called in each step, with the state before it; only without a graph.
    """

    def __init__(
        self,
        model: Seq2Seq,
        config: DecodingConfig,
        attention: bool = False,
        compiled: bool = True,
        on_step: Callable[[Progress, Expansion], None] | None = None,
    ):
        assert not (compiled and on_step)
        self._on_step = on_step
        self._model = model
        self._config = config
        self._precision: str = config.precision
        if config.precision == "auto":
            self._precision = choose_decoding_precision(config.precision, model)
        self._keeps_attention = attention
        self._results: int | tf.Tensor = config.n_best
        self._beams: int | tf.Tensor = config.n_best if config.sample else config.beam
        is_greedy = not tf.is_tensor(config.beam) and config.beam == 1
        self._choose: Choose = greedy if is_greedy else beam
        if config.sample:
            self._choose = sampling(config.temperature, config.top_k, config.top_p)
        vector = tf.TensorSpec([None], tf.int32)
        matrix = tf.TensorSpec([None, None], tf.int32)
        signature = [matrix, vector, vector, matrix, vector]
        self._run = self._search
        if compiled:
            self._run = tf.function(self._search, input_signature=signature, autograph=False)

    def __call__(
        self,
        source_BS: Any,
        maximum_B: Any,
        minimum_B: Any = None,
        prefix_BP: Any = None,
        number_B: Any = None,
    ) -> Hypotheses:
        """Translate a batch.

        Args:
            source_BS: int32 ids, right-padded with PAD.
            maximum_B: int32, maximum tokens of each translation, EOS included.
            minimum_B: int32, minimum tokens, EOS included; no minimum if not given.
            prefix_BP: int32 ids that the translation begins with, right-padded with PAD.
            number_B: int32, the sentence's number in the whole input, which determines samples;
                counted from 0 if not given.
        """
        batch = tf.shape(source_BS)[0]
        arguments = (
            source_BS,
            maximum_B,
            tf.zeros([batch]) if minimum_B is None else minimum_B,
            tf.zeros([batch, 0]) if prefix_BP is None else prefix_BP,
            tf.range(batch) if number_B is None else number_B,
        )
        return self._run(*(tf.cast(argument, tf.int32) for argument in arguments))

    def _search(
        self,
        source_BS: tf.Tensor,
        maximum_B: tf.Tensor,
        minimum_B: tf.Tensor,
        prefix_BP: tf.Tensor,
        number_B: tf.Tensor,
    ) -> Hypotheses:
        """Do the work of `__call__`, eagerly or traced as a graph."""
        with computing(precision=self._precision):
            start = self._begin(source_BS, maximum_B, minimum_B, prefix_BP, number_B)
            predict = self._model.make_step(in_place=True)
            found = run_compacted(
                start, self._model, self._beams, lambda p, memory: self._step(p, memory, predict)
            )
        batch, source_length = tf.unstack(tf.shape(source_BS))
        none_BNTS = tf.zeros([batch, self._results, 0, source_length])
        return Hypotheses(
            found["ids"],
            found["score"],
            found.get("model_total", found["total"]),
            found.get("attention", none_BNTS),
        )

    def _begin(
        self,
        source_BS: tf.Tensor,
        maximum_B: tf.Tensor,
        minimum_B: tf.Tensor,
        prefix_BP: tf.Tensor,
        number_B: tf.Tensor,
    ) -> Progress:
        batch, source_length = tf.unstack(tf.shape(source_BS))
        longest = tf.reduce_max(tf.concat([maximum_B, [0]], axis=0))
        capacity = first_capacity(longest)
        memory = self._model.encode(source_BS)
        state = {
            name: tensor if tensor.shape.rank == 0 else tf.repeat(tensor, self._beams, axis=0)
            for name, tensor in self._model.initial_state(memory, capacity).items()
        }
        drawn_BKT = tf.zeros([batch, 0, longest], tf.float64)
        if self._config.sample:
            drawn_BKT = uniform(self._config.seed, number_B, self._beams, longest)
        sentences = {
            "row_B": tf.range(batch),
            "uniform_BKT": drawn_BKT,
            "minimum_B": minimum_B,
            "maximum_B": maximum_B,
            "prefix_BP": prefix_BP,
            "mask_BS": source_BS != PAD,
            "finished_B": tf.zeros([batch], tf.int32),  # how many hypotheses have finished
            "done_B": maximum_B <= 0,
        }
        kinds = Sizes(batch, longest, source_length), self._config, self._keeps_attention
        live = empty_hypotheses(self._beams, *kinds)
        finished = no_hypotheses(self._results, *kinds)
        finished["score"] = finished["total"]
        t = tf.constant(0)
        return Progress(t, capacity, memory, state, sentences, live, finished, finished)

    def _step(self, p: Progress, memory: Memory, predict: Step) -> Progress:
        """Continue each live hypothesis by a token, and separate those that end from the others."""
        candidates, parent_BC, state = self._expand(p, memory, predict)
        ends_BC, finished, finished_B = self._finish(p, candidates)
        if self._on_step:
            self._on_step(p, Expansion(candidates, parent_BC, ends_BC))
        live, state = self._select(candidates, ends_BC, parent_BC, state)
        done_B = self._done(p, live, finished, finished_B)
        sentences = {**p.sentences, "finished_B": finished_B, "done_B": done_B}
        return p._replace(t=p.t + 1, state=state, sentences=sentences, live=live, finished=finished)

    def _expand(
        self, p: Progress, memory: Memory, predict: Step
    ) -> tuple[Tensors, tf.Tensor | None, State]:
        """Return the candidates, the parent of each (None where k continues k), and the state."""
        logits_RV, attention_RS, state = predict(tf.reshape(p.live["token"], [-1]), p.state, memory)
        model_RV = exclude_special_tokens(logits_RV, self._model.target_tags)
        free_RV = model_RV
        if (penalty := self._config.repetition_penalty) != 1:
            free_RV = penalise_repetition(model_RV, p.live["ids"], penalty)
        logits_RV = constrain(
            free_RV,
            p.live["ids"],
            p.t,
            p.sentences["minimum_B"],
            p.sentences["prefix_BP"],
            self._config.no_repeat_ngram,
        )
        by_beam = [-1, self._beams, logits_RV.shape[1]]
        chosen = self._choose(
            Options(
                tf.reshape(logits_RV, by_beam),
                tf.reshape(tf.reduce_logsumexp(free_RV, axis=1), [-1, self._beams]),
                p.live["total"],
                p.sentences["uniform_BKT"][:, :, p.t],
            )
        )
        is_done_B1 = p.sentences["done_B"][:, tf.newaxis]
        chosen = chosen._replace(total_BC=tf.where(is_done_B1, IMPOSSIBLE, chosen.total_BC))
        attention_BKS = tf.reshape(attention_RS, [-1, self._beams, tf.shape(attention_RS)[1]])
        candidates = continued(p.live, chosen, p.t, tf.reshape(model_RV, by_beam), attention_BKS)
        return candidates, chosen.parent_BC, state

    def _finish(self, p: Progress, candidates: Tensors) -> tuple[tf.Tensor, Tensors, tf.Tensor]:
        """Return which candidates end, the best N finished, and how many have finished."""
        token_BC, total_BC = candidates["token"], candidates["total"]
        ends_BC = (token_BC == EOS) | (p.t + 1 >= p.sentences["maximum_B"])[:, tf.newaxis]
        is_best_C = tf.range(tf.shape(token_BC)[1]) < self._beams
        enters_BC = ends_BC & (total_BC > IMPOSSIBLE) & is_best_C
        entered_B = tf.reduce_sum(tf.cast(enters_BC, tf.int32), axis=1)
        score_BC = scores(
            total_BC, p.t + 1, candidates.get("coverage"), p.sentences["mask_BS"], self._config
        )
        entering = {**candidates, "score": tf.where(enters_BC, score_BC, IMPOSSIBLE)}
        both = {n: tf.concat([x, entering[n]], axis=1) for n, x in p.finished.items()}
        score_BN, best_BN = tf.math.top_k(both.pop("score"), self._results)
        finished = {n: tf.gather(x, best_BN, batch_dims=1) for n, x in both.items()}
        return ends_BC, {**finished, "score": score_BN}, p.sentences["finished_B"] + entered_B

    def _select(
        self, candidates: Tensors, ends_BC: tf.Tensor, parent_BC: tf.Tensor | None, state: State
    ) -> tuple[Tensors, State]:
        """Return the K best candidates that do not end, and the decoder's state of each."""
        total_BC = tf.where(ends_BC, IMPOSSIBLE, candidates["total"])
        candidates = {**candidates, "total": total_BC}
        if parent_BC is None:
            return candidates, state
        _, best_BK = tf.math.top_k(total_BC, self._beams)
        live = {n: tf.gather(x, best_BK, batch_dims=1) for n, x in candidates.items()}
        parent_BK = tf.gather(parent_BC, best_BK, batch_dims=1)
        first_B1 = tf.range(tf.shape(parent_BK)[0])[:, tf.newaxis] * self._beams
        return live, gather_rows(state, tf.reshape(first_B1 + parent_BK, [-1]))

    def _done(
        self, p: Progress, live: Tensors, finished: Tensors, finished_B: tf.Tensor
    ) -> tf.Tensor:
        """Return for which sentences the search can end."""
        best_B = tf.reduce_max(live["total"], axis=1)
        done_B = p.sentences["done_B"] | (best_B == IMPOSSIBLE)
        if self._choose is not beam:
            return done_B
        # A log-probability only falls, is divided by the most at the maximum length, and the
        # penalty for coverage is at most 0.
        reachable_B = best_B / length_penalty(p.sentences["maximum_B"], self._config)
        likely_B = best_B / length_penalty(p.t + 1, self._config)
        worst_B = finished["score"][:, -1]
        has_enough_B = finished_B >= self._beams
        return done_B | (worst_B >= reachable_B) | (has_enough_B & (worst_B >= likely_B))
