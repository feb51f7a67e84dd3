"""Attention that people look at: maps of sentences, drawn and explained."""
