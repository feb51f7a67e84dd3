"""Several trainings as one."""
