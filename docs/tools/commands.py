"""Writes the outputs of commands of mbdae into docs/command-line.md, as text of 100 columns.

    python docs/tools/commands.py
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parents[1] / "command-line.md"
MARK = "## What they print\n"
COMMANDS = ("mbdae --help", "mbdae show four-link", "mbdae solve four-link --method Ida:ggl --rtol 1e-6 --output four-link.npz",
            "mbdae animate four-link --output four-link.gif", "mbdae stability andrews --t-end 0.02 --method RosenbrockNystrom",
            "mbdae jacobian four-link --t-end 0.1", "mbdae confirm four-link", "mbdae equations 4.91", "mbdae list")
LINES = 45  # of an output that are shown


def printed(command, folder):
    """What a command prints."""
    words = [sys.executable, "-m", "mbdae.cli.main", *command.split()[1:]]
    run = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=os.environ | {"COLUMNS": "100", "MPLBACKEND": "Agg"})
    if run.returncode:
        raise SystemExit(f"{command}: {run.stderr}")
    lines = [line.rstrip() for line in run.stdout.rstrip().splitlines()]
    return lines if len(lines) <= LINES else [*lines[:LINES], f"... {len(lines) - LINES} more lines"]


def main():
    """Replace the outputs on the page."""
    text = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    blocks = [MARK, "Written by `python docs/tools/commands.py`; figures and files are left out.", ""]
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            lines = (f"    {line}".rstrip() for line in printed(command, folder))
            blocks += [f'??? example "`{command}`"', "", "    ```text", *lines, "    ```", ""]
            print(command, flush=True)
    PAGE.write_text(text + "\n".join(blocks), encoding="utf-8")


if __name__ == "__main__":
    main()
