"""Fast forms of the equations: custom gradients, fused kernels and raw operations.

Each is a function of tensors. What it computes stands in its first line, and in plain TensorFlow in
`reference`. docs/speed.md says what each is worth.
"""
