"""The error of a step of a symmetric method, from its ends and one evaluation of the equations of motion in the middle.

The ends `(q0, v0)` and `(q1, v1)` of a step have the order of the method, and so have the accelerations of the equations of motion there;
its stages have not. Their residuals in two quadrature formulas are

    r1 = y1 - y0 - h/2 (f0 + f1)          = -h^3/12 y''' + ...,          trapezoidal rule,
    r2 = y1 - y0 - h/6 (f0 + 4 fm + f1)   = h^5 (...) + ...,             Simpson's rule,

for `y = (q, v)`, `f = (T(q) v, a)`, where `fm` is evaluated at the cubic Hermite interpolant of the ends,
`ym = (y0 + y1)/2 + h/8 (f0 - f1)`: Lobatto IIIA of order 4, or Hermite-Simpson. For `y' = z/h y` they are `-z^3/12` and `z^5/720`. The
ratio `rho = |r1|/|r2|` tells how fast the errors of formulas of increasing order decrease, as in DOP853. The estimates of the methods of
order `p` are of order `h^p`, one less than the error of the step, so that the error at the end is proportional to the tolerances:

- Order 2: `|h/2 (f1 - f0)|/10`, a share of the residual of Euler's method.
- Order 4: `|r2|/4` with `ym = (3 y0 + y1)/4 + h/4 f0`, which gives `r2 = h^4 (...)`. For linear equations the step of Gauss of order 4 is
  that of Lobatto IIIA, and the residual above is zero.
- Order 6: `|r2| / (1 + rho^2/10)^(1/4)`.
- Order 8: `|r2| / (1 + rho^2/10)^(3/4)`.

The last two do not exceed `|r2|`, and after jumps `rho` is of the order of one. The norm is the root mean square over positions and
velocities, relative to the tolerances.

At kinks of the forces `r2` may be zero by chance, and the estimates of orders 6 and 8 are powers of it. The second difference of the
accelerations, `2 (a0 - 2 am + a1)`, is zero for no place of a kink. Where it is sudden, see `control.bend`, the estimate is at least
0.03 h times its norm: for a kink at `tau < c_1` the error of a step is `tau^2/2`, the difference `2 tau`, and the ratio at most `c_1/4`.

[Hairer, Norsett, Wanner, *Solving Ordinary Differential Equations I*, section II.10, *II*, section IV.5.]
"""

from ...compilation.compiled import compiled
from ...system import kernels
from ...system.codes import GOOD, NOT_FINITE
from ...system.evaluate import solve_motion
from ...system.vectors import fill, is_finite, largest
from ..control.bend import FINE, LAST, SUDDEN, is_sudden
from ..explicit.consistent import normalise
from ..explicit.errors import measured, weigh

SHARE_2, SHARE_4 = 0.1, 0.25  # of the residuals
RATIO_WEIGHT = 0.1  # of the square of the ratio of residuals
SHARE_KINK = 0.03  # of the second difference at a kink


@compiled
def estimate(t, h, run):
    """`(status, error)` of the step from `run.start` at `t` to `run.end`, with the accelerations of both in `run.rates`."""
    start, end, mid, rates, sums, order = run.start, run.end, run.mid, run.rates, run.sums, run.order
    a0, a1 = rates.a0, rates.a1
    weigh(run)
    kernels.qdot(t, start.q, start.v, run.model, rates.first)
    kernels.qdot(t + h, end.q, end.v, run.model, rates.last)
    # change of the rates, residual of the trapezoidal rule
    _rise(h, rates.first, rates.last, sums.q)
    _rise(h, a0, a1, sums.v)
    change = measured(run)
    _trapezoidal(h, start.q, end.q, rates.first, rates.last, sums.q)
    _trapezoidal(h, start.v, end.v, a0, a1, sums.v)
    low = measured(run)
    # the middle of the step
    _middle(h, order, start.q, end.q, rates.first, rates.last, mid.q)
    _middle(h, order, start.v, end.v, a0, a1, mid.v)
    for k in range(mid.lam.shape[0]):
        mid.lam[k] = 0.5 * (start.lam[k] + end.lam[k])
    if not is_finite(largest(mid.q) + largest(mid.v)):
        return NOT_FINITE, 0.0
    normalise(mid.q, mid.v, run.model)
    run.counts.residuals += 1
    run.counts.factorisations += 1
    run.counts.solves += 1
    status = solve_motion(t + 0.5 * h, mid.q, mid.v, mid.a, mid.lam, run.model, run.work)
    if status != GOOD:
        return status, 0.0
    kernels.qdot(t + 0.5 * h, mid.q, mid.v, run.model, rates.middle)
    # residual of Simpson's rule
    _simpson(h, rates.first, rates.middle, rates.last, sums.q)
    _simpson(h, a0, mid.a, a1, sums.v)
    error = combined(order, change, low, measured(run))
    return GOOD, max(error, _at_kink(h, a0, mid.a, a1, run)) if run.rtol <= FINE else error


@compiled
def combined(order, change, low, high):
    """The error from the norms of `h/2 (f1 - f0)` and of the residuals of the trapezoidal rule, `low`, and of Simpson's rule, `high`."""
    if order == 2:
        return SHARE_2 * change
    if order == 4:
        return SHARE_4 * high
    if high == 0.0:
        return 0.0
    return high / (1.0 + RATIO_WEIGHT * (low / high) ** 2) ** (0.25 if order == 6 else 0.75)


@compiled
def _at_kink(h, a0, am, a1, run):
    """The error by the second difference of the accelerations if that is sudden, otherwise 0."""
    fill(run.sums.q, 0.0)
    for k in range(a0.shape[0]):
        run.sums.v[k] = 2.0 * (a0[k] - 2.0 * am[k] + a1[k])
    constant = run.clock.steps > 0 and not run.second[LAST].any()  # as in free fall
    sudden = is_sudden(run.sums.v, run.weights.v, 0, h**2, SUDDEN, run.second) or constant
    return SHARE_KINK * abs(h) * measured(run) if sudden else 0.0


@compiled
def _rise(h, f0, f1, out):
    for k in range(out.shape[0]):
        out[k] = 0.5 * h * (f1[k] - f0[k])


@compiled
def _trapezoidal(h, x0, x1, f0, f1, out):
    for k in range(out.shape[0]):
        out[k] = x1[k] - x0[k] - 0.5 * h * (f0[k] + f1[k])


@compiled
def _middle(h, order, x0, x1, f0, f1, out):
    """The cubic polynomial of the ends in the middle; for order 4 the quadratic one without the rate at the end."""
    for k in range(out.shape[0]):
        if order == 4:
            out[k] = 0.75 * x0[k] + 0.25 * (x1[k] + h * f0[k])
        else:
            out[k] = 0.5 * (x0[k] + x1[k]) + 0.125 * h * (f0[k] - f1[k])


@compiled
def _simpson(h, f0, fm, f1, out):
    """The residual of Simpson's rule from that of the trapezoidal rule."""
    for k in range(out.shape[0]):
        out[k] += h / 3.0 * (f0[k] - 2.0 * fm[k] + f1[k])
