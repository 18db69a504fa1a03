"""The state-space form: ordinary differential equations in independent coordinates [Negrut, sections 3.1, 3.4.1, appendix B]."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..charts import derivative
from ..charts.chart import Chart
from ..charts.configuration import complete, prepare
from ..charts.motion import evaluate
from ..charts.store import Factors, bases
from ..compilation.compiled import compiled
from ..jacobians.complex_step import COMPLEX_STEP
from ..jacobians.signatures import Array, Tables, Vector
from ..results.diagnosis import ChartError, explain
from ..results.status import Cause
from ..system.assembly import AssemblyError, State, accelerations, on_constraints
from ..system.codes import CHART_LOST, GOOD, NO_POSITION, NOT_FINITE
from ..system.evaluate import refine
from ..system.system import System
from ..system.vectors import is_finite
from .base import Outputs
from .explicit import Explicit
from .pieces import finite, sizes, split

MAX_SENSITIVITY_GROWTH = 4.0  # of an independent coordinate within a step; states beyond are not evaluated
MAX_TOTAL_GROWTH = 100.0  # the same since the chart was chosen, above which other coordinates are preferred
MAX_STATES = 100  # states that are stored: more than a search for a zero evaluates


class Memory(NamedTuple):
    """What one evaluation leaves for the next, views of one array.

    Attributes
    ----------
    q, z : ndarray, shapes (nq,) and (n,)
        Positions found last and their independent coordinates; infinite after a failure.
    anchor_q, anchor_z, anchor_lam : ndarray, shapes (nq,), (n,) and (nc,)
        The anchor: the state at which the chart was chosen, or the last one that was accepted.
    v, a, lam : ndarray, shapes (nv,), (nv,) and (nc,)
        Velocities, accelerations and multipliers of the last evaluation.
    min_pivots : ndarray, shape (n,)
        Lower bounds of the diagonal of the Cholesky factor of `S`.
    code : ndarray, shape (1,)
        `GOOD`, or the code of a failure.
    """

    q: Vector
    z: Vector
    anchor_q: Vector
    anchor_z: Vector
    anchor_lam: Vector
    v: Vector
    a: Vector
    lam: Vector
    min_pivots: Vector
    code: Vector


def _views(memory: Vector, lengths: tuple[int, ...]) -> Memory:
    """The `Memory` for Python; `_memory` is that of kernels."""
    return Memory(*np.split(memory, np.cumsum(lengths)[:-1]))


@compiled
def _memory(n: int, model: Tables, memory: Array) -> Memory:
    """The `Memory` in an array: vectors of the lengths nq, n, nq, n, nc, nv, nv, nc, n and 1."""
    nq, nv, nc = sizes(model)
    anchor, values = nq + n, 2 * nq + 2 * n + nc
    return Memory(split(memory, 0, nq), split(memory, nq, n),
                  split(memory, anchor, nq), split(memory, anchor + nq, n), split(memory, anchor + nq + n, nc),
                  split(memory, values, nv), split(memory, values + nv, nv), split(memory, values + 2 * nv, nc),
                  split(memory, values + 2 * nv + nc, n), split(memory, values + 2 * nv + nc + n, 1))


@compiled
def _rhs(t: float, y: Array, out: Array, model: Tables, work: Array, store: Array, memory: Array) -> bool:
    """`out = (z', z'')`; whether all of it is finite.

    The iteration for the positions starts from those found last, or from the anchor if its coordinates are nearer: both are on the same
    branch (see `positions`). After a failure the next evaluation starts from the anchor. States at which an independent coordinate has
    become much more sensitive are refused: beyond the end of the chart the same coordinates belong to other positions.
    """
    n = y.shape[0] // 2
    z, zd, zdd, m = split(y, 0, n), split(y, n, n), split(out, n, n), _memory(n, model, memory)
    if _distance(z, m.anchor_z) < _distance(z, m.z):
        m.q[:] = m.anchor_q
    # from the positions found last, then with the factors of the anchor
    warm, status = is_finite(m.z[0]), NO_POSITION
    for again in range(0 if warm else 1, 2):
        if again:
            m.q[:], m.lam[:] = m.anchor_q, m.anchor_lam
            status = prepare(t, m.q, n, store, model, work)
        if status == GOOD or not again:
            status = evaluate(t, z, zd, m.q, m.v, m.a, m.lam, zdd, Factors(n, store, model, work))
        if status == GOOD:
            break
    if status == GOOD and _too_sensitive(n, m.min_pivots, store, model):
        status = CHART_LOST
    m.code[0] = status
    if status != GOOD:  # positions of a failed iteration are no initial value
        m.z[:], m.lam[:], out[:] = np.inf, m.anchor_lam, np.nan
        return False
    m.z[:], out[:n] = z, zd
    return finite(out)


@compiled
def _linearise(t: float, model: Tables, work: Array, store: Array, memory: Array, displaced: Array,
               out: derivative.MotionDerivatives) -> None:
    """The derivatives at the state evaluated last; `displaced` is complex scratch of the system."""
    n = out.zdd_z.shape[0]
    m = _memory(n, model, memory)
    state, factors = derivative.State(t, m.q, m.v, m.a, m.lam), Factors(n, store, model, work)
    derivative.linearise(state, factors, displaced, COMPLEX_STEP * 1j, 0, n, out)


@compiled
def _too_sensitive(n: int, min_pivots: Vector, store: Array, model: Tables) -> bool:
    """Whether the constraints leave an independent coordinate much less freedom than at the last step."""
    S = bases(n, model, store).S
    for k in range(n):
        if S[k, k].real < min_pivots[k]:
            return True
    return False


@compiled
def _distance(x: Array, y: Array) -> float:
    d = 0.0
    for k in range(x.shape[0]):
        d += (x[k] - y[k]) ** 2
    return d


class StateSpace(Explicit):
    """`z'' = f(t, z, z')` as `y' = (z', z'')`, `y = (z, z')`, with independent coordinates `z = P q`.

    Positions, velocities, accelerations and multipliers follow from `z` and `z'` by the constraints on the three levels, which therefore
    hold to rounding. The coordinates are independent only locally, so a long motion needs several charts. `mbdae.solve` switches the local
    parametrisation, with any solver, when the condition number of the matrix for the dependent coordinates has grown by a quarter, and
    reinitialises the solver. A solver that is called directly works in one chart, that of `pack`, as far as it is valid.

    Parameters
    ----------
    system : System
    parametrisation : {"partition", "tangent"}
        Coordinate partitioning, where `P` selects some of the coordinates `q` [Negrut, section 3.1], or the plane tangent to the
        constraints, where its rows are an orthonormal basis [Negrut, appendix B].
    pivots : {"angles", "unscaled"}
        Which coordinates are independent, by the pivots of an LU factorisation of the constraint Jacobian. `"angles"`: those of planar
        angles if possible, by a factor on their columns. `"unscaled"`: the columns without a pivot in the matrix as it is, the choice of
        the thesis, which depends on the units. For `"partition"` only.

    Attributes
    ----------
    chart : Chart
    dof : int
        Number of independent coordinates.

    Raises
    ------
    ValueError
        If the system has no degree of freedom, or a parameter is unknown.

    Examples
    --------
    >>> import mbdae
    >>> mbdae.StateSpace(mbdae.library.system("double-pendulum")).dof
    2
    """

    formulation = "partition"
    title = "state space, coordinate partitioning"
    unknowns = (("z", "freedom"), ("zd", "freedom"))
    rows = (("kinematics", "freedom"), ("dynamics", "freedom"))
    block_index = {"z": 1, "zd": 1}
    known_blocks = (("yd", "kinematics", "z", "I"), ("yd", "dynamics", "zd", "I"))

    kernel = staticmethod(_rhs)  # `kernel(t, y, out, *arguments)`

    def __init__(self, system: System, parametrisation: str = "partition", pivots: str = "angles") -> None:
        super().__init__(system)
        if parametrisation == "tangent":
            self.formulation, self.title = TangentStateSpace.formulation, TangentStateSpace.title
        self.chart = Chart(system, parametrisation, pivots)
        nq, nv, nc, n = system.nq, system.nv, system.nc, system.freedom
        lengths = nq, n, nq, n, nc, nv, nv, nc, n, 1
        self._memory_data = np.zeros(sum(lengths))
        self._memory = _views(self._memory_data, lengths)
        self._memory.anchor_lam[:] = self._memory.lam[:] = system.multiplier_guess()
        self._derivatives = derivative.new_derivatives(system, n)
        self._initial_pivots = np.zeros(n)  # `min_pivots` where the chart was chosen
        self._states: dict[tuple[float, bytes], Outputs] = {}  # those asked for in this chart, by (t, y)
        with suppress(AssemblyError, ChartError):  # another state may follow, by `pack`
            self._centre(system.start)

    @property
    def parametrisation(self) -> str:
        """`"partition"` or `"tangent"`."""
        return self.chart.parametrisation

    @property
    def pivots(self) -> str:
        """`"angles"` or `"unscaled"`."""
        return self.chart.pivots

    @property
    def dof(self) -> int:
        """Number of independent coordinates."""
        return int(self.chart.n)

    # the equations -------------------------------------------------------------------------------------------------------

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.model, self.chart.work, self.chart.store, self._memory_data

    def rhs_jacobian(self, t: float, y: Vector) -> Vector:
        """`G = [0 I; J1 J2]` to rounding [Negrut, eqs. (3.87), (3.93), (3.98)], with one factorisation and `2 dof` solves."""
        n, G = self.dof, np.zeros((self.n, self.n))
        G[:n, n:] = np.eye(n)
        self.rhs(t, y)
        if self._memory.code[0] == GOOD:
            self._memory.code[0] = complete(n, self.chart.store, self.model, self.chart.work)
        if self._memory.code[0] == GOOD:
            _linearise(t, self.model, self.chart.work, self.chart.store, self._memory_data, self._complex_work, self._derivatives)
            self.system.callbacks.check()
            G[n:, :n], G[n:, n:] = self._derivatives.zdd_z.T, self._derivatives.zdd_zd.T
        else:
            G[n:] = np.nan
        return G

    def compile(self, t: float, y: Vector, yd: Vector) -> None:
        self.rhs(t, y)
        self.rhs_jacobian(t, y)

    def fault(self, t: float) -> Cause | None:
        """`(Status, reason)` if the evaluation just made at `t` has failed because the chart is not valid there, otherwise `None`."""
        code = int(self._memory.code[0])
        return None if code in (GOOD, NOT_FINITE) else explain(self.system, code, self.chart.work, t, self._memory.q)

    # charts and states ---------------------------------------------------------------------------------------------------

    def pack(self, state: State) -> tuple[Vector, Vector]:
        """`(y, yd)` of a `State`, at which the chart is chosen anew.

        Raises
        ------
        ChartError
            At a singular position.
        """
        self._centre(state)
        y = np.concatenate(self.chart.coordinates(state.t, state.q, state.v))
        return y, self.rhs(state.t, y)

    def _centre(self, state: State) -> None:
        self._states.clear()
        self.chart.centre(state.t, state.q)
        self._memory.lam[:] = state.lam if np.isfinite(state.lam).all() else self.system.multiplier_guess()
        self._anchor_at(state.q)
        self._initial_pivots[:] = MAX_SENSITIVITY_GROWTH * self._memory.min_pivots

    def _anchor_at(self, q: Vector) -> None:
        """Make the positions `q`, to which the factors belong, the anchor."""
        m = self._memory
        m.q[:] = m.anchor_q[:] = q
        m.z[:] = m.anchor_z[:] = self.chart.P @ q
        m.anchor_lam[:] = m.lam
        m.min_pivots[:] = np.diag(self.chart.bases.S) / MAX_SENSITIVITY_GROWTH

    def leave(self, t: float, q: Vector) -> bool:
        """To be called after a step to the positions `q`: whether another chart is much better there."""
        leaves = self.chart.ill_conditioned(t, q) or self._near_dead_point(t, q)
        self._anchor_at(q)
        return leaves

    def _near_dead_point(self, t: float, q: Vector) -> bool:
        """Whether a coordinate is about to reverse while others are not: near a loss of rank condition numbers do not show it."""
        sensitive = (np.diag(self.chart.bases.S) < self._initial_pivots / MAX_TOTAL_GROWTH).any()
        return bool(sensitive) and not np.array_equal(self.chart.choose(t, q), self.chart.P)

    def full_state(self, t: float, q: Vector, v: Vector) -> State:
        """The `State` at positions and velocities, in the present chart."""
        return self.chart.state(t, *self.chart.coordinates(t, q, v), q, self._memory.lam)

    def unpack(self, y: Vector, yd: Vector) -> NoReturn:
        """Raises a TypeError: the motion depends on the time, too, see `state`."""
        raise TypeError(f"{type(self).__name__}: the motion that belongs to y depends on the time, too; call state(t, y)")

    def motion(self, t: float, y: Vector) -> tuple[Vector, Vector]:
        """`(q, v)`, copies; repeated calls return the same numbers to the last bit."""
        q, v, _, _ = self._stored_state(t, y)
        return q.copy(), v.copy()

    def _stored_state(self, t: float, y: Vector) -> Outputs:
        """`state`, computed once for each `(t, y)`.

        Positions found by iteration depend on its initial value, to rounding. Solvers evaluate an event again where they have found its
        zero, and a sign that differs by rounding would be another zero.
        """
        key = t, y.tobytes()
        if key not in self._states:
            if len(self._states) == MAX_STATES:
                del self._states[next(iter(self._states))]
            self._states[key] = self.state(t, y)
        return self._states[key]

    def stored(self, t: float, y: Vector, yd: Vector | None) -> tuple[float, Vector, Outputs]:
        """The motion in the place of `yd`: in another chart `y` has another meaning."""
        return t, y, self._stored_state(t, y)

    def interpolated(self, t: float, y: Vector) -> Vector:
        """Positions and velocities: in another chart `y` has another meaning."""
        return np.concatenate(self._stored_state(t, y)[:2])

    def completed(self, t: float, values: Vector) -> Outputs:
        """The state `(q, v, a, lam)` on the constraints that belongs to interpolated positions and velocities."""
        q, v = on_constraints(self.system, t, *np.split(values, [self.system.nq]))
        a, lam, _ = accelerations(self.system, t, q, v)
        return q, v, a, lam

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """See `Problem.undisturbed`: initial values and factors of the iteration determine the rounding of the positions."""
        arrays = self.chart.store, self.chart.work, self._memory_data
        kept, states = [x.copy() for x in arrays], dict(self._states)
        try:
            yield
        finally:
            self._states = states
            for place, x in zip(arrays, kept):
                place[:] = x

    def state(self, t: float, y: Vector, yd: Vector | Outputs | None = None) -> Outputs:
        """`(q, v, a, lam)` at one time, on the constraints; returned as they are if they are given in the place of `yd` (see `stored`).

        Raises
        ------
        ChartError
            Where the chart is not valid.
        """
        if isinstance(yd, tuple):
            return yd
        m = self._memory
        min_pivots = m.min_pivots.copy()
        m.min_pivots[:] = 0.0  # a step may end a little beyond
        self.rhs(t, y)
        code, m.min_pivots[:] = int(m.code[0]), min_pivots
        if code != GOOD:
            status, reason = explain(self.system, code, self.chart.work, t, m.q)
            raise ChartError(status, f"{self.system.name} at t = {t:.9g}: {reason}")
        q, v, a, lam = m.q.copy(), m.v.copy(), m.a.copy(), m.lam.copy()
        refine(t, q, v, a, lam, self.model, self.chart.work)
        return q, v, a, lam


class TangentStateSpace(StateSpace):
    """`StateSpace` with the plane tangent to the constraints."""

    formulation = "tangent"
    title = "state space, tangent plane"

    def __init__(self, system: System) -> None:
        super().__init__(system, "tangent")
