"""Attention for users: maps of sentences, drawn and explained."""
