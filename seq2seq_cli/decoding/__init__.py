"""From strings to translations: search, strategies, scoring, alignment."""
