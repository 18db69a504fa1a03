"""Installs mbdae with every solver that it has an adapter for into the environment of the Python that runs this file.

`setup_all.py` installs all of them, `setup_all.py wheels` those that need no compiler. What exists as source only is built beside the
installation of the rest, and kept in a cache. Standard library only: `make setup-all` calls it in an empty environment.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
# Debian's packages, and how to see that what they bring is there, from whatever source
SYSTEM = {
    "gcc": lambda: shutil.which("gcc"),
    "gfortran": lambda: shutil.which("gfortran"),
    "libsundials-dev": lambda: sundials() is not None,
    "pkg-config": lambda: shutil.which("pkg-config"),
    "python3-dev": lambda: Path(sysconfig.get_path("include"), "Python.h").exists(),
}
HEADER = Path("sundials", "sundials_config.h")
# 3.0 is written for Cython 0.29, whose code the C compiler refuses from Python 3.13 on, and needs the declarations of NumPy 2.4 for it
TOOLS = {6: ("cython<3", "numpy<2.5"), 7: ("cython>=3", "numpy")}
TOOLS_OF_ALL = ("setuptools", "wheel", "pkgconfig", "meson-python", "ninja", "pip")
ODES = {6: "3.0.0", 7: "3.1.1"}  # of scikits.odes, by the version of SUNDIALS


def main(arguments):
    if arguments not in ([], ["all"], ["wheels"]):
        raise SystemExit(f"usage: {Path(__file__).name} [all|wheels]")
    folder = cache_folder()
    with ThreadPoolExecutor() as pool:
        wheels = pool.submit(install_wheels, folder)
        if arguments != ["wheels"]:
            provide_system_packages(folder)
            built = build(folder, sources())
        wheels.result()
    if arguments != ["wheels"]:
        install(folder, built)


def install_wheels(folder):
    """mbdae and everything that has wheels."""
    print("Installing mbdae and the solvers that have wheels ...", flush=True)
    # compiling the bytecode of 500 MB takes as long as unpacking it, and most modules are never imported
    run([*PIP, "install", "--no-compile", "-e", f"{ROOT}[all,dev]"], folder / "wheels.log")


def provide_system_packages(folder):
    """Install with apt what is missing, or end with the line that says what to install."""
    absent = missing()
    if absent and os.geteuid() == 0 and Path("/usr/bin/apt-get").exists():
        print(f"Installing system packages {', '.join(absent)} ...", flush=True)
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *absent]):
            run(command, folder / f"{command[0]}-{command[1]}.log", DEBIAN_FRONTEND="noninteractive")
        absent = missing()
    if absent:
        raise SystemExit(f"Missing on this system: {', '.join(absent)}. On Debian: sudo apt-get install -y --no-install-recommends "
                         f"{' '.join(absent)}. Without them: make setup-all SOLVERS=wheels")


def missing():
    """Those of Debian's packages that are not there."""
    return [package for package, there in SYSTEM.items() if not there()]


def sundials():
    """The major version of SUNDIALS, None if there is none."""
    places = [Path(os.environ["SUNDIALS_INST"], "include")] if os.environ.get("SUNDIALS_INST") else [Path("/usr/include"),
                                                                                                     Path("/usr/local/include")]
    for place in places:
        if (place / HEADER).exists() and (found := re.search(r"SUNDIALS_VERSION_MAJOR\s+(\d+)", (place / HEADER).read_text())):
            return int(found[1])
    return None


def odes_release():
    """The release of scikits.odes that can be built here, None if there is none."""
    version = sundials()
    if version == 6 and sys.version_info >= (3, 13):
        return None
    return ODES.get(version)


def sources():
    """What must be built here: name of each distribution and what pip is to build; the longest first."""
    release = odes_release()
    if release is None:
        print(f"Left out: scikits.odes. It takes SUNDIALS 6 up to Python 3.12 and SUNDIALS 7, here are SUNDIALS {sundials()} and "
              f"Python {platform.python_version()}.", flush=True)
    parts = {"scikits_odes_sundials": release, "scikits_odes_daepack": "3.0.0", "scikits_odes_core": release, "scikits_odes": release}
    odes = {name: f"{name}=={version}" for name, version in parts.items()} if release else {}
    return odes | {"pyradau13": str(ROOT / "adapters" / "pyradau13")}


def build(folder, needed):
    """The wheels of what exists as source only, two at a time; those that are in the cache are not built again."""
    absent = {name: what for name, what in needed.items() if not wheel(folder, name)}
    if absent:
        print(f"Building {', '.join(absent)} ...", flush=True)
        with tempfile.TemporaryDirectory(dir=folder) as tools:
            environment = provide_tools(folder, Path(tools))
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda item: build_wheel(folder, *item, environment), absent.items()))
    return [wheel(folder, name) for name in needed]


def provide_tools(folder, tools):
    """What builds the wheels, in a folder of its own instead of one for each of them; the environment variables that lead there."""
    names = [*TOOLS_OF_ALL, *TOOLS.get(sundials(), ("numpy",))]
    run([*PIP, "install", "--no-compile", "--target", tools, *names], folder / "tools.log")
    settings = tools / "distutils.cfg"
    settings.write_text(f"[build_ext]\nparallel = {os.cpu_count() or 1}\n")
    # wrappers gain nothing from more than -O1, and compile three times as long; f2py writes functions without prototypes, which C23 refuses
    return {"PYTHONPATH": str(tools), "PATH": f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}", "CFLAGS": "-O1 -std=gnu17",
            "DIST_EXTRA_CONFIG": str(settings)}


def build_wheel(folder, name, what, environment):
    """Build one package and put its wheel into the cache when it is complete."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=folder) as work:
        command = [*PIP, "wheel", "--verbose", "--no-deps", "--no-build-isolation", "--no-binary", name, "--wheel-dir", work, what]
        run(command, folder / f"{name}.log", **environment)
        for path in Path(work).glob("*.whl"):
            path.rename(folder / path.name)
    print(f"  {name} built in {time.monotonic() - start:.0f} s", flush=True)


def install(folder, wheels):
    """Install what was built: by force, since a wheel of an older recipe has the same version."""
    run([*PIP, "install", "--no-compile", "--no-deps", "--force-reinstall", *wheels], folder / "install.log")


def run(command, log, **environment):
    """Run a command with its output in a file, of which the end is shown if it fails."""
    with open(log, "w") as file:
        done = subprocess.run([str(part) for part in command], stdout=file, stderr=subprocess.STDOUT, env=os.environ | environment)
    if done.returncode:
        raise SystemExit(f"{reason(log.read_text(errors='replace'))}\nThis failed; the whole output is in {log}")


def reason(output):
    """The last lines of an output, without those that pip adds about itself after the failure of a program it called."""
    return "\n".join(output.partition("error: subprocess-exited-with-error")[0].splitlines()[-15:])


def wheel(folder, name):
    """The wheel of a package in the cache, or None."""
    return next(folder.glob(f"{name}-*.whl"), None)


def cache_folder():
    """Folder of the wheels for this state of the recipes, on this Python and system."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "mbdae" / "wheels" / cache_key(ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def cache_key(root):
    """Changes with the recipes, Python and the system whose libraries are linked."""
    recipe = root / "adapters" / "pyradau13"
    files = [root / "solvers" / "setup_all.py", *sorted(p for p in recipe.rglob("*") if p.suffix in (".py", ".toml", ".build"))]
    parts = [path.name.encode() + path.read_bytes() for path in files]
    return hashlib.sha256(b"\0".join([*parts, system().encode()])).hexdigest()[:16]


def system():
    """Python and operating system."""
    release = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    return " ".join([sys.version, sysconfig.get_platform(), release.get("ID", ""), release.get("VERSION_ID", "")])


if __name__ == "__main__":
    main(sys.argv[1:])
