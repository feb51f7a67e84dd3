"""Documents whose text is translated: their formats, and the segments of their text."""
