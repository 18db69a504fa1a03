"""One step of Newmark's formula and its relatives, on constraints of every level and in null-space coordinates.

The unknowns are the accelerations `a1` at the end of the step and the multipliers there. Positions and velocities follow from the formula,
see `formula`; which of them are moved to the nearest that satisfy their constraints, and which constraints the multipliers serve, makes the
kinds of method:

    kind           positions   velocities   multipliers for
    NULL_SPACE     nearest     nearest      accelerations    [Bustos, section 5]
    STABILISED     nearest     formula      velocities       index 2 with a multiplier for the positions, as in GGL
    POSITION       formula     formula      positions        index 3, the classical way [Bustos, section 2]
    CORRECTED      formula     multipliers  positions        the same with control of the step; further multipliers for the velocities
    VELOCITY       formula     formula      velocities       index 2
    ACCELERATION   formula     formula      accelerations    index 1

Each iteration evaluates everything at the positions and velocities of the present `a1` and solves

    M da + G^T dlam = Q - M a1 - G^T lam1,   G da = c,

with `c = -Phi/(s beta h^2)`, `(nu - G v1)/(s gamma h)` or `gamma - G a1` and `s = dw1/da1`. Where forces are stiff the correction within
the null space goes through Newton's matrix as well, see `newton`. Where joint friction makes it converge slowly, `-dQ/dlam dlam` joins the
left side, in this step and some of those that follow. Multipliers that put positions right in a step of its own size are right to order `h`
only, which does no harm as long as they act across the constraints: friction within these takes the multipliers of the accelerations.
"""

from typing import NamedTuple

import numpy as np

from ...compilation.compiled import compiled
from ...system import kernels, kkt, sparse
from ...system import layout as lay
from ...system.codes import GOOD, NOT_FINITE, RANK_LOST
from ...system.coupling import Following, corrections, new_following, next_step
from ...system.drift import subtract_drift_term
from ...system.dynamics import accelerations
from ...system.layout import header, part
from ...system.vectors import largest
from ..one_step import ROUNDING, at_rounding
from .nearest import correct
from .newton import STIFF, filtered, form, refresh

NULL_SPACE, STABILISED, POSITION, VELOCITY, ACCELERATION, CORRECTED = range(6)
CONVERGED, DIVERGED, ERROR_TEST = 0, 101, 102  # beside what the evaluation of constraints returns
OPENINGS = 8  # corrections of positions in an iteration
OPEN = 1e-9  # constraints that are open by more than this, relative to coordinates, after so many are not met
GROWN = 1e3  # growth of a correction beyond which the iteration is given up
UNSEEN = 1e2  # positions and velocities do not see the last correction: what it may exceed the tolerance by
SLOW = 0.3  # rate of convergence beyond which derivatives are asked for
QUICK = 0.1  # rate of convergence with which a renewed matrix serves once more
ITERATIONS, EVALUATIONS, FACTORISATIONS, SOLVES, JACOBIANS = range(5)  # counters


def scratch_for(system):
    """Vectors for a step, as `step` takes them: increments, corrections, constraints, and the envelope of `G G^T`."""
    nv, nc, envelope = system.nv, system.nc, int(system.model[:lay.HEADER_BYTES].view(np.int64)[lay.NENV])
    sizes = (nv, nv, nc, nv, nc, nv, nc, envelope, nc, nc)
    return tuple(np.zeros(k) for k in sizes)


class Friction(NamedTuple):
    """What a step needs where forces depend on the multipliers.

    Attributes
    ----------
    following : Following
    lam : ndarray, shape (nc,)
        Multipliers that friction depends on where they are others than those of the step.
    """

    following: Following
    lam: np.ndarray


def friction_for(system):
    """`Friction`, or `None` where no forces depend on the multipliers: no step contains any of this then."""
    return Friction(new_following(system.model, np.zeros(system.nc)), np.array(system.start.lam)) if system.has_friction else None


@compiled
def step(kind, t, h, coefficients, tol, max_iter, start, new, scratch, friction, matrix, renewal, model, work, counts):
    """From the state `start` at `t` to `new` at `t + h`, states being `(q, v, a, w, lam)`; returns `(status, rate)`.

    On entry the accelerations and multipliers of `new` are a guess. `coefficients` are `(beta, gamma, alpha_m, alpha_f)`, `scratch` the
    vectors of `scratch_for`, `friction` that of `friction_for`, `matrix` the arrays of `newton`, `renewal` `(whether its derivatives are
    renewed within the step, chart, derive)`.
    The rate of convergence is the worst that has been seen.
    """
    beta, gamma, alpha_m, alpha_f = coefficients
    q, v, a, w, lam = new
    share = (1.0 - alpha_f) / (1.0 - alpha_m)  # of a1 in w1
    weights = share * beta * h * h, share * gamma * h
    da, dlam = scratch[5], scratch[6]
    before, rate, worst = np.inf, 0.0, 0.0
    if friction is not None:
        next_step(friction.following)
    for iteration in range(max_iter):
        auxiliary(coefficients, start, a, w)
        status = _place(kind, t + h, h, coefficients, iteration == 0, start, new, scratch, model, work)
        if renewal[0] and status == CONVERGED and (iteration == 0 or rate > QUICK):
            _renew(t + h, weights, new, matrix, renewal, model, work, counts)
            status = _place(kind, t + h, h, coefficients, iteration == 0, start, new, scratch, model, work)
        counts[FACTORISATIONS] += 1
        counts[EVALUATIONS] += 1
        counts[ITERATIONS] += 1
        if status == CONVERGED and iteration == 0:
            kkt.minimise(model, work, lam)  # no correction touches the part in the null space of Phi_q^T
        if status == CONVERGED:
            status = _open(kind, t + h, weights, new, scratch, friction, model, work)
        if status != CONVERGED:
            return status, worst
        if friction is not None:
            slow = 0.0 if kind == CORRECTED else rate
            corrections(t + h, q, v, lam, slow, scratch[3], scratch[4], da, dlam, friction.following, model, work)
        else:
            kkt.solve(model, work, scratch[3], scratch[4], da, dlam)
        filtered(matrix, da, (scratch[1], scratch[3], scratch[2], scratch[9]), model, work)
        scale = 1.0 + largest(a)
        size = largest(da)
        if friction is not None and kind != CORRECTED:  # forces depend on these multipliers
            size = max(size, scale * largest(dlam) / (1.0 + largest(lam)))
        if not (np.isfinite(size) and np.isfinite(largest(dlam))):
            return NOT_FINITE, worst
        for k in range(a.shape[0]):
            a[k] += da[k]
        for k in range(lam.shape[0]):
            lam[k] += dlam[k]
        rate, counts[SOLVES] = size / before if before > 0.0 else 0.0, counts[SOLVES] + 1  # a forecast may be exact
        if iteration > 0:
            worst = max(worst, rate) if size > 1e2 * tol * scale else worst
            left = max(rate * size / max(1.0 - rate, 0.1), size / UNSEEN)
            if left <= tol * scale or (rate > 0.5 and _at_rounding(kind, size, weights, q, v)):
                auxiliary(coefficients, start, a, w)
                return CONVERGED, worst
            if rate > GROWN or (iteration > 3 and not renewal[0] and _hopeless(rate, size / (tol * scale), max_iter - iteration, matrix)):
                return DIVERGED, worst
        before = size
    return DIVERGED, worst


@compiled
def _hopeless(rate, size, remaining, matrix):
    """Whether the remaining iterations will not bring a correction below the tolerance, which is 1; another matrix might."""
    return rate > 2.0 or (matrix[0][0] == STIFF and size * rate**remaining > 1.0)


@compiled
def _renew(t, weights, new, matrix, renewal, model, work, counts):
    """Newton's matrix where the iteration is: stiff forces turn with the mechanism, so that one from elsewhere leads astray."""
    if refresh(t, new, np.inf, matrix, renewal[1], model, work, renewal[2]) == CONVERGED:
        form(weights, matrix)
    counts[JACOBIANS] += 1


@compiled
def auxiliary(coefficients, start, a, w):
    """`w1` from `a1`."""
    _, _, alpha_m, alpha_f = coefficients
    for k in range(a.shape[0]):
        w[k] = ((1.0 - alpha_f) * a[k] + alpha_f * start[2][k] - alpha_m * start[3][k]) / (1.0 - alpha_m)


@compiled
def _at_rounding(kind, size, weights, q, v):
    """Whether a correction of the accelerations, which does not shrink any more, is hardly seen in positions and velocities.

    Multipliers for positions make accelerations of the rounding of these divided by `h^2`, whatever that does to the velocities.
    """
    move = size * weights[0] / (1.0 + largest(q))
    return (move <= 1e-13 and size * weights[1] <= 1e-10 * (1.0 + largest(v))) or (kind in (POSITION, CORRECTED) and move <= ROUNDING)


@compiled
def _place(kind, t, h, coefficients, first, start, new, scratch, model, work):
    """Positions and velocities at the end of the step, `Phi_q` there and the factors; what is wrong if it is not `CONVERGED`."""
    beta, gamma, _, _ = coefficients
    q0, v0, _, w0, _ = start
    q, v, _, w, _ = new
    d, ideal, defect = scratch[:3]
    G, nearness = part(model, work, lay.W_G), scratch[7:10]
    for k in range(v.shape[0]):
        ideal[k] = h * (v0[k] + h * ((0.5 - beta) * w0[k] + beta * w[k]))
        v[k] = v0[k] + h * ((1.0 - gamma) * w0[k] + gamma * w[k])
    if kind <= STABILISED:
        status = _nearest_position(t, first, q0, ideal, d, q, defect, G, nearness, model, work)
        if status != CONVERGED:
            return status
    else:
        kernels.retract(q0, ideal, model, q)
        kernels.place(q, model, work)
    kernels.phi_q(t, q, model, work, G)
    kernels.mass(t, q, model, work)
    head = header(model)
    if kkt.factor(model, work, head[lay.CONSTANT_MASS] == 0) > head[lay.DEPENDENT + 1]:
        return RANK_LOST
    if kind <= STABILISED:
        kkt.factor_rows(G, model, nearness[0], nearness[1])
    if kind == NULL_SPACE:
        _nearest_velocity(t, q, v, defect, G, nearness, model, work)
    elif kind == CORRECTED:
        correct_velocity(t, q, v, scratch, model, work)
    kernels.place_velocity(v, model, work)
    return CONVERGED


@compiled
def anchor(t, q, scratch, model, work):
    """`Phi_q` and the factors of `Phi_q Phi_q^T` at `q`, which a step begins with."""
    G = part(model, work, lay.W_G)
    kernels.place(q, model, work)
    kernels.phi_q(t, q, model, work, G)
    kkt.factor_rows(G, model, scratch[7], scratch[8])


@compiled
def _nearest_position(t, first, q0, ideal, d, q, defect, G, nearness, model, work):
    """The increment `d` with `Phi(t, q0 (+) d) = 0` that is nearest to the ideal one, by the gradients of the iteration before."""
    if first:
        d[:] = ideal
    else:
        for k in range(d.shape[0]):
            d[k] = ideal[k] - d[k]
        sparse.times(G, d, model, defect)
        d[:] = ideal
        correct(defect, G, model, nearness, d)
    before = np.inf
    for _ in range(OPENINGS):
        kernels.retract(q0, d, model, q)
        kernels.place(q, model, work)
        kernels.phi(t, q, model, work, defect)
        opening = largest(defect)
        if at_rounding(opening, q, G) or not opening < 2.0 * before:
            break
        if opening > 0.1 * before:
            kernels.phi_q(t, q, model, work, G)
            kkt.factor_rows(G, model, nearness[0], nearness[1])
        correct(defect, G, model, nearness, d)
        before = opening
    if not np.isfinite(opening):
        return NOT_FINITE
    return CONVERGED if first or opening <= OPEN * (1.0 + largest(q)) * max(1.0, largest(G)) else DIVERGED


@compiled
def _nearest_velocity(t, q, v, defect, G, nearness, model, work):
    """The velocities with `Phi_q v = nu` that are nearest to those of the formula; twice, if rounding asks for it."""
    nu = nearness[2]
    for _ in range(2):
        kernels.nu(t, q, model, work, nu)
        sparse.times(G, v, model, defect)
        for k in range(defect.shape[0]):
            defect[k] -= nu[k]
        if largest(defect) <= ROUNDING * (1.0 + largest(v)):
            return
        correct(defect, G, model, nearness, v)


@compiled
def correct_velocity(t, q, v, scratch, model, work):
    """Velocities on `Phi_q v = nu`, by multipliers: forces that depend on velocities are to see those that the step ends with."""
    kernels.nu(t, q, model, work, scratch[9])
    comply(v, scratch[9], scratch, model, work)


@compiled
def comply(x, b, scratch, model, work):
    """`x -= M^-1 Phi_q^T y` with `Phi_q x = b` after `kkt.factor`: what multipliers have done wrong is taken back, and nothing else."""
    rest, c, dx, y = scratch[3:7]
    sparse.times(part(model, work, lay.W_G), x, model, c)
    for k in range(c.shape[0]):
        c[k] = b[k] - c[k]
    sparse.fill(rest, 0.0)
    kkt.solve(model, work, rest, c, dx, y)
    for k in range(x.shape[0]):
        x[k] += dx[k]


@compiled
def _open(kind, t, weights, new, scratch, friction, model, work):
    """Residuals of the equations of motion, and of the constraints that the multipliers serve; what is wrong if they have none."""
    q, v, a, _, lam = new
    defect, r, c = scratch[2], scratch[3], scratch[4]
    G, y = part(model, work, lay.W_G), scratch[5]
    felt = lam  # the multipliers that forces depend on
    if friction is not None:
        felt = friction.lam if kind == CORRECTED else lam
        if kind == CORRECTED:
            kernels.gamma(t, q, v, model, work, c)
            status = accelerations(t, q, v, c, y, felt, model, work)
            if status != GOOD:
                return status
    kernels.force(t, q, v, felt, model, work, r)
    sparse.mass_times(kernels.mass_values(model, work), a, model, y)
    sparse.add_transposed(G, lam, model, y)
    for k in range(r.shape[0]):
        r[k] -= y[k]
    if kind in (POSITION, CORRECTED):
        kernels.phi(t, q, model, work, c)
        for k in range(c.shape[0]):
            c[k] /= -weights[0]
        return CONVERGED
    second = kind in (NULL_SPACE, ACCELERATION)
    if second:
        kernels.gamma(t, q, v, model, work, c)
        if kind == ACCELERATION:
            subtract_drift_term(t, q, v, model, work, c)
    else:
        kernels.nu(t, q, model, work, c)
    sparse.times(G, a if second else v, model, defect)
    scale = 1.0 if second else 1.0 / weights[1]
    for k in range(c.shape[0]):
        c[k] = scale * (c[k] - defect[k])
    return CONVERGED
