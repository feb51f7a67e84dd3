import pytest

from seq2seq_cli.evaluation.faults import find_faults, is_copy, repeats


@pytest.mark.parametrize(
    ("text", "repeated"),
    [
        ("no no", False),
        ("no No no", True),
        ("the cat the cat the cat", True),
        ("a b the cat the cat the", False),
        ("x a b c d a b c d a b c d", True),
        ("a b c d e a b c d e a b c d e", False),
        ("a a b a a b a a", False),
        ("", False),
    ],
)
def test_a_word_three_times_in_succession_is_a_repetition(text, repeated):
    assert repeats(text) is repeated


def test_a_copy_equals_the_source_and_no_reference():
    assert is_copy("Hello, Tom.", "hello tom", ["hola Tom"])
    assert not is_copy("Hello, Tom.", "hello tom", ["hola", "Hello, Tom!"])
    assert not is_copy("Hello", "hola", ["x"])
    assert not is_copy("", "", ["x"])


def test_shares():
    sources = ["a b", "a", "c", "d"]
    found = find_faults(
        sources, ["", "a", "no no no", "no no no"], [["x"], ["y"], ["z"], ["no no no"]]
    )
    assert (found.empty, found.copied, found.repeated, found.cut) == (0.25, 0.25, 0.25, None)
    assert find_faults(["a"], ["b"], [["c"]], [True]).cut == 1
