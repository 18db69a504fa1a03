"""How much of `N N^T lam` implicit forms add to redundant constraint equations, see `pieces.regularise`.

On the level of accelerations the constraint equations and `N N^T lam / m`, with a mean mass `m` of the constraint directions, are of the
same size. Solutions do not depend on the weight, iteration matrices do: on the levels of velocities and positions they hold `h / m` and
`h^2 / m` in the place of `1 / m`. Where the weight is larger by many orders, as with the first steps that solvers choose, errors of the
matrix hide the other constraints; where it is smaller, deviations from the constraints show in the multipliers.
"""

import numpy as np

from ..system import evaluate as ev
from ..system import layout as lay
from ..system.system import System

WEIGHT = {"position": 1e-10, "velocity": 1e-7, "acceleration": 1.0}  # times m, in powers of seconds; found by trying


def regularisation_weight(system: System, level: str) -> float:
    """The factor of `N N^T lam` in constraint equations on the level of `"position"`, `"velocity"` or `"acceleration"`."""
    work, head = system.workspace(), system._header
    ev.factor(0.0, system.initial_guess()[0], system.model, work)
    G, W = (work[head[k]:head[k] + system.nnz] for k in (lay.W_G, lay.W_W))
    inverse_mass = float(W @ W / (G @ G))  # W = Phi_q M^-1/2
    return WEIGHT[level] * (inverse_mass if np.isfinite(inverse_mass) else 1.0)
