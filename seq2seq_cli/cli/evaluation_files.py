"""The files that `s2s eval` writes."""

from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq_cli.cli.files import check_distinct, check_input, check_output, open_output, write_file
from seq2seq_cli.cli.test_sets import SetChoice

if TYPE_CHECKING:
    from seq2seq_cli.evaluation.analysis import ScoredOutput
    from seq2seq_cli.evaluation.systems import EvaluationSet


def check_files(
    output: Path | None,
    saved: Path | None,
    html: Path | None,
    hypotheses: Path | None,
    choice: SetChoice,
) -> None:
    """Check that the files of options can be written, and that those to read exist.

    Raises:
        UsageError: if an option names a file that is missing, read, or written twice.
        DataError: if the file of translations cannot be read.
        DiskError: if a file cannot be written.
    """
    files = (("--output", output), ("--save-translations", saved), ("--html", html))
    check_distinct(dict(files))
    for option, path in files:
        if path:
            check_output(path, [("--hypotheses", hypotheses), *choice.files], option)
    if hypotheses:
        check_input(hypotheses, "--hypotheses")


def write_files(
    test_set: "EvaluationSet",
    results: "list[ScoredOutput]",
    output: Path | None,
    saved: Path | None,
    html: Path | None,
) -> None:
    """Write the rows and the translations of the first result, and the page of all.

    Raises:
        DiskError: if a file cannot be written.
    """
    system = results[0].output
    if output:
        from seq2seq_cli.data.lines import tsv_cell

        with open_output(output) as write:
            rows = zip(test_set.sources, system.translations, test_set.references, strict=True)
            for source, translation, references in rows:
                write("\t".join(map(tsv_cell, [source, translation, *references])))
    if saved:
        from seq2seq_cli.evaluation.systems import to_jsonl

        write_file(saved, to_jsonl(test_set, system).encode(), "--save-translations")
    if html:
        from seq2seq_cli.evaluation.pages.evaluation import evaluation_page

        write_file(html, evaluation_page(test_set, results).encode(), "--html")
