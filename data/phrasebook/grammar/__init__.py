"""The grammar that composes the phrasebook's sentences from the tables beside it."""
