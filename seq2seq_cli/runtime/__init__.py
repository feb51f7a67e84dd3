"""TensorFlow on this machine: devices, threads, caches, memory."""
