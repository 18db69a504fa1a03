"""What a compiled function from outside of mbdae is made of: the functions, constants and files that it names, found when it is registered.

Unlike `stamp`, which reads imports of files that keep to the style of this package, this looks at the functions themselves: a name may come
from anywhere, and a constant may have been computed.
"""

import sys
import sysconfig
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .stamp import HERE, sources

_INSTALLED = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platlib", "purelib")]


def stamp_of(functions: Iterable[Any], *more: Any) -> tuple[str, int]:
    """A stamp of the files and constants that may be part of these functions, and of other values; and their number."""
    found = _Ingredients()
    for function in functions:
        found.add(function)
    parts = [f.read_bytes() for f in sorted(found.files)] + sorted(found.constants) + [repr(more).encode()]
    return sha256(b"\0".join(parts)).hexdigest(), len(parts)


class _Ingredients:
    """Files and constants, collected along the names that functions use."""

    def __init__(self) -> None:
        self.files: set[Path] = {HERE / "compilation" / "compiled.py"}
        self.constants: set[bytes] = set()
        self._seen: set[int] = set()

    def add(self, value: Any, name: str = "") -> None:
        """Add a value that a function names."""
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        value = getattr(value, "py_func", getattr(value, "_defn", value))  # of a compiled function, or of an intrinsic one
        if isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, tuple | list):
            self.constants.add(f"{name}: {len(value)}".encode())
            for k, item in enumerate(value):
                self.add(item, f"{name}[{k}]")
        elif isinstance(value, type):
            self._file(getattr(sys.modules.get(value.__module__), "__file__", None))
        elif not isinstance(value, ModuleType):
            content = value.tobytes() if isinstance(value, np.ndarray) else b""
            shown = repr(value) if " at 0x" not in repr(value) else repr(type(value))  # addresses change from run to run
            self.constants.add(f"{name} = {shown}".encode() + content)

    def _function(self, function: FunctionType) -> None:
        code = function.__code__
        if _installed(code.co_filename):
            return
        if not self._file(code.co_filename):
            self.constants.add(code.co_code + repr(code.co_consts).encode())
        names = _names(code)
        scope = function.__globals__
        for name in sorted(names & scope.keys()):
            value = scope[name]
            if isinstance(value, ModuleType) and not _installed(getattr(value, "__file__", None)):
                for part in sorted(names & vars(value).keys()):
                    self.add(vars(value)[part], f"{name}.{part}")
            else:
                self.add(value, name)
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            self.add(cell.cell_contents, name)

    def _file(self, name: str | None) -> bool:
        """Add a file, and what it imports if it is one of mbdae; whether there is such a file."""
        path = Path(name or "")
        if not name or not path.is_file():
            return False
        if path.is_relative_to(HERE):
            self.files |= sources(path)
        elif not _installed(name):
            self.files.add(path)
        return True


def _names(code: CodeType) -> set[str]:
    """Names in a function and the functions inside it."""
    inner = [_names(c) for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*inner)


def _installed(file: str | None) -> bool:
    """Whether a file belongs to Python or an installed package, which are looked at by their versions only; built in if there is none."""
    return file is None or (not Path(file).is_relative_to(HERE) and any(Path(file).resolve().is_relative_to(p) for p in _INSTALLED))
