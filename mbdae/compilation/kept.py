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


def c_function(body: Callable[..., Any], signature: Any, size: int, users: Iterable[Any], *more: Any, **names: Any) -> CFunction:
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
    **names
        Other names in `body`.

    Raises
    ------
    NumbaError, NotImplementedError, ...
        Numba cannot compile it.
    """
    made_of = stamp_of([body, *users], str(signature), size, *more)
    name = f"mbdae_{body.__name__}_{made_of[0] if made_of else next(_numbers)}"
    if name not in _made:
        note = np.zeros(size)
        binding.add_symbol(name, note.ctypes.data)
        own: Any = FunctionType(body.__code__, body.__globals__ | names | {"where": symbol(name)}, body.__name__)
        function = compiled_from(own, made_of)
        _made[name] = CFunction(function, _compiled(function, signature, made_of is not None), note)
    return _made[name]


def _compiled(function: Any, signature: Any, is_kept: bool) -> int:
    """The address; that a function cannot be compiled is kept, too, since it takes as long to find out."""
    if not is_kept:
        return ByAddress(function, signature).__wrapper_address__()
    kept = function.for_c._cache._cache_file
    folder, stem = Path(kept._cache_path), Path(kept._index_name).stem
    mark = folder / f"{stem}{_REFUSED}"
    if mark.exists():
        raise NumbaError(f"{function.py_func.__name__}: it could not be compiled before")
    try:
        address = ByAddress(function, signature).__wrapper_address__()
    except OSError:  # of the disk
        raise
    except Exception:
        with suppress(OSError):
            mark.touch()
        raise
    _forget_old(folder, stem.split("-")[0])
    return address


def _forget_old(folder: Path, stem: str) -> None:
    """Remove the oldest of more than `MOST` C functions with the same body."""
    with suppress(OSError):
        indices = [f for f in folder.glob(f"{stem}-*") if f.suffix in (".nbi", _REFUSED)]
        if len(indices) > MOST:
            for index in sorted(indices, key=lambda f: f.stat().st_mtime)[:-MOST]:
                for file in folder.glob(f"{index.stem}*"):
                    file.unlink()
