"""The files that are bundled with the package: configs and the phrasebook."""

import os
from pathlib import Path

_PACKAGE = Path(__file__).parent


def bundled(path: str) -> Path:
    """Return the path of a bundled file or folder.

    A wheel has it in the package, in `bundled`. A checkout has it beside the package.

    Args:
        path: relative to the repository's root.
    """
    installed = _PACKAGE / "bundled" / path
    return installed if os.path.exists(installed) else _PACKAGE.parent / path
