"""How attention forms in a sentence as an animated GIF, drawn by Pillow (extra `plot`)."""

import io
from typing import Any

import numpy as np

from seq2seq_cli.attention.evolution import Evolution
from seq2seq_cli.attention.heat_map_image import can_write_words, heat_map_image
from seq2seq_cli.attention.themes import Theme, rgb, theme_for
from seq2seq_cli.errors import UsageError

_FRAME, _LAST = 350, 2500  # milliseconds
_WEIGHTS, _SHADES = 161, 32  # colours of weights, and of the edges of each kind of letter


def check_pillow() -> None:
    """Check that the packages that draw a GIF are installed.

    Raises:
        UsageError: if they are not; says how to install them.
    """
    if not can_write_words():
        raise UsageError("--gif needs Pillow and matplotlib. Install both: pip install 's2s[plot]'")


def animated_gif(evolution: Evolution, dark: bool = False) -> bytes:
    """Return a repeating animation: a frame for each validation; the last one stays longer.

    Args:
        evolution: of the attention in a sentence.
        dark: light text on a dark background.
    """
    from PIL import Image

    theme = theme_for(dark)
    drawn = [
        heat_map_image(frame.weights, evolution.queries, evolution.keys, theme, frame.caption)
        for frame in evolution.frames
    ]
    size = max(image.shape[1] for image in drawn), drawn[0].shape[0]
    palette = _palette(theme)
    images = []
    for pixels in drawn:  # as wide as the longest caption needs
        image = Image.new("RGB", size, theme.background)
        image.paste(Image.fromarray(pixels))
        images.append(image.quantize(palette=palette, dither=Image.Dither.NONE))
    first, *others = images
    buffer = io.BytesIO()
    first.save(
        buffer,
        format="GIF",
        save_all=True,
        append_images=others,
        duration=[_FRAME] * len(others) + [_LAST],
        loop=0,
        comment=f"{evolution.source} → {evolution.reference}".encode(),
    )
    return buffer.getvalue()


def _palette(theme: Theme) -> Any:
    """Return the colours of all frames, so that none of them changes between frames."""
    from PIL import Image

    colours = [theme.colour(i / (_WEIGHTS - 1)) for i in range(_WEIGHTS)]
    for letters in (theme.ink, theme.muted):
        shades = np.linspace(rgb(theme.background), rgb(letters), _SHADES).round()
        colours += [(int(red), int(green), int(blue)) for red, green, blue in shades]
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for colour in colours for part in colour])
    return palette
