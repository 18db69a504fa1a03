"""The underlying ODE of a system, in extended precision or by compiled kernels."""

from typing import Any

import numpy as np

from ...problems import underlying_ode
from ...system import dynamics
from ...system import evaluate as ev
from ...system.assembly import State
from ...system.coupling import linearise, new_coupling
from ...system.system import System
from ...system.tree import evaluate as tree_evaluate
from ...system.tree.system import TreeSystem
from ...typing import Matrix, Numbers
from .numbers import Extended

PROJECTIONS = 4  # Newton steps from a state that is consistent to double precision
GIVEN = 1e-12  # difference from the consistent state, relative to its size, below which given initial values are kept
FLOOR = 1e-9  # smallest size of a coordinate, relative to the largest one
REFINEMENTS = 2  # Newton steps for multipliers that forces depend on


class Equations:
    """`q' = T(q) v`, `v' = a(t, q, v)` of a system; in extended precision made after `numbers.enable`.

    Parameters
    ----------
    system : System
    number : type
        `Extended`, or `float` where kernels are compiled.

    Attributes
    ----------
    system : System
    nq : int
    evaluations : int
        Right-hand sides so far.
    """

    def __init__(self, system: System, number: Any = Extended) -> None:
        self.system, self.nq, self.evaluations, self._number = system, system.nq, 0, number
        self._model, self._work = system.model, system.workspace(number)
        self._lam = system.multiplier_guess().astype(number)
        self._refined = number is Extended and system.nc > 0 and not len(system.dependent)
        self._code = np.zeros(1, dtype=np.int64)

    def __call__(self, t: Any, y: Numbers) -> Numbers:
        """`(T v, a)` at `y = (q, v)`."""
        self.evaluations += 1
        out = np.empty(len(y), self._number)
        lam = self._lam if self.system.has_friction else self._lam.copy()
        good = underlying_ode._rhs(self._number(t), y, out, self._model, self._work, (0.0, 0.0), lam, self._code)
        if not good:
            raise FloatingPointError(f"{self.system.name}: accelerations at t = {float(t):g} are not finite")
        if self.system.has_friction:
            self._refine(self._number(t), y, out, lam)
        elif self._refined:
            ev.refine(self._number(t), y[:self.nq], y[self.nq:], out[self.nq:], lam, self._model, self._work)
        return out

    def _refine(self, t: Any, y: Numbers, out: Numbers, lam: Numbers) -> None:
        """Newton's method for multipliers that forces depend on, from a solution in double precision to one in extended precision."""
        q, v, a, new = y[:self.nq], y[self.nq:], out[self.nq:], lam.copy()
        target = np.empty(self.system.nc, self._number)
        underlying_ode._target(t, q, v, v, (0.0, 0.0), self._model, self._work, target)
        coupling = new_coupling(self._model, lam)
        rows, d = coupling.rows, np.empty(len(coupling.rows), self._number)
        linearise(t, q, v, lam, 1.0, coupling, self._model, self._work)
        point = dynamics.Point(t, q, v, target, self._model, self._work)
        for _ in range(REFINEMENTS):
            dynamics._respond(point, lam, np.empty_like(v), a, new)
            dynamics._correction(1.0, lam, new, lam, coupling, d)
            lam[rows] += d
        dynamics._respond(point, lam.copy(), np.empty_like(v), a, lam)

    def start(self) -> Numbers:
        """The consistent initial state, projected in extended precision.

        Projected are the initial values as they are given where they satisfy the constraints in double precision, otherwise the consistent
        state of the system. Corrections are minimal relative to the size of each coordinate: zeros and small numbers stay what they are.
        """
        state, guess = self.system.start, self.system.initial_guess()
        t, size, speed = Extended(state.t), np.abs(state.q).max(), np.abs(state.v).max()
        q = guess.q if np.abs(self.system.difference(guess.q, state.q)).max() < GIVEN * size else state.q
        v = guess.v if np.abs(guess.v - state.v).max() <= GIVEN * speed else state.v
        q, v = q.astype(Extended), v.astype(Extended)
        if self.system.nc:
            q, v = self._nearest(t, q, v)
        return self._positions(t, q, v)

    def _nearest(self, t: Any, q: Numbers, v: Numbers) -> tuple[Numbers, Numbers]:
        """`q`, where it has no quaternions, and `v` after corrections that are minimal relative to the size of each."""
        if len(q) == len(v):
            for _ in range(PROJECTIONS):
                q = q + self._smallest(t, q, np.abs(q), -ev.phi(t, q, self._model, self._work))
        for _ in range(PROJECTIONS):
            v = v + self._smallest(t, q, np.abs(v), -self._velocity(t, q, v))
        return q, v

    def _smallest(self, t: Any, q: Numbers, sizes: Numbers, target: Numbers) -> Numbers:
        """`min sum (d_i / sizes_i)^2` subject to `Phi_q d = target`, to double precision relative to `target`."""
        D = (sizes + FLOOR * (sizes.max() or 1)).astype(float)
        return D * _least_squares(self.system.phi_q(float(t), q.astype(float)).toarray() * D, target)

    def _positions(self, t: Any, q: Numbers, v: Numbers) -> Numbers:
        """`projected`, unless that changes nothing but rounding errors."""
        y = np.concatenate([q, v])
        return y if self.violation(t, y) < 1e-18 * float(np.abs(y).max()) else self.projected(t, y)

    def projected(self, t: Any, y: Numbers) -> Numbers:
        """`y` projected onto the constraints: by corrections relative to the size of each coordinate, with quaternions of minimum energy.

        Drift of a large coordinate, such as an angle, thus does not become an error of a small one.
        """
        t, q, v = Extended(t), y[:self.nq].copy(), y[self.nq:].copy()
        if not self.system.nc:
            return y.copy()
        if self.nq == self.system.nv:
            return np.concatenate(self._nearest(t, q, v))
        nothing = np.zeros(self.system.nv, Extended)
        for _ in range(PROJECTIONS):
            d = ev.solve_kkt(t, q, nothing, -ev.phi(t, q, self._model, self._work), self._model, self._work)[0]
            q = ev.retract(q, d, self._model, np.empty_like(q))
        for _ in range(2):
            v = v + ev.solve_kkt(t, q, nothing, -self._velocity(t, q, v), self._model, self._work)[0]
        return np.concatenate([q, v])

    def _velocity(self, t: Any, q: Numbers, v: Numbers) -> Numbers:
        """`Phi_q v - nu`."""
        G = ev.phi_q(t, q, self._model, self._work)
        out = -ev.nu(t, q, self._model, self._work)
        p = self.system.pattern
        for row in range(self.system.nc):
            k = slice(p.ptr[row], p.ptr[row + 1])
            out[row] += G[k] @ v[p.col[k]]
        return out

    def violation(self, t: Any, y: Numbers) -> float:
        """The largest of `Phi` and `Phi_q v - nu`."""
        t, q, v = Extended(t), y[:self.nq].copy(), y[self.nq:].copy()
        parts = ev.phi(t, q, self._model, self._work), self._velocity(t, q, v)
        return max(float(np.abs(x).max(initial=0.0)) for x in parts)

    def state(self, t: float, y: Numbers) -> State:
        """The state with accelerations and multipliers, of minimum norm where constraints are redundant; extended numbers throughout."""
        q, v = y[:self.nq].copy(), y[self.nq:].copy()
        a, lam, *_ = ev.accelerations(Extended(t), q, v, self._lam.copy(), self._model, self._work)
        if len(self.system.dependent):
            rows = lam[np.newaxis]
            ev.minimise(np.array([t], Extended), q[np.newaxis], rows, self._model, self.system.workspace(Extended))
            lam = rows[0]
        return State(t, q, v, a, lam)


class JointEquations(Equations):
    """The same in joint coordinates, see `TreeSystem`; states are converted from and to those of the bodies in extended precision."""

    system: TreeSystem

    def of_bodies(self, t: Any, y: Numbers) -> Numbers:
        """Positions and velocities of the bodies for joint coordinates and rates `y`."""
        q, v = y[:self.nq].copy(), y[self.nq:].copy()
        found = tree_evaluate.to_cartesian(Extended(t), q, v, np.zeros_like(v), self._model, self._work)
        return np.concatenate(found[:2])

    def from_bodies(self, t: Any, bodies: Numbers) -> Numbers:
        """Joint coordinates and rates: those in double precision, corrected by Newton's method."""
        c = self.system.cartesian
        guess = self.system.from_cartesian(bodies[:c.nq].astype(float), bodies[c.nq:].astype(float), float(t))
        q, v = guess.q.astype(Extended), guess.v.astype(Extended)
        for _ in range(PROJECTIONS):
            S = self._rates(t, q)
            now = self.of_bodies(t, np.concatenate([q, v]))
            off = ev.difference(bodies[:c.nq].copy(), now[:c.nq].copy(), c.model, np.empty(c.nv, Extended))
            q = ev.retract(q, _least_squares(S, off), self._model, np.empty_like(q))
            v = v + _least_squares(S, bodies[c.nq:] - self.of_bodies(t, np.concatenate([q, v]))[c.nq:])
        return np.concatenate([q, v])

    def with_signs(self, bodies: Numbers, like: Numbers) -> Numbers:
        """A state of the bodies with the signs of the quaternions of another one."""
        out = bodies.copy()
        for at in self.system.cartesian.quaternions["q"]:
            if out[at:at + 4] @ like[at:at + 4] < 0:
                out[at:at + 4] *= -1
        return out

    def _rates(self, t: Any, q: Numbers) -> Matrix:
        """Velocities of the bodies for unit rates of the joint coordinates, as columns."""
        units = [np.zeros(self.system.nv), *np.eye(self.system.nv)]
        rates = [self.of_bodies(t, np.concatenate([q, e.astype(Extended)]))[self.system.cartesian.nq:] for e in units]
        columns: Matrix = np.array([(x - rates[0]).astype(float) for x in rates[1:]]).T
        return columns


def _least_squares(S: Matrix, x: Numbers) -> Numbers:
    """`min |S d - x|`, to double precision relative to `x`."""
    scale = np.abs(x).max(initial=Extended(0)) or Extended(1)
    d: Numbers = np.linalg.lstsq(S, (x / scale).astype(float), rcond=None)[0].astype(Extended) * scale
    return d
