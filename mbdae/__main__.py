"""`python -m mbdae`: the command line, where the folder of scripts is not on the path."""

import sys

from .cli.main import main

sys.exit(main())
