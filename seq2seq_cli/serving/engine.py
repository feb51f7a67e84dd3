"""An engine that translates by trained runs; see `work.Engine`."""

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import lru_cache
from typing import Any

from seq2seq_cli.attention.growing import Grower
from seq2seq_cli.attention.reader import AttentionReader
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.decoding.loading import LoadedRun, load_reverse
from seq2seq_cli.decoding.scoring import Scorer
from seq2seq_cli.decoding.search import Search
from seq2seq_cli.decoding.translator import Translator, prefix_ids
from seq2seq_cli.runtime.computation import choose_decoding_precision
from seq2seq_cli.runtime.parallel import parts_at_once
from seq2seq_cli.serving.work import Direction, ServedRun, Work

ALTERNATIVES = 6
_KEPT = 64  # maximum number of stored translators
_WARM_UP = "A b c d e f g h, i j k l m n o p q r s t u v w x y z."


class RunEngine:
    """Translates by loaded runs.

    The searches of the runs' `[decoding]` and those with the given beams are compiled once. All
    other searches run without a graph. Clients could request any number of them, and each graph
    costs a second and memory.

    Args:
        loaded: the runs, with a description of their models.
        beams: the beams whose searches are compiled.
        batch: maximum number of sentences in a batch.

    Raises:
        UsageError: if a run does not support one of its searches.
        CheckpointError: if a run to re-rank by cannot be loaded.
    """

    def __init__(
        self, loaded: Sequence[tuple[LoadedRun, str]], beams: Sequence[int] = (), batch: int = 64
    ):
        loaded = [(_with_precision(run), description) for run, description in loaded]
        self._loaded = {run.paths[0].name: run for run, _ in loaded}
        self.runs = [_served(run, description) for run, description in loaded]
        self.workers = parts_at_once()
        self._beams = beams
        self._batch = batch
        # They are traced at their first use. Requests that arrive earlier use them, too.
        self._searches = {work: self._new_search(work) for work in self._compiled()}
        self._translator = lru_cache(_KEPT)(self._new_translator)
        self._scorer: Callable[[str, str], Scorer] = lru_cache(None)(
            lambda run, target: self._towards(run, target).scorer()
        )
        self._grower = lru_cache(None)(lambda run, to: Grower(self._towards(run, to)))
        self._reverse = lru_cache(None)(load_reverse)
        for work in self._searches:
            self.check(work)

    def warm_up(self) -> None:
        """Compile the searches, and translate batches of several sizes and lengths with each."""
        words = _WARM_UP.split()
        for work in self._searches:
            for sentences in sorted({1, 2, 16, self._batch}):
                texts = [" ".join(words[: 1 + i % len(words)]) for i in range(sentences)]
                self.compute(work, texts)
        for run in self.runs:
            for direction in run.directions:
                work = Work("score", run.name, direction.target, run.decoding)
                self.compute(work, [("a b", "a b")])

    def check(self, work: Work) -> None:
        """Check that the run supports the search; see `work.Engine`."""
        self._of(work)

    def compute(self, work: Work, items: list[Any]) -> Sequence[Any]:
        """Return the results of a batch; see `work.Engine`."""
        # One part: the queue computes several batches at a time.
        if work.kind == "score":
            return self._scorer(work.run, work.target).score(items, parts=1)
        if work.kind == "attention":
            loaded = self._towards(work.run, work.target)
            if not loaded.model.has_attention:
                return [None] * len(items)
            return AttentionReader(loaded, work.decoding, ALTERNATIVES).read(items)
        return self._of(work).translate(items, first_number=work.first, parts=1)

    def grow(self, run: str, target: str, sentence: str, prefix: str) -> Generator[Any, None, None]:
        """Yield a Growth after each token; see `work.Engine`."""
        ids = prefix_ids(self._towards(run, target).tokenizers.target, prefix)
        return self._grower(run, target).grow(sentence, ids.tolist())

    def _compiled(self) -> Iterator[Work]:
        for run in self.runs:
            searches = [run.decoding]
            if not run.decoding.sample:
                searches += [run.decoding.model_copy(update={"beam": beam}) for beam in self._beams]
            for direction in run.directions:
                for decoding in dict.fromkeys(searches):
                    yield Work("translate", run.name, direction.target, decoding)

    def _new_search(self, work: Work) -> Search:
        config = work.decoding.model_copy(update={"n_best": work.decoding.found_hypotheses})
        return Search(self._towards(work.run, work.target).model, config)

    def _of(self, work: Work) -> Translator:
        work = work._replace(sample_id=0, first=0)
        if work.prefix:  # texts of requests are not stored
            return self._new_translator(work)
        return self._translator(work)

    def _new_translator(self, work: Work) -> Translator:
        loaded, decoding = self._towards(work.run, work.target), work.decoding
        search = self._searches.get(work._replace(prefix=""))
        rerank = decoding.rerank
        return loaded.translator(
            decoding,
            reverse=self._reverse(rerank, loaded.languages, loaded.warn) if rerank else None,
            prefix=work.prefix,
            search=search,
            compiled=search is not None,
        )

    def _towards(self, run: str, target: str) -> LoadedRun:
        return self._loaded[run].towards(target)


def _with_precision(run: LoadedRun) -> LoadedRun:
    """Measure the precision "auto" once, as it takes a second."""
    precision = choose_decoding_precision(run.decoding.precision, run.model)
    return run._replace(decoding=run.decoding.model_copy(update={"precision": precision}))


def _served(run: LoadedRun, description: str) -> ServedRun:
    targets = dict.fromkeys([run.languages[1], *run.data.target_languages])
    directions = tuple(Direction(*run.data.languages_to(target)) for target in targets)
    decoding: DecodingConfig = run.decoding
    return ServedRun(run.paths[0].name, description, run.checkpoint, directions, decoding)
