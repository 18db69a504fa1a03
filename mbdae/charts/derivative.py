"""Derivatives of the motion by the independent coordinates and velocities, column by column [Negrut, appendix A].

With the factors of the configuration each of the `2 n` columns takes one directional derivative of the equations of motion and one solve:
along `dq = T N e_k` the velocity equations give `dv`, and then

    M da + Phi_q^T dlam = d(Q - M a - Phi_q^T lam),   Phi_q da = d(gamma - Phi_q a),

with `a` and `lam` held constant on the right [Negrut, eqs. (A.4)-(A.12)]. The right-hand sides are evaluated at a state displaced by `step`
times the direction: an imaginary step gives the derivative to rounding, a real one a forward difference.

The factors and the basis must be those of the state: callers see to it by `configuration.complete`. Here it would be compiled once more.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..compilation.compiled import compiled
from ..jacobians.complex_step import COMPLEX_STEP
from ..jacobians.signatures import Array, Tables, Vector
from ..system import kernels, sparse
from ..system import layout as lay
from ..system.codes import GOOD
from ..system.coupling import Coupling, coupled_forces, factor_coupling, new_coupling, solve_coupled
from ..system.layout import QUATERNION_T, header, part, table
from ..system.motion import accelerations, equation_residuals
from ..system.system import System
from ..system.vectors import is_finite, largest
from .configuration import prepare, solve_chart
from .motion import map_rate, quaternion_turn, second_rates, velocities
from .store import P_END, P_FIRST, Displaced, Factors, bases, chart, dot_within, spans

INCREMENT = 1.5e-8  # of forward differences
TIME_INCREMENT = 1e-5  # of differences by time

Step = float | complex


class State(NamedTuple):
    """The state at which derivatives are taken."""

    t: float
    q: Vector
    v: Vector
    a: Vector
    lam: Vector


class MotionDerivatives(NamedTuple):
    """Derivatives of `v`, `a`, `lam` and `z''` by `z`, of `a`, `lam` and `z''` by `z'`; `n` rows each, one per independent coordinate."""

    v_z: Vector
    a_z: Vector
    lam_z: Vector
    zdd_z: Vector
    a_zd: Vector
    lam_zd: Vector
    zdd_zd: Vector


class Base(NamedTuple):
    """Values at the state itself, in the dtype of the step: the base of the differences."""

    dynamics: Array  # Q - M a - Phi_q^T lam
    acceleration: Array  # gamma - Phi_q a
    velocity: Array  # Phi_q v - nu
    zd: Array  # P T v
    zdd: Array  # P q''


class Common(NamedTuple):
    """What the columns share: `P`, its spans, the base, the coupling by multipliers, and scratch of the system for displaced states."""

    P: Vector
    span: Array
    base: Base
    coupling: Coupling
    displaced: Array


def new_derivatives(system: System, n: int) -> MotionDerivatives:
    """Arrays for the derivatives of a system by `n` independent coordinates and their rates."""
    nv, nc = system.nv, system.nc
    return MotionDerivatives(*(np.zeros((n, k)) for k in (nv, nv, nc, n, nv, nc, n)))


@compiled
def linearise(state: State, factors: Factors, displaced: Array, step: Step, first: int, last: int, out: MotionDerivatives) -> bool:
    """The `MotionDerivatives` at the state to which the factors and the basis belong, into `out`; whether all of them are finite.

    Those by the independent coordinates from `first` to before `last`. `displaced` is scratch of the system, complex if `step` is.
    """
    t, q, v, n, model = state.t, state.q, state.v, factors.n, factors.model
    N, P, span = bases(n, model, factors.store).N, chart(n, model, factors.store), spans(n, model, factors.store)
    # what the columns share
    base = _base(state, P, span, model, displaced)
    coupling = new_coupling(model, state.lam)
    good = _couple(state, step, coupling, factors, displaced)
    common = Common(P, span, base, coupling, displaced)
    # by coordinates
    for k in range(first, last):
        _by_position(state, N[k], common, factors, step, k, out)
        good = good and is_finite(largest(out.zdd_z[k]))
    # by velocities, at the same positions
    x = moved(q, q, 0.0 * step)
    kernels.place(t, x, model, displaced)
    kernels.phi_q(t, x, model, displaced, part(model, displaced, lay.W_G))
    kernels.mass(t, x, model, displaced)
    for k in range(first, last):
        s = step * ((1.0 + largest(v)) / (1e-300 + largest(N[k])))
        _accelerations(state, x, N[k], common, factors, s, out.a_zd[k], out.lam_zd[k])
        _second_rates(state, x, N[k], out.a_zd[k], common, model, s, out.zdd_zd[k])
        good = good and is_finite(largest(out.zdd_zd[k]))
    return good


@compiled
def moved(x: Array, dx: Array, step: Step) -> Array:
    """`x + step dx`."""
    return x + step * dx


@compiled
def slope(value: Any, base: Any, step: Step) -> Any:
    """The derivative along the step, from the value at its end."""
    return ((value - base) * (1.0 / step)).real


@compiled
def _base(state: State, P: Array, span: Array, model: Tables, displaced: Array) -> Base:
    """The `Base` at a state."""
    t, zero = state.t, 0.0 * displaced[0]
    x, y, a, lam = state.q + zero, state.v + zero, state.a + zero, state.lam + zero
    kernels.place(t, x, model, displaced)
    kernels.phi_q(t, x, model, displaced, part(model, displaced, lay.W_G))
    kernels.mass(t, x, model, displaced)
    # residuals on the three levels
    velocity, dynamics, acceleration = np.empty_like(lam), np.empty_like(y), np.empty_like(lam)
    _velocity_residual(t, x, y, model, displaced, velocity)
    equation_residuals(t, x, y, state.a, lam, model, displaced, dynamics, acceleration)
    # rates of the independent coordinates
    rate = np.empty_like(x)
    kernels.qdot(t, x, y, model, rate)
    return Base(dynamics, acceleration, velocity, _product(P, span, rate), _product(P, span, _second_derivative(t, x, y, a, model)))


@compiled
def _product(P: Array, span: Array, x: Array) -> Array:
    """`P x`."""
    out = np.empty(P.shape[0], x.dtype)
    for k in range(P.shape[0]):
        out[k] = dot_within(P[k], x, span[k, P_FIRST], span[k, P_END])
    return out


@compiled
def _velocity_residual(t: float, x: Array, y: Array, model: Tables, displaced: Array, out: Array) -> None:
    """`Phi_q v - nu`; `Phi_q` has been evaluated."""
    nu = np.empty_like(out)
    kernels.place_velocity(y, model, displaced)
    kernels.nu(t, x, model, displaced, nu)
    sparse.times(part(model, displaced, lay.W_G), y, model, out)
    for k in range(nu.shape[0]):
        out[k] -= nu[k]


@compiled
def _second_derivative(t: float, x: Array, y: Array, a: Array, model: Tables) -> Array:
    """`q'' = T a + T' v`."""
    out, turn, head = np.empty_like(x), np.empty_like(x), header(model)
    kernels.qdot(t, x, a, model, out)
    if not head[lay.IDENTITY_MAP]:
        if head[lay.KIND] != lay.USER:
            quaternion_turn(x, y, table(model, lay.QUATERNION, QUATERNION_T), turn)
        else:
            map_rate(t, x, y, model, turn)
        out += turn
    return out


@compiled
def _by_position(state: State, direction: Vector, common: Common, factors: Factors, step: Step, k: int, out: MotionDerivatives) -> None:
    """Row `k` of the derivatives by `z`, along the displacement `direction`."""
    t, q, v, model, displaced, span = state.t, state.q, state.v, factors.model, common.displaced, common.span
    rate = np.empty_like(q)
    kernels.qdot(t, q, direction, model, rate)
    # the displaced positions
    s = step * ((1.0 + largest(q)) / (1e-300 + largest(rate)))
    x = moved(q, rate, s)
    kernels.place(t, x, model, displaced)
    kernels.phi_q(t, x, model, displaced, part(model, displaced, lay.W_G))
    kernels.mass(t, x, model, displaced)
    # velocities at z' = const.
    residual, y, moving = np.empty(state.lam.shape[0], displaced.dtype), moved(v, v, 0.0 * s), np.empty_like(x)
    _velocity_residual(t, x, y, model, displaced, residual)
    kernels.qdot(t, x, y, model, moving)
    c, d = np.empty_like(state.lam), np.empty(factors.n)
    for i in range(c.shape[0]):
        c[i] = -slope(residual[i], common.base.velocity[i], s)
    for i in range(d.shape[0]):
        d[i] = -slope(dot_within(common.P[i], moving, span[i, P_FIRST], span[i, P_END]), common.base.zd[i], s)
    solve_chart(c, d, factors.n, factors.store, model, factors.work, out.v_z[k])
    # accelerations and multipliers
    _accelerations(state, x, out.v_z[k], common, factors, s, out.a_z[k], out.lam_z[k])
    _second_rates(state, x, out.v_z[k], out.a_z[k], common, model, s, out.zdd_z[k])


@compiled
def _couple(state: State, step: Step, coupling: Coupling, factors: Factors, displaced: Array) -> bool:
    """Derivatives of the forces by the multipliers at the state placed by `_base`; whether the multipliers are unique."""
    t, model, lam = state.t, factors.model, state.lam
    x, y, start = moved(state.q, state.q, 0.0 * step), moved(state.v, state.v, 0.0 * step), moved(lam, lam, 0.0 * step)
    force, base, size = np.empty_like(y), np.empty_like(y), 1.0 + largest(lam)
    coupled_forces(t, x, y, start, model, displaced, base)
    for i in range(coupling.rows.shape[0]):
        k = coupling.rows[i]
        start[k] += step * size
        coupled_forces(t, x, y, start, model, displaced, force)
        start[k] = lam[k]
        for j in range(force.shape[0]):
            coupling.forces[i, j] = slope(force[j], base[j], step * size)
    return factor_coupling(1.0, coupling, model, factors.work)


@compiled
def _accelerations(state: State, x: Array, dv: Vector, common: Common, factors: Factors, step: Step, da: Vector, dlam: Vector) -> None:
    """`da`, `dlam` for the positions `x` that have been placed in `common.displaced` and velocities displaced along `dv`."""
    y = moved(state.v, dv, step)
    a, lam = state.a + 0.0 * step, state.lam + 0.0 * step
    # residuals of the displaced state
    r, c = np.empty_like(y), np.empty(lam.shape[0], common.displaced.dtype)
    kernels.place_velocity(y, factors.model, common.displaced)
    equation_residuals(state.t, x, y, a, lam, factors.model, common.displaced, r, c)
    # derivatives of the right-hand sides, and the solution
    b, g = np.empty_like(state.v), np.empty_like(state.lam)
    for k in range(b.shape[0]):
        b[k] = slope(r[k], common.base.dynamics[k], step)
    for k in range(g.shape[0]):
        g[k] = slope(c[k], common.base.acceleration[k], step)
    solve_coupled(b, g, da, dlam, common.coupling, factors.model, factors.work)


@compiled
def _second_rates(state: State, x: Array, dv: Vector, da: Vector, common: Common, model: Tables, step: Step, dzdd: Vector) -> None:
    """`dz'' = P dq''`."""
    P, span = common.P, common.span
    if header(model)[lay.IDENTITY_MAP]:
        for k in range(P.shape[0]):
            dzdd[k] = dot_within(P[k], da, span[k, P_FIRST], span[k, P_END])
        return
    value = _second_derivative(state.t, x, moved(state.v, dv, step), moved(state.a, da, step), model)
    for k in range(P.shape[0]):
        dzdd[k] = slope(dot_within(P[k], value, span[k, P_FIRST], span[k, P_END]), common.base.zdd[k], step)


@compiled
def by_complex_step(state: State, zd: Array, factors: Factors, displaced: Factors, step: Step, first: int, last: int,
                    out: MotionDerivatives) -> bool:
    """The same derivatives by the complex step through velocities, factorisation and accelerations: no formula is differentiated.

    `displaced` are complex `Factors`.
    """
    t, q, lam, n, model = state.t, state.q, state.lam, factors.n, factors.model
    N, rate, good = bases(n, model, factors.store).N, np.empty_like(q), True
    for which in range(2):
        for k in range(first, last):
            # displace z, or z'
            kernels.qdot(t, q, N[k], model, rate)
            x, u = moved(q, rate, step * (1 - which)), moved(zd, zd, 0.0 * step)
            u[k] += step * which
            v, a, b = np.empty(N.shape[1], x.dtype), np.empty(N.shape[1], x.dtype), lam + 0.0 * step
            w = np.empty_like(u)
            # the motion there
            good = prepare(t, x, n, displaced.store, model, displaced.work) == GOOD and good
            good = velocities(t, x, u, v, displaced.store, model, displaced.work) == GOOD and good
            accelerations(t, x, v, a, b, model, displaced.work)
            second_rates(t, x, v, a, n, displaced.store, model, w)
            # imaginary parts
            if which == 0:
                _imaginary(v, step, out.v_z[k])
            _imaginary(a, step, (out.a_z, out.a_zd)[which][k])
            _imaginary(b, step, (out.lam_z, out.lam_zd)[which][k])
            _imaginary(w, step, (out.zdd_z, out.zdd_zd)[which][k])
            good = good and is_finite(largest(w))
    return good


@compiled
def _imaginary(x: Array, step: Step, out: Array) -> None:
    for k in range(x.shape[0]):
        out[k] = slope(x[k], 0.0, step)


@compiled
def by_time(evaluate: Callable[..., int], span: float, z: Array, zd: Array, zdd: Array, state: State, factors: Factors, out: Array) -> int:
    """`dz''/dt` at fixed `z`, `z'` from the state with this `z''`; the factors then belong to another configuration.

    One-sided difference of second order that stays within `span` of `t`: forces need not be defined elsewhere.
    """
    t, q, v, a, lam = state
    h = np.copysign(min(TIME_INCREMENT * (1.0 + abs(t)), 0.5 * abs(span)), span)
    p, y, b, c = q.copy(), np.empty_like(v), np.empty_like(a), lam.copy()
    near, far = np.empty_like(out), np.empty_like(out)
    status = evaluate(t + h, z, zd, p, y, b, c, near, factors)
    if status == GOOD:
        status = evaluate(t + 2.0 * h, z, zd, p, y, b, c, far, factors)
    for k in range(out.shape[0]):
        out[k] = (4.0 * near[k] - 3.0 * zdd[k] - far[k]) / (2.0 * h)
    return status


# the same signature for the three ways to the derivatives, see `pointers`

@compiled
def exact(zd: Array, state: State, factors: Factors, displaced: Displaced, first: int, last: int, out: MotionDerivatives) -> bool:
    """`linearise` to rounding."""
    return linearise(state, factors, displaced.work, 1j * COMPLEX_STEP, first, last, out)


@compiled
def differences(zd: Array, state: State, factors: Factors, displaced: Displaced, first: int, last: int, out: MotionDerivatives) -> bool:
    """`linearise` by forward differences."""
    return linearise(state, factors, displaced.real, INCREMENT, first, last, out)


@compiled
def throughout(zd: Array, state: State, factors: Factors, displaced: Displaced, first: int, last: int, out: MotionDerivatives) -> bool:
    """`by_complex_step`."""
    elsewhere = Factors(factors.n, displaced.store, factors.model, displaced.work)
    return by_complex_step(state, zd, factors, elsewhere, 1j * COMPLEX_STEP, first, last, out)
