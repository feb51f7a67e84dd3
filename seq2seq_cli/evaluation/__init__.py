"""Scores of trained models, and checks of what must hold for them."""
