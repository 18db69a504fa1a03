"""Build backend of pyradau13 0.5, Hairer and Wanner's RADAU of orders 5, 9, 13."""

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent
VERSION = "0.5"
SHA256 = "39f52dd3e1a49d88dbd75a6c9dd035f8aa837bf99deef5f955c455d7e19da35e"
# Debian's packages, and how to see that what they bring is there, from whatever source
NEEDED = {
    "gcc": lambda: shutil.which("gcc"),
    "gfortran": lambda: shutil.which("gfortran"),
    "python3-dev": lambda: Path(sysconfig.get_path("include"), "Python.h").exists(),
}
REPAIRS = [
    ("int *I, ", "int *component, "),  # the headers of NumPy 2 include <complex.h>, where I is a macro
    ("PyObject_HEAD_INIT(NULL)", "PyVarObject_HEAD_INIT(NULL, 0)"),  # a type has a size, which compilers insist on since Python 3.14
    # RADAU goes on after an exception in a function of the user; no other may be called then, and with zeros it ends its step at once
    *((head, f"{head}\n\tif(PyErr_Occurred()) {{ {ended}; return; }}") for head, ended in (
        ("static void radau_rhs(int *n, double *x, double *y, double *f, float *rpar, int *ipar) {", "memset(f, 0, *n * sizeof(double))"),
        ("static void radau_jacobian(int *n, double *x, double *y, double *dfy, int *ldfy, float *rpar, int *ipar) {",
         "memset(dfy, 0, *ldfy * *n * sizeof(double))"),
        ("double *cont, int *lrc, int *n, float *rpar, int *ipar, int *irtrn) {", "*irtrn = -1"))),
    ("// Must abort: An error occured\n\t\t*irtrn = 1;", "*irtrn = -1;"),  # +1 means "go on"
]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """The hook that pip calls."""
    import mesonpy

    if absent := [package for package, there in NEEDED.items() if not there()]:
        raise SystemExit(f"Missing on this system: {', '.join(absent)}. On Debian: sudo apt-get install -y {' '.join(absent)}")
    with TemporaryDirectory() as work:
        tree = unpack("pyradau13", VERSION, SHA256, Path(work) / VERSION)
        shutil.copytree(HERE / "tree", tree, dirs_exist_ok=True)
        replace(tree / "pyradau13.c", *REPAIRS)
        with contextlib.chdir(tree):
            return mesonpy.build_wheel(wheel_directory)


def unpack(name: str, version: str, sha256: str, folder: Path) -> Path:
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


def replace(path: Path, *pairs: tuple[str, str]) -> None:
    """Replace texts in a file, each of which must be there."""
    text = path.read_text(encoding="latin-1")  # takes every byte and gives it back
    for old, new in pairs:
        if old not in text:
            raise SystemExit(f"{path.name} does not contain what the recipe replaces: {old!r}")
        text = text.replace(old, new)
    path.write_text(text, encoding="latin-1")
