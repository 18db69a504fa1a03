"""Whether a user's functions are consistent: `phi_q`, `nu`, `gamma`, `mass`, `kinematics` and `retract` against differences of `phi`.

They are compared at the start and at neighbours of it, all with consistent positions and velocities: only there they have to agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..typing import Matrix, Vector

if TYPE_CHECKING:
    from .from_functions import UserFunctions

TIMES = (0.0, 0.0, 0.37, 1.3)  # of the start and its neighbours [s]
DISPLACEMENT = 0.05  # of neighbours, relative to the size of the positions
INCREMENTS = (1e-2, 1e-3, 1e-4, 1e-5)  # of differences, relative
ENTRY_TOL, ROW_TOL, ERROR_FACTOR = 1e-4, 1e-7, 20.0  # of an entry, of the largest of its row, of the error of the difference
POSITION_TOL, POSITION_ITERATIONS = 1e-10, 30
SPEEDS = 2  # velocities for every position
MAX_COLUMNS = 60  # with more velocity coordinates random combinations of them are tried


@dataclass(frozen=True)
class Point:
    """A consistent state; `rates` are `T(q) e` for each velocity coordinate, as columns."""

    t: float
    q: Vector
    velocities: tuple[Vector, ...]
    rates: Matrix


class Disagreement(ValueError):
    """Two functions of a user contradict each other."""


def check_functions(f: UserFunctions, labels: Sequence[str]) -> None:
    """Compare the functions of `UserFunctions` with each other at several points.

    Raises
    ------
    Disagreement
        Names the function and the entry, its value and the one expected.
    """
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        points = [p for p in (_tolerant(_point, f, t, number, rng) for number, t in enumerate(TIMES)) if p is not None]
        for check in (_check_mass, _check_energy, _check_retract, _check_phi_q, _check_nu, _check_gamma):
            for point in points:
                _tolerant(check, f, point, labels)


def _tolerant(function: Callable[..., Any], *args: Any) -> Any:
    """The result, or `None` where a function raises: neighbours may lie outside of the domain of the user's functions."""
    try:
        return function(*args)
    except Disagreement:
        raise
    except Exception:
        return None


# points ----------------------------------------------------------------------------------------------------------------------


def _point(f: UserFunctions, t: float, number: int, rng: np.random.Generator) -> Point | None:
    """The start, or a neighbour of it, with consistent positions and velocities; `None` if these are not found."""
    size = np.abs(f.q0) + 0.1 * (np.abs(f.q0).max() or 1.0)
    q = _consistent(f, t, f.q0 + DISPLACEMENT * size * rng.uniform(-1.0, 1.0, f.nq) if number else f.q0.copy())
    if q is None:
        return None
    rates = np.array(f._directions(t, q)).T
    return Point(t, q, tuple(_velocity(f, t, q, rates, rng) for _ in range(SPEEDS)), rates)


def _consistent(f: UserFunctions, t: float, q: Vector) -> Vector | None:
    """Positions with `Phi(t, q) = 0` near `q`, by Gauss-Newton with differences of `phi`; `None` if there are none."""
    for _ in range(POSITION_ITERATIONS):
        residual, rates = f.phi(t, q), np.array(f._directions(t, q)).T
        if np.abs(residual).max(initial=0.0) <= POSITION_TOL * (1.0 + np.abs(q).max()):
            return q
        q = q + rates @ np.linalg.lstsq(_slopes(f, t, q, rates), -residual, rcond=1e-8)[0]
    return None


def _velocity(f: UserFunctions, t: float, q: Vector, rates: Matrix, rng: np.random.Generator) -> Vector:
    """A random velocity with `Phi_q v = -Phi_t`."""
    v = (1.0 + np.abs(f.v0).max()) * rng.normal(size=f.nv)
    G = _slopes(f, t, q, rates)
    phi_t, _ = _derivative(lambda s: f.phi(t + s, q), 1.0 + abs(t))
    consistent: Vector = v - np.linalg.lstsq(G, G @ v + phi_t, rcond=1e-8)[0]
    return consistent


def _slopes(f: UserFunctions, t: float, q: Vector, rates: Matrix) -> Matrix:
    """Derivatives of `phi` along columns, (nc, nv), by simple differences: for searching, not for comparing."""
    h = 1e-6 * (1.0 + np.abs(q).max())
    return np.array([(f.phi(t, q + h * x) - f.phi(t, q - h * x)) / (2.0 * h) for x in rates.T]).T.reshape(f.nc, f.nv)


def _derivative(function: Callable[..., Any], size: float) -> tuple[Vector, Vector]:
    """`f'(0)` and its error, entry by entry: differences of fourth order, of which two neighbours agree best."""
    found = []
    for h in (size * x for x in INCREMENTS):
        a, b, c, d = (np.asarray(function(s * h), dtype=float) for s in (-2, -1, 1, 2))
        found.append((a - 8.0 * b + 8.0 * c - d) / (12.0 * h))
    changes = np.abs(np.diff(found, axis=0))
    changes[~np.isfinite(changes)] = np.inf
    best = np.argmin(changes, axis=0)[None]
    return np.take_along_axis(np.array(found[1:]), best, 0)[0], np.take_along_axis(changes, best, 0)[0]


# comparisons -----------------------------------------------------------------------------------------------------------------


def _compare(given: Vector, expected: Vector, error: Vector | float, row: Vector | float, name: str, place: Callable[[int], str],
             remedy: str) -> None:
    """Raise if an entry of `given` differs from the expected one; `row` is the size of its row, `place(k)` names the entry."""
    bound = ENTRY_TOL * np.maximum(np.abs(given), np.abs(expected)) + ROW_TOL * row + ERROR_FACTOR * error
    off = np.abs(given - expected) - bound
    if not np.isfinite(bound).all() or not (off > 0.0).any():
        return
    k = int(np.argmax(off / (np.abs(expected) + row)))
    raise Disagreement(f"{name}{place(k)} = {given[k]:.6g}, but {expected[k]:.6g} is expected{_hint(given[k], expected[k])}: {remedy}; "
                       "check=False takes the functions as they are")


def _hint(given: float, expected: float) -> str:
    for factor, words in ((-1.0, "the sign"), (0.5, "a factor 2"), (2.0, "a factor 1/2"), (-2.0, "the factor"), (-0.5, "the factor")):
        if abs(given - factor * expected) <= 1e-3 * abs(expected):
            return f" ({words} is wrong or missing)"
    return ""


def _check_mass(f: UserFunctions, at: Point, labels: Sequence[str]) -> None:
    check_mass(f.mass(at.t, at.q).astype(float), _where(at))


def check_mass(M: Matrix, where: str) -> None:
    """Refuse a matrix that is not symmetric or not positive definite; `where` is the end of the message."""
    if not np.allclose(M, M.T, rtol=1e-10, atol=1e-12 * np.abs(M).max()):
        i, j = np.unravel_index(np.argmax(np.abs(M - M.T)), M.shape)
        raise Disagreement(f"mass must be symmetric, but mass[{i}, {j}] = {M[i, j]:.6g} and mass[{j}, {i}] = {M[j, i]:.6g}{where}")
    values, vectors = np.linalg.eigh(M)
    if not values[0] > 0.0:
        k = int(np.argmax(np.abs(vectors[:, 0])))
        raise Disagreement(f"mass must be positive definite, its smallest eigenvalue is {values[0]:.6g}{where}; its vector points along "
                           f"velocity {k}: look at mass[{k}, {k}] = {M[k, k]:.6g}")


def _check_energy(f: UserFunctions, at: Point, labels: Sequence[str]) -> None:
    """Where there is an energy its kinetic part is that of the mass matrix."""
    if f.user_energy is None:
        return
    M, unit, nothing = f.mass(at.t, at.q).astype(float), np.eye(f.nv), np.zeros(f.nv)
    rest, alone = _energy(f, at, nothing), np.array([_energy(f, at, e) for e in unit])
    if not np.isfinite(rest) or f.nv > MAX_COLUMNS:
        return
    rounding = 1e-13 * (abs(rest) + np.abs(alone).max())
    for j in range(f.nv):
        both = np.array([_energy(f, at, unit[i] + unit[j]) for i in range(f.nv)])
        _compare(M[:, j], both - alone - alone[j] + rest, rounding, 1e-3 * np.abs(M).max(), "mass",
                 partial(_entry, at, j), "so says the energy, of which 1/2 v . M v is a part; correct one of them")


def _energy(f: UserFunctions, at: Point, v: Vector) -> float:
    return f.total_energy(at.t, at.q.copy(), v.copy())


def _check_retract(f: UserFunctions, at: Point, labels: Sequence[str]) -> None:
    """`d retract(q, s e)/ds = T(q) e`."""
    if f.user_retract is None:
        return
    for j, e in enumerate(np.eye(f.nv)):
        moved, error = _derivative(lambda s, e=e: f.retract(at.q.copy(), s * e), 1.0)
        _compare(moved, at.rates[:, j], error, np.abs(at.rates[:, j]).max(), "retract: the rate of position ",
                 partial(_rate, at, j), "kinematics say so" if f.user_kinematics else "qdot = v says so")


def _check_phi_q(f: UserFunctions, at: Point, labels: Sequence[str]) -> None:
    if f._phi_q is None or f.nc == 0:
        return
    given, size = f.phi_q(at.t, at.q).astype(float), 1.0 + np.abs(at.q).max()
    directions = np.eye(f.nv) if f.nv <= MAX_COLUMNS else np.random.default_rng(1).normal(size=(3, f.nv))
    pairs = [_derivative(lambda s, d=d: f.phi(at.t, at.q + s * (at.rates @ d)), size / max(1.0, np.abs(at.rates @ d).max()))
             for d in directions]
    expected, error = (np.array(x).T for x in zip(*pairs))
    row = np.abs(expected).max(axis=1)
    way = " (or kinematics, along which phi is differentiated)" if f.user_kinematics else ""
    for j, d in enumerate(directions):
        along = f", {j}]" if f.nv <= MAX_COLUMNS else f"] along {np.round(d, 2)}"
        _compare(given @ d, expected[:, j], error[:, j], row, "phi_q", partial(_row, labels, f"{along}{_where(at)}"),
                 f"the derivative of phi; correct phi_q{way}, or leave it out")


def _check_nu(f: UserFunctions, at: Point, labels: Sequence[str]) -> None:
    if f._nu is None or f.nc == 0:
        return
    slope, error = _derivative(lambda s: f.phi(at.t + s, at.q), 1.0 + abs(at.t))
    row = np.abs(slope).max(initial=0.0) + 1e-3 * np.abs(_slopes(f, at.t, at.q, at.rates)).max(axis=1)
    _compare(f.nu(at.t, at.q).astype(float), -slope, error, row, "nu", partial(_row, labels, f"]{_where(at)}"),
             "nu is the derivative of -phi by time; correct nu, or leave it out")


def _check_gamma(f: UserFunctions, at: Point, labels: Sequence[str]) -> None:
    """`gamma = -d/dt (Phi_q v - nu)` at zero acceleration, along consistent velocities."""
    if f._gamma is None or f.nc == 0:
        return
    G = np.abs(_slopes(f, at.t, at.q, at.rates)).max(axis=1)
    for v in at.velocities:
        qd = at.rates @ v

        def rate(s: float, v: Vector = v, qd: Vector = qd) -> Vector:
            x = at.q + s * qd
            return f.phi_q(at.t + s, x) @ v - f.nu(at.t + s, x)

        slope, error = _derivative(rate, 1.0 / (1.0 + np.abs(qd).max()))
        row = np.abs(slope).max(initial=0.0) + 1e-3 * G * (v @ v)
        _compare(f.gamma(at.t, at.q, v).astype(float), -slope, error, row, "gamma",
                 partial(_row, labels, f"]{_where(at)} with v = {np.array2string(v, precision=3)}"),
                 "gamma is what phi_q v - nu changes by, with the sign reversed; correct gamma, or leave it out")


def _entry(at: Point, column: int, row: int) -> str:
    return f"[{row}, {column}]{_where(at)}"


def _rate(at: Point, velocity: int, position: int) -> str:
    return f"{position} along velocity {velocity}{_where(at)}"


def _row(labels: Sequence[str], rest: str, row: int) -> str:
    return f"[{labels[row]!r}{rest}"


def _where(at: Point) -> str:
    return f" at t = {at.t:g}, q = {np.array2string(at.q, precision=4, threshold=8)}"
