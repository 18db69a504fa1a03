"""States on the constraints: projected positions and velocities, accelerations and multipliers of the equations of motion."""

import numpy as np

from ...compilation.compiled import compiled, generic
from ...system import kernels
from ...system import layout as lay
from ...system.codes import GOOD, NOT_FINITE
from ...system.layout import header
from ...system.motion import refined_accelerations
from ...system.vectors import is_finite, largest
from ..projections.levels import positions, positions_beside, velocities, velocities_at
from .stages import evaluate


@compiled
def make_consistent(t, state, run, model):
    """Project `q` and `v` in the metric of the mass matrix, and solve for `a` and `lam`; `GOOD` or the code of a failure.

    The factors that the projection leaves belong to the projected positions up to rounding; one refinement removes the rest.
    """
    return _make_consistent(_project, t, state, run, model)


@compiled
def make_consistent_after_stage(t, state, run, model):
    """The same after the evaluation of a stage at the same time, whose factors serve for the positions; with one factorisation."""
    return _make_consistent(_project_after_stage, t, state, run, model)


@generic
def _make_consistent(project, t, state, run, model):
    q, v = state.q, state.v
    if not is_finite(largest(q) + largest(v)):
        return NOT_FINITE
    normalise(q, v, model)
    if state.lam.shape[0] == 0:
        return evaluate(t, state, run, model)
    status = project(t, q, v, run, model)
    if status != GOOD:
        return status
    run.counts.residuals += 1
    run.counts.solves += 2
    kernels.place_velocity(v, model, run.work)
    return refined_accelerations(t, q, v, state.a, state.lam, model, run.work)


@compiled
def _project(t, q, v, run, model):
    status = positions(t, q, run.projection, model, run.work)
    if status == GOOD:
        velocities(t, q, v, run.projection.metric, run.projection, model, run.work)
    return status


@compiled
def _project_after_stage(t, q, v, run, model):
    status = positions_beside(t, q, run.projection, model, run.work)
    if status == GOOD:
        velocities_at(t, q, v, run.projection, model, run.work)
    return status


@compiled
def normalise(q, v, model):
    """Give quaternions the length one; `v` for its length only."""
    if header(model)[lay.KIND] != lay.USER and not header(model)[lay.IDENTITY_MAP]:
        kernels.retract(q, np.zeros_like(v), model, q)
