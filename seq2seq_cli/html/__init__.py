"""Pages in HTML that are one file each and need no network."""
