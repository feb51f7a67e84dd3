"""TensorFlow on this machine: devices, threads, caches, process memory."""
