"""The command that starts a terminal program in which translations grow: play."""

import importlib.util
import sys
from typing import Annotated

import typer

from seq2seq_cli.cli.files import check_text
from seq2seq_cli.cli.options import DeviceOption, RunOption, SetOption, ToOption, warn
from seq2seq_cli.cli.resources import find_one, start_tensorflow
from seq2seq_cli.errors import UsageError

_USED = ("max_length", "max_length_ratio", "max_length_extra", "max_source_tokens")


def play(
    sentence: Annotated[str, typer.Argument(help="The first sentence.")] = "",
    run: RunOption = None,
    to: ToOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
) -> None:
    """Watch a translation grow, see alternatives, continue from one (needs the extra `play`).

    Decoding is greedy. Of the settings of decoding, only the maximum lengths are used.
    """
    check_text(sentence, "the sentence")
    if importlib.util.find_spec("textual") is None:
        raise UsageError("play needs Textual. Install it: pip install 's2s[play]'")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):  # it draws on stderr
        raise UsageError(
            "play needs a terminal; `s2s explain` prints the same information without one"
        )
    found = find_one(run, settings, to=to)
    _check_used(settings or [])
    start_tensorflow(device)

    from seq2seq_cli.attention.growing import Grower
    from seq2seq_cli.cli.play_app import Play
    from seq2seq_cli.decoding.loading import load_run

    loaded = load_run(found.run, warn, found.config).towards(to)
    Play(Grower(loaded), sentence).run()


def _check_used(settings: list[str]) -> None:
    """Check that each --set changes a translation that grows.

    Raises:
        UsageError: if one does not.
    """
    used = [f"decoding.{key}" for key in _USED]
    for key in (setting.partition("=")[0].strip() for setting in settings):
        if key not in used:
            raise UsageError(
                f"--set {key} changes nothing in play, whose decoding is greedy. It uses only "
                f"{', '.join(used)}"
            )
