"""Search over the interface of `models.seq2seq`: one compiled loop for every architecture.

Greedy decoding, beam search and sampling are that loop with another of the `choices`. Suffixes
beside those of that interface: N hypotheses returned, C candidates, R = B K rows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.decoding.constraints import (
    IMPOSSIBLE,
    exclude_repeated_ngrams,
    exclude_special_tokens,
    follow_prefix,
    penalise_repetition,
    require_minimum_length,
)
from seq2seq_cli.decoding.strategies import Choose, Options, beam, greedy, sampling, uniform
from seq2seq_cli.models.ops.compute import computing
from seq2seq_cli.models.seq2seq import Memory, Seq2Seq, State, Step
from seq2seq_cli.runtime.computation import choose_decoding_precision
from seq2seq_cli.special_tokens import BOS, EOS, PAD

_CAPACITY_STEP = 8  # steps by which the caches grow
_STAY = 0.75  # while at least this share of the sentences is unfinished, none leaves the batch
Tensors = dict[str, tf.Tensor]


class Hypotheses(NamedTuple):
    """The translations found of each sentence, the best first.

    ids_BNT: int32; ends with EOS unless the maximum length cut it, then PAD. All PAD where fewer
        than N were found.
    score_BN: float32, by which they are ranked: the log-probability after the penalties. Minus
        infinity where fewer were found.
    log_probability_BN: float32, the model's, the sum over the tokens, EOS included, in nats.
    attention_BNTS: float32, over the source, of the step that gave each token; T is 0 where it was
        not asked for.
    """

    ids_BNT: tf.Tensor
    score_BN: tf.Tensor
    log_probability_BN: tf.Tensor
    attention_BNTS: tf.Tensor


class _Progress(NamedTuple):
    """Where the search of the sentences that are in the batch stands.

    t: int32 scalar, steps made.
    capacity: int32 scalar, steps that the state has capacity for.
    memory: of the sentences.
    state: of their R hypotheses.
    sentences: what is known of each: row_B (in the results), uniform_BKT, minimum_B, maximum_B,
        prefix_BP, mask_BS, finished_B (how many hypotheses have finished), done_B.
    live: the hypotheses that go on: ids_BKT, token_BK, total_BK (their log-probability), model_BK
        (the same without the penalty for repetition), coverage_BKS, attention_BKTS.
    finished: the best of those that have finished, ids_BNT, score_BN, total_BN, model_BN,
        attention_BNTS.
    results: `finished` of all sentences, those that have left the batch too.
    """

    t: tf.Tensor
    capacity: tf.Tensor
    memory: Memory
    state: State
    sentences: Tensors
    live: Tensors
    finished: Tensors
    results: Tensors


class Search:
    """Find translations, in one graph for batches of every shape.

    With beams: the K best hypotheses go on, and those of the best K continuations that end, end. A
    sentence is done when no hypothesis that goes on can become better than the N best that have
    finished; or when K have finished, and none that goes on is better as it is.

    Scores are

        score(Y, X) = log P(Y|X) / lp(Y) + cp(X; Y)
        lp(Y)       = ((5 + |Y|) / 6)^alpha, or |Y|^alpha
        cp(X; Y)    = beta * sum over i of log(min(sum over j of p_ij, 1))

    Wu et al. (2016), "Google's neural machine translation system", equation 14, with p_ij the
    attention of the j-th target token to the i-th source token. P is what a penalty for repetition
    leaves of the model's probabilities.

    Args:
        model: any Seq2Seq.
        config: how to search.
        attention: whether to return it.
        compiled: whether in a graph; without one the first sentences come sooner, all others later.
    """

    def __init__(
        self,
        model: Seq2Seq,
        config: DecodingConfig,
        attention: bool = False,
        compiled: bool = True,
    ):
        self._model = model
        self._config = config
        self._precision = choose_decoding_precision(config.precision, model)
        self._keeps_attention = attention
        self._results = config.n_best
        self._beams = config.n_best if config.sample else config.beam
        self._choose: Choose = greedy
        if config.sample:
            self._choose = sampling(config.temperature, config.top_k, config.top_p)
        elif config.beam > 1:
            self._choose = beam
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
            maximum_B: int32, most tokens of each translation, EOS included.
            minimum_B: int32, fewest tokens, EOS included; none where not given.
            prefix_BP: int32 ids that the translation begins with, right-padded with PAD.
            number_B: int32, the sentence's number in the whole input, by which samples are drawn;
                counted from 0 where not given.
        """
        batch = len(source_BS)
        arguments = (
            source_BS,
            maximum_B,
            np.zeros([batch]) if minimum_B is None else minimum_B,
            np.zeros([batch, 0]) if prefix_BP is None else prefix_BP,
            np.arange(batch) if number_B is None else number_B,
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
        """Do what `__call__` does, eagerly or as what a graph is traced from."""
        with computing(precision=self._precision):
            begun = self._begin(source_BS, maximum_B, minimum_B, prefix_BP, number_B)
            predict = self._model.make_step(in_place=True)
            found = _while(
                lambda p: tf.size(p.sentences["row_B"]) > 0,
                lambda p: self._chunk(p, predict),
                begun,
            ).results
        batch, source_length = tf.unstack(tf.shape(source_BS))
        none = tf.zeros([batch, self._results, 0, source_length])
        attention = found.get("attention_BKTS", none)
        log_probability = found.get("model_BK", found["total_BK"])
        return Hypotheses(found["ids_BKT"], found["score_BK"], log_probability, attention)

    def _begin(
        self,
        source_BS: tf.Tensor,
        maximum_B: tf.Tensor,
        minimum_B: tf.Tensor,
        prefix_BP: tf.Tensor,
        number_B: tf.Tensor,
    ) -> _Progress:
        batch, source_length = tf.unstack(tf.shape(source_BS))
        longest = tf.reduce_max(tf.concat([maximum_B, [0]], axis=0))
        capacity = tf.minimum(longest, _CAPACITY_STEP)
        memory = self._model.encode(source_BS)
        state = {
            name: tensor if tensor.shape.rank == 0 else tf.repeat(tensor, self._beams, axis=0)
            for name, tensor in self._model.initial_state(memory, capacity).items()
        }

        def hypotheses(number: int) -> Tensors:
            tensors = {
                "ids_BKT": tf.fill([batch, number, longest], PAD),
                "total_BK": tf.fill([batch, number], IMPOSSIBLE),
            }
            if self._config.repetition_penalty != 1:
                tensors["model_BK"] = tensors["total_BK"]
            if self._keeps_attention:
                shape = [batch, number, longest, source_length]
                tensors["attention_BKTS"] = tf.zeros(shape)
            return tensors

        live = hypotheses(self._beams)
        # All samples begin; beams would all be the same, so only the first does.
        begins_K = [
            0.0 if k == 0 or self._config.sample else IMPOSSIBLE for k in range(self._beams)
        ]
        live["total_BK"] = tf.zeros([batch, 1]) + tf.constant(begins_K)
        if "model_BK" in live:
            live["model_BK"] = live["total_BK"]
        live["token_BK"] = tf.fill([batch, self._beams], BOS)
        if self._config.coverage_penalty:
            live["coverage_BKS"] = tf.zeros([batch, self._beams, source_length])
        finished = hypotheses(self._results)
        finished["score_BK"] = finished["total_BK"]
        drawn = (
            uniform(self._config.seed, number_B, self._beams, longest)
            if self._config.sample
            else tf.zeros([batch, 0, longest], tf.float64)
        )
        sentences = {
            "row_B": tf.range(batch),
            "uniform_BKT": drawn,
            "minimum_B": minimum_B,
            "maximum_B": maximum_B,
            "prefix_BP": prefix_BP,
            "mask_BS": source_BS != PAD,
            "finished_B": tf.zeros([batch], tf.int32),
            "done_B": maximum_B <= 0,
        }
        return _Progress(
            tf.constant(0), capacity, memory, state, sentences, live, finished, finished
        )

    def _chunk(self, progress: _Progress, predict: Step) -> _Progress:
        """Make steps until sentences may leave the batch or the caches are full; then see to it."""
        memory = self._model.repeat_for_beams(progress.memory, self._beams)

        def has_capacity_and_work(p: _Progress) -> tf.Tensor:
            open_B = tf.logical_not(p.sentences["done_B"])
            share = tf.reduce_mean(tf.cast(open_B, tf.float32))
            return (p.t < p.capacity) & (share >= _STAY)

        # The memory is the same throughout, so it is no variable of the loop.
        begun = progress._replace(memory={}, results={})
        p = _while(has_capacity_and_work, lambda p: self._step(p, memory, predict), begun)

        rows_B1 = p.sentences["row_B"][:, tf.newaxis]
        results = {
            name: tf.tensor_scatter_nd_update(tensor, rows_B1, p.finished[name])
            for name, tensor in progress.results.items()
        }
        p = p._replace(memory=progress.memory, results=results)
        p = _either(tf.reduce_any(p.sentences["done_B"]), self._without_done, p)
        return _either(p.t >= p.capacity, self._with_capacity, p)

    def _without_done(self, p: _Progress) -> _Progress:
        left = tf.where(tf.logical_not(p.sentences["done_B"]))[:, 0]
        rows_left = tf.reshape(
            left[:, tf.newaxis] * self._beams + tf.range(self._beams, dtype=tf.int64), [-1]
        )
        return p._replace(
            memory=_gather(p.memory, left),
            state=_gather(p.state, rows_left),
            sentences=_gather(p.sentences, left),
            live=_gather(p.live, left),
            finished=_gather(p.finished, left),
        )

    def _with_capacity(self, p: _Progress) -> _Progress:
        capacity = p.capacity + _CAPACITY_STEP
        return p._replace(capacity=capacity, state=self._model.grow_cache(p.state, capacity))

    def _step(self, p: _Progress, memory: Memory, predict: Step) -> _Progress:
        """Predict a token for each hypothesis, choose, and part those that end from the others."""
        beams, sentences = self._beams, p.sentences
        tokens_R = tf.reshape(p.live["token_BK"], [-1])
        logits_RV, attention_RS, state = predict(tokens_R, p.state, memory)
        vocabulary = logits_RV.shape[1]
        model_RV = exclude_special_tokens(logits_RV)
        logits_RV = model_RV
        if self._config.repetition_penalty != 1:
            penalty = self._config.repetition_penalty
            logits_RV = penalise_repetition(logits_RV, p.live["ids_BKT"], penalty)
        normaliser_BK = tf.reshape(tf.reduce_logsumexp(logits_RV, axis=1), [-1, beams])
        logits_BKV = tf.reshape(self._constrained(logits_RV, p), [-1, beams, vocabulary])
        uniform_BK = sentences["uniform_BKT"][:, :, p.t]
        parent_BC, token_BC, total_BC = self._choose(
            Options(logits_BKV, normaliser_BK, p.live["total_BK"], uniform_BK)
        )
        total_BC = tf.where(sentences["done_B"][:, tf.newaxis], IMPOSSIBLE, total_BC)

        parents = p.live
        attention_BKS = tf.reshape(attention_RS, [-1, beams, tf.shape(sentences["mask_BS"])[1]])
        if parent_BC is not None:
            parents = {n: tf.gather(x, parent_BC, batch_dims=1) for n, x in parents.items()}
            attention_BKS = tf.gather(attention_BKS, parent_BC, batch_dims=1)
        here_T = tf.range(tf.shape(parents["ids_BKT"])[2]) == p.t
        candidates = {
            **parents,
            "ids_BKT": tf.where(here_T, token_BC[..., tf.newaxis], parents["ids_BKT"]),
            "token_BK": token_BC,
            "total_BK": total_BC,
        }
        if "model_BK" in parents:
            logs_BX = tf.reshape(tf.nn.log_softmax(model_RV), [-1, beams * vocabulary])
            parent = tf.range(beams) if parent_BC is None else parent_BC
            chosen_BC = parent * vocabulary + token_BC
            candidates["model_BK"] += tf.gather(logs_BX, chosen_BC, batch_dims=1)
        if self._keeps_attention:
            candidates["attention_BKTS"] = tf.where(
                here_T[:, tf.newaxis], attention_BKS[:, :, tf.newaxis], parents["attention_BKTS"]
            )
        if self._config.coverage_penalty:
            candidates["coverage_BKS"] = parents["coverage_BKS"] + attention_BKS

        is_last_B1 = (p.t + 1 >= sentences["maximum_B"])[:, tf.newaxis]
        ends_BC = (token_BC == EOS) | is_last_B1
        enters_BC = ends_BC & (total_BC > IMPOSSIBLE) & (tf.range(token_BC.shape[1]) < beams)
        score_BC = self._score(candidates, p.t + 1, sentences["mask_BS"])
        score_BC = tf.where(enters_BC, score_BC, IMPOSSIBLE)
        finished = self._best_finished(p.finished, candidates, score_BC)
        finished_B = sentences["finished_B"] + tf.reduce_sum(tf.cast(enters_BC, tf.int32), axis=1)

        candidates["total_BK"] = tf.where(ends_BC, IMPOSSIBLE, total_BC)
        live = candidates
        if parent_BC is not None:
            _, best_BK = tf.math.top_k(candidates["total_BK"], beams)
            live = {n: tf.gather(x, best_BK, batch_dims=1) for n, x in candidates.items()}
            parent_BK = tf.gather(parent_BC, best_BK, batch_dims=1)
            first_B1 = tf.range(tf.shape(parent_BK)[0])[:, tf.newaxis] * beams
            state = _gather(state, tf.reshape(first_B1 + parent_BK, [-1]))
        best_B = tf.reduce_max(live["total_BK"], axis=1)
        done_B = best_B == IMPOSSIBLE
        if parent_BC is not None:
            # A log-probability only falls, is divided by the most at the maximum length, and the
            # penalty for coverage is at most 0.
            reachable_B = best_B / self._length_penalty(sentences["maximum_B"])
            likely_B = best_B / self._length_penalty(p.t + 1)
            worst_B = finished["score_BK"][:, -1]
            done_B |= (worst_B >= reachable_B) | ((finished_B >= beams) & (worst_B >= likely_B))
        sentences = {**sentences, "finished_B": finished_B, "done_B": sentences["done_B"] | done_B}
        return p._replace(t=p.t + 1, state=state, sentences=sentences, live=live, finished=finished)

    def _constrained(self, logits_RV: tf.Tensor, p: _Progress) -> tf.Tensor:
        """Exclude what the minimum length, repeated n-grams and the prefix exclude.

        No rule excludes the prefix itself.
        """
        free_RV = logits_RV
        logits_RV = require_minimum_length(logits_RV, p.t, p.sentences["minimum_B"])
        if size := self._config.no_repeat_ngram:
            logits_RV = exclude_repeated_ngrams(logits_RV, p.live["ids_BKT"], p.t, size)
        return follow_prefix(logits_RV, free_RV, p.t, p.sentences["prefix_BP"])

    def _best_finished(
        self, finished: Tensors, candidates: Tensors, score_BC: tf.Tensor
    ) -> Tensors:
        """Return the best of those that finished before and now."""
        scores = tf.concat([finished["score_BK"], score_BC], axis=1)
        score_BN, best_BN = tf.math.top_k(scores, self._results)
        return {
            name: score_BN
            if name == "score_BK"
            else tf.gather(tf.concat([before, candidates[name]], axis=1), best_BN, batch_dims=1)
            for name, before in finished.items()
        }

    def _score(self, candidates: Tensors, length: tf.Tensor, mask_BS: tf.Tensor) -> tf.Tensor:
        score_BC = candidates["total_BK"] / self._length_penalty(length)
        if self._config.coverage_penalty:
            covered_BCS = tf.clip_by_value(candidates["coverage_BKS"], 1e-9, 1.0)
            logs_BCS = tf.where(mask_BS[:, tf.newaxis], tf.math.log(covered_BCS), 0.0)
            score_BC += self._config.coverage_penalty * tf.reduce_sum(logs_BCS, axis=2)
        return score_BC

    def _length_penalty(self, length: tf.Tensor) -> tf.Tensor:
        length = tf.cast(length, tf.float32)
        if self._config.length_penalty_kind == "gnmt":
            length = (5 + length) / 6
        return length**self._config.length_penalty


def _gather(tensors: Tensors, rows: tf.Tensor) -> Tensors:
    """Return the rows of every tensor that has any."""
    return {
        name: tensor if tensor.shape.rank == 0 else tf.gather(tensor, rows)
        for name, tensor in tensors.items()
    }


def _either(
    condition: tf.Tensor, change: Callable[[_Progress], _Progress], progress: _Progress
) -> _Progress:
    """Return what is changed if the condition holds, and is the same if not."""
    return tf.cond(condition, lambda: change(progress), lambda: progress)


def _while(
    condition: Callable[[_Progress], tf.Tensor],
    body: Callable[[_Progress], _Progress],
    begin: _Progress,
) -> _Progress:
    """Loop while the number of rows, the caches' length and all lengths may change."""
    if tf.executing_eagerly():
        while condition(begin):
            begin = body(begin)
        return begin
    shapes = tf.nest.map_structure(_changing, begin)

    def keep_shapes(progress: _Progress) -> tuple[_Progress]:
        after = body(progress)
        return (tf.nest.map_structure(tf.ensure_shape, after, shapes),)

    return tf.while_loop(condition, keep_shapes, (begin,), shape_invariants=(shapes,))[0]


def _changing(tensor: tf.Tensor) -> tf.TensorShape:
    return tf.TensorShape([None, *tensor.shape[1:]]) if tensor.shape.rank else tensor.shape
