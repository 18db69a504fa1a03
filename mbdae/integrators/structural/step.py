"""One step of Newmark's formula and its relatives, on constraints of every level and in null-space coordinates.

The unknowns are the accelerations `a1` and the multipliers `lam1` at the end of the step. Positions and velocities follow from the formula,
see `formula`. The kinds differ in which of them are projected onto their constraints, and in the level of the constraints that determine
the multipliers:

    kind           positions   velocities   multipliers
    NULL_SPACE     projected   projected    accelerations    [Bustos, section 5]
    STABILISED     projected   formula      velocities       index 2 with a multiplier for the positions, as in GGL
    POSITION       formula     formula      positions        index 3 [Bustos, section 2]
    CORRECTED      formula     multipliers  positions        the same with step-size control; further multipliers for the velocities
    VELOCITY       formula     formula      velocities       index 2
    ACCELERATION   formula     formula      accelerations    index 1

Each iteration evaluates the equations at the positions and velocities that follow from `a1`, and solves

    M da + G^T dlam = Q - M a1 - G^T lam1,   G da = c,

with `c = -Phi/(s beta h^2)`, `(nu - G v1)/(s gamma h)` or `gamma - G a1` and `s = dw1/da1`. For stiff forces the component of `da` in the
null space is that of Newton's method, see `matrix`. If joint friction slows the convergence down, `-dQ/dlam dlam` joins the left side, in
this step and some of the next. With variable steps the multipliers of the index-3 equations are accurate to order `h` only. Their reactions
are normal to the constraints, so the motion keeps its order, but friction acts in tangential directions: in `CORRECTED` it depends on the
multipliers of the constraints on acceleration level.
"""

import numpy as np

from ...compilation.compiled import compiled
from ...system import kernels, kkt, sparse
from ...system import layout as lay
from ...system.codes import DIVERGED, GOOD, NOT_FINITE, RANK_LOST
from ...system.coupling import corrections, next_step
from ...system.drift import subtract_drift_term
from ...system.dynamics import accelerations
from ...system.extent import extent
from ...system.layout import header, part
from ...system.vectors import is_finite, largest, put
from ..control.newton import ITERATE, NOISY_RATE, NewtonRule, newton_test
from ..one_step import POSITION_ROUNDING, at_rounding
from .matrix import STIFF, filtered, form, refresh
from .nearest import correct

NULL_SPACE, STABILISED, POSITION, VELOCITY, ACCELERATION, CORRECTED = range(6)
MAX_PROJECTION_ITER = 8  # corrections of positions per iteration
POSITION_TOL = 1e-9  # constraint violation after these, relative to coordinates, above which the projection has failed
MIN_ETA = 1e-2  # lower bound on error/correction: positions and velocities do not contain the last correction, so that it may be larger
MAX_RATE, LATE_MAX_RATE = 1e3, 2.0  # contraction rates above which the iteration diverges, at first and from correction `LATE_ITER` on
LATE_ITER = 4
REQUEST_RATE = 0.3  # contraction rate above which new derivatives are requested
RENEWAL_RATE = 0.1  # contraction rate above which the iteration matrix is re-evaluated at the iterate


@compiled
def step(t, h, renewing, run):
    """One step from `run.start` at `t` to `run.end` at `t + h`; `GOOD` or the code of a failure.

    On entry the accelerations and multipliers of `run.end` are the initial guess. With `renewing` the derivatives are evaluated at the
    iterate. The largest contraction rate and the number of iterations are stored in `run.memory`.
    """
    counts, memory = run.counts, run.memory
    begun = counts.newton_iterations
    memory.rate = 0.0
    status = _iterate(t, h, renewing, run.friction, run)
    memory.iterations = counts.newton_iterations - begun
    return status


@compiled
def _iterate(t, h, renewing, friction, run):
    """Newton's method; `friction` is `None` if no forces depend on the multipliers, and the parts for these are not compiled then."""
    end = run.end
    q, v, a, w, lam = end.q, end.v, end.a, end.w, end.lam
    s, model, work, counts, memory, kind = run.scratch, run.model, run.work, run.counts, run.memory, run.kind
    by_position, by_velocity = weights(h, run.coefficients)
    da, dlam = s.da, s.dlam
    before, rate = np.inf, 0.0
    if friction is not None:
        next_step(friction.following)
    for k in range(run.newton.max_iter):
        # positions, velocities, Phi_q and factors at the iterate
        auxiliary(run.coefficients, run.start, a, w)
        status = _place(t + h, h, k == 0, run)
        if renewing and status == GOOD and (k == 0 or rate > RENEWAL_RATE):
            _renew(t + h, by_position, by_velocity, run)
            status = _place(t + h, h, k == 0, run)
        counts.factorisations += 1
        counts.residuals += 1
        counts.newton_iterations += 1
        if status == GOOD and k == 0:
            kkt.minimise(model, work, lam)  # corrections do not change the component in the null space of Phi_q^T
        if status == GOOD:
            status = _residuals(t + h, by_position, by_velocity, friction, run)
        if status != GOOD:
            return status
        # correction
        if friction is not None:
            slow = 0.0 if kind == CORRECTED else rate
            corrections(t + h, end, slow, s, friction.following, model, work)
        else:
            kkt.solve(model, work, s.r, s.c, da, dlam)
        filtered(run.matrix, da, s.ideal, s.r, s.defect, s.nearness.y, model, work)
        scale, size = 1.0 + largest(a), largest(da)
        if friction is not None and kind != CORRECTED:  # forces depend on these multipliers
            size = max(size, scale * largest(dlam) / (1.0 + largest(lam)))
        if not is_finite(largest(dlam)):
            return NOT_FINITE
        for i in range(a.shape[0]):
            a[i] += da[i]
        for i in range(lam.shape[0]):
            lam[i] += dlam[i]
        counts.solves += 1
        # convergence test
        noisy = size > NOISY_RATE * before and _at_rounding(kind, size, by_position, by_velocity, extent(q, model, work), v)
        verdict = newton_test(_rule(k, scale, renewing, run), k, size, before, np.inf, noisy)
        rate, before = verdict.rate, size
        if size > 1e2 * run.newton.tol * scale:
            memory.rate = max(memory.rate, rate)
        if verdict.status == GOOD:
            auxiliary(run.coefficients, run.start, a, w)
        if verdict.status != ITERATE:
            return verdict.status
    return DIVERGED


@compiled
def _rule(k, scale, renewing, run):
    """Newton's test for accelerations of the size `scale`; for stiff forces convergence is forecast from `LATE_ITER` on."""
    tol, max_iter, late = scale * run.newton.tol, run.newton.max_iter, k >= LATE_ITER and not renewing
    forecast = LATE_ITER if late and run.matrix.state == STIFF else max_iter
    return NewtonRule(tol, max_iter, MIN_ETA, LATE_MAX_RATE if late else MAX_RATE, forecast, 0.0)


@compiled
def _renew(t, by_position, by_velocity, run):
    """Re-evaluate the iteration matrix at the iterate (full Newton): stiff forces turn with the mechanism."""
    if refresh(t, run.end, np.inf, run) == GOOD:
        form(by_position, by_velocity, run.matrix)
    run.counts.jacobians += 1


@compiled
def weights(h, coefficients):
    """`(s beta h^2, s gamma h)` with `s = dw1/da1`."""
    share = (1.0 - coefficients.alpha_f) / (1.0 - coefficients.alpha_m)
    return share * coefficients.beta * h * h, share * coefficients.gamma * h


@compiled
def auxiliary(coefficients, start, a, w):
    """`w = ((1 - alpha_f) a + alpha_f a0 - alpha_m w0)/(1 - alpha_m)`."""
    (_, _, alpha_m, alpha_f), a0, w0 = coefficients, start.a, start.w
    for k in range(a.shape[0]):
        w[k] = ((1.0 - alpha_f) * a[k] + alpha_f * a0[k] - alpha_m * w0[k]) / (1.0 - alpha_m)


@compiled
def _at_rounding(kind, size, by_position, by_velocity, reach, v):
    """Whether a correction of the accelerations changes positions, of the size `reach`, and velocities by rounding only.

    With constraints on position level the accelerations contain the rounding of positions divided by `h^2`; then positions alone count.
    """
    move = size * by_position / reach
    return (move <= 1e-13 and size * by_velocity <= 1e-10 * (1.0 + largest(v))) or (
        kind in (POSITION, CORRECTED) and move <= POSITION_ROUNDING)


@compiled
def _place(t, h, first, run):
    """Positions and velocities at the end of the step, `Phi_q` and the factors; `GOOD` or the code of a failure."""
    beta, gamma, _, _ = run.coefficients
    start, end, s, model, work = run.start, run.end, run.scratch, run.model, run.work
    v0, w0, q, v, w, ideal = start.v, start.w, end.q, end.v, end.w, s.ideal
    G = part(model, work, lay.W_G)
    # displacement and velocities by the formula
    for k in range(v.shape[0]):
        ideal[k] = h * (v0[k] + h * ((0.5 - beta) * w0[k] + beta * w[k]))
        v[k] = v0[k] + h * ((1.0 - gamma) * w0[k] + gamma * w[k])
    # positions
    if run.kind <= STABILISED:
        status = _nearest_position(t, first, start.q, q, s, model, work)
        if status != GOOD:
            return status
    else:
        kernels.retract(start.q, ideal, model, q)
        kernels.place(t, q, model, work)
    # factors
    kernels.phi_q(t, q, model, work, G)
    kernels.mass(t, q, model, work)
    head = header(model)
    if kkt.factor(model, work, head[lay.CONSTANT_MASS] == 0) > head[lay.DEPENDENT + 1]:
        return RANK_LOST
    if run.kind <= STABILISED:
        kkt.factor_rows(G, model, s.nearness.envelope, s.nearness.inverse)
    # velocities
    if run.kind == NULL_SPACE:
        _nearest_velocity(t, q, v, s, model, work)
    elif run.kind == CORRECTED:
        correct_velocity(t, q, v, s, model, work)
    kernels.place_velocity(v, model, work)
    return GOOD


@compiled
def anchor(t, q, scratch, model, work):
    """`Phi_q` and the factors of `Phi_q Phi_q^T` at the positions `q` of the start of a step."""
    G = part(model, work, lay.W_G)
    kernels.place(t, q, model, work)
    kernels.phi_q(t, q, model, work, G)
    kkt.factor_rows(G, model, scratch.nearness.envelope, scratch.nearness.inverse)


@compiled
def _nearest_position(t, first, q0, q, scratch, model, work):
    """Project the displacement: minimise `|d - ideal|` subject to `Phi(t, q0 (+) d) = 0`, with `Phi_q` of the previous iteration."""
    d, ideal, defect, G, nearness = scratch.d, scratch.ideal, scratch.defect, part(model, work, lay.W_G), scratch.nearness
    if first:
        put(ideal, d)
    else:
        for k in range(d.shape[0]):
            d[k] = ideal[k] - d[k]
        sparse.times(G, d, model, defect)
        put(ideal, d)
        correct(defect, G, model, nearness, d)
    before = np.inf
    for _ in range(MAX_PROJECTION_ITER):
        kernels.retract(q0, d, model, q)
        kernels.place(t, q, model, work)
        kernels.phi(t, q, model, work, defect)
        violation = largest(defect)
        if at_rounding(violation, q0, q, G, model, work) or not violation < 2.0 * before:
            break
        if violation > 0.1 * before:
            kernels.phi_q(t, q, model, work, G)
            kkt.factor_rows(G, model, nearness.envelope, nearness.inverse)
        correct(defect, G, model, nearness, d)
        before = violation
    if not is_finite(violation):
        return NOT_FINITE
    return GOOD if first or violation <= POSITION_TOL * extent(q, model, work) * max(1.0, largest(G)) else DIVERGED


@compiled
def _nearest_velocity(t, q, v, scratch, model, work):
    """Project the velocities of the formula onto `Phi_q v = nu`; a second time if the residual is above rounding."""
    G, defect, nu = part(model, work, lay.W_G), scratch.defect, scratch.nearness.y
    for _ in range(2):
        kernels.nu(t, q, model, work, nu)
        sparse.times(G, v, model, defect)
        for k in range(defect.shape[0]):
            defect[k] -= nu[k]
        if largest(defect) <= POSITION_ROUNDING * (1.0 + largest(v)):
            return
        correct(defect, G, model, scratch.nearness, v)


@compiled
def correct_velocity(t, q, v, scratch, model, work):
    """Project `v` onto `Phi_q v = nu` in the metric of the mass matrix; forces are then evaluated with these velocities."""
    kernels.nu(t, q, model, work, scratch.nearness.y)
    comply(v, scratch.nearness.y, scratch, model, work)


@compiled
def comply(x, b, scratch, model, work):
    """Project `x` onto `Phi_q x = b` in the metric of the mass matrix, `x -= M^-1 Phi_q^T y`, with the factors of `kkt.factor`."""
    rest, c, dx = scratch.r, scratch.c, scratch.da
    sparse.times(part(model, work, lay.W_G), x, model, c)
    for k in range(c.shape[0]):
        c[k] = b[k] - c[k]
    sparse.fill(rest, 0.0)
    kkt.solve(model, work, rest, c, dx, scratch.dlam)
    for k in range(x.shape[0]):
        x[k] += dx[k]


@compiled
def _residuals(t, by_position, by_velocity, friction, run):
    """Residuals of the equations of motion and of the constraints that determine the multipliers; `GOOD` or the code of a failure."""
    end, s, model, work, kind = run.end, run.scratch, run.model, run.work, run.kind
    q, v, a, lam = end.q, end.v, end.a, end.lam
    defect, r, c, y = s.defect, s.r, s.c, s.da
    G = part(model, work, lay.W_G)
    felt = lam  # the multipliers that forces depend on
    if friction is not None:
        felt = friction.lam if kind == CORRECTED else lam
        if kind == CORRECTED:
            kernels.gamma(t, q, v, model, work, c)
            status = accelerations(t, q, v, c, y, felt, model, work)
            if status != GOOD:
                return status
    # r = Q - M a - G^T lam
    kernels.force(t, q, v, felt, model, work, r)
    sparse.mass_times(kernels.mass_values(model, work), a, model, y)
    sparse.add_transposed(G, lam, model, y)
    for k in range(r.shape[0]):
        r[k] -= y[k]
    # c = -Phi/(s beta h^2)
    if kind in (POSITION, CORRECTED):
        kernels.phi(t, q, model, work, c)
        for k in range(c.shape[0]):
            c[k] /= -by_position
        return GOOD
    # c = gamma - G a or (nu - G v)/(s gamma h)
    second = kind in (NULL_SPACE, ACCELERATION)
    if second:
        kernels.gamma(t, q, v, model, work, c)
        if kind == ACCELERATION:
            subtract_drift_term(t, q, v, model, work, c)
    else:
        kernels.nu(t, q, model, work, c)
    sparse.times(G, a if second else v, model, defect)
    scale = 1.0 if second else 1.0 / by_velocity
    for k in range(c.shape[0]):
        c[k] = scale * (c[k] - defect[k])
    return GOOD
