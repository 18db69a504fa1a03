"""Positions and velocities of the independent coordinates, with sparse factors of `[Phi_q; P T]`."""

from ...charts.motion import map_rate, quaternion_turn
from ...compilation.compiled import compiled
from ...problems.known import map_values
from ...system import kernels, sparse
from ...system import layout as lay
from ...system.codes import GOOD, NEEDS_MATRIX, NO_POSITION, NOT_FINITE
from ...system.layout import QUATERNION_T, header, part, table
from ...system.vectors import is_finite, largest, put
from .arrays import ROOM
from .elimination import eliminate, solve_rows

MAX_ITER = 10  # of the iteration for positions
SLOW = 0.1  # contraction rate above which the matrix is factorised anew
BRANCH = 0.5  # contraction rate above which the iteration may reach positions on another branch
TOL = 1e-14  # of corrections, relative to the largest coordinate or velocity
NOISE = 1e-11  # size below which corrections that stagnate are rounding
LEAST_PIVOT = 1e-12  # relative to the largest entry of its row
MAX_REFINEMENTS = 6  # of the velocities


@compiled
def second_rates(t, q, v, a, model, turn, out):
    """`q'' = T a + T' v`; `turn` is scratch."""
    kernels.qdot(t, q, a, model, out)
    head = header(model)
    if head[lay.IDENTITY_MAP]:
        return
    if head[lay.KIND] != lay.USER:
        quaternion_turn(q, v, table(model, lay.QUATERNION, QUATERNION_T), turn)
    else:
        map_rate(t, q, v, model, turn)
    for k in range(out.shape[0]):
        out[k] += turn[k]


@compiled
def place(t, z, zd, q, v, run):
    """`q` with `Phi = 0`, `P q = P z`, and `v` with `Phi_q v = nu`, `P T v = P zd`, from guesses; `GOOD` or the code of a failure."""
    p, b, model, work = run.partition, run.basis, run.model, run.work
    r, n, before, fresh = p.kept.shape[0], p.independent.shape[0], 0.0, False
    for k in range(MAX_ITER):
        kernels.place(t, q, model, work)
        kernels.phi(t, q, model, work, b.residual)
        if not fresh:
            status = _factorise(t, q, run)
            if status != GOOD:
                return status
            fresh = True
        for i in range(r):
            b.b[i] = -b.residual[p.kept[i]]
        for i in range(n):
            b.b[r + i] = z[p.independent[i]] - q[p.independent[i]]
        solve_rows(b.elimination, b.b, b.move)
        size, scale = largest(b.move), 1.0 + largest(q)
        if not is_finite(size):
            return NOT_FINITE
        rate = size / before if k > 0 else 0.0
        if rate > BRANCH:
            if size > NOISE * scale:
                return NO_POSITION
            break
        kernels.retract(q, b.move, model, b.trial)
        put(b.trial, q)
        if size <= TOL * scale or 0.0 < rate * size <= TOL * scale:
            break
        if k == MAX_ITER - 1:
            return NO_POSITION
        before, fresh = size, rate <= SLOW
    return _velocities(t, q, zd, v, run)


@compiled
def _factorise(t, q, run):
    """Factors of `[Phi_q; P T]` at the placed positions; `GOOD` or the code of a failure."""
    b = run.basis
    _fill(t, q, run)
    status, run.memory.worst = eliminate(b.rows, b.elimination)
    if status == NEEDS_MATRIX:
        run.memory.asked = ROOM
        return status
    return GOOD if run.memory.worst >= LEAST_PIVOT else NO_POSITION


@compiled
def place_basis(t, q, run):
    """Values of `[Phi_q; P T]` at positions."""
    kernels.place(t, q, run.model, run.work)
    _fill(t, q, run)


@compiled
def _fill(t, q, run):
    """Values of `[Phi_q; P T]` at the placed positions."""
    b, model, work = run.basis, run.model, run.work
    G, rows = part(model, work, lay.W_G), b.rows
    kernels.phi_q(t, q, model, work, G)
    if not header(model)[lay.IDENTITY_MAP]:
        map_values(t, q, model, b.map_, b.T)
    for k in range(rows.places.shape[0]):
        at = rows.places[k]
        rows.values[k] = G[at] if at >= 0 else b.T[-1 - at]


@compiled
def _velocities(t, q, zd, v, run):
    """`v` with `Phi_q v = nu` and `P T v = P zd`, by iterative refinement; `GOOD` or the code of a failure."""
    p, b, model, work = run.partition, run.basis, run.model, run.work
    r, before, G = p.kept.shape[0], 0.0, part(model, work, lay.W_G)
    kernels.place(t, q, model, work)
    kernels.phi_q(t, q, model, work, G)
    for k in range(MAX_REFINEMENTS):
        kernels.place_velocity(v, model, work)
        kernels.nu(t, q, model, work, b.residual)
        _subtract_product(G, v, model, b.residual)
        kernels.qdot(t, q, v, model, b.rates)
        for i in range(r):
            b.b[i] = b.residual[p.kept[i]]
        for i in range(p.independent.shape[0]):
            b.b[r + i] = zd[p.independent[i]] - b.rates[p.independent[i]]
        solve_rows(b.elimination, b.b, b.move)
        size, scale = largest(b.move), 1.0 + largest(v)
        if not is_finite(size):
            return NOT_FINITE
        for i in range(v.shape[0]):
            v[i] += b.move[i]
        rate = size / before if k > 0 else 0.0
        if size <= TOL * scale or 0.0 < rate * size <= TOL * scale or (rate > BRANCH and size <= NOISE * scale):
            return GOOD
        before = size
    return GOOD if size <= NOISE * scale else NO_POSITION


@compiled
def _subtract_product(G, v, model, out):
    """`out -= Phi_q v`."""
    for k in range(out.shape[0]):
        out[k] = -out[k]
    sparse.add_times(G, v, model, out)
    for k in range(out.shape[0]):
        out[k] = -out[k]
