"""Fast forms of the equations: custom gradients, fused kernels and raw operations.

Each is a function of tensors. Its first line says what it computes; `reference` has the same in
plain TensorFlow. docs/earlier-measurements.md has the gain from each.
"""
