"""Constraints and forces of kinds that are not built in: `register` makes them known, compiled code calls their kernels by address.

The compiled equations are the same with such kinds and without. The kernels of a kind become one function, compiled for real and complex
numbers when the first system needs it, and cached on disk beside the file of the kernels. The name of the cache file contains a hash of all
files and constants that the function depends on, so that any change of these invalidates it.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numba import carray, njit, types
from numba.core import config
from numba.core.dispatcher import Dispatcher

from ..compilation.compiled import FAST, by_address, compiled, compiled_from, records
from ..compilation.foreign import pointer
from ..compilation.ingredients import stamp_of
from ..model.base import Force, Primitive
from ..typing import Bytes, Numbers
from . import layout as lay
from .callbacks import call_extra
from .elements.kind import ConstraintKind, arguments
from .elements.kinds import KINDS as CONSTRAINT_KINDS
from .layout import BODY_T, EXTRA_T, MOTION_T, header, table
from .loads.kind import ForceKind
from .loads.kinds import FRICTION, USER_FORCE
from .loads.kinds import KINDS as FORCE_KINDS
from .rare import model_at

_SIGNATURE = types.int64(types.int64, types.float64, *(types.int64,) * 6)
_EVALUATIONS = {"phi": lay.PHI, "phi_q": lay.PHI_Q, "nu": lay.NU, "gamma": lay.GAMMA, "force": lay.FORCE, "energy": lay.ENERGY}

Kind = ConstraintKind | ForceKind


def _by_model(kinds: Iterable[Kind]) -> dict[type, Kind]:
    """Kinds by the types of their elements."""
    return {model: kind for kind in kinds for model in _models(kind)}


def _models(kind: Kind) -> tuple[type, ...]:
    if isinstance(kind, ConstraintKind):
        return (kind.model,)
    return kind.models if isinstance(kind.models, tuple) else (kind.models,)


_BUILT_IN: dict[type, Kind] = _by_model((*CONSTRAINT_KINDS, *FORCE_KINDS, USER_FORCE, FRICTION))
_registered: dict[type, Kind] = {}
_functions: dict[Kind, Any] = {}  # compiled once, kept alive
_called: list[Any] = []  # the same by number where nothing is compiled


def register(kind: Kind) -> Kind:
    """Make a kind of constraint or force known, before a `System` with such elements is made; returns it.

    Raises
    ------
    ValueError
        The type of its elements is no dataclass derived from `Primitive` or `Force`, or belongs to mbdae; fields are not of 64 bits.
    """
    base = Primitive if isinstance(kind, ConstraintKind) else Force
    for model in _models(kind):
        if not (isinstance(model, type) and issubclass(model, base)) or model is base:
            raise ValueError(f"register: {model!r} must be a class derived from {base.__name__}")
        if model in _BUILT_IN:
            raise ValueError(f"register: {model.__name__} is built in; derive a class of another name")
    for name, kernel in kind.kernels().items():
        _check_parameters(f"{name} of {_models(kind)[0].__name__}", arguments(kernel), isinstance(kind, ForceKind), name != "energy")
    wrong = [name for name in kind.dtype.names or () if kind.dtype[name].base not in (np.dtype("i8"), np.dtype("f8"))]
    if wrong:
        raise ValueError(f"register: the field {wrong[0]!r} of {_models(kind)[0].__name__} must consist of float64 or int64")
    _registered.update(_by_model([kind]))
    return kind


def _check_parameters(what: str, names: list[str], of_force: bool, writes: bool) -> None:
    """A kernel takes a record, some of the state, and where it writes."""
    known = ("t", "q", "X", "motions", "bodies")[:5 if of_force else 4]
    if (writes and not names) or not set(names[:len(names) - writes]) <= set(known):
        last = ", its last one is where it writes" if writes else ""
        raise ValueError(f"register: {what} has the parameters {', '.join(names) or 'none'} after the record; those are some of "
                         f"{', '.join(known)}{last}")


@overload
def kind_of(element: Primitive) -> ConstraintKind: ...


@overload
def kind_of(element: Force) -> ForceKind: ...


def kind_of(element: Primitive | Force) -> Kind:
    """The kind of an element of a mechanism."""
    for cls in type(element).__mro__:
        kind = _BUILT_IN.get(cls) or _registered.get(cls)
        if kind is not None:
            return kind
    raise ValueError(f"{element.owner}: there are no kernels for the type {type(element).__name__}; "
                     "give them by mbdae.extend.register before a System is made")


def is_built_in(kind: Kind) -> bool:
    """Whether the kernels of a kind are part of the compiled equations."""
    return _BUILT_IN.get(_models(kind)[0]) is kind


# the function behind a kind ------------------------------------------------------------------------------------------------------

_SOURCE = """\
def {name}_at(what, t, entry, q, model, work, out):
    entry = table(model, SLOT, EXTRA_T)[entry]
    elements = records(model, header(model)[lay.EXTRA_RECORDS] + entry["at"], entry["count"], DTYPE)
    X, motions, bodies = lay.frames(model, work), table(model, lay.MOTION, MOTION_T), table(model, lay.BODY, BODY_T)
{calls}


def {name}(what, t, entry, q, model, work, out, is_complex):
    tables = model_at(model)
    nq, n, size = sizes(what, tables)
    if is_complex:
        result = carray(pointer(out), (n,), np.complex128)
        try:
            AT(what, t, entry, carray(pointer(q), (nq,), np.complex128), tables, carray(pointer(work), (size,), np.complex128), result)
        except Exception:
            result[:] = np.nan
    else:
        values = carray(pointer(out), (n,), np.float64)
        try:
            AT(what, t, entry, carray(pointer(q), (nq,), np.float64), tables, carray(pointer(work), (size,), np.float64), values)
        except Exception:
            values[:] = np.nan
    return 0
"""
_CALL = """\
    if what == {what}:
        for k in range(elements.shape[0]):
            {result}{kernel}(elements[k], {arguments})"""


@compiled
def sizes(what, model):
    """`nq`, the number of values of an evaluation, and the size of `work`."""
    head = header(model)
    n = head[lay.NC]
    if what == lay.PHI_Q:
        n = head[lay.NNZ]
    elif what == lay.FORCE:
        n = head[lay.NV]
    elif what == lay.ENERGY:
        n = 1
    return head[lay.NQ], n, head[lay.WORK_SIZE]


# what a function of a kind calls beside its kernels
_NAMES = {"np": np, "carray": carray, "lay": lay, "pointer": pointer, "EXTRA_T": EXTRA_T, "BODY_T": BODY_T, "MOTION_T": MOTION_T,
          "header": header, "records": records, "table": table, "model_at": model_at, "sizes": sizes}


def address(kind: Kind) -> int:
    """The address of the function of a kind; its number where nothing is compiled."""
    if kind not in _functions:
        _functions[kind] = _function(kind)
    function = _functions[kind]
    if config.DISABLE_JIT:
        _called.append(function)
        return len(_called) - 1
    at: int = function.__wrapper_address__()
    return at


def _call(name: str, names: list[str]) -> str:
    """The text of the calls of one kernel, which writes to `out`."""
    result, given = ("out[0] += ", names) if name == "energy" else ("", [*names[:-1], "out"])
    return _CALL.format(what=_EVALUATIONS[name], kernel=name, result=result, arguments=", ".join(given))


def _function(kind: Kind) -> Any:
    """All kernels of a kind as one function."""
    kernels = {name: f if isinstance(f, Dispatcher) else njit(error_model="numpy", fastmath=FAST)(f) for name, f in kind.kernels().items()}
    name = f"kernels_of_{_models(kind)[0].__name__}"
    calls = "\n".join(_call(k, arguments(f)) for k, f in kernels.items())
    source = _SOURCE.format(name=name, calls=calls)
    constraint = isinstance(kind, ConstraintKind)
    names = {"__name__": __name__, **_NAMES, **kernels, "DTYPE": kind.dtype,
             "SLOT": lay.EXTRA_CONSTRAINT if constraint else lay.EXTRA_FORCE}
    first = next(iter(kind.kernels().values()))
    file = getattr(first, "py_func", first).__code__.co_filename
    kept = Path(file).is_file() and not config.DISABLE_JIT
    made_of = stamp_of([*kernels.values(), *_NAMES.values()], source, kind.dtype) if kept else None
    exec(compile(source, file if kept else f"<{name}>", "exec"), names)
    names["AT"] = inner = njit(error_model="numpy", fastmath=FAST)(names[f"{name}_at"])
    return inner if config.DISABLE_JIT else by_address(compiled_from(names[name], made_of), _SIGNATURE)


# what the fused kernels call -----------------------------------------------------------------------------------------------------

if TYPE_CHECKING or config.DISABLE_JIT:

    def evaluate(which: int, what: int, t: float, q: Numbers, model: Bytes, work: Numbers, out: Numbers) -> None:
        for n, entry in enumerate(table(model, which, EXTRA_T)):
            _called[entry["address"]](what, t, n, q, model, work, out)

else:

    @compiled
    def evaluate(which, what, t, q, model, work, out):
        """One evaluation of the constraints or of the forces, whose entries are the table `which`."""
        entries = table(model, which, EXTRA_T)
        for n in range(entries.shape[0]):
            call_extra(entries[n]["address"], what, t, n, q.ctypes.data, model.ctypes.data, work.ctypes.data,
                       out.ctypes.data, 1 if work.itemsize == 16 else 0)


@compiled
def constraints(what, t, q, model, work, out):
    """Let the constraints of each kind fill their part of `out`."""
    evaluate(lay.EXTRA_CONSTRAINT, what, t, q, model, work, out)


@compiled
def forces(what, t, q, model, work, out):
    """Let the forces of each kind add to `out`."""
    evaluate(lay.EXTRA_FORCE, what, t, q, model, work, out)


@compiled
def energy(t, q, model, work):
    """Potentials of all such forces."""
    total = np.zeros(1, work.dtype)
    forces(lay.ENERGY, t, q, model, work, total)
    return total[0]
