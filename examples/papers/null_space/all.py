"""All figures and tables of the paper on null-space coordinates, one after the other, and a summary. `make papers` runs this."""

import importlib
import time
from pathlib import Path

import common

SCRIPTS = tuple(sorted(f.stem for f in Path(__file__).parent.glob("*.py") if not f.stem.startswith(("all", "common", "_"))))


def main(output, settings=None):
    """Run every script, or only those with `settings`; prints its numbers, then one line per script."""
    lines = []
    for name in settings or SCRIPTS:
        print(f"\n{name}")
        begin = time.perf_counter()
        line = importlib.import_module(name).main(output, **(settings or {}).get(name, {}))
        lines.append((name, f"{time.perf_counter() - begin:.0f} s", line))
    print(f"\nFiles are in {output}.\n")
    for name, seconds, line in lines:
        print(f"  {name:<20}{seconds:>6}  {line}")


if __name__ == "__main__":
    main(common.output_folder(__doc__))
