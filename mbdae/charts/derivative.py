"""Derivatives of the motion by the independent coordinates and velocities, column by column [Negrut, appendix A].

With the factors of the configuration at hand each of the `2 n` columns takes one directional derivative of the equations of motion and
one solve: along `dq = T N e_k` follows `dv` from the velocity equations, and then

    M da + Phi_q^T dlam = d(Q - M a - Phi_q^T lam),   Phi_q da = d(gamma - Phi_q a),

with `a` and `lam` held on the right [Negrut, eqs. (A.4)-(A.12)]. What stands there is evaluated at a state moved by `step` times the
direction: an imaginary step gives the derivative to rounding, a real one a forward difference.
"""

import numpy as np

from ..compilation.compiled import compiled
from ..jacobians.complex_step import COMPLEX_STEP
from ..system import kernels, sparse
from ..system import layout as lay
from ..system.codes import GOOD
from ..system.coupling import coupled_forces, factor_coupling, new_coupling, solve_coupled
from ..system.layout import BODY_T, header, part, table
from ..system.motion import accelerations, equation_residuals
from ..system.vectors import dot, largest
from .configuration import prepare, solve_chart
from .motion import map_rate, quaternion_turn, second_rates, velocities
from .store import bases, chart

INCREMENT = 1.5e-8  # of forward differences
TIME_INCREMENT = 1e-5  # of differences by time


@compiled
def linearise(t, q, v, a, lam, n, store, model, work, other, step, jacobians):
    """Derivatives at the state for which `store` and `work` were prepared, `n` rows that belong to a direction each.

    `jacobians` are `(V, A1, L1, J1, A2, L2, J2)` with rows of the lengths `nv nv nc n nv nc n`: by `z` the derivatives of `v`, `a`, `lam`
    and `z''`, and by `z'` those of `a`, `lam` and `z''`. `other` is scratch of the system, complex if `step` is. Returns whether all
    of it is finite.
    """
    V, A1, L1, J1, A2, L2, J2 = jacobians
    _, N, _ = bases(n, model, store)
    P = chart(n, model, store)
    base = _base(t, q, v, a, lam, P, model, other)
    coupling = new_coupling(model, lam)
    good = _couple(t, q, v, lam, step, coupling, model, work, other)
    for k in range(n):
        _by_position(t, q, v, a, lam, N[k], P, base, coupling, store, model, work, other, step, V[k], A1[k], L1[k], J1[k])
        good = good and np.isfinite(largest(J1[k]))
    x = moved(q, q, 0.0 * step)
    kernels.place(x, model, other)
    kernels.phi_q(t, x, model, other, part(model, other, lay.W_G))
    kernels.mass(t, x, model, other)
    for k in range(n):
        s = step * ((1.0 + largest(v)) / (1e-300 + largest(N[k])))
        _shift(t, x, v, N[k], a, lam, base, coupling, model, work, other, s, A2[k], L2[k])
        _second_shift(t, x, v, N[k], a, A2[k], P, base, model, s, J2[k])
        good = good and np.isfinite(largest(J2[k]))
    return good


@compiled
def moved(x, dx, step):
    """`x + step dx`."""
    return x + step * dx


@compiled
def slope(value, base, step):
    """The derivative along the step, from the value at its end."""
    return ((value - base) * (1.0 / step)).real


@compiled
def _base(t, q, v, a, lam, P, model, other):
    """`Q - M a - Phi_q^T lam`, `gamma - Phi_q a`, `Phi_q v - nu`, `P T v`, `P q''` at the state itself, which differences start from."""
    x, y = q + 0.0 * other[0], v + 0.0 * other[0]
    kernels.place(x, model, other)
    kernels.phi_q(t, x, model, other, part(model, other, lay.W_G))
    kernels.mass(t, x, model, other)
    defect = np.empty(lam.shape[0], other.dtype)
    _velocity_defect(t, x, y, model, other, defect)
    r, c = np.empty_like(y), np.empty_like(defect)
    equation_residuals(t, x, y, a, lam + 0.0 * other[0], lam, model, other, r, c)
    rate = np.empty_like(x)
    kernels.qdot(t, x, y, model, rate)
    return r, c, defect, _product(P, rate), _product(P, _accelerated(t, x, y, a + 0.0 * other[0], model))


@compiled
def _product(P, x):
    out = np.empty(P.shape[0], x.dtype)
    for k in range(P.shape[0]):
        out[k] = dot(P[k], x)
    return out


@compiled
def _velocity_defect(t, x, y, model, other, out):
    """`Phi_q v - nu`; `Phi_q` has been evaluated."""
    nu = np.empty_like(out)
    kernels.place_velocity(y, model, other)
    kernels.nu(t, x, model, other, nu)
    sparse.times(part(model, other, lay.W_G), y, model, out)
    for k in range(nu.shape[0]):
        out[k] -= nu[k]


@compiled
def _accelerated(t, x, y, a, model):
    """`q'' = T a + T' v`."""
    out, turn, head = np.empty_like(x), np.empty_like(x), header(model)
    kernels.qdot(t, x, a, model, out)
    if not head[lay.IDENTITY_MAP]:
        if head[lay.KIND] == lay.MULTIBODY:
            quaternion_turn(x, y, table(model, lay.BODY, BODY_T), turn)
        else:
            map_rate(t, x, y, model, turn)
        out += turn
    return out


@compiled
def _by_position(t, q, v, a, lam, direction, P, base, coupling, store, model, work, other, step, dv, da, dlam, dzdd):
    n, rate = P.shape[0], np.empty_like(q)
    kernels.qdot(t, q, direction, model, rate)
    # velocities at z' = const.
    s = step * ((1.0 + largest(q)) / (1e-300 + largest(rate)))
    x = moved(q, rate, s)
    kernels.place(x, model, other)
    kernels.phi_q(t, x, model, other, part(model, other, lay.W_G))
    kernels.mass(t, x, model, other)
    defect, y, moving = np.empty(lam.shape[0], other.dtype), moved(v, v, 0.0 * s), np.empty_like(x)
    _velocity_defect(t, x, y, model, other, defect)
    kernels.qdot(t, x, y, model, moving)
    c, d = np.empty_like(lam), np.empty(n)
    for k in range(c.shape[0]):
        c[k] = -slope(defect[k], base[2][k], s)
    for k in range(n):
        d[k] = -slope(dot(P[k], moving), base[3][k], s)
    solve_chart(c, d, n, store, model, work, dv)
    _shift(t, x, v, dv, a, lam, base, coupling, model, work, other, s, da, dlam)
    _second_shift(t, x, v, dv, a, da, P, base, model, s, dzdd)


@compiled
def _couple(t, q, v, lam, step, coupling, model, work, other):
    """How forces follow the multipliers at the state that `_base` has placed in `other`; whether multipliers follow uniquely."""
    y, start = moved(v, v, 0.0 * step), moved(lam, lam, 0.0 * step)
    x, force, base, size = moved(q, q, 0.0 * step), np.empty_like(y), np.empty_like(y), 1.0 + largest(lam)
    coupled_forces(t, x, y, start, model, other, base)
    for i in range(coupling.rows.shape[0]):
        k = coupling.rows[i]
        start[k] += step * size
        coupled_forces(t, x, y, start, model, other, force)
        start[k] = lam[k]
        for j in range(force.shape[0]):
            coupling.forces[i, j] = slope(force[j], base[j], step * size)
    return factor_coupling(1.0, coupling, model, work)


@compiled
def _shift(t, x, v, dv, a, lam, base, coupling, model, work, other, step, da, dlam):
    """`da`, `dlam` for the positions `x` that have been placed in `other` and the velocities that move along `dv`."""
    y = moved(v, dv, step)
    r, c = np.empty_like(y), np.empty(lam.shape[0], other.dtype)
    b, g = np.empty_like(v), np.empty_like(lam)
    kernels.place_velocity(y, model, other)
    equation_residuals(t, x, y, a + 0.0 * step, lam + 0.0 * step, lam + 0.0 * step, model, other, r, c)
    for k in range(b.shape[0]):
        b[k] = slope(r[k], base[0][k], step)
    for k in range(g.shape[0]):
        g[k] = slope(c[k], base[1][k], step)
    solve_coupled(b, g, da, dlam, coupling, model, work)


@compiled
def _second_shift(t, x, v, dv, a, da, P, base, model, step, dzdd):
    """`dz'' = P dq''`."""
    if header(model)[lay.IDENTITY_MAP]:
        for k in range(P.shape[0]):
            dzdd[k] = dot(P[k], da)
        return
    value = _accelerated(t, x, moved(v, dv, step), moved(a, da, step), model)
    for k in range(P.shape[0]):
        dzdd[k] = slope(dot(P[k], value), base[4][k], step)


@compiled
def by_complex_step(t, q, zd, lam, n, store, model, cstore, cwork, step, jacobians):
    """The same derivatives by the complex step through velocities, factorisation and accelerations: no formula is differentiated."""
    V, A1, L1, J1, A2, L2, J2 = jacobians
    _, N, _ = bases(n, model, store)
    rate, good = np.empty_like(q), True
    for which in range(2):
        for k in range(n):
            kernels.qdot(t, q, N[k], model, rate)
            x, u = moved(q, rate, step * (1 - which)), moved(zd, zd, 0.0 * step)
            u[k] += step * which
            v, a, b = np.empty(N.shape[1], x.dtype), np.empty(N.shape[1], x.dtype), lam + 0.0 * step
            w = np.empty_like(u)
            prepare(t, x, n, cstore, model, cwork)
            velocities(t, x, u, v, cstore, model, cwork)
            accelerations(t, x, v, a, b, model, cwork)
            second_rates(t, x, v, a, n, cstore, model, w)
            if which == 0:
                _imaginary(v, step, V[k])
            _imaginary(a, step, (A1, A2)[which][k])
            _imaginary(b, step, (L1, L2)[which][k])
            _imaginary(w, step, (J1, J2)[which][k])
            good = good and np.isfinite(largest(w))
    return good


@compiled
def _imaginary(x, step, out):
    for k in range(x.shape[0]):
        out[k] = slope(x[k], 0.0, step)


@compiled
def by_time(evaluate, t, span, z, zd, x, q, v, a, lam, store, model, work, out):
    """`dz''/dt` at fixed `z`, `z'` from the state with `z'' = x`; `store` and `work` then belong to another configuration.

    By a one-sided difference of second order that stays within `span` of `t`: forces need not be defined elsewhere.
    """
    h = np.copysign(min(TIME_INCREMENT * (1.0 + abs(t)), 0.5 * abs(span)), span)
    p, y, b, c = q.copy(), np.empty_like(v), np.empty_like(a), lam.copy()
    near, far = np.empty_like(out), np.empty_like(out)
    status = evaluate(t + h, z, zd, p, y, b, c, near, store, model, work)
    if status == GOOD:
        status = evaluate(t + 2.0 * h, z, zd, p, y, b, c, far, store, model, work)
    for k in range(out.shape[0]):
        out[k] = (4.0 * near[k] - 3.0 * x[k] - far[k]) / (2.0 * h)
    return status


@compiled
def exact(t, zd, q, v, a, lam, n, store, model, work, scratch, jacobians):
    """`linearise` to rounding. `scratch` are a complex store, complex scratch of the system, and real scratch."""
    return linearise(t, q, v, a, lam, n, store, model, work, scratch[1], 1j * COMPLEX_STEP, jacobians)


@compiled
def differences(t, zd, q, v, a, lam, n, store, model, work, scratch, jacobians):
    """`linearise` by forward differences."""
    return linearise(t, q, v, a, lam, n, store, model, work, scratch[2], INCREMENT, jacobians)


@compiled
def throughout(t, zd, q, v, a, lam, n, store, model, work, scratch, jacobians):
    """`by_complex_step` in the same manner."""
    return by_complex_step(t, q, zd, lam, n, store, model, scratch[0], scratch[1], 1j * COMPLEX_STEP, jacobians)
