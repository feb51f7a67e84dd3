"""The run folder and its checkpoints."""
