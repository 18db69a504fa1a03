"""The track of the rail carriage: straight, an arc to the left, straight, an arc to the right, straight; level. See `rail_carriage`.

The curvature `kappa(s)` of the centre line goes from 0 to `CURVATURE` and back over the length `RAMP` with two continuous derivatives. The
heading `psi` is its integral, the centre line that of `(cos psi, sin psi)`.
"""

import numpy as np

from ..compilation.compiled import compiled

CURVATURE, RAMP = 1.0 / 300.0, 3.0
RAMPS = np.array([25.0, 56.8, 65.8, 97.6])  # where the curvature begins to change
SIGNS = np.array([1.0, -1.0, -1.0, 1.0])
EDGES = np.sort(np.concatenate([RAMPS, RAMPS + RAMP]))  # between them the heading is a polynomial
NODES, SHARES = (x / 2.0 for x in np.polynomial.legendre.leggauss(6))  # on [-1/2, 1/2]


@compiled
def track(s):
    """`kappa, kappa', psi` at the arc length `s`."""
    kappa = rate = heading = 0.0 * s
    for k in range(RAMPS.shape[0]):
        x = (s - RAMPS[k]) / RAMP
        if x.real >= 1.0:
            kappa += SIGNS[k]
            heading += SIGNS[k] * (x - 0.5)
        elif x.real > 0.0:
            kappa += SIGNS[k] * x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
            rate += SIGNS[k] * 30.0 * x**2 * (1.0 - x) ** 2
            heading += SIGNS[k] * x**4 * (2.5 - 3.0 * x + x**2)
    return CURVATURE * kappa, CURVATURE * rate / RAMP, CURVATURE * RAMP * heading


@compiled
def chord(s0, s1):
    """From the centre line at `s0` to that at `s1`, forward and to the left, in the axes of the track at `s0`.

    By Gauss's formula on each piece of the track in between.
    """
    heading = track(s0)[2]
    low, high, sign = (s0, s1, 1.0) if s0.real <= s1.real else (s1, s0, -1.0)
    forward = left = 0.0 * (s0 + s1)
    begin = low + 0.0 * high
    for k in range(EDGES.shape[0] + 1):
        end = high + 0.0 * low
        if k < EDGES.shape[0]:
            if EDGES[k] <= begin.real:
                continue
            if EDGES[k] < high.real:
                end = EDGES[k] + 0.0 * end
        for i in range(NODES.shape[0]):
            turn = track(0.5 * (begin + end) + NODES[i] * (end - begin))[2] - heading
            forward += SHARES[i] * (end - begin) * np.cos(turn)
            left += SHARES[i] * (end - begin) * np.sin(turn)
        begin = end
        if not begin.real < high.real:
            break
    return sign * forward, sign * left
