"""One self-contained page that shows the attention of runs in sentences."""
