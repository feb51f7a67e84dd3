"""`python -m seq2seq_cli` is `s2s`."""

from seq2seq_cli.cli import main

main()
