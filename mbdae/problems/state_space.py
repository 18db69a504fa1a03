"""The state-space form: ordinary differential equations in independent coordinates [Negrut, sections 3.1, 3.4.1, appendix B]."""

from contextlib import contextmanager, suppress
from functools import cached_property

import numpy as np

from ..charts import derivative
from ..charts.chart import Chart
from ..charts.configuration import prepare
from ..charts.motion import evaluate
from ..charts.store import bases
from ..compilation.compiled import compiled
from ..jacobians.complex_step import COMPLEX_STEP
from ..results.diagnosis import ChartError, explain
from ..system.assembly import AssemblyError, accelerations, on_constraints
from ..system.codes import CHART_LOST, GOOD, NO_POSITION, NOT_FINITE
from ..system.motion import refine
from .explicit import Explicit
from .pieces import finite, split

REACH = 4.0  # growth of the sensitivity to an independent coordinate within a step beyond which nothing is evaluated
SPENT = 100.0  # the same since the chart was chosen, beyond which any other coordinates are better
MEMORY = 100  # states that are remembered: more than the search for a zero visits


@compiled
def _rhs(t, y, out, model, work, store, last, anchor, values, code, floor):
    """`out = (z', z'')`; returns whether all of it is finite.

    Positions are looked for from those found last, or from the anchor, the state at which the chart was chosen or which was accepted
    last, whichever is nearer: they are on the same branch (see `positions`). An evaluation that fails leaves nothing behind: the next one
    begins at the anchor. Long steps must not come near the end of the chart: beyond it the same coordinates belong to other positions.
    """
    n = y.shape[0] // 2
    z, zd, zdd = split(y, 0, n), split(y, n, n), split(out, n, n)
    q, z_last = last
    q_anchor, z_anchor, lam_anchor = anchor
    v, a, lam = values
    if _distance(z, z_anchor) < _distance(z, z_last):
        q[:] = q_anchor
    known, status = np.isfinite(z_last[0]), NO_POSITION
    for again in range(0 if known else 1, 2):
        if again:
            q[:], lam[:] = q_anchor, lam_anchor
            status = prepare(t, q, n, store, model, work)
        if status == GOOD or not again:
            status = evaluate(t, z, zd, q, v, a, lam, zdd, store, model, work)
        if status == GOOD:
            break
    if status == GOOD and _beyond(n, floor, store, model):
        status = CHART_LOST
    code[0] = status
    if status != GOOD:
        z_last[:], lam[:], out[:] = np.inf, lam_anchor, np.nan  # where the search has ended is no place to begin another one
        return False
    z_last[:], out[:n] = z, zd
    return finite(out)


@compiled
def _beyond(n, floor, store, model):
    """Whether an independent coordinate has become much less free than it was at the last step."""
    _, _, S = bases(n, model, store)
    for k in range(n):
        if S[k, k].real < floor[k]:
            return True
    return False


@compiled
def _distance(x, y):
    d = 0.0
    for k in range(x.shape[0]):
        d += (x[k] - y[k]) ** 2
    return d


class StateSpace(Explicit):
    """`z'' = f(t, z, z')` as `y' = (z', z'')`, `y = (z, z')`, with independent coordinates `z = P q`.

    Positions, velocities, accelerations and multipliers follow from `z` and `z'` by the constraints on their three levels, which
    therefore hold to rounding. Coordinates are independent near some state only, so a long motion needs several charts: `mbdae.solve`
    exchanges them, with any solver, when the condition of the matrix behind the dependent coordinates has grown by a quarter, and starts
    the solver anew. A solver that is called directly works in one chart, that of `pack`, as far as it reaches.

    Parameters
    ----------
    system : System
    parametrisation : {"partition", "tangent"}
        Coordinate partitioning, where `P` selects some of the coordinates `q` [Negrut, section 3.1], or the plane tangent to the
        constraints, where its rows are an orthonormal basis [Negrut, appendix B].

    Attributes
    ----------
    chart : Chart
    dof : int
        Number of independent coordinates.

    Raises
    ------
    ValueError
        If the motion is prescribed and nothing is left to be integrated.
    """

    formulation = "partition"
    title = "state space, coordinate partitioning"
    unknowns = (("z", "freedom"), ("zd", "freedom"))
    rows = (("kinematics", "freedom"), ("dynamics", "freedom"))
    block_index = {"z": 1, "zd": 1}
    known_blocks = (("yd", "kinematics", "z", "I"), ("yd", "dynamics", "zd", "I"))

    kernel = staticmethod(_rhs)  # `kernel(t, y, out, *arguments)`

    def __init__(self, system, parametrisation="partition"):
        super().__init__(system)
        if parametrisation == "tangent":
            self.formulation, self.title = TangentStateSpace.formulation, TangentStateSpace.title
        self.chart = Chart(system, parametrisation)
        nq, nv, nc, n = system.nq, system.nv, system.nc, system.freedom
        self._last, self._anchor = (np.zeros(nq), np.zeros(n)), (np.zeros(nq), np.zeros(n), system.multiplier_guess())
        self._values, self._code = (np.zeros(nv), np.zeros(nv), system.multiplier_guess()), np.zeros(1, dtype=np.int64)
        self._jacobians = tuple(np.zeros((n, k)) for k in (nv, nv, nc, n, nv, nc, n))
        self._floor, self._first = np.zeros(n), np.zeros(n)  # of the diagonal of `S`, and what it was at the choice of the chart
        self._states = {}  # those asked for in this chart, by (t, y)
        with suppress(AssemblyError, ChartError):  # the start may be another one, that of `pack`
            self._centre(system.start)

    @property
    def parametrisation(self):
        """`"partition"` or `"tangent"`."""
        return self.chart.parametrisation

    @property
    def dof(self):
        """Number of independent coordinates."""
        return self.chart.n

    # the equations -------------------------------------------------------------------------------------------------------

    @property
    def arguments(self):
        return self.model, self.chart.work, self.chart.store, self._last, self._anchor, self._values, self._code, self._floor

    def rhs_jacobian(self, t, y):
        """`G = [0 I; J1 J2]` to rounding [Negrut, eqs. (3.87), (3.93), (3.98)], with one factorisation and `2 dof` solves."""
        n, G = self.dof, np.zeros((self.n, self.n))
        G[:n, n:] = np.eye(n)
        self.rhs(t, y)
        if self._code[0] == GOOD:
            derivative.linearise(t, self._last[0], *self._values, n, self.chart.store, self.model, self.chart.work, self._complex_work,
                                 COMPLEX_STEP * 1j, self._jacobians)
            self.system.callbacks.check()
            G[n:, :n], G[n:, n:] = self._jacobians[3].T, self._jacobians[6].T
        else:
            G[n:] = np.nan
        return G

    @cached_property
    def _complex_work(self):
        return self.system.workspace(complex)

    def compile(self, t, y, yd):
        self.rhs(t, y)
        self.rhs_jacobian(t, y)

    def fault(self, t):
        """`(Status, reason)` if the evaluation just made at `t` has failed because the chart does not reach so far, otherwise `None`."""
        code = int(self._code[0])
        return None if code in (GOOD, NOT_FINITE) else explain(self.system, code, self.chart.work, t, self._last[0])

    # charts and states ---------------------------------------------------------------------------------------------------

    def pack(self, state):
        """`(y, yd)` of a `State`, around which the chart is chosen anew.

        Raises
        ------
        ChartError
            At a singular position.
        """
        self._centre(state)
        y = np.concatenate(self.chart.coordinates(state.t, state.q, state.v))
        return y, self.rhs(state.t, y)

    def _centre(self, state):
        self._states.clear()
        self.chart.centre(state.t, state.q)
        self._values[2][:] = state.lam if np.isfinite(state.lam).all() else self.system.multiplier_guess()
        self._anchor_at(state.q)
        self._first[:] = REACH * self._floor

    def _anchor_at(self, q):
        for place, coordinates, *_ in (self._anchor, self._last):
            place[:], coordinates[:] = q, self.chart.P @ q
        self._anchor[2][:] = self._values[2]
        self._floor[:] = np.diag(bases(self.dof, self.model, self.chart.store)[2]) / REACH

    def leave(self, t, q):
        """To be asked after a step to the positions `q`: whether another chart would serve much better from there on."""
        leaves = self.chart.ill_conditioned(t, q) or self._spent(t, q)
        self._anchor_at(q)
        return leaves

    def _spent(self, t, q):
        """Whether a coordinate is about to turn back, though others would not: where constraints lose rank, conditions do not tell."""
        spent = (np.diag(bases(self.dof, self.model, self.chart.store)[2]) < self._first / SPENT).any()
        return spent and not np.array_equal(self.chart.choose(t, q), self.chart.P)

    def full_state(self, t, q, v):
        """The `State` at positions and velocities, in the present chart."""
        return self.chart.state(t, *self.chart.coordinates(t, q, v), q, self._values[2])

    def unpack(self, y, yd):
        """Not to be had without the time: see `state`."""
        raise TypeError(f"{type(self).__name__}: what belongs to y depends on the time too, so ask state(t, y)")

    def motion(self, t, y):
        """`(q, v)`, the same to the last bit whenever they are asked for."""
        return tuple(x.copy() for x in self._remembered(t, y)[:2])

    def _remembered(self, t, y):
        """`state`, once for every place.

        Solvers evaluate events once more where they have found a zero, and a sign that differs by rounding would be another zero; but
        positions that are found by iteration depend on where it began.
        """
        place = t, y.tobytes()
        if place not in self._states:
            if len(self._states) == MEMORY:
                del self._states[next(iter(self._states))]
            self._states[place] = self.state(t, y)
        return self._states[place]

    def stored(self, t, y, yd):
        """The motion in the place of `yd`: `y` says nothing in another chart."""
        return t, y, self._remembered(t, y)

    def interpolated(self, t, y):
        """Positions and velocities: `y` says nothing in another chart."""
        return np.concatenate(self._remembered(t, y)[:2])

    def completed(self, t, values):
        """The state `(q, v, a, lam)` on the constraints that belongs to interpolated positions and velocities."""
        q, v = on_constraints(self.system, t, *np.split(values, [self.system.nq]))
        return q, v, *accelerations(self.system, t, q, v)[:2]

    @contextmanager
    def undisturbed(self):
        """See `Problem.undisturbed`: where the search for positions begins, and with which factors, decides on their rounding."""
        arrays = self.chart.store, self.chart.work, *self._last, *self._values, self._code, self._floor
        kept, states = [x.copy() for x in arrays], dict(self._states)
        try:
            yield
        finally:
            self._states = states
            for place, x in zip(arrays, kept):
                place[:] = x

    def state(self, t, y, yd=None):
        """`(q, v, a, lam)` at one time, on the constraints, unless they are given in the place of `yd` (see `stored`).

        Raises
        ------
        ChartError
            Where the chart does not reach.
        """
        if isinstance(yd, tuple):
            return yd
        floor = self._floor.copy()
        self._floor[:] = 0.0  # a step may end a little beyond
        self.rhs(t, y)
        code, self._floor[:] = int(self._code[0]), floor
        if code != GOOD:
            status, reason = explain(self.system, code, self.chart.work, t, self._last[0])
            raise ChartError(status, f"{self.system.name} at t = {t:.9g}: {reason}")
        q, v, a, lam = (x.copy() for x in (self._last[0], *self._values))
        refine(t, q, v, a, lam, self.model, self.chart.work)
        return q, v, a, lam


class TangentStateSpace(StateSpace):
    """`StateSpace` with the plane tangent to the constraints."""

    formulation = "tangent"
    title = "state space, tangent plane"

    def __init__(self, system):
        super().__init__(system, "tangent")
