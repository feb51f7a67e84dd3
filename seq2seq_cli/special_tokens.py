"""The ids that every vocabulary reserves, and how tags of languages begin."""

PAD = 0
UNK = 1
BOS = 2
EOS = 3

TO = "2"
"""Before the language in a tag that says into which language to translate."""
