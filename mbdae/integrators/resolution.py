"""Step sizes and tolerances below rounding."""

import warnings

import numpy as np

from ..system.assembly import State
from ..system.system import System
from ..typing import Tolerance, Vector

EPS = float(np.finfo(float).eps)
POSITION_ROUNDING = 2e-15  # of the constraints, relative to the positions
FINEST = 1e-14  # relative tolerance of a step of a one-step method, below which estimates are mainly rounding
NOISE = 1e-3  # relative error of accelerations and multipliers above which a warning is issued


def step_below_rounding(h: float, t0: float, t_end: float) -> str:
    """Why steps of size `h` from `t0` to `t_end` are not possible; empty if they are."""
    finest = EPS * max(abs(t0), abs(t_end))
    if abs(h) > finest or abs(h) >= abs(t_end - t0):
        return ""
    return f"steps of {abs(h):.3g} do not move the time, which is resolved to {finest:.3g}"


def warn_of_rounding(label: str, h: float, state: State, t_end: float, amplification: float = 1.0, frames: int = 6) -> None:
    """Warn of a step size `h` for which the rounding of positions, divided by `h^2`, spoils the multipliers.

    On the four-link mechanism the errors of the multipliers are 4e-4 with `h = 1e-6`, 3e-2 with 1e-7, 4 with 1e-8 for `HalfImplicit` and
    `FullyImplicit`, and 2e-2, 1 and 50 for Newmark's method and its relatives: `amplification` is their factor on rounding. The warning
    names the line of the user's call, `frames` levels up: this function, `integrate`, two of `solve`, its decorator, the call.
    """
    size, accelerations = 1.0 + np.abs(state.q).max(initial=0.0), 1.0 + np.abs(state.a).max(initial=0.0)
    smallest = float(np.sqrt(amplification * POSITION_ROUNDING * size / (NOISE * accelerations)))
    if h >= smallest or step_below_rounding(h, state.t, t_end) or h >= abs(t_end - state.t) or not state.lam.size:
        return
    warnings.warn(f"{label}: accelerations and multipliers contain the rounding of positions divided by h^2; take a step of "
                  f"{smallest:.1g} s or more, or a method whose multipliers follow from accelerations, such as NullSpaceNewmark",
                  stacklevel=frames)


def tolerances_below_rounding(q: Vector, v: Vector, rtol: float, atol: Tolerance) -> str:
    """Why errors of `(q, v)` cannot be kept below `atol + rtol |x|` (`atol` one number or one for each of them); empty if they can."""
    x = np.concatenate([np.abs(q), np.abs(v)])
    sizes = x / (atol + rtol * x)
    ratio = EPS * sizes.max() * np.sqrt(np.mean((sizes / sizes.max()) ** 2)) if sizes.any() else 0.0
    return f"the tolerances are below rounding, they must be larger by a factor of {ratio:.2g}" if ratio > 1.0 else ""


def share(local_error: float, rtol: float, finest: float) -> float:
    """The share of the tolerances for the error of a step: `local_error`, or more, up to 1, where `rtol` would be below `finest`."""
    return min(1.0, max(local_error, finest / rtol))


def impulse_of_rounding(system: System, state: State) -> float:
    """The largest impulse in a constraint that corrects the rounding of velocities, relative to that of the largest one.

    Rounding of velocities changes `g v`, with a row `g` of `Phi_q`, by up to `sum |g_j|`, which an impulse of this over `g M^-1 g^T`
    corrects; here with the sums of the rows of `M` in the place of that.
    """
    G, masses = system.phi_q(state.t, state.q), np.abs(system.mass_times(state.t, state.q, np.ones(system.nv)))
    with np.errstate(divide="ignore", invalid="ignore"):
        impulses = abs(G).sum(axis=1) / (G.power(2) @ (1.0 / masses))
    return float(impulses[np.isfinite(impulses)].max(initial=0.0))
