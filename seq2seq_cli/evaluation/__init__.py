"""Scores of trained models, comparisons, reports, and checks of properties."""
