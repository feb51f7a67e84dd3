"""Training: the loop, the step, the loss, the schedule, and what is logged."""
