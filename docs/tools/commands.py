"""Writes the outputs of commands of mbdae into docs/command-line.md, as text of 100 columns.

    python docs/tools/commands.py
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parents[1] / "command-line.md"
EXAMPLE = Path(__file__).parents[2] / "examples" / "four-bar.yaml"
MARK = "## What they print\n"
LINES = 45  # of an output that are shown, unless told otherwise below
COMMANDS = {
    "mbdae --help": LINES,
    "mbdae compare double-pendulum --methods HalfImplicit,DormandPrince,Ida:ggl --steps 1e-2,1e-3 --rtol 1e-4,1e-6": LINES,
    "mbdae compare four-bar.yaml --methods HalfImplicit,Ida:ggl --steps 1e-3 --rtol 1e-6": LINES,
    "mbdae solve four-link --method Ida:ggl --rtol 1e-6 --output four-link.npz": LINES,
    "mbdae solve four-bar.yaml --t-end 2 --plot": LINES,
    "mbdae animate four-link --output four-link.gif": LINES,
    "mbdae list": LINES,
    "mbdae show four-link": LINES,
    "mbdae confirm four-link": LINES,
    "mbdae jacobian four-link --t-end 0.1": LINES,
    "mbdae stability andrews --t-end 0.02 --method RosenbrockNystrom": LINES,
    "mbdae scaling chain --sizes 4,16,64 --cases half-implicit": LINES,
    "mbdae study tolerance double-pendulum --methods RosenbrockNystrom,Ida:ggl --rtol 1e-4,1e-6,1e-8": LINES,
    "mbdae matrix --mechanisms four-link --methods Ida,SolveIvp:Radau": LINES,
    "mbdae pages four-link --output pages --no-pictures": LINES,
    "mbdae equations 4.91": LINES,
    "mbdae warm HalfImplicit,Ida --jobs 1": LINES,
    "mbdae doctor": 16,
}


def printed(command, folder):
    """What a command prints."""
    words = [sys.executable, "-m", "mbdae.cli.main", *command.split()[1:]]
    run = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=os.environ | {"COLUMNS": "100", "MPLBACKEND": "Agg"})
    if run.returncode:
        raise SystemExit(f"{command}: {run.stderr}")
    lines = [line.rstrip() for line in run.stdout.rstrip().splitlines()]
    most = COMMANDS[command]
    return lines if len(lines) <= most else [*lines[:most], f"... {len(lines) - most} more lines"]


def blocks_of(text):
    """The outputs on the page by command."""
    found = re.findall(r'^\?\?\? example "`(?P<command>[^`]*)`"\n\n    ```text\n(?P<lines>.*?)^    ```$', text, re.S | re.M)
    return {command: [line.removeprefix("    ") for line in lines.splitlines()] for command, lines in found}


def main():
    """Replace the outputs on the page."""
    text = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    blocks = [MARK, "Written by `python docs/tools/commands.py`; figures and files are left out.", ""]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(EXAMPLE, folder)
        for command in COMMANDS:
            lines = (f"    {line}".rstrip() for line in printed(command, folder))
            blocks += [f'??? example "`{command}`"', "", "    ```text", *lines, "    ```", ""]
            print(command, flush=True)
    PAGE.write_text(text + "\n".join(blocks), encoding="utf-8")


if __name__ == "__main__":
    main()
