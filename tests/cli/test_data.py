"""The commands that read corpora, with corpora that cannot be read."""

import io
import zipfile

import pytest
from conftest import s2s


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
