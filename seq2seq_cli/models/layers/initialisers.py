"""Initial values of weights."""

from typing import Any

import keras

ZEROS = object()
"""A seed by which all weights begin as zeros, for a model whose weights are loaded next."""


def glorot(seed: Any) -> keras.initializers.Initializer:
    """Return Glorot's uniform initialisation (Glorot and Bengio 2010, equation 16)."""
    return _zeros_or(keras.initializers.GlorotUniform, seed)


def orthogonal(seed: Any) -> keras.initializers.Initializer:
    """Return the initialisation by orthogonal matrices (Saxe et al. 2014)."""
    return _zeros_or(keras.initializers.Orthogonal, seed)


def normal(standard_deviation: float, seed: Any) -> keras.initializers.Initializer:
    """Return the initialisation by a normal distribution with mean 0."""
    return _zeros_or(keras.initializers.RandomNormal, seed, stddev=standard_deviation)


def seed_generator(seed: int | None) -> Any:
    """Return the generator of the seeds of a model's layers; ZEROS for None."""
    return ZEROS if seed is None else keras.random.SeedGenerator(seed)


def _zeros_or(
    initialiser: type[keras.initializers.Initializer], seed: Any, **options: Any
) -> keras.initializers.Initializer:
    if seed is ZEROS:
        return keras.initializers.Zeros()
    return initialiser(seed=seed, **options)
