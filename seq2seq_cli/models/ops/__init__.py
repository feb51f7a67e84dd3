"""Fast forms of the equations: custom gradients, fused kernels, raw operations."""
