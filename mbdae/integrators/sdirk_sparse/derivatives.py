"""Derivatives at the start of a step, and the matrices that consist of them, see `matrix`."""

from ...compilation.compiled import compiled
from ...system import layout as lay
from ...system.layout import QUATERNION_T, table
from ...system.vectors import fill, put
from ..derivatives.kernels import evaluate
from .matrix import (
    MINUS_STATE,
    ONE,
    RATES,
    STATE,
    STATE_GH,
    STATE_GH2,
    TURN_Q_GH,
    TURN_Q_GH2,
    TURN_V_GH2,
    TWICE_Q,
)


@compiled
def take_start(run):
    """The state at the start of the step, where derivatives are evaluated."""
    y, yd, start = run.y, run.yd, run.start
    nq, nv = start.q.shape[0], start.v.shape[0]
    for k in range(nq):
        y[k] = start.q[k]
    for k in range(nv):
        y[nq + k], yd[nq + k] = start.v[k], start.a[k]
    for k in range(start.lam.shape[0]):
        y[nq + nv + k] = start.lam[k]
    put(start.q, run.derivatives.q)
    turns(run)


@compiled
def differentiate(t, run):
    """`F_y` and `F_yd` at `(y, yd)`, in the order of the pattern."""
    run.counts.jacobians += 1
    if run.redundant.shape[0] > 0:
        run.follow(t, run.y, run.redundant, run.followed, run.drifts, run.weight, run.problem_model, run.problem_work)
    evaluate(t, run.y, run.yd, run.start.q, run.derivatives, run.model, run.work)


@compiled
def position_jacobian(run):
    """That of constraints and norms, from the derivatives."""
    J, state, q = run.partition.jacobian, run.derivatives.state, run.derivatives.q
    for k in range(J.places.shape[0]):
        at = J.places[k]
        J.values[k] = state[at] if at >= 0 else 2.0 * q[-1 - at]


@compiled
def turns(run):
    """Derivatives of `p'' = L(w') p - |w|^2 p / 4` by `p` and by `w`, for all quaternions."""
    d, q, v, a = run.derivatives, run.start.q, run.start.v, run.start.a
    quaternions = table(run.model, lay.QUATERNION, QUATERNION_T)
    for k in range(quaternions.shape[0]):
        at, to = quaternions[k]["q"], quaternions[k]["v"]
        w0, w1, w2, a0, a1, a2 = v[to], v[to + 1], v[to + 2], 0.5 * a[to], 0.5 * a[to + 1], 0.5 * a[to + 2]
        square = -0.25 * (w0 * w0 + w1 * w1 + w2 * w2)
        L = ((square, -a0, -a1, -a2), (a0, square, a2, -a1), (a1, -a2, square, a0), (a2, a1, -a0, square))
        for i in range(4):
            for j in range(4):
                d.turn_q[16 * k + 4 * i + j] = L[i][j]
            for j in range(3):
                d.turn_v[12 * k + 3 * i + j] = -0.5 * q[at + i] * v[to + j]


@compiled
def matrix_values(gh, run):
    """Values of the matrix for `gh = gamma h`."""
    e, d, q = run.entries, run.derivatives, run.derivatives.q
    fill(e.values, 0.0)
    for k in range(e.kinds.shape[0]):
        kind, at = e.kinds[k], e.places[k]
        if kind == STATE:
            x = d.state[at]
        elif kind == MINUS_STATE:
            x = -d.state[at]
        elif kind == STATE_GH2:
            x = gh * gh * d.state[at]
        elif kind == STATE_GH:
            x = gh * d.state[at]
        elif kind == RATES:
            x = d.rates[at]
        elif kind == ONE:
            x = 1.0
        elif kind == TWICE_Q:
            x = 2.0 * q[at]
        elif kind == TURN_Q_GH2:
            x = -gh * gh * d.turn_q[at]
        elif kind == TURN_Q_GH:
            x = -gh * d.turn_q[at]
        else:
            x = -(gh * gh if kind == TURN_V_GH2 else gh) * d.turn_v[at]
        e.values[e.to[k]] += x
