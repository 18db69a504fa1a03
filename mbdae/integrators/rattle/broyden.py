"""Broyden's method with a symmetric matrix `B` in the place of the Jacobian matrix, and with the inner product `x . B y`.

Corrections `z_k = -B^-1 F(x_k)` of the simplified Newton method become those of Broyden's method by the corrections before them
[C. T. Kelley, Iterative methods for linear and nonlinear equations, SIAM 1995, algorithm brsol]. Where the derivatives that `B` lacks have
few large eigenvalues, as those of damping in some joints, it converges where the simplified Newton method does not.
"""

import numpy as np

from ...compilation.compiled import compiled
from ...compilation.structure import Structure
from ...system.vectors import put
from ...typing import Matrix

ROWS = 16  # corrections that are remembered
LARGEST = 0.8  # share of a correction in the next one, above which it is not lengthened


class Corrections(Structure):
    """Corrections `s_j` and `B s_j`, by rows."""

    steps: Matrix
    images: Matrix


def new_corrections(n: int) -> Corrections:
    """Room for corrections of this size."""
    return Corrections(steps=np.zeros((ROWS, n)), images=np.zeros((ROWS, n)))


@compiled
def accelerated(k, z, image, past):
    """Broyden's correction number `k = 0, 1, ...` into `z`, for the simplified Newton correction `z` and `image = B z`."""
    k %= ROWS  # then the method begins anew
    steps, images = past.steps, past.images
    for j in range(k):
        share = _dot(images[j], z) / max(_dot(images[j], steps[j]), 1e-300)
        if j < k - 1:
            for i in range(z.shape[0]):
                z[i] += share * steps[j + 1, i]
                image[i] += share * images[j + 1, i]
        elif share < LARGEST:
            for i in range(z.shape[0]):
                z[i] /= 1.0 - share
                image[i] /= 1.0 - share
    put(z, steps[k])
    put(image, images[k])


@compiled
def _dot(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * y[i]
    return s
