"""What the recipes share: what they need of the system, archives of the registry, repairs of their files, the call of setup.py.

Standard library only: build backends and `setup_all.py` run it before anything is installed.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

# Debian's packages and how to see that what they bring is there, from whatever source
SYSTEM = {
    "gfortran": lambda: shutil.which("gcc") and shutil.which("gfortran"),
    "liblapack-dev": lambda: library("libblas.a") and library("liblapack.a"),
    "libsundials-dev": lambda: Path("/usr/include/cvodes/cvodes.h").exists(),
    "pkg-config": lambda: shutil.which("pkg-config"),
    "python3-dev": lambda: Path(sysconfig.get_path("include"), "Python.h").exists(),
}
APT_INSTALL = ("apt-get", "install", "-y", "--no-install-recommends")


def library(name):
    """The file of a library, where the C compiler finds it; None if it finds none."""
    if not shutil.which("gcc"):
        return None
    found = Path(subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip())
    return found if found.is_absolute() else None


def missing(packages=None):
    """Those of Debian's packages, of all that are ever needed unless told otherwise, that are not there."""
    return [package for package in (SYSTEM if packages is None else packages) if not SYSTEM[package]()]


def require(*packages):
    """End with one line that says what to install, if one of the packages is missing."""
    if absent := missing(packages):
        raise SystemExit(f"Missing on this system: {', '.join(absent)}. Install with: sudo {' '.join([*APT_INSTALL, *absent])}")


def unpack(name, version, sha256, folder):
    """Source tree of a release: fetched with pip's settings, checked against its sha256, unpacked into a new folder."""
    folder.mkdir()
    pin = folder / "requirements.txt"
    pin.write_text(f"{name}=={version} --hash=sha256:{sha256}\n")
    # pip goes on to ask setup.py for metadata, which fails where that does not run as published; --no-clean keeps the tree all the same
    command = [sys.executable, "-m", "pip", "download", "--no-clean", "--no-deps", "--no-build-isolation", f"--no-binary={name}"]
    own = {"TMPDIR": str(folder), "PIP_CONSTRAINT": ""}  # a constraint on what is being built is none on what it is built from
    pip = subprocess.run([*command, "-r", pin, "-d", folder], env=os.environ | own, capture_output=True, text=True)
    trees = [path.parent for path in folder.glob("*/*/setup.py")]
    if not trees:
        raise SystemExit(f"{name} {version} could not be fetched:\n{pip.stdout}{pip.stderr}")
    return trees[0]


def replace(path, *pairs):
    """Replace texts in a file, each of which must be there."""
    text = path.read_text(encoding="latin-1")  # takes every byte and gives it back
    for old, new in pairs:
        if old not in text:
            raise SystemExit(f"{path.name} does not contain what the recipe replaces: {old!r}")
        text = text.replace(old, new)
    path.write_text(text, encoding="latin-1")


def build(tree, wheel_directory, *options, **environment):
    """Run setup.py with options and environment variables; name of the wheel, as a build backend has to return it."""
    # numpy.distutils builds upon the standard library's distutils, not upon the copy in setuptools
    environment = os.environ | {"SETUPTOOLS_USE_DISTUTILS": "stdlib"} | environment
    command = [sys.executable, "setup.py", *options, "bdist_wheel", "--dist-dir", wheel_directory]
    if subprocess.run(command, cwd=tree, env=environment).returncode:
        raise SystemExit("setup.py failed: the reason stands above")
    return max(Path(wheel_directory).glob("*.whl"), key=os.path.getmtime).name
