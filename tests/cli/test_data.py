"""The commands that read corpora, with corpora that cannot be read."""

import io
import json
import shlex
import zipfile

import pytest
from conftest import s2s, s2s_process

from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.data.corpus import read_corpus


def encrypted_zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("pairs.txt", "one\tuno\n")
    data = bytearray(file.getvalue())
    data[6] |= 1
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


@pytest.mark.parametrize("command", ["train", "data stats", "data check", "data prepare out"])
def test_a_corpus_that_cannot_be_read_leaves_with_3_and_nothing_behind(command, workdir):
    (workdir / "x.zip").write_bytes(encrypted_zip())
    code, out, err = s2s(*command.split(), "--data", "x.zip")
    assert (code, out) == (3, "")
    assert "x.zip: cannot be unpacked (File 'pairs.txt' is encrypted" in " ".join(err.split())
    assert [path.name for path in workdir.iterdir()] == ["x.zip"]


def test_stats(corpus):
    code, out, err = s2s("data", "stats", "--data", str(corpus))
    assert (code, err) == (0, "")
    assert "500 in 500 independent groups" in out
    code, out, _ = s2s("data", "stats", "--data", str(corpus), "--json")
    record = json.loads(out)
    assert record["pairs"] == sum(split["pairs"] for split in record["splits"]) == 500
    assert record["sides"][0]["distinct_words"] == 19
    swapped = ["--source", "es", "--target", "en"]
    _, out, _ = s2s("data", "stats", "--data", str(corpus), "--json", *swapped)
    assert json.loads(out)["sides"] == record["sides"][::-1]


def test_preparing_prints_the_command_that_trains_on_it(corpus, workdir):
    options = ["--data", str(corpus), "--source", "es", "--target", "en"]
    settings = ["--set", "tokenizer.vocabulary_size=300", "--set", "data.split_seed=2"]
    code, out, _ = s2s("data", "prepare", "my out", *options, *settings)
    assert code == 0
    command = shlex.split(out.partition("train by")[2])  # perhaps folded
    assert command[:4] == ["s2s", "train", "--data", "my out"]
    code, shown, _ = s2s("config", "show", *command[2:])
    assert code == 0
    config = load_config(Overrides.parse(shown, "shown"))
    found = read_corpus(config.data)
    assert found.vocabulary(config.tokenizer) == workdir / "my out" / "tokenizer"
    assert found.fingerprint in out


def test_a_download_without_a_network_has_a_remedy(tmp_path):
    code, out, err = s2s_process(
        *("data", "download"),
        XDG_CACHE_HOME=str(tmp_path),
        https_proxy="http://127.0.0.1:9",
        HTTPS_PROXY="http://127.0.0.1:9",
    )
    assert (code, out) == (3, "")
    assert "cannot be reached" in err
    assert "--data PATH/spa-eng.zip" in err


def test_an_unknown_corpus_is_named():
    code, _, err = s2s("data", "download", "wmt99")
    assert code == 2
    assert "wmt99: not a corpus that can be downloaded; the only one is tatoeba" in err
