"""The ids that every vocabulary reserves, and the beginning of language tags."""

PAD = 0
UNK = 1
BOS = 2
EOS = 3

TO = "2"
"""Comes before the language in a tag that names the language to translate into."""
