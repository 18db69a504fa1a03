"""Predictor, corrector and differences of positions and velocities; see `formulas`."""

from ...compilation.compiled import compiled
from ...system import kernels
from ...system.vectors import put


@compiled
def put_rate(t, state, model, q, v):
    """The derivative at an evaluated state."""
    kernels.qdot(t, state.q, state.v, model, q)
    put(state.a, v)


@compiled
def predict(h, run):
    """`p = y_n + h sum_(j<k) g_j phi*_j` into `run.stage`, and `-sum_(j<k) phi*_j` into `run.change`."""
    m = run.memory
    _predict(h, m.order, m.at, m.g, m.beta, run.start.q, run.differences.q, run.change.q, run.stage.q)
    _predict(h, m.order, m.at, m.g, m.beta, run.start.v, run.differences.v, run.change.v, run.stage.v)


@compiled
def _predict(h, k, at, g, beta, y, differences, rest, out):
    for i in range(out.shape[0]):
        out[i] = rest[i] = 0.0
    for j in range(k - 1, -1, -1):  # the small ones first
        b, weight, x = beta[j], g[j] * beta[j], differences[at + j]
        for i in range(out.shape[0]):
            rest[i] -= b * x[i]
            out[i] += weight * x[i]
    for i in range(out.shape[0]):
        out[i] = y[i] + h * out[i]


@compiled
def put_change(run):
    """`phi_k(n+1) = f(p) - sum_(j<k) phi*_j` into `run.change`, after `predict`."""
    _add(run.rate.q, run.change.q)
    _add(run.rate.v, run.change.v)


@compiled
def _add(x, out):
    for i in range(out.shape[0]):
        out[i] += x[i]


@compiled
def correct(h, run):
    """`p + h g_k phi_k(n+1)` into `run.raw`."""
    weight = h * run.memory.g[run.memory.order]
    _correct(weight, run.stage.q, run.change.q, run.raw.q)
    _correct(weight, run.stage.v, run.change.v, run.raw.v)


@compiled
def _correct(weight, p, change, out):
    for i in range(out.shape[0]):
        out[i] = p[i] + weight * change[i]


@compiled
def put_end(t, run):
    """`phi_j(n+1)` for `j <= k + 1`, with the derivative at the end."""
    m = run.memory
    put_rate(t, run.end, run.model, run.differences.q[m.end], run.differences.v[m.end])
    _put_end(m.order, m.at, m.end, m.beta, run.differences.q)
    _put_end(m.order, m.at, m.end, m.beta, run.differences.v)


@compiled
def _put_end(k, at, end, beta, differences):
    for j in range(k + 1):
        b, x, old, out = beta[j], differences[end + j], differences[at + j], differences[end + j + 1]
        for i in range(out.shape[0]):
            out[i] = x[i] - b * old[i]
