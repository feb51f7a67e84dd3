"""Pages in HTML: each is one file that needs no network."""
