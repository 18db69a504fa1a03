"""Velocities of which some components are given and the others follow: `min v . M v` subject to `Phi_q v = nu`, `v_k = g_k`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, minres

from ..model.base import Driver, Primitive
from ..typing import Integers, Vector
from .assembly import AssemblyError, velocities
from .branches import joint_rows

if TYPE_CHECKING:
    from .system import System

VIOLATION_TOL = 1e-3  # relative; published initial velocities are often printed with six digits
RELATIVE_SPEED = 1e-7  # relative to the largest velocity of the mechanism: smaller ones may be rounding
MIN_SPEED = 1e-10  # m/s or rad/s: smaller ones are zero
MIN_MOBILITY = 1e-11  # share of a given component, in the mass metric, that the constraints leave free; below, they determine it
MAX_DENSE = 500  # given components up to which their matrix is formed; beyond, MINRES


def velocities_with(system: System, t: float, q: Vector, guess: Vector) -> Vector:
    """Velocities with `Phi_q v = nu` and the given components of a guess; components that are NaN are free.

    Given components stay as they are where the constraints allow it, otherwise they change as little as possible in the mass metric. The
    free ones follow, and have the least kinetic energy that is possible with them.

    Parameters
    ----------
    system : System
    t : float
    q : ndarray, shape (nq,)
    guess : ndarray, shape (nv,)

    Returns
    -------
    ndarray, shape (nv,)
    """
    given = ~np.isnan(guess)
    if given.all() or not given.any():
        return velocities(system, t, q, np.where(given, guess, 0.0))
    v = velocities(system, t, q, np.zeros(system.nv))
    k = np.flatnonzero(given)
    scale = np.sqrt([system.mass_times(t, q, e)[i] for i, e in zip(k, _units(k, system.nv))])
    impulses = _impulses(lambda p: _response(system, t, q, k, scale * p), k, scale, (guess - v)[k])
    return velocities(system, t, q, v + _response(system, t, q, k, scale * impulses))


def _units(k: Integers, n: int) -> Iterator[Vector]:
    """Unit vectors of length `n` along the coordinates `k`, one after the other."""
    for i in k:
        e = np.zeros(n)
        e[i] = 1.0
        yield e


def _response(system: System, t: float, q: Vector, k: Integers, impulses: Vector) -> Vector:
    """The change of the velocities by impulses along the coordinates `k`: `M x + Phi_q^T lam = b`, `Phi_q x = 0`."""
    b = np.zeros(system.nv)
    b[k] = impulses
    return system.solve_kkt(t, q, b, np.zeros(system.nc)).x


def _impulses(response: Callable[[Vector], Vector], k: Integers, scale: Vector, missing: Vector) -> Vector:
    """Scaled impulses that change the given components by `missing`, in the least-squares sense."""
    def change(p: Vector) -> Vector:
        return scale * response(p)[k]

    n = len(k)
    if n > MAX_DENSE:
        found: Vector = minres(LinearOperator((n, n), matvec=change), scale * missing, rtol=1e-14, maxiter=5 * n)[0]
        return found
    matrix = np.column_stack([change(p) for p in np.eye(n)])
    size, modes = np.linalg.eigh(0.5 * (matrix + matrix.T))
    free = size > MIN_MOBILITY
    determined: Vector = modes[:, free] @ ((modes[:, free].T @ (scale * missing)) / size[free])
    return determined


def check_given(system: System, t: float, q: Vector, guess: Vector, v: Vector) -> None:
    """Refuse given velocities that violate the velocity equation of a joint or driver.

    Parameters
    ----------
    guess : ndarray, shape (nv,)
        As given, NaN for free components.
    v : ndarray, shape (nv,)
        What `velocities_with` has made of them.

    Raises
    ------
    AssemblyError
        Names driver or constraint, and the bodies with the given velocities.
    """
    if not system.nc or np.isnan(guess).all():
        return
    wanted = np.where(np.isnan(guess), v, guess)
    G, nu = system.phi_q(t, q), system.nu(t, q)
    violation = G @ wanted - nu
    excess = np.abs(violation) - VIOLATION_TOL * _sizes(G, np.maximum(np.abs(wanted), np.abs(v)))
    wrong = np.flatnonzero(excess > 0.0).tolist()
    if wrong:
        k = _reported(system, wrong, excess)
        raise AssemblyError(_contradiction(system, t, k, nu[k], violation[k], _given_in(system, k, guess)))


def _sizes(G: csr_array, speeds: Vector) -> Vector:
    """Size of each row of `Phi_q v`: the row times the largest velocity of its bodies, or `RELATIVE_SPEED` of the mechanism."""
    fastest = np.maximum.reduceat(np.append(speeds[G.indices], 0.0), G.indptr[:-1])
    fastest = np.maximum(fastest, max(RELATIVE_SPEED * speeds.max(initial=0.0), MIN_SPEED))
    sizes: Vector = csr_array((np.abs(G.data), G.indices, G.indptr), shape=G.shape).sum(axis=1) * fastest
    return sizes


def _reported(system: System, wrong: list[int], excess: Vector) -> int:
    """The equation to be reported: one of a driver, if there is any, otherwise the one that is violated most."""
    return max(wrong, key=lambda k: (_driver(system, k) is not None, excess[k]))


def _driver(system: System, k: int) -> Driver | Primitive | None:
    """The driver whose equation is number `k`; `None` if it belongs to a joint."""
    m = system.constrained
    if m is None:
        return None
    row = joint_rows(m)
    for driver in m.drivers if k >= row else ():
        row += sum(p.rows for p in driver.primitives(m.bodies_by_name()))
        if k < row:
            return driver
    return None


def _given_in(system: System, k: int, guess: Vector) -> list[str]:
    """Names of the bodies in equation `k` whose velocities are given, or a part of them."""
    columns = system.pattern.col[system.pattern.ptr[k]:system.pattern.ptr[k + 1]]
    given = {int(c) for c in columns if not np.isnan(guess[c])}
    names = [b.name for b in system.mechanism.bodies] if system.mechanism is not None else []
    return [repr(name) for name in names if not given.isdisjoint(range(*system.coordinates(name).v.indices(system.nv)))]


def _contradiction(system: System, t: float, k: int, nu: float, violation: float, bodies: list[str]) -> str:
    driver, culprits = _driver(system, k), f"the velocities given{' with ' + ' and '.join(bodies) if bodies else ''}"
    if driver is not None:
        return (f"driver {driver.name!r} asks for the rate {nu:.6g} at t = {t:g}, but {culprits} make it {nu + violation:.6g}; "
                "correct them, or leave them out")
    return (f"{system.name}: {culprits} contradict the constraint {system.labels[k]!r} at t = {t:g}, which would be violated at the rate "
            f"{violation:.6g}; correct them, or leave out those that follow from the others")
