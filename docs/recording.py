"""Draw a terminal with the first commands and what they print, as SVG.

    python docs/recording.py

The commands run in a temporary folder. They take about five minutes on two CPU cores. Of the lines
that show the progress of the training, only some are drawn.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).with_name("first-command.svg")
COLUMNS = 80
PICTURE_COLUMNS = 100  # lines of progress may be longer than the terminal is wide
PROGRESS_LINES_BETWEEN = 4
SENTENCE = "I will not inject disinfectant."


def commands(epochs: int) -> list[list[str]]:
    """Return the arguments of `s2s` that are recorded."""
    return [
        ["train", "--attention", "additive", "--epochs", str(epochs)],
        ["translate", SENTENCE],
    ]


def output(arguments: list[str], folder: str) -> str:
    """Run `s2s` and return what it prints, with the codes of colours."""
    environment = {
        **os.environ,
        "FORCE_COLOR": "1",
        "TTY_INTERACTIVE": "0",  # lines in place of a bar that moves
        "COLUMNS": str(COLUMNS),
    }
    done = subprocess.run(
        [sys.executable, "-m", "seq2seq_cli", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
    )
    return done.stdout.decode()


def with_fewer_progress_lines(text: str) -> str:
    """Keep the first of each few lines that show the progress."""
    kept: list[str] = []
    count = 0
    for line in text.splitlines():
        is_progress = re.match(r"epoch \d+  step ", line) is not None
        if not is_progress or count % PROGRESS_LINES_BETWEEN == 0:
            kept.append(line)
        count = count + 1 if is_progress else 0
    return "\n".join(kept)


def picture(recorded: list[tuple[list[str], str]]) -> str:
    """Return an SVG of a terminal in which the commands have run.

    Args:
        recorded: the arguments of `s2s`, and what it printed.
    """
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=PICTURE_COLUMNS, file=nowhere, force_terminal=True)
        for arguments, text in recorded:
            words = " ".join(f'"{word}"' if " " in word else word for word in arguments)
            console.print(Text(f"$ s2s {words}", style="bold"))
            for line in with_fewer_progress_lines(text).splitlines():
                drawn = Text.from_ansi(line)
                drawn.rstrip()
                console.print(drawn, soft_wrap=True)
        drawn_svg = console.export_svg(title="s2s", unique_id="s2s")
    return re.sub(r"@font-face \{.*?\}\s*", "", drawn_svg, flags=re.DOTALL)  # they need a network


def main() -> None:
    """Run the commands and write the picture."""
    parser = argparse.ArgumentParser(description="Draw the first commands as SVG.")
    parser.add_argument("--epochs", type=int, default=4)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        recorded = [(words, output(words, folder)) for words in commands(arguments.epochs)]
    PICTURE.write_text(picture(recorded), "utf-8")


if __name__ == "__main__":
    main()
