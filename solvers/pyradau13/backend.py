"""Build backend of pyradau13 0.5 (Hairer and Wanner's RADAU of orders 5, 9, 13) for NumPy 2: `pip install ./solvers/pyradau13`."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))  # pip builds a folder where it is

from recipe import build, replace, require, unpack

SHA256 = "39f52dd3e1a49d88dbd75a6c9dd035f8aa837bf99deef5f955c455d7e19da35e"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The hook that pip calls."""
    require("gfortran", "python3-dev")
    with TemporaryDirectory() as work:
        tree = unpack("pyradau13", "0.5", SHA256, Path(work) / "0.5")
        # the headers of NumPy 2 include <complex.h>, where I is a macro
        replace(tree / "pyradau13.c", ("int *I, ", "int *component, "))
        return build(tree, wheel_directory)
