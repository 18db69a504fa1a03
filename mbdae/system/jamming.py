"""The message where the fixed-point equation of friction and reaction forces has no solution: the joint jams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.forces import Friction
from ..typing import Vector
from .dynamics import jammed_row

if TYPE_CHECKING:
    from .system import System


def jammed(system: System, work: Vector, t: float) -> str:
    """Why `accelerations` has just returned `NO_FRICTION` at `t`, with the joint; `work` is that of the evaluation."""
    return (f"{_culprit(system, jammed_row(system.model, work))} jams at t = {t:.9g}: friction raises the reactions that it grows with, "
            "and no accelerations that are connected with the motion without friction satisfy the equations of motion")


def _culprit(system: System, row: int | None) -> str:
    if row is None:
        return "a joint with friction"
    m = system.constrained
    if m is None:
        return f"the constraint {system.labels[row]!r}"
    joints = [f.joint for f in m.forces if isinstance(f, Friction) and row in m.normal_rows(f)]
    return f"joint {joints[0]!r}"
