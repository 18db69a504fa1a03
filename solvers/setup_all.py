"""Installs every foreign solver that mbdae has an adapter for, and mbdae, into the environment of the Python that runs this file.

Packages that exist as source only are built once into a cache, two at a time. Standard library only: `make setup-all` calls it in an
empty environment.
"""

import hashlib
import os
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import recipe

HERE = Path(__file__).resolve().parent
PINS = HERE / "requirements.txt"
# longest first
SOURCE_ONLY = ("Assimulo", "scikits-odes-sundials", "scikits-odes-daepack", "pyradau13", "scikits-odes-core", "scikits-odes")


def main():
    say_what_is_left_out()
    folder = cache_folder()
    provide_system_packages(folder)
    build_wheels(folder)
    install(folder)


def say_what_is_left_out():
    if left_out := [name for name in SOURCE_ONLY if name not in pins()]:
        print(f"Left out: {' and '.join(left_out)} need numpy.distutils to build, which Python 3.11 was the last to have.", flush=True)


def provide_system_packages(folder):
    """Install with apt what is missing, or end with the line that says what to install."""
    absent = recipe.missing()
    if absent and os.geteuid() == 0 and Path("/usr/bin/apt-get").exists():
        print(f"Installing system packages {', '.join(absent)} (1 to 2 minutes) ...", flush=True)
        for command in (["apt-get", "update"], [*recipe.APT_INSTALL, *absent]):
            run(command, folder / f"{command[0]}-{command[1]}.log", DEBIAN_FRONTEND="noninteractive")
    recipe.require(*absent)


def build_wheels(folder):
    """Fill the cache, on two cores."""
    absent = [name for name in SOURCE_ONLY if name in pins() and not wheel(folder, name)]
    if absent:
        print(f"Building {', '.join(absent)} (2 to 4 minutes, once) ...", flush=True)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda name: build_wheel(folder, name), absent))


def build_wheel(folder, name):
    """Build one package and put its wheel into the cache when it is complete."""
    start = time.monotonic()
    own = HERE / name.lower()
    target = own if own.is_dir() else f"{name}=={pins()[name]}"
    with tempfile.TemporaryDirectory(dir=folder) as work:
        command = [sys.executable, "-m", "pip", "wheel", "--verbose", "--no-deps", "--wheel-dir", work, target]
        run(command, folder / f"{name}.log", PIP_CONSTRAINT=str(PINS))
        for path in Path(work).glob("*.whl"):
            path.rename(folder / path.name)
    print(f"  {name} built in {time.monotonic() - start:.0f} s", flush=True)


def install(folder):
    """One call of pip, after removal of wheels of older recipes: they have the same version, so pip would keep them."""
    print("Installing mbdae and all solvers (half a minute) ...", flush=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    run([*pip, "uninstall", "--yes", *SOURCE_ONLY], folder / "uninstall.log")
    everything = ["-r", PINS, "-e", f"{HERE.parent}[dev]"]
    # compiling the bytecode of 700 MB takes as long as unpacking it, and most modules are never imported
    run([*pip, "install", "--no-compile", "--only-binary=:all:", "--find-links", folder, *everything], folder / "install.log")


def run(command, log, **environment):
    """Run a command with its output in a file, of which the end is shown if it fails."""
    with open(log, "w") as file:
        done = subprocess.run([str(part) for part in command], stdout=file, stderr=subprocess.STDOUT, env=os.environ | environment)
    if done.returncode:
        raise SystemExit(f"{reason(log.read_text(errors='replace'))}\nThis failed; the whole output is in {log}")


def reason(output):
    """The last lines of an output, without those that pip adds about itself after the failure of a program it called."""
    return "\n".join(output.partition("error: subprocess-exited-with-error")[0].splitlines()[-15:])


def pins(file=PINS):
    """Version of every package that is installed on this Python, in the order of the file."""
    pinned = re.findall(r'^([\w.-]+)==(\S+)(?: ; python_version < "3\.(\d+)")?$', file.read_text(), re.MULTILINE)
    return {name: version for name, version, limit in pinned if not limit or sys.version_info < (3, int(limit))}


def wheel(folder, name):
    """The wheel of a package in the cache, or None."""
    return next(folder.glob(f"{name.replace('-', '_')}-*.whl"), None)


def cache_folder():
    """Folder of the wheels for this state of the recipes, on this Python and system."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "mbdae" / "wheels" / cache_key(HERE)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def cache_key(folder):
    """Changes with the recipes, the pins, Python and the system whose libraries are linked."""
    files = [folder / "recipe.py", folder / "requirements.txt", *sorted(folder.glob("*/*.*"))]
    parts = [path.name.encode() + path.read_bytes() for path in files if path.suffix != ".pyc"]
    return hashlib.sha256(b"\0".join([*parts, system().encode()])).hexdigest()[:16]


def system():
    """Python and operating system."""
    release = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    return " ".join([sys.version, sysconfig.get_platform(), release.get("ID", ""), release.get("VERSION_ID", "")])


if __name__ == "__main__":
    main()
