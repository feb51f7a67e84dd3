"""The ids that every vocabulary reserves."""

PAD = 0
UNK = 1
BOS = 2
EOS = 3
