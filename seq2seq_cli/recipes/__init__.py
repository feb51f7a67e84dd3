"""Recipes: several training runs as one command."""
