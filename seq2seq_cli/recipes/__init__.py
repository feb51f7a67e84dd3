"""Recipes: several trainings as one command."""
