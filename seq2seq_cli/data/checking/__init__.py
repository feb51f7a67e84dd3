"""Problems in a corpus, and a copy without them."""
