"""Translation data sets of the catalog of TensorFlow Datasets."""

import contextlib
import difflib
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import tensorflow_datasets as tfds

from seq2seq_cli.errors import DataError, UsageError

CATALOG_URL = "https://www.tensorflow.org/datasets/catalog/overview#translate"
_DEV_NAMES = ("validation", "dev")
_FEW = 10  # maximum number of names in an error


class CatalogPairs(NamedTuple):
    """The splits of a data set as pairs (source, target).

    dev and test are None if the data set has no such splits. train is read lazily.
    """

    train: Iterator[tuple[str, str]]
    dev: list[tuple[str, str]] | None
    test: list[tuple[str, str]] | None


def read_catalog(name: str, languages: tuple[str, str]) -> CatalogPairs:
    """Read a data set; download it first if necessary.

    Args:
        name: NAME or NAME/CONFIG, as in the catalog.
        languages: (source, target), two of its languages.

    Raises:
        DataError: if it cannot be downloaded or read, with the remedy.
        UsageError: if there is no such data set, or it does not have these languages.
    """
    builder = _builder(name)
    take = _taker(name, builder, languages)
    if not builder.is_prepared():
        _download(name, builder)
    splits = builder.info.splits
    if "train" not in splits:
        raise DataError(f"tfds:{name}: has no train split; it has {', '.join(splits)}")
    dev = next((split for split in _DEV_NAMES if split in splits), None)
    return CatalogPairs(
        take(_rows(builder, "train")),
        list(take(_rows(builder, dev))) if dev else None,
        list(take(_rows(builder, "test"))) if "test" in splits else None,
    )


def _builder(name: str) -> Any:
    try:
        return tfds.builder(name, data_dir=os.environ.get("TFDS_DATA_DIR"), try_gcs=False)
    except (
        tfds.core.DatasetNotFoundError,
        ValueError,
        AssertionError,
        TypeError,
        ImportError,
    ) as e:
        raise UsageError(f"tfds:{name}: {_refusal(name, str(e))}") from e


def _refusal(name: str, message: str) -> str:
    """Return why there is no builder for a name; `message` comes from TensorFlow Datasets."""
    data_set, _, config = name.partition("/")
    data_set, config = data_set.partition(":")[0], config.partition(":")[0]
    listed = f"The translation data sets are listed at {CATALOG_URL}"
    if not data_set:
        return f"the name of a data set is missing, such as tfds:opus/medical. {listed}"
    known = {*tfds.list_builders(with_community_datasets=False)}  # the others need a network
    if data_set not in known:
        near = difflib.get_close_matches(data_set, sorted(known), n=3)
        meant = f". Did you mean {' or '.join(near)}?" if near else "."
        version = f"TensorFlow Datasets {tfds.__version__}"
        return f"no data set of that name in {version}{meant} {listed}"
    configs = tfds.builder_cls(data_set).builder_configs
    if "/" in name and config not in configs:
        return f"{data_set} has no config {config!r}; it has {_some(configs, config)}"
    return message.strip().partition("\n")[0]


def _some(names: Iterable[str], like: str) -> str:
    """List names: all if they are few, or the most similar to `like` if they are many."""
    names = sorted(names)
    if len(names) <= _FEW:
        return ", ".join(names) or "none"
    near = difflib.get_close_matches(like, names, n=_FEW // 2, cutoff=0)
    return f"{', '.join(near)} and {len(names) - len(near)} more"


def _taker(name: str, builder: Any, languages: tuple[str, str]) -> Any:
    """Return a function from rows of the data set to pairs."""
    source, target = languages
    features = builder.info.features
    if source in features and target in features:
        return lambda rows: ((row[source].decode(), row[target].decode()) for row in rows)
    for key, feature in features.items():
        if isinstance(feature, tfds.features.TranslationVariableLanguages):
            return lambda rows: _variable(rows, key, languages)
    there = " and ".join(sorted(features))
    others = builder.builder_configs.keys() - {
        builder.builder_config and builder.builder_config.name
    }
    raise UsageError(
        f"tfds:{name}: its languages are {there}, but data.source_language and "
        f"data.target_language are {source} and {target}. Choose two of its languages with "
        "--source and --target"
        + (f", or another config: {_some(others, source + target)}" if others else "")
    )


def _variable(
    rows: Iterable[Any], key: str, languages: tuple[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of the rows that have both languages."""
    for row in rows:
        texts = dict(
            zip(
                (language.decode() for language in row[key]["language"]),
                (text.decode() for text in row[key]["translation"]),
                strict=True,
            )
        )
        if set(languages) <= texts.keys():
            yield texts[languages[0]], texts[languages[1]]


def _rows(builder: Any, split: str) -> Iterable[Any]:
    """Return the rows of a split in the order of its files."""
    if builder.info.file_format == tfds.core.FileFormat.ARRAY_RECORD:
        return builder.as_data_source(split)
    order = tfds.ReadConfig(interleave_cycle_length=1)
    return builder.as_dataset(split=split, read_config=order).as_numpy_iterator()


def _download(name: str, builder: Any) -> None:
    """Download and prepare. Check the network first, because a failing download takes minutes."""
    folder = builder.data_path.parent
    remedy = (
        f"On a machine with a network run\n  python -c 'import tensorflow_datasets as tfds; "
        f'tfds.builder("{name}").download_and_prepare()\'\nand copy its folder to {folder} here '
        "(or set TFDS_DATA_DIR to where it is), or give files of your own by --data"
    )
    try:
        urllib.request.urlopen(
            urllib.request.Request("https://storage.googleapis.com", method="HEAD"), timeout=10
        )
    except urllib.error.HTTPError:
        pass  # the network works
    except OSError as error:
        raise DataError(
            f"tfds:{name}: has not been downloaded, and there is no network "
            f"({getattr(error, 'reason', error)}). {remedy}"
        ) from error
    try:
        with contextlib.redirect_stdout(sys.stderr):  # where progress belongs
            builder.download_and_prepare()
    except Exception as error:
        # Each data set has its own script, which raises its own errors.
        raise DataError(
            f"tfds:{name}: cannot be downloaded and prepared: {error}. {remedy}"
        ) from error
