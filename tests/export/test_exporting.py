"""What is checked before an export begins, for every format."""

import sys

import pytest
from conftest import s2s

from seq2seq_cli.cli.export import Kind, Quantization
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.errors import DiskError, UsageError
from seq2seq_cli.export.exporting import FORMATS, check_output


def test_the_command_knows_every_format_and_type_of_weights():
    assert {kind.value for kind in Kind} == set(FORMATS)
    types = {each for form in FORMATS.values() for each in form.promised}
    assert {each.value for each in Quantization} == types


@pytest.mark.parametrize(
    ("kind", "quantization", "message"),
    [
        ("bundle", "float32", "does not apply to --to bundle, whose weights are float32"),
        ("saved-model", "int8", "does not apply to --to saved-model, whose weights are float32"),
        ("litert", "int16", "int16 does not apply to --to litert. Use one of float32, int8"),
    ],
)
def test_types_of_weights_that_a_format_lacks_are_refused(tmp_path, kind, quantization, message):
    with pytest.raises(UsageError, match=message):
        check_output(tmp_path / "a", kind, quantization)


@pytest.mark.parametrize("kind", ["ctranslate2", "litert"])
def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, kind):
    monkeypatch.setitem(sys.modules, FORMATS[kind].package, None)
    with pytest.raises(UsageError, match=rf"pip install 's2s\[{kind}\]'"):
        check_output(tmp_path / "a", kind, None)


@pytest.mark.parametrize("kind", FORMATS)
def test_no_format_overwrites_or_creates_parent_folders(tmp_path, kind):
    suffix = FORMATS[kind].suffix
    (tmp_path / f"a{suffix}").touch()
    with pytest.raises(UsageError, match="exists already"):
        check_output(tmp_path / f"a{suffix}", kind, None)
    with pytest.raises(DiskError, match="there is no folder"):
        check_output(tmp_path / "b" / f"a{suffix}", kind, None)


@pytest.mark.parametrize(
    ("kind", "lost"),
    [
        ("bundle", []),
        ("saved-model", []),
        ("litert", ["decoding.no_repeat_ngram = 3"]),
        ("ctranslate2", ["decoding.no_repeat_ngram = 3"]),
    ],
)
def test_constraints_of_the_search_that_a_format_lacks_are_named(kind, lost):
    assert (
        FORMATS[kind].unsupported(DecodingConfig(beam=5, max_length=9, no_repeat_ngram=3)) == lost
    )
    assert FORMATS[kind].unsupported(DecodingConfig()) == []


def test_constraints_of_a_beam_concern_only_formats_with_a_beam():
    decoding = DecodingConfig(beam=5, coverage_penalty=0.2, length_penalty_kind="simple")
    assert FORMATS["litert"].unsupported(decoding) == []
    named = ["decoding.length_penalty_kind = simple", "decoding.coverage_penalty = 0.2"]
    assert FORMATS["ctranslate2"].unsupported(decoding) == named


def test_a_refused_export_writes_nothing(home, trained, tmp_path):
    for arguments, words in (
        (("--to", "saved-model", "--quantization", "int8"), "--quantization does not apply to"),
        (("--to", "ctranslate2"), "this model is rnn."),
    ):
        code, out, err = s2s("export", trained.name, str(tmp_path / "a"), *arguments)
        assert (code, out) == (2, "")
        assert words in err
    assert [*tmp_path.iterdir()] == []
