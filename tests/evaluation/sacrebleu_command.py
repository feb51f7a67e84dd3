"""What the tests give sacreBLEU's command line: words, and its options for each metric."""

WORDS = [
    *("yo", "tú", "él", "ella", "quiero", "comes", "manzanas", "casas", "libros", "rojos,"),
    *("muchos.", "¿dónde?", "no", "sí"),
]
OPTIONS = {
    "BLEU": ["-m", "bleu"],
    "chrF": ["-m", "chrf"],
    "chrF++": ["-m", "chrf", "--chrf-word-order", "2"],
    "TER": ["-m", "ter"],
}
