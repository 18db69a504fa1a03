"""C functions around compiled functions of users, kept on disk by what they are made of.

Numba keeps no function on disk that is compiled with others as its constants: they are objects of one process. Here its name is the stamp
of their content, see `ingredients`, and what belongs to a process, the memory for the arguments of a call that has failed, is found by the
name of a symbol. Functions of the same content share one C function. Where the content is not known, it is compiled in every process.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from llvmlite import binding
from numba.core.errors import NumbaError

from ..typing import Vector
from .compiled import ByAddress, compiled_from
from .foreign import symbol
from .ingredients import stamp_of

MOST = 400  # C functions on disk; those of a parameter study would fill it
_REFUSED = ".refused"  # ending of the mark of a function that cannot be compiled


@dataclass(frozen=True)
class CFunction:
    """A C function, its address, and the memory for the arguments of a call that has failed, which begins with 1 after one."""

    function: object
    address: int
    note: Vector


_made: dict[str, CFunction] = {}
_numbers = count()


class NotCompiled(Exception):
    """Numba cannot compile a function that may be missing."""


def c_function(body: Callable[..., Any], signature: Any, size: int, users: Iterable[Any], *more: Any, dispensable: bool = False,
               **names: Any) -> CFunction:
    """The C function of a Python function `body` in which some names get a meaning here.

    Parameters
    ----------
    body : callable
        A function of a module; the name `where` means an intrinsic `where()`, the address of the `size` numbers of `note`.
    signature : numba signature
    size : int
    users : iterable of callable
        Compiled functions of a user that `names` are made of.
    *more
        All else that these depend on, with a `repr` that tells it.
    dispensable : bool
        Whether it may be missing: that numba cannot compile it is kept on disk, too, since it takes as long to find out.
    **names
        Other names in `body`.

    Raises
    ------
    NotCompiled
        Numba cannot compile a dispensable function; its own exceptions arrive unchanged from others.
    """
    made_of = stamp_of([body, *users], str(signature), size, *more)
    name = f"mbdae_{body.__name__}_{made_of[0] if made_of else next(_numbers)}"
    if name not in _made:
        note = np.zeros(size)
        binding.add_symbol(name, note.ctypes.data)
        own: Any = FunctionType(body.__code__, body.__globals__ | names | {"where": symbol(name)}, body.__name__)
        function = compiled_from(own, made_of)
        _made[name] = CFunction(function, _tried(function, signature) if dispensable else _compiled(function, signature), note)
    return _made[name]


def _tried(function: Any, signature: Any) -> int:
    """The address of a dispensable function."""
    mark = None if function.made_of is None else _file(function).with_suffix(_REFUSED)
    if mark is not None and mark.exists():
        raise NotCompiled
    try:
        return _compiled(function, signature)
    except (NumbaError, NotImplementedError) as error:  # the second one from its code generation
        if mark is not None:
            with suppress(OSError):
                mark.touch()
        raise NotCompiled from error


def _compiled(function: Any, signature: Any) -> int:
    """The address, of new code or of what is on disk."""
    address: int = ByAddress(function, signature).__wrapper_address__()
    if function.made_of is not None:
        index = _file(function)
        _forget_old(index.parent, index.stem.split("-")[0])
    return address


def _file(function: Any) -> Path:
    """The index of its code on disk."""
    kept = function.for_c._cache._cache_file
    found: Path = Path(kept._cache_path) / kept._index_name
    return found


def _forget_old(folder: Path, stem: str) -> None:
    """Remove the oldest of more than `MOST` C functions with the same body."""
    with suppress(OSError):
        indices = [f for f in folder.glob(f"{stem}-*") if f.suffix in (".nbi", _REFUSED)]
        if len(indices) > MOST:
            for index in sorted(indices, key=lambda f: f.stat().st_mtime)[:-MOST]:
                for file in folder.glob(f"{index.stem}*"):
                    file.unlink()
