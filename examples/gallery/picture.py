"""`save(figure)` writes the picture of a script of the gallery beside it, or into the folder of the variable MBDAE_PICTURES."""

import os
import sys
from pathlib import Path


def path(ending):
    """Where the picture of the running script goes."""
    script = Path(sys.argv[0]).resolve()
    return Path(os.environ.get("MBDAE_PICTURES", script.parent)) / (script.stem + ending)


def save(figure):
    """Write a figure of Matplotlib."""
    figure.savefig(path(".png"), dpi=110)
