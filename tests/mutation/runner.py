"""Tests against a changed copy of the checkout, in a process that is forked where NumPy and Numba have been imported."""

import compileall
import importlib
import multiprocessing
import os
import re
import resource
import shlex
import shutil
import signal
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PARTS = ("mbdae", "adapters", "tests", "examples", "solvers", "docs", "pyproject.toml", "README.md", "CHANGELOG.md")
IMPORTED = ("numpy", "scipy.linalg", "scipy.integrate", "scipy.optimize", "scipy.sparse.linalg", "numba", "numba.extending", "pytest",
            "yaml", "rich.progress")
MARKERS = "not slow"
WAIT = 8.0  # seconds for one of CPU time, on a busy machine


@dataclass(frozen=True)
class Run:
    """What came of some tests.

    Attributes
    ----------
    failed : str
        The first test that failed, or what else ended the run; empty if all passed.
    seconds : float
        Of CPU time.
    tests : str
        The arguments of pytest with which it failed.
    """

    failed: str
    seconds: float
    tests: str = ""


class Copy:
    """A copy of a checkout in which one file at a time is changed.

    Parameters
    ----------
    root, folder : Path
        The checkout, and where the copy is made.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder, self._passed = folder, set[str]()
        _prepare()
        for part in PARTS:
            source, target = root / part, folder / part
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc"))
            elif source.exists():
                shutil.copy2(source, target)
        for part in PARTS[:2]:
            compileall.compile_dir(folder / part, quiet=2)
        (folder / "mbdae" / "adapters").symlink_to(folder / "adapters")

    def run(self, tests: Iterable[str], timeout: float, changed: bool = False) -> Run:
        """Run tests one file after another until one fails, each for at most `timeout` seconds of CPU time."""
        begin = _spent()
        for test in tests:
            failed = self._run(test, timeout, changed)
            if failed:
                return Run(failed, _spent() - begin, test)
        return Run("", _spent() - begin)

    def check(self, tests: str, timeout: float) -> None:
        """Whether tests that have failed pass without a change.

        Raises
        ------
        SystemExit
            If they do not.
        """
        if tests not in self._passed:
            unchanged = self.run([tests], timeout)
            if unchanged.failed:
                raise SystemExit(f"{unchanged.failed} fails without a change")
            self._passed.add(tests)

    def run_changed(self, name: str, text: str, tests: Iterable[str], timeout: float) -> Run:
        """The same with another text in a file."""
        path = self.folder / name
        before = path.read_bytes()
        for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            stale.unlink()
        try:
            path.write_text(text, encoding="utf-8")
            return self.run(tests, timeout, changed=True)
        finally:
            path.write_bytes(before)

    def _run(self, test: str, timeout: float, changed: bool) -> str:
        output = self.folder / "output.txt"
        arguments = self.folder, shlex.split(test), output, timeout, changed
        process = multiprocessing.get_context("fork").Process(target=_child, args=arguments)
        process.start()
        process.join(WAIT * timeout)
        if process.is_alive():
            assert process.pid is not None
            os.killpg(process.pid, signal.SIGKILL)
            process.join()
        if process.exitcode in (-signal.SIGKILL, -signal.SIGXCPU):
            return "timeout"
        return "" if process.exitcode == 0 else _first_failure(output.read_text(encoding="utf-8", errors="replace"))


def _prepare() -> None:
    """What the forked processes have in common; kernels are plain Python in them."""
    os.environ |= {"NUMBA_DISABLE_JIT": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    for name in IMPORTED:
        importlib.import_module(name)
    assert not any(name.split(".")[0] == "mbdae" for name in sys.modules)  # or changes were not seen


def _spent() -> float:
    """CPU time of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _child(folder: Path, arguments: list[str], output: Path, timeout: float, changed: bool) -> None:
    import pytest

    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (int(timeout) + 1, int(timeout) + 5))
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    for name in [n for n in sys.modules if n.split(".")[0] == "tests"]:
        del sys.modules[name]
    os.chdir(folder)
    sys.path[:] = [str(folder), *(p for p in sys.path if p and Path(p).resolve() != Path.cwd())]
    sys.dont_write_bytecode = changed  # of the same size within the same second it would not be compiled again
    code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", MARKERS, *arguments]))
    sys.stdout.flush()
    os._exit(code)


def _first_failure(text: str) -> str:
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
    return found[1].removeprefix("tests/") if found else "import"
