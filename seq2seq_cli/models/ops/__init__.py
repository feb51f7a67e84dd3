"""Fast forms of the equations: custom gradients, fused kernels and raw operations.

The first line of a function says what it computes. `reference`, `reference_variants` and
`reference_training` have the equations of the papers in plain TensorFlow.
docs/earlier-measurements.md has the gains. `compute` has the settings of all operations.
"""
