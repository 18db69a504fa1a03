"""What a compiled function from outside of mbdae is made of: the functions, constants and files that it names, found when it is registered.

Unlike `stamp`, which reads imports of files that keep to the style of this package, this looks at the functions themselves: a name may come
from anywhere, and a constant may have been computed.
"""

import sys
import sysconfig
from collections.abc import Iterable
from enum import Enum
from hashlib import sha256
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

from .stamp import HERE, sources

_INSTALLED = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platlib", "purelib")]
_SHOWN = (type(None), bool, int, float, complex, str, bytes, np.generic, np.dtype, numba.types.Type)  # `repr` tells all of these
_BUILT_IN = (BuiltinFunctionType, MethodDescriptorType, np.ufunc)


def stamp_of(functions: Iterable[Any], *more: Any) -> tuple[str, int] | None:
    """A stamp of the files and constants that may be part of these functions, and of other values; and their number.

    `None` if they name a value whose content is not known, such as an object of a class or an address, or a function of no module.
    """
    found = _Ingredients()
    for function in functions:
        found.add(function)
    parts = [f.read_bytes() for f in sorted(found.files)] + sorted(found.constants) + [repr(more).encode(), numba.__version__.encode()]
    return None if found.unknown else (sha256(b"\0".join(parts)).hexdigest(), len(parts))


class _Ingredients:
    """Files and constants, collected along the names that functions use."""

    def __init__(self) -> None:
        self.files: set[Path] = {HERE / "compilation" / "compiled.py"}
        self.constants: set[bytes] = set()
        self.unknown = False
        self._seen: set[int | tuple[int, frozenset[str]]] = set()
        self._alive: list[Any] = []  # so that no other value gets the identity of one that was seen

    def add(self, value: Any, name: str = "") -> None:
        """Add a value that a function names."""
        if isinstance(value, _SHOWN):
            self.constants.add(f"{name} = {value!r}".encode())
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            self.constants.add(f"{name} = {value.dtype} {value.shape} {value.flags.f_contiguous}".encode() + value.tobytes())
        elif isinstance(value, tuple | list):
            self.constants.add(f"{name}: {type(value).__qualname__} of {len(value)}".encode())
            for k, item in enumerate(value):
                self.add(item, f"{name}[{k}]")
        elif isinstance(value, type):
            self._class(value, name)
        elif isinstance(value, ModuleType):
            self._module(getattr(value, "__file__", None))
        else:
            self._callable(value, name)

    def _module(self, file: str | None) -> None:
        """Add a module that is no global name of a function, so that any part of it may be used."""
        self._file(file)
        self.unknown |= not _installed(file) and not Path(file or "").is_relative_to(HERE)

    def _class(self, value: type, name: str) -> None:
        """Add a class: of enumerations and named tuples all that compiled code can use, of others the file."""
        file = getattr(sys.modules.get(value.__module__), "__file__", None)
        fields = list(value) if issubclass(value, Enum) else getattr(value, "_fields", None)
        self._file(file)
        self.constants.add(f"{name} = {value.__module__}.{value.__qualname__} {fields}".encode())
        self.unknown |= fields is None and value.__module__ != "builtins" and (file is None or "<locals>" in value.__qualname__)

    def _callable(self, value: Any, name: str) -> None:
        """Add a function: plain, compiled, intrinsic or built in."""
        function = getattr(value, "py_func", getattr(value, "_defn", value))
        if isinstance(value, Dispatcher):  # the same Python function may be compiled with other options
            options = {key: sorted(x) if isinstance(x, set) else x for key, x in sorted(value.targetoptions.items())}
            self.constants.add(f"{name}: {options}".encode())
        if isinstance(function, _BUILT_IN):
            self.constants.add(f"{name} = {function!r}".encode())
        elif not isinstance(function, FunctionType) or (function is value and name and _is_of_a_user(function)):
            self.unknown = True  # a plain function in compiled code stands for another one, see `numba.extending.overload`
        elif id(function) not in self._seen:
            self._seen.add(id(function))
            self._alive.append(function)
            self._function(function, name)

    def _function(self, function: FunctionType, name: str) -> None:
        code = function.__code__
        self.constants.add(f"{name} = {function.__module__}.{function.__qualname__} {_digest(code)}".encode())
        if _installed(code.co_filename):
            self.constants.add(_version(code.co_filename))
            return
        self.unknown |= function.__module__ not in sys.modules  # its code could be stored, but not loaded by another process
        self._file(code.co_filename)
        names, scope = _names(code), function.__globals__
        for used in sorted(names & scope.keys()):
            self._named(scope[used], used, names)
        for variable, cell in zip(code.co_freevars, function.__closure__ or ()):
            self._named(cell.cell_contents, f"{name}.{variable}", names)
        self.add(function.__defaults__, f"{name}.defaults")
        self.add(tuple(sorted((function.__kwdefaults__ or {}).items())), f"{name}.keywords")

    def _named(self, value: Any, name: str, names: set[str]) -> None:
        """Add a value, and of a module the parts that are named."""
        if isinstance(value, ModuleType) and not _installed(getattr(value, "__file__", None)):
            key = id(value), frozenset(names)
            if key not in self._seen:
                self._seen.add(key)
                for part in sorted(names & vars(value).keys()):
                    self._named(vars(value)[part], f"{name}.{part}", names)
        else:
            self.add(value, name)

    def _file(self, name: str | None) -> None:
        """Add a file, if there is one, and what it imports if it is one of mbdae."""
        path = Path(name or "")
        if not name or not path.is_file():
            return
        if path.is_relative_to(HERE):
            self.files |= sources(path)
        elif not _installed(name):
            self.files.add(path)


def _digest(code: CodeType) -> str:
    """A hash of a function's code, with the functions inside it."""
    constants = [_digest(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return sha256(repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants)).encode()).hexdigest()


def _names(code: CodeType) -> set[str]:
    """Names in a function and the functions inside it."""
    inner = [_names(c) for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*inner)


def _installed(file: str | None) -> bool:
    """Whether a file belongs to Python or an installed package; built in if there is none."""
    return file is None or (not Path(file).is_relative_to(HERE) and any(Path(file).resolve().is_relative_to(p) for p in _INSTALLED))


def is_of_others(file: str) -> bool:
    """Whether a file belongs to Python, to an installed package or to the kernels of mbdae, whose constants do not change."""
    return _installed(file) or any(Path(file).is_relative_to(HERE / part) for part in ("compilation", "system"))


def _is_of_a_user(function: FunctionType) -> bool:
    """Whether a function belongs neither to mbdae nor to an installed package."""
    return not _installed(function.__code__.co_filename) and not Path(function.__code__.co_filename).is_relative_to(HERE)


def _version(file: str) -> bytes:
    """The version of an installed file: its name, size and time."""
    path = Path(file)
    state = path.stat() if path.is_file() else None
    return f"{file} {state and (state.st_size, state.st_mtime_ns)}".encode()
