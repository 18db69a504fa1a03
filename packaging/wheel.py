"""A wheel with compiled code: `python packaging/wheel.py [--output dist]`.

The wheel of the sources runs everywhere and compiles at the first use. This builds that one, lets `mbdae warm` compile all methods for
processors of the kind x86-64-v3 in an environment of its own, and adds the code to a second wheel, for this system and this version of
Python. Pip takes the second one where it fits. The code serves the version of numba that has made it (see `mbdae.compilation.shipped`).
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "wheel"
PROCESSOR, FEATURES = "x86-64-v3", ""  # those of `mbdae.compilation.shipped`
MACHINES = ("x86_64", "AMD64")
ENDINGS = (".nbi", ".nbc")
TOLD = "from importlib.metadata import version; print(version('numba'))"


def main() -> int:
    """Build both wheels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "dist", metavar="DIR", help="folder of the wheels (dist)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes that compile")
    arguments = parser.parse_args()
    if platform.machine() not in MACHINES:
        print(f"compiled code is for {PROCESSOR}, this machine is {platform.machine()}", file=sys.stderr)
        return 1
    shutil.rmtree(WORK, ignore_errors=True)
    tools, used = environment("tools", "build", "wheel"), environment("used")
    run(tools, "build", "--wheel", "--outdir", WORK / "plain", ROOT)
    plain = next((WORK / "plain").glob("*.whl"))
    run(used, "pip", "install", "--quiet", f"{plain}[all]")
    warm(used, arguments.jobs)
    filled = with_code(tools, used, plain)
    arguments.output.mkdir(parents=True, exist_ok=True)
    for wheel in (plain, filled):
        print(shutil.copy(wheel, arguments.output), f"{wheel.stat().st_size / 1e6:.1f} MB")
    return 0


def environment(name: str, *packages: str) -> Path:
    """Python of a new environment with some packages."""
    subprocess.run([sys.executable, "-m", "venv", WORK / name], check=True)
    python = WORK / name / ("Scripts" if os.name == "nt" else "bin") / "python"
    if packages:
        run(python, "pip", "install", "--quiet", *packages)
    return python


def run(python: Path, module: str, *arguments: object, **variables: str) -> None:
    """A module of an environment, outside of the sources, which it would otherwise import."""
    subprocess.run([python, "-m", module, *map(str, arguments)], check=True, cwd=WORK, env=os.environ | variables)


def warm(python: Path, jobs: int) -> None:
    """Compile all methods that are installed, in all formulations, for `PROCESSOR`."""
    run(python, "mbdae.cli.main", "warm", "--all", "--jobs", jobs, NUMBA_CPU_NAME=PROCESSOR, NUMBA_CPU_FEATURES=FEATURES)


def with_code(tools: Path, used: Path, plain: Path) -> Path:
    """The second wheel."""
    run(tools, "wheel", "unpack", plain, "--dest", WORK / "filled")
    tree = next((WORK / "filled").iterdir())
    package = Path(subprocess.check_output([used, "-c", "import mbdae; print(mbdae.__path__[0])"], cwd=WORK, text=True).strip())
    kernels, count = tree / "mbdae" / "kernels", 0
    for file in package.rglob("*"):
        if file.suffix in ENDINGS:
            folder = kernels / file.parents[1].relative_to(package)  # beside __pycache__
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, folder)
            count += 1
    numba = subprocess.check_output([used, "-c", TOLD], cwd=WORK, text=True).strip()
    made = {"processor": PROCESSOR, "numba": numba, "python": platform.python_version(), "system": sysconfig.get_platform(), "files": count}
    (kernels / "made.json").write_text(json.dumps(made, indent=1) + "\n")
    run(tools, "wheel", "pack", tree, "--dest-dir", WORK / "filled")
    packed = next((WORK / "filled").glob("*.whl"))
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    run(tools, "wheel", "tags", "--remove", "--python-tag", version, "--abi-tag", version, "--platform-tag", system(), packed)
    return next((WORK / "filled").glob("*.whl"))


def system() -> str:
    """The tag of this system; the code needs nothing of the C library that numba does not need."""
    own = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return "manylinux2014_x86_64" if own == "linux_x86_64" else own


if __name__ == "__main__":
    sys.exit(main())
