"""Compose the corpus, and write it beside the tables: python data/phrasebook/build.py."""

from pathlib import Path

from grammar.corpus import compose, split

if __name__ == "__main__":
    split(compose()).write(Path(__file__).parent)
