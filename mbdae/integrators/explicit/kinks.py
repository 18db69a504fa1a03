"""Kinks of the forces within a step: where they are, and short steps across them.

Where a wheel leaves the road or a law changes its formula the accelerations have a kink, and a step of order 8 an error of hundreds of
tolerances. Steps that shrink by the order of the method approach it in five to eight attempts. The accelerations of the stages of a
rejected step tell where it is: over their times `t + c h` they are nearly

    a(c) = p(c) + b max(c - tau, 0),   p a polynomial of degree 5,

and `tau` is the place for which this least-squares problem has the least residual. If it explains the accelerations, the next step ends
before the kink, the following one crosses it with the length that the error allows, and then the steps have the former length again.
"""

from typing import NamedTuple

import numpy as np

from ...compilation.compiled import compiled
from ...system.codes import ERROR_TEST, GOOD
from ...system.vectors import dot
from ..control.bend import FINE
from ..control.loop import filtered

HALVINGS = 5  # of their distance, for a better one beside the best
LARGE = 2.0  # errors above which a kink is looked for
EXPLAINED = 0.998  # share of the residual of the polynomial that a kink explains; less may be a smooth motion with steps far too long
ACCURACY = 0.02  # of its place, relative to the step
ALLOWED = 0.1  # error of the step across the kink, if errors grow with the square of its length
AGAIN = 0.9  # length of the step after it, relative to the rejected one
NOTHING, BEFORE, ACROSS = range(3)  # what the present step is


class Place(NamedTuple):
    """Where a hinge explains the accelerations best, relative to the step, and the share of the residual that it explains."""

    tau: float
    explained: float


@compiled
def ratio(status, error, h, run):
    """The ratio of the next step to this one: the controller's, except next to a kink."""
    kink, usual = run.memory.kink, filtered(status, error, h, run)
    stage = kink.stage
    kink.stage = NOTHING
    if status == GOOD:
        return _after(stage, usual, h, kink)
    if status != ERROR_TEST:
        return usual
    kink.rejected = max(kink.rejected, abs(h))
    if stage == BEFORE or run.rtol > FINE or not LARGE < error < np.inf:  # the place was wrong, or the kink has nearly been crossed
        kink.stage = ACROSS if stage == ACROSS else NOTHING
        return usual
    place = find(run.stages.v, run.weights.v, run.tableau.hinges)
    if not place.explained >= EXPLAINED:
        return usual
    across = max(ACCURACY, np.sqrt(ALLOWED / error))
    if place.tau <= across:
        kink.stage = ACROSS
        return min(place.tau + 0.5 * across, usual)
    kink.stage, kink.across = BEFORE, across * abs(h)
    return place.tau - 0.5 * across


@compiled
def _after(stage, usual, h, kink):
    """The ratio after an accepted step."""
    if stage == BEFORE:
        kink.stage = ACROSS
        return kink.across / abs(h)
    rejected = kink.rejected
    kink.rejected = 0.0
    return max(usual, AGAIN * rejected / abs(h)) if stage == ACROSS else usual


@compiled
def find(a, weights, h):
    """The `Place` of a kink of the accelerations `a` of the stages, by rows, with weights of their components."""
    n, s = h.hinges.shape
    if n == 0:
        return Place(0.0, 0.0)
    gram, hinge, total = np.zeros((s, s)), np.empty(s), 0.0
    _residuals(a, weights, h.smooth, gram)
    for i in range(s):
        total += gram[i, i]
    # the best of the candidates, then of places beside it
    tau, most = 0.0, 0.0
    for k in range(n):
        gain = _gain(gram, h.hinges[k])
        if gain > most:
            tau, most = h.places[k], gain
    shift = h.places[1] - h.places[0]
    for _ in range(HALVINGS):
        shift *= 0.5
        centre = tau
        for beside in (centre - shift, centre + shift):
            place = min(max(beside, h.places[0]), h.places[n - 1])
            _put_hinge(place, h, hinge)
            gain = _gain(gram, hinge)
            if gain > most:
                tau, most = place, gain
    return Place(tau, most / total if total > 0.0 else 0.0)


@compiled
def _gain(gram, hinge):
    """What a hinge explains of the residuals with this Gram matrix."""
    total = 0.0
    for i in range(hinge.shape[0]):
        total += hinge[i] * dot(gram[i], hinge)
    return total


@compiled
def _residuals(a, weights, smooth, gram):
    """The Gram matrix of the residuals of the polynomials, over all components."""
    s = smooth.shape[1]
    residual = np.empty(s)
    for k in range(weights.shape[0]):
        for i in range(s):
            residual[i] = weights[k] * a[i, k]
        _subtract_smooth(smooth, residual)
        for i in range(s):
            for j in range(s):
                gram[i, j] += residual[i] * residual[j]


@compiled
def _put_hinge(tau, h, out):
    """The normalised hinge with its kink at `tau`, orthogonal to the polynomials."""
    for i in range(out.shape[0]):
        out[i] = max(h.c[i] - tau, 0.0)
    _subtract_smooth(h.smooth, out)
    size = np.sqrt(dot(out, out))
    for i in range(out.shape[0]):
        out[i] /= size


@compiled
def _subtract_smooth(smooth, x):
    """The residual of `x` after the polynomials."""
    for j in range(smooth.shape[0]):
        part = dot(smooth[j], x)
        for i in range(x.shape[0]):
            x[i] -= part * smooth[j, i]
