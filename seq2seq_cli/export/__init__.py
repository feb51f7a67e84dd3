"""Trained models in the formats of other programs, each compared with its run."""
