"""The equations of the stages solved: simplified Newton with one factorisation, or Newton's method with all stages coupled.

Simplified: derivatives of forces and reactions are left out, and the gradients of all stages are those in the middle of the step. With
`Y = (A A) dW`, `Z = (A A) dL` the stages fall apart,

    M Y_i + Phi_q^T Z_i = ((A A) r)_i,   Phi_q Y_i = -Phi_i/h^2,

and one factorisation of size `nv + nc` serves all. Corrections shrink by a factor of the order of `h` times the rate at which the
gradients turn, and of `h^2` times stiffness over mass. Where that is not enough the coupled matrix takes over, and stays.
"""

import numpy as np

from ...compilation.compiled import compiled, window
from ...system import kkt
from ...system import layout as lay
from ...system.codes import GOOD, NOT_FINITE
from ...system.dense import solve
from ...system.layout import count
from ...system.sparse import fill
from ...system.vectors import largest
from .stages import follow, put, put_rows

DIVERGED, UNSETTLED = 30, 33  # beside the codes of charts and those of the coupled matrix

# what is remembered from step to step
MODE, AGE, RATIO, CONTROL = range(4)
SIMPLIFIED, COUPLED = 0.0, 1.0
ITERATIONS, MATRICES, FACTORISATIONS, SOLVES, BEGUN, COUNTERS = range(6)

QUICK = 0.3  # rate of convergence up to which a matrix is kept anyway
PATIENCE = 12.0  # further iterations that it may ask for if it is slower
RETRY = 100.0  # steps with coupled matrices after which one is begun without
ROUNDING = 2e-15  # of positions, relative
NOISE = 1e-13  # corrections of positions, relative, that are rounding if they do not shrink
STILL = 1e-11  # the same for corrections that did shrink before, or after so many iterations
PATIENT = 4


@compiled
def solve_stages(t, h, start, stages, first, buffers, tableau, options, control, counts, tools):
    """The stages of one step from a guess in `stages`; returns `GOOD` or what is wrong.

    Where a matrix does not serve, one of all stages is formed, at the guess if the iteration was about to leave. If that does not help it
    begins once more without accelerations: those of stiff vibrations lead far away if they are taken to last for the step.

    `first` are the guesses again, for another attempt; `options` `(tol, max_iter)`; `tools` `(model, work, other, prepare, evaluate, form,
    matrix, pivots)`, three of them kernels. `counts` counts iterations, coupled matrices, factorisations and solves, and keeps
    the iterations before the step.
    """
    (rates, R, P, Y, Z, x), (tol, max_iter) = buffers, options
    model, work, other, prepare, evaluate, form, matrix, pivots = tools
    c, s = tableau[2], tableau[2].shape[0]
    counts[BEGUN] = counts[ITERATIONS]
    if control[MODE] == COUPLED:
        control[AGE] += 1.0
        control[MODE] = SIMPLIFIED if control[AGE] > RETRY else COUPLED
    size, shift, rate, clean, rest, formed, from_rest = np.inf, np.inf, 0.0, 0.0, np.inf, False, False
    follow(t, h, start, stages, rates, tableau, True, model)
    if control[MODE] == SIMPLIFIED or count(model, lay.DEPENDENT):
        status = prepare(t + 0.5 * h, _middle(stages), False, work, model, work)
        counts[FACTORISATIONS] += 1
        if status != GOOD:
            return status
        # no correction touches the part in the null space of Phi_q^T: extrapolated from step to step it would grow
        for i in range(s):
            kkt.minimise(model, work, stages[3][i])
    for iteration in range(1, max_iter + 1):
        counts[ITERATIONS] += 1
        good = True
        for i in range(s):
            good = good and evaluate(t + c[i] * h, stages[0][i], stages[1][i], stages[2][i], stages[3][i], model, work, R[i], P[i])
        if good:
            if control[MODE] == SIMPLIFIED:
                _simplified(h, R, P, Y, Z, x, tableau, stages, model, work)
                counts[SOLVES] += s
            else:
                _coupled(h, R, P, Y, x, stages, matrix, pivots)
                counts[SOLVES] += 1
            before, (size, shift) = size, _sizes(h, Y, stages, start, tableau, control[MODE] == COUPLED)
            rate = size / before if before < np.inf else 0.0
            good = np.isfinite(size)
        if good:
            follow(t, h, start, stages, rates, tableau, False, model)
            settled, noisy, clean, rest = _judge(size, shift, rate, iteration, tol, clean, rest)
            if settled:
                return GOOD
            if noisy or (rate < 1.0 and (rate <= QUICK or np.log(tol / size) / np.log(rate) <= PATIENCE)):
                continue
        leaving = not good or rate >= 1.0
        if leaving and from_rest:
            return DIVERGED if good else NOT_FINITE
        if leaving or control[MODE] == SIMPLIFIED:
            from_rest = leaving and formed
            _again(from_rest, start, first, stages)
            follow(t, h, start, stages, rates, tableau, True, model)
        control[MODE], control[AGE], formed, size, clean, rest = COUPLED, 0.0, True, np.inf, 0.0, np.inf
        status = form(t, h, stages, ((tableau[0], tableau[5]), c), model, work, other, matrix, pivots)
        if status != GOOD:
            control[MODE] = SIMPLIFIED
            return status
        counts[MATRICES] += 1
    return UNSETTLED


@compiled
def _again(from_rest, start, first, stages):
    """Another attempt: without accelerations, or with the guesses."""
    if from_rest:
        _rest(start, stages)
    else:
        put_rows(first[0], stages[2])
        put_rows(first[1], stages[3])


@compiled
def _rest(start, stages):
    """No accelerations, and the multipliers of the start."""
    for i in range(stages[2].shape[0]):
        fill(stages[2][i], 0.0)
        put(start[3], stages[3][i])


@compiled
def _judge(size, shift, rate, iteration, tol, clean, rest):
    """Whether the iteration has ended, whether this correction was noise, the rate of convergence, and the correction without noise.

    Positions are known to rounding, and what that makes of the velocities, `1/h` times as much, is no measure of what is left of them in
    the directions that the constraints leave free. Once a correction is noise, the rate before it tells how they shrink.
    """
    noisy = shift <= ROUNDING or (clean > 0.0 and rate > 2.0 * clean and shift <= STILL)
    if noisy and clean > 0.0:
        rest *= clean
    elif 0.0 < rate < 1.0:
        clean, rest = rate, size
    else:
        rest = size
    settled = size <= tol or (clean > 0.0 and clean / (1.0 - clean) * rest <= tol)
    if not settled and iteration > 1:
        settled = (noisy and clean == 0.0) or (rate > 0.5 and shift <= (NOISE if iteration <= PATIENT else STILL) and rest == size)
    return settled, noisy, clean, rest


@compiled
def _middle(stages):
    """Positions in the middle of the step: those of the middle stage, or the mean of the two next to it."""
    Q = stages[0]
    s = Q.shape[0]
    q = np.empty(Q.shape[1])
    for k in range(q.shape[0]):
        q[k] = 0.5 * (Q[(s - 1) // 2, k] + Q[s // 2, k])
    return q


@compiled
def _simplified(h, R, P, Y, Z, x, tableau, stages, model, work):
    """The correction; afterwards `Y = (A A) dW`."""
    AA, inverse = tableau[5], tableau[7]
    s, nv, nc = R.shape[0], R.shape[1], P.shape[1]
    b, p = window(x, 0, nv), window(x, nv, nc)
    for i in range(s):
        for k in range(nv):
            total = 0.0
            for j in range(s):
                total += AA[i, j] * R[j, k]
            b[k] = total
        for k in range(nc):
            p[k] = -P[i, k] / (h * h)
        kkt.solve(model, work, b, p, Y[i], Z[i])
    _add(inverse, Y, stages[2])
    _add(inverse, Z, stages[3])


@compiled
def _add(matrix, rows, out):
    """`out += matrix rows`."""
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            total = 0.0
            for j in range(rows.shape[0]):
                total += matrix[i, j] * rows[j, k]
            out[i, k] += total


@compiled
def _right(h, R, P, x):
    """The right-hand side of a correction: `r_i`, `-Phi_i/h^2`."""
    s, nv, nc = R.shape[0], R.shape[1], P.shape[1]
    n = nv + nc
    for i in range(s):
        for k in range(nv):
            x[i * n + k] = R[i, k]
        for k in range(nc):
            x[i * n + nv + k] = -P[i, k] / (h * h)


@compiled
def _coupled(h, R, P, Y, x, stages, matrix, pivots):
    """The correction; afterwards `Y = dW`."""
    s, nv, nc = R.shape[0], R.shape[1], P.shape[1]
    _right(h, R, P, x)
    solve(matrix, pivots, x)
    n = nv + nc
    for i in range(s):
        for k in range(nv):
            Y[i, k] = x[i * n + k]
            stages[2][i, k] += Y[i, k]
        for k in range(nc):
            stages[3][i, k] += x[i * n + nv + k]


@compiled
def _sizes(h, Y, stages, start, tableau, is_coupled):
    """The correction of the velocities and that of the positions of the stages, relative to the largest ones."""
    AA, back, A = tableau[5], tableau[6], tableau[0]
    s, nv = Y.shape
    speed = shift = 0.0
    for i in range(s):
        for k in range(nv):
            dv = dq = 0.0
            for j in range(s):  # dv = A dW = A^-1 (A A) dW
                dv += (A[i, j] if is_coupled else back[i, j]) * Y[j, k]
                dq += (AA[i, j] if is_coupled else (1.0 if i == j else 0.0)) * Y[j, k]
            speed, shift = max(speed, abs(h * dv)), max(shift, abs(h * h * dq))
            if not (np.isfinite(dv) and np.isfinite(dq)):
                return np.inf, np.inf
    fastest = 1.0 + largest(start[1])
    for i in range(s):
        fastest = max(fastest, largest(stages[1][i]))
    return speed / fastest, shift / (1.0 + largest(start[0]))
