"""What is wrong with a corpus, and a copy without it."""
