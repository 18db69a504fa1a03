"""The memory of the Jacobian of a run by `Bdf`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..jacobians.partitioned import Request
from ..jacobians.strategy import JacobianStrategy, Strategy, as_strategy
from ..system.contents import saved_array

_EVALUATIONS = ("jacobians", "updates", "_retries")


def not_resumable(jacobian: str | Strategy) -> str:
    """Why the memory of a Jacobian cannot be kept; empty if it can."""
    strategy = as_strategy(jacobian)
    if not isinstance(strategy, JacobianStrategy):
        return "has a Jacobian whose memory is not known"
    if strategy.source == "estimated" or strategy.update == "extended":
        return f"has the Jacobian {strategy.label!r}, whose patterns and mixed derivatives are not kept"
    return ""


def jacobian_contents(jacobian: Any) -> dict[str, np.ndarray]:
    """Of `mbdae.jacobians.partitioned.PartitionedJacobian`."""
    found = {f"jacobian.{name}": np.array(getattr(jacobian, name)) for name in _EVALUATIONS}
    found["jacobian.calls"] = np.array(jacobian.source.calls)
    if jacobian._last is not None:
        found["jacobian.last"] = np.array([*jacobian._last[:2], float(jacobian._last.evaluated), jacobian._t_state])
    if hasattr(jacobian, "_f_y"):
        found["jacobian.f_y"] = np.array(jacobian._f_y)
    return found


def resume_jacobian(jacobian: Any, saved: Mapping[str, np.ndarray]) -> None:
    """Go on with these contents."""
    for name in _EVALUATIONS:
        setattr(jacobian, name, int(saved_array(saved, f"jacobian.{name}").item()))
    difference = getattr(jacobian.source, "_difference", None)
    if difference is not None:
        difference.calls = int(saved_array(saved, "jacobian.calls"))
    if "jacobian.last" in saved:
        t, c, evaluated, jacobian._t_state = saved["jacobian.last"].tolist()
        jacobian._last = Request(t, c, bool(evaluated))
    if "jacobian.f_y" in saved:
        jacobian._f_y = saved["jacobian.f_y"].copy()
