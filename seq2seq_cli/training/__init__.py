"""Training: the setup, the loop, the update, the loss, the schedule, checkpoints and logs."""
