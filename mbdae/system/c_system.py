"""The C function of a whole system of a user's compiled functions: one call for each evaluation, see `c_functions`."""

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import carray, njit, types

from ..compilation import kept
from ..compilation.compiled import compiled
from ..compilation.foreign import pointer
from ..compilation.fresh import fresh
from . import layout as lay
from .c_functions import KEPT, CFunction, Function, finished
from .vectors import fill

if TYPE_CHECKING:
    from .from_functions import UserFunctions

_d, _i = types.float64, types.int64


class _Given(NamedTuple):
    """The functions of a user, compiled."""

    mass: Function
    force: Function
    phi: Function
    phi_q: Function
    nu: Function
    gamma: Function
    friction: Function | None


def system(functions: "UserFunctions") -> CFunction:
    """`void f(int64 what, double t, int64 q, int64 v, int64 lam, int64 out, int64 is_complex)` of a `UserFunctions` that is compiled."""
    return _system(functions.nq, functions.nv, functions.nc, _Given(**functions.plain))


@lru_cache(KEPT)
def _system(nq: int, nv: int, nc: int, given: _Given) -> CFunction:
    def repeat(what: float, t: float, *rest: float) -> None:
        q, v, lam = np.split(np.array(rest), [nq, nq + nv])
        if what == lay.FORCE and given.friction is not None:
            given.friction(t, q, v, lam)
        if what in (lay.FORCE, lay.GAMMA):
            (given.force if what == lay.FORCE else given.gamma)(t, q, v)
        else:
            {lay.PHI: given.phi, lay.NU: given.nu, lay.PHI_Q: given.phi_q, lay.MASS: given.mass}[int(what)](t, q)

    sizes, own = (nq, nv, nc), _Given(*(fresh(f) for f in given))
    c = kept.c_function(_evaluate, types.void(_i, _d, _i, _i, _i, _i, _i), 3 + sum(sizes), [f for f in own if f is not None], sizes,
                        given.friction is not None, run=_evaluation(own), nq=nq, nv=nv, nc=nc)
    return finished(c, repeat, 1)


def _evaluate(what, t, q, v, lam, out, is_complex):
    # the names nq, nv, nc, run and where are given by `kept.c_function`
    n = nc if what == lay.PHI or what == lay.NU or what == lay.GAMMA else nv  # noqa: F821
    n = nc * nv if what == lay.PHI_Q else nv * nv if what == lay.MASS else n  # noqa: F821
    size, failed = 3 + nq + nv + nc, False  # noqa: F821
    if is_complex:
        x, w = carray(pointer(q), (nq,), np.complex128), carray(pointer(v), (nv,), np.complex128)  # noqa: F821
        m, y = carray(pointer(lam), (nc,), np.complex128), carray(pointer(out), (n,), np.complex128)  # noqa: F821
        try:
            run(what, t, x, w, m, y)  # noqa: F821
        except Exception:
            failed = True
        if failed:
            fill(y, np.nan)
            _note(carray(pointer(where()), (size,), np.float64), what, t, x, w, m)  # noqa: F821
    else:
        a, b = carray(pointer(q), (nq,), np.float64), carray(pointer(v), (nv,), np.float64)  # noqa: F821
        c, f = carray(pointer(lam), (nc,), np.float64), carray(pointer(out), (n,), np.float64)  # noqa: F821
        try:
            run(what, t, a, b, c, f)  # noqa: F821
        except Exception:
            failed = True
        if failed:
            fill(f, np.nan)
            _note(carray(pointer(where()), (size,), np.float64), what, t, a, b, c)  # noqa: F821


@compiled
def _note(note, what, t, q, v, lam):
    note[0], note[1], note[2] = 1.0, what, t
    n = q.shape[0]
    for k in range(n):
        note[3 + k], note[3 + n + k] = q[k].real, v[k].real
    if what == lay.FORCE:  # for other evaluations there are no multipliers behind the address
        for k in range(lam.shape[0]):
            note[3 + 2 * n + k] = lam[k].real


def _evaluation(given: _Given) -> Function:
    """All evaluations; the arrays that user functions get are copies, so that they cannot change the state."""
    mass, force, phi, phi_q, nu, gamma, friction = given
    coupled = friction is not None
    friction = friction or _nothing

    @njit
    def run(what, t, q, v, lam, out):
        if what == lay.PHI:
            _copy(phi(t, q.copy()), out)
        elif what == lay.NU:
            _copy(nu(t, q.copy()), out)
        elif what == lay.GAMMA:
            _copy(gamma(t, q.copy(), v.copy()), out)
        elif what == lay.FORCE:
            _copy(force(t, q.copy(), v.copy()), out)
            if coupled:
                _add(friction(t, q.copy(), v.copy(), lam.copy()), out)
        elif what == lay.PHI_Q:
            _flatten(phi_q(t, q.copy()), out)
        elif what == lay.MASS:
            _flatten(mass(t, q.copy()), out)

    made: Function = run
    return made


@njit
def _nothing(t, q, v, lam):
    return v


@compiled
def _copy(x, out):
    for k in range(out.shape[0]):
        out[k] = x[k]


@compiled
def _add(x, out):
    for k in range(out.shape[0]):
        out[k] += x[k]


@compiled
def _flatten(A, out):
    at = 0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[at] = A[i, j]
            at += 1
