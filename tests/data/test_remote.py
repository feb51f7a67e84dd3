"""A prepared corpus at an address, served by a local HTTP server."""

import errno
import http.server
import json
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import platformdirs
import pytest
from conftest import InThisProcess, s2s, tiny_config

from seq2seq_cli.data import remote
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.preparation import prepare as prepare_module
from seq2seq_cli.data.preparation.prepare import prepare
from seq2seq_cli.data.remote import LISTING, download_corpus, downloaded_corpus, write_listing
from seq2seq_cli.errors import DataError, DiskError, UsageError


@pytest.fixture(scope="module")
def prepared(corpus, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("made") / "prepared"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare_module, "Processes", InThisProcess)
        prepare(tiny_config(corpus), path)
    return path


@pytest.fixture
def folder(prepared, tmp_path) -> Path:
    """A copy of the prepared corpus, to be changed."""
    copy = tmp_path / "www" / "prepared"
    for path in filter(Path.is_file, prepared.rglob("*")):
        target = copy / path.relative_to(prepared)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    return copy


@pytest.fixture
def asked() -> list[str]:
    """The paths that clients asked the server for."""
    return []


@pytest.fixture
def server(folder, asked):
    """A local server of `folder`."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, directory=str(folder.parent), **kwargs)

        def do_GET(self):
            asked.append(self.path)
            super().do_GET()

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield httpd
        httpd.shutdown()
        thread.join()


@pytest.fixture
def address(server) -> str:
    return f"http://127.0.0.1:{server.server_port}/prepared"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: tmp_path / "cache")
    return tmp_path / "cache"


DAMAGED = [
    "",
    "[]",
    "{",
    '{"a": 1}',
    '{"a": {"bytes": "x", "sha256": "0"}}',
    '{"a": {"bytes": -1, "sha256": "0"}}',
    '{"a": {"bytes": 1e999, "sha256": "0"}}',
    '{"\\ud800": {"bytes": 1, "sha256": "0"}}',
    "[" * 9999,
]


def nothing(received: int, total: int) -> None:
    pass


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_copy_has_all_files_and_is_the_same_corpus(corpus, folder, address, asked):
    told = []
    copy = download_corpus(address, lambda *each: told.append(each))
    assert content(copy) == content(folder)
    assert told == sorted(told)
    total = sum(len(each) for name, each in content(folder).items() if name != LISTING)
    assert told[-1] == (total, total)
    there = read_corpus(tiny_config(address).data)
    here = read_corpus(tiny_config(corpus).data)
    assert there.fingerprint == here.fingerprint
    assert list(there.train) == list(here.train)
    asked.clear()
    assert download_corpus(address + "/", nothing) == copy
    assert asked == [f"/prepared/{LISTING}"]


def test_a_damaged_copy_is_repaired(folder, address, asked):
    copy = download_corpus(address, nothing)
    shard = min(copy.glob("pairs-train*"))
    for damage in (shard.unlink, lambda: shard.write_bytes(b"cut")):
        damage()
        asked.clear()
        assert content(download_corpus(address, nothing)) == content(folder)
        assert asked == [f"/prepared/{LISTING}", f"/prepared/{shard.name}"]


def test_without_a_network_a_complete_copy_is_used(server, address):
    copy = download_corpus(address, nothing)
    server.shutdown()
    server.server_close()
    assert download_corpus(address, nothing) == copy
    (copy / LISTING).unlink()
    with pytest.raises(DataError, match="json: cannot be read .*\\. Check the address and the net"):
        download_corpus(address, nothing)
    with pytest.raises(DataError, match="has not been downloaded. Run `s2s data stats --data http"):
        downloaded_corpus(address)


def test_a_full_disk_is_an_error_of_the_disk(address, monkeypatch, tmp_path):
    def fails(source, path, *args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    there = SimpleNamespace(get_file=fails)
    monkeypatch.setattr("fsspec.core.url_to_fs", lambda *args, **kwargs: (there, ""))
    with pytest.raises(DiskError, match="cache.*cannot be written: No space left"):
        download_corpus(address, nothing)


def test_an_interrupted_copy_is_continued(folder, address, asked, monkeypatch):
    copied = remote._Source.copy

    def interrupted(self, name, *args):
        if name == "features.json":
            raise KeyboardInterrupt
        copied(self, name, *args)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(remote._Source, "copy", interrupted)
        download_corpus(address, nothing)
    asked.clear()
    assert content(download_corpus(address, nothing)) == content(folder)
    assert 1 < len(asked) < len(content(folder))
    assert "/prepared/dataset_info.json" not in asked


def test_a_changed_corpus_is_copied_again(folder, address):
    def listed() -> None:
        (folder / LISTING).unlink()
        write_listing(folder)

    (folder / "weights.npy").write_bytes(b"earlier")
    listed()
    download_corpus(address, nothing)
    (folder / "features.json").write_text("{}")
    (folder / "weights.npy").unlink()
    listed()
    assert content(download_corpus(address, nothing)) == content(folder)


def test_the_partial_files_of_another_process_are_kept(address):
    copy = download_corpus(address, nothing)
    (copy / LISTING).unlink()
    theirs, stale = copy / ".features.json.1.partial", copy / "weights.npy"
    of_a_killed_process = copy / ".features.json.2.partial"
    for path in (theirs, stale, of_a_killed_process):
        path.touch()
    os.utime(of_a_killed_process, (0, 0))
    download_corpus(address, nothing)
    assert theirs.exists()
    assert not stale.exists()
    assert not of_a_killed_process.exists()


@pytest.mark.parametrize("changed", [b"", b"{}", b"x" * 1000])
def test_a_file_that_differs_from_the_list_is_refused(folder, address, cache, changed):
    (folder / "features.json").write_bytes(changed)
    with pytest.raises(DataError, match="features.json: (does not match its size|has more than)"):
        download_corpus(address, nothing)
    assert not [path for path in cache.rglob("*") if path.name == LISTING]
    assert not list(cache.rglob("*.partial"))


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/../../x", "", ".", "a\\b", "a\0b", LISTING])
def test_a_list_names_only_files_in_the_folder(folder, address, cache, name):
    (folder / LISTING).write_text(json.dumps({name: {"bytes": 1, "sha256": "0"}}))
    with pytest.raises(DataError, match="names a file that it must not name"):
        download_corpus(address, nothing)
    assert not [path for path in cache.rglob("*") if path.is_file()]


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_list_is_an_error(folder, address, text):
    (folder / LISTING).write_text(text)
    with pytest.raises(DataError, match=f"{LISTING}: is not a list of files"):
        download_corpus(address, nothing)


def test_addresses_that_cannot_be_read_are_explained(address, monkeypatch):
    with pytest.raises(DataError, match="missing/files.json: does not exist"):
        download_corpus(address.replace("prepared", "missing"), nothing)
    with pytest.raises(UsageError, match="quux://x: cannot be read"):
        download_corpus("quux://x", nothing)
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(UsageError, match="pip install 's2s\\[remote\\]'"):
        download_corpus(address, nothing)


def test_commands_take_an_address_or_refuse_it_at_once(folder, address, asked, workdir):
    code, out, err = s2s("data", "stats", "--data", address, "--json")
    assert code == 0, err
    assert json.loads(out)
    asked.clear()
    for wrong in (
        ["data", "check", "--data", address],
        ["data", "prepare", "x", "--data", address],
    ):
        code, _, err = s2s(*wrong)
        assert code == 2
        assert "has been prepared already" in err
    code, _, err = s2s("train", "--set", f'data.sources=[{{corpus = "{address}"}}]')
    assert code == 2
    assert "an address must be that of a prepared corpus" in err
    assert not asked
