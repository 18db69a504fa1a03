"""How pyradau13, of which there are no wheels, is built: `pip install` takes this folder as it would take a project.

The folder is a build backend (PEP 517). It fetches the published archive, checks its sha256, repairs it in a temporary folder and builds
a wheel with meson-python. No source code of others is kept here.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
