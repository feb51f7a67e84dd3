from seq2seq_cli.attention.labels import without_controls


def test_only_characters_without_a_form_are_replaced():
    assert (
        without_controls("a\x00\x1b\u2028\u202e\u2067\ufffe")
        == "a" + "\N{REPLACEMENT CHARACTER}" * 6
    )
    joined = "می\N{ZERO WIDTH NON-JOINER}خواهم 👩\N{ZERO WIDTH JOINER}💻"
    assert without_controls(joined) == joined
    assert without_controls("10\N{NO-BREAK SPACE}km\N{IDEOGRAPHIC SPACE}") == "10 km "
