import hashlib
import http.server
import threading

import pytest

from seq2seq_cli.data import tatoeba
from seq2seq_cli.errors import DataError, DiskError


@pytest.fixture
def cache(tmp_path, monkeypatch):
    path = tmp_path / "cache" / "spa-eng.zip"
    monkeypatch.setattr(tatoeba, "tatoeba_path", lambda: path)
    return path


@pytest.fixture
def server(tmp_path):
    """The address of a local server that has `file`."""
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "file").write_bytes(b"x" * 200_000)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, directory=str(tmp_path / "www"), **kwargs)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


def test_a_missing_download_names_the_command(cache):
    with pytest.raises(DataError, match="has not been downloaded. Run `s2s data download`"):
        tatoeba.downloaded_tatoeba()


def test_a_download_is_checked_shows_progress_and_is_done_once(cache, server, monkeypatch):
    seen = []
    with pytest.raises(DataError, match="not the expected file"):
        tatoeba.download_tatoeba(lambda *args: seen.append(args), f"{server}/file")
    assert not cache.exists()
    assert not list(cache.parent.iterdir())
    assert seen[-1] == (200_000, 200_000)
    expected = hashlib.sha256(b"x" * 200_000).hexdigest()
    monkeypatch.setattr(tatoeba, "TATOEBA_SHA256", expected)
    assert tatoeba.download_tatoeba(lambda *args: None, f"{server}/file") == cache
    assert tatoeba.download_tatoeba(lambda *args: None, "http://127.0.0.1:9/none") == cache


def test_a_download_without_a_network_has_a_remedy(cache):
    with pytest.raises(DataError, match="cannot be reached") as caught:
        tatoeba.download_tatoeba(lambda *args: None, "http://127.0.0.1:9/file")
    assert "--data PATH/spa-eng.zip" in str(caught.value)
    assert not list(cache.parent.iterdir())


def test_a_cache_that_cannot_be_made_is_a_disk_error(cache, server):
    cache.parent.write_text("a file where the folder would be")
    with pytest.raises(DiskError, match="cache: cannot be written"):
        tatoeba.download_tatoeba(lambda *args: None, f"{server}/file")


def test_a_full_disk_is_a_disk_error_and_nothing_remains(cache, server, monkeypatch):
    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tatoeba, "sha256_of", full)
    with pytest.raises(DiskError, match="cache: cannot be written: No space left on device"):
        tatoeba.download_tatoeba(lambda *args: None, f"{server}/file")
    assert not list(cache.parent.iterdir())
