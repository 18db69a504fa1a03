"""`python -m mbdae`: the command line, where the folder of scripts is not on the path."""

import sys

from .cli.main import main

if __name__ == "__main__":
    sys.exit(main())
