"""Build backend of Assimulo 3.0, which the registry holds in a form that does not build: `pip install ./solvers/assimulo`."""

import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # pip builds a folder where it is

from recipe import build, library, replace, require, unpack  # noqa: E402

SHA256 = {
    "3.0": "61cdca4562745078c966cc4fab44d8bc0db11a9e6856b45c470ac65c16af9e8a",
    "2.9": "e61f5278618f3c2c920c0ef758eae0ae9a0538240d0ceaaae06b5dadff35aa2e",
}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The hook that pip calls."""
    require("gfortran", "liblapack-dev", "libsundials-dev", "python3-dev")
    with TemporaryDirectory() as work:
        tree = repaired(Path(work))
        # GLIMDA is built only if both libraries are named; old FORTRAN passes scalars for arrays, an error without -std=legacy
        homes = [f"--blas-home={library('libblas.a').parent}", f"--lapack-home={library('liblapack.a').parent}", "--sundials-home=/usr"]
        return build(tree, wheel_directory, *homes, FFLAGS="-std=legacy")


def repaired(work):
    """Source tree of Assimulo 3.0 that builds, in a new folder below `work`."""
    tree = unpack("assimulo", "3.0", SHA256["3.0"], work / "3.0")
    restore_interfaces(tree, unpack("assimulo", "2.9", SHA256["2.9"], work / "2.9"))
    update_interface_of_radau5(tree / "assimulo/thirdparty/hairer/radau_decsol.pyf")
    for path in sources(tree):
        rename_numpy_types(path)
    repair_for_numpy(tree / "assimulo")
    repair_for_sundials(tree / "assimulo/lib")
    forget_generated_code(tree)
    # setup.py names no dependencies
    replace(tree / "setup.py", ("ndc.setup(name=NAME,", "ndc.setup(name=NAME, install_requires=['numpy', 'scipy'],"))
    return tree


def sources(tree):
    """Files in Python and Cython."""
    return [path for suffix in ("py", "pyx") for path in (tree / "assimulo").rglob(f"*.{suffix}")]


def restore_interfaces(tree, older):
    """The archive lacks the interfaces (.pyf) of the FORTRAN solvers, from which f2py makes extensions: the release before has them."""
    for path in (older / "assimulo").rglob("*.pyf"):
        target = tree / path.relative_to(older)
        if not target.exists():
            shutil.copy(path, target)


def update_interface_of_radau5(path):
    """Since 2.9 the right-hand side returns a flag in ipar, and the output function is given the weighted local errors."""
    replace(path,
            ("integer dimension(1),intent(hide) :: ipar\n        end subroutine fcn",
             "integer dimension(1),intent(out) :: ipar\n        end subroutine fcn"),
            ("y,cont,lrc,nsolu", "y,cont,werr,lrc,nsolu"),
            ("double precision dimension(4*nsolu) :: cont\n",
             "double precision dimension(4*nsolu) :: cont\n            double precision dimension(nsolu) :: werr\n"))


def rename_numpy_types(path):
    """NumPy has dropped its names of Python's own types."""
    text = path.read_text(encoding="latin-1")
    path.write_text(re.sub(r"\b(N|np)\.(float|int|bool)\b", r"\2", text), encoding="latin-1")


def repair_for_numpy(package):
    """NumPy refuses tables with rows of unequal length, and comparisons of arrays with an empty list."""
    replace(package / "solvers/odepack.py", ("11804845./141497517]])]", "11804845./141497517,0.]])]"))
    replace(package / "ode.pyx", ("event_info[0] != []", "len(event_info[0]) > 0"))


def repair_for_sundials(folder):
    """Include our translation of the calls in place of a header that SUNDIALS has dropped."""
    shutil.copy(HERE / "sundials6.h", folder)
    replace(folder / "sundials_includes.pxd", ("sundials/sundials_sparse.h", "sundials6.h"))


def forget_generated_code(tree):
    """The archive carries C code that an old Cython generated for an old Python."""
    for path in tree.rglob("*.pyx"):
        path.with_suffix(".c").unlink(missing_ok=True)
