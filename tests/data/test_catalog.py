import urllib.error
import urllib.request

import pytest
import tensorflow_datasets as tfds

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.catalog import CATALOG_URL, read_catalog
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.errors import DataError, UsageError

ROWS = [(f"one {i}", f"uno {i}", f"eins {i}") for i in range(30)]


class ToyTranslate(tfds.core.GeneratorBasedBuilder):
    """Pairs as most translation data sets of the catalog have them."""

    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        features = tfds.features.Translation(languages=("en", "es"))
        return tfds.core.DatasetInfo(builder=self, features=features, disable_shuffling=True)

    def _split_generators(self, dl_manager):
        return {"train": self._generate_examples(0, 20), "test": self._generate_examples(20, 30)}

    def _generate_examples(self, start, end):
        for i in range(start, end):
            yield i, {"en": ROWS[i][0], "es": ROWS[i][1]}


class ToyVariable(tfds.core.GeneratorBasedBuilder):
    """Rows in any of several languages, as ted_multi_translate has them."""

    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        feature = tfds.features.TranslationVariableLanguages(languages=("en", "es", "de"))
        return tfds.core.DatasetInfo(
            builder=self, features=tfds.features.FeaturesDict({"translations": feature})
        )

    def _split_generators(self, dl_manager):
        return {"train": self._generate_examples()}

    def _generate_examples(self):
        for i, (en, es, de) in enumerate(ROWS):
            row = {"en": en, "de": de} if i % 3 else {"en": en, "es": es}
            yield i, {"translations": row}


@pytest.fixture
def catalog(tmp_path, monkeypatch):
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    return tmp_path


def config(name: str, **options: object) -> DataConfig:
    return DataConfig(corpus=f"tfds:{name}", **options)


@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
def test_its_splits_are_used(catalog, file_format):
    ToyTranslate(data_dir=str(catalog), file_format=file_format).download_and_prepare()
    corpus = read_corpus(config("toy_translate", dev_pairs=2))
    pairs = [(en, es) for en, es, _ in ROWS]
    assert corpus.test == pairs[20:]
    assert sorted([*corpus.train, *corpus.dev]) == sorted(pairs[:20])
    turned = read_corpus(
        config("toy_translate", dev_pairs=2, source_language="es", target_language="en")
    )
    assert turned.test == [(t, s) for s, t in pairs[20:]]


def test_rows_without_both_languages_are_left_out(catalog):
    ToyVariable(data_dir=str(catalog)).download_and_prepare()
    train, dev, test = read_catalog("toy_variable", ("es", "en"))
    assert sorted(train) == sorted((es, en) for en, es, _ in ROWS[::3])
    assert (dev, test) == (None, None)


LISTED = f"The translation data sets are listed at {CATALOG_URL}"
UNKNOWN = f"no data set of that name in TensorFlow Datasets {tfds.__version__}."


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", f"the name of a data set is missing, such as tfds:opus/medical. {LISTED}"),
        ("/en", f"the name of a data set is missing, such as tfds:opus/medical. {LISTED}"),
        ("no_such_set/x", f"{UNKNOWN} {LISTED}"),
        ("para_craw/enes", f"{UNKNOWN} Did you mean para_crawl? {LISTED}"),
        ("huggingface:a/b", f"{UNKNOWN} {LISTED}"),
        ("a\0b", f"{UNKNOWN} {LISTED}"),
        ("opus/x", "opus has no config 'x'; it has IT, koran, law, medical, subtitles"),
        ("opus/", "opus has no config ''; it has IT, koran, law, medical, subtitles"),
        ("toy_translate/x", "toy_translate has no config 'x'; it has none"),
        (
            "para_crawl/ense",
            "para_crawl has no config 'ense'; it has ensv, ensl, ensk, enet, enes and 18 more",
        ),
    ],
)
def test_an_unknown_data_set_is_an_error_that_lists_the_known_ones(name, message, catalog):
    with pytest.raises(UsageError) as caught:
        read_catalog(name, ("en", "es"))
    assert str(caught.value) == f"tfds:{name}: {message}"


@pytest.mark.parametrize("name", ["opus/medical:9.9.9", "opus:bad", "opus/version=0.1"])
def test_an_unknown_version_is_refused_in_one_line(name, catalog):
    with pytest.raises(UsageError) as caught:
        read_catalog(name, ("en", "de"))
    message = str(caught.value).removeprefix(f"tfds:{name}: ")
    assert len(message) > 20
    assert "\n" not in message


def test_a_config_of_other_languages_is_refused_with_the_nearest(catalog):
    with pytest.raises(UsageError) as caught:
        read_catalog("para_crawl", ("en", "es"))
    assert str(caught.value).endswith(
        "Choose two of its languages with --source and --target, or another config: enes, ensv, "
        "ensl, ensk, enet and 17 more"
    )


def test_unknown_languages_are_refused(catalog):
    ToyTranslate(data_dir=str(catalog)).download_and_prepare()
    with pytest.raises(UsageError) as caught:
        read_corpus(config("toy_translate", target_language="fr"))
    assert str(caught.value) == (
        "tfds:toy_translate: its languages are en and es, but data.source_language and "
        "data.target_language are en and fr. Choose two of its languages with --source and --target"
    )


def test_a_preparation_prints_nothing_to_stdout(catalog, monkeypatch, capsys):
    monkeypatch.setattr(urllib.request, "urlopen", lambda *args, **kwargs: None)
    read_corpus(config("toy_translate", dev_pairs=2))
    out, err = capsys.readouterr()
    assert out == ""
    assert "toy_translate" in err


def test_without_a_network_there_is_a_remedy_at_once(catalog, monkeypatch):
    def unreachable(*args, **kwargs):
        raise urllib.error.URLError("Network is unreachable")

    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    with pytest.raises(DataError) as caught:
        read_corpus(config("toy_translate"))
    folder = catalog / "toy_translate"
    assert str(caught.value) == (
        "tfds:toy_translate: has not been downloaded, and there is no network (Network is "
        "unreachable). On a machine with a network run\n  python -c 'import tensorflow_datasets as "
        'tfds; tfds.builder("toy_translate").download_and_prepare()\'\nand copy its folder to '
        f"{folder} here (or set TFDS_DATA_DIR to where it is), or give files of your own by --data"
    )
