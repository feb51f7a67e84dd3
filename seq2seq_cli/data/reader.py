"""The corpora that a config names, opened to be read pair by pair."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from seq2seq_cli.config.data import CATALOG, CORPORA, CorpusConfig, DataConfig, is_address
from seq2seq_cli.data.formats import COLUMNS, estimated_pairs, files_at, read_pairs
from seq2seq_cli.data.lines import canonical
from seq2seq_cli.data.named import columns_of, files_of
from seq2seq_cli.data.splits import Pair
from seq2seq_cli.errors import DataError, UsageError


@dataclass(frozen=True)
class OpenCorpus:
    """A corpus whose pairs can be read once, in order.

    Attributes:
        description: the corpus' name or path, for display.
        pairs: (source, target) sentences, stripped, neither of them empty.
        weight: how often an epoch contains each of the pairs, on average.
        dev, test: the dev and test pairs that are part of the corpus, or None.
        tags: of its source sentences, without their brackets.
        only_trains: whether the corpus is used for training only.
    """

    description: str
    pairs: Iterator[Pair]
    weight: float = 1.0
    dev: list[Pair] | None = None
    test: list[Pair] | None = None
    tags: tuple[str, ...] = ()
    only_trains: bool = False


class Reader:
    """Opens the corpora that a config names, and counts the pairs that it leaves out.

    Args:
        config: languages, corpora, and the treatment of bad lines.

    Attributes:
        dropped: number of pairs that were left out, by reason; complete when all has been read.
    """

    def __init__(self, config: DataConfig):
        self.dropped: Counter[str] = Counter()
        self._config = config

    def leave_out(self, reason: str, pairs: int = 1) -> None:
        """Count pairs that are left out."""
        self.dropped[reason] += pairs

    def corpora(self) -> list[OpenCorpus]:
        """Open the corpus, or each of several that are mixed.

        Raises:
            DataError: naming file, line and remedy; here or while pairs are read.
            UsageError: if a corpus does not have the configured languages.
        """
        return [self._open(corpus) for corpus in self._config.mixture]

    def estimated_pairs(self) -> int | None:
        """Return an estimate of the number of pairs; None if there is none for a corpus.

        Raises:
            DataError: if a file is missing.
        """
        total = 0
        for corpus in self._config.mixture:
            if corpus.corpus.startswith(CATALOG):
                return None
            files = files_at(files_of(corpus.corpus).train, self._languages(corpus))
            pairs = estimated_pairs(files[0])
            if pairs is None:
                return None
            total += pairs
        return total

    def check_files(self) -> None:
        """Raise the errors of `corpora` and `held_out` that need no reading of pairs.

        Corpora with names are not checked.
        """
        for path in self._held_out_files().values():
            if path and path not in CORPORA:
                self._open_file(path)
        for corpus in self._config.mixture:
            if corpus.corpus not in CORPORA and not corpus.corpus.startswith(CATALOG):
                self._open(corpus)

    def held_out(
        self, corpora: Sequence[OpenCorpus]
    ) -> tuple[list[Pair] | None, list[Pair] | None]:
        """Return the dev pairs and the test pairs, each None if there are none.

        The files that the config names come first; without one, the pairs of the corpora are used.
        """
        sides: list[list[Pair] | None] = []
        for name, path in self._held_out_files().items():
            if path:
                sides.append(list(self._open_file(path).pairs))
            else:
                given = [side for c in corpora if (side := getattr(c, name)) is not None]
                sides.append([pair for side in given for pair in side] if given else None)
        return sides[0], sides[1]

    def _held_out_files(self) -> dict[str, str | None]:
        return {"dev": self._config.dev, "test": self._config.test}

    def _open_file(self, path: str) -> OpenCorpus:
        """Open `data.dev` or `data.test`."""
        if path.startswith(CATALOG):
            raise UsageError(
                f"{path}: data.dev and data.test must be files of pairs. Give a path, or use the "
                "dev and test pairs of the corpus"
            )
        return self._open(CorpusConfig(corpus=path))

    def _open(self, corpus: CorpusConfig) -> OpenCorpus:
        name = corpus.corpus
        if is_address(name):
            raise UsageError(
                f"{name}: an address must be that of a prepared corpus, and the only one "
                "(data.corpus, --data). Download the file and give its path"
            )
        languages = self._languages(corpus)
        train: Iterable[Pair]
        held_out: list[list[Pair] | None]
        if name.startswith(CATALOG):
            from seq2seq_cli.data.catalog import read_catalog  # imports TensorFlow

            train, *held_out = read_catalog(name.removeprefix(CATALOG), languages)
        else:
            columns, key = self._columns(corpus)
            read = partial(
                read_pairs,
                languages=languages,
                columns=columns.split(),
                skip=self._skip_or_raise,
                key=key,
            )
            files = files_of(name)
            train = read(files.train)
            held_out = [list(read(path)) if path else None for path in (files.dev, files.test)]
        if corpus.only_trains:
            held_out = [None, None]
        dev, test = (side and list(self._clean(name, side)) for side in held_out)
        pairs = self._clean(name, train)
        return OpenCorpus(name, pairs, corpus.weight, dev, test, corpus.tags, corpus.only_trains)

    def _languages(self, corpus: CorpusConfig) -> tuple[str, str]:
        target = corpus.target_language or self._config.target_language
        return self._config.source_language, target

    def _columns(self, corpus: CorpusConfig) -> tuple[str, str]:
        """Return the columns of a corpus, and the key that gives them; empty if they are fixed."""
        has_own = corpus.columns or corpus.target_language
        key = "columns in data.sources" if has_own else COLUMNS
        return columns_of(corpus.corpus, corpus.columns or self._config.columns, key)

    def _clean(self, description: str, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs that have no empty side, in canonical form."""
        some = False
        for source, target in pairs:
            source, target = canonical(source), canonical(target)
            if source and target:
                some = True
                yield source, target
            else:
                self.leave_out("empty")
        if not some:
            raise DataError(f"{description}: has no sentence pairs")

    def _skip_or_raise(self, problem: str) -> None:
        """Count a bad line, or raise if bad lines are errors."""
        if not self._config.skip_bad_lines:
            raise DataError(
                f"{problem}. Correct the line, or leave out such lines with "
                "--set data.skip_bad_lines=true"
            )
        self.leave_out("bad line")
