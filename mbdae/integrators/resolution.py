"""Steps and tolerances below what floating-point numbers resolve."""

import numpy as np

EPS = float(np.finfo(float).eps)


def step_below_rounding(h: float, t0: float, t_end: float) -> str:
    """Why steps of the size `h` cannot lead from `t0` to `t_end`; empty if they can."""
    finest = EPS * max(abs(t0), abs(t_end))
    if abs(h) > finest or abs(h) >= abs(t_end - t0):
        return ""
    return f"steps of {abs(h):.3g} do not move the time, which is resolved to {finest:.3g}"


def tolerances_below_rounding(q: np.ndarray, v: np.ndarray, rtol: float, atol: float) -> str:
    """Why errors of `(q, v)` cannot be kept below `atol + rtol |x|`; empty if they can."""
    x = np.concatenate([np.abs(q), np.abs(v)])
    sizes = x / (atol + rtol * x)
    ratio = EPS * sizes.max() * np.sqrt(np.mean((sizes / sizes.max()) ** 2)) if sizes.any() else 0.0
    return f"the tolerances are below rounding, they must be larger by a factor of {ratio:.2g}" if ratio > 1.0 else ""
