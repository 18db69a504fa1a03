"""Faults of constraints, starts and masses."""

from dataclasses import replace

import numpy as np

import mbdae
from mbdae import Status

from ..helpers import double_pendulum
from . import models
from .fault import Trial, fault
from .outcomes import Promise
from .subjects import Subject

GROUP = "Constraints and initial values"


def _shifted(**changes) -> mbdae.State:
    s = mbdae.assemble(models.single())
    return replace(s, **{name: getattr(s, name) + change for name, change in changes.items()})


@fault(GROUP, "positions of a `State` off the constraints by 0.1 m", "refused, with the joint")
def inconsistent_positions(subject: Subject) -> Trial:
    state = _shifted(q=np.array([0.1, 0, 0, 0, 0, 0]))
    return Trial(lambda: subject.solve(models.single(), (0.0, 0.1), state=state), Promise(refusal="top"))


@fault(GROUP, "velocities of a `State` off the constraints by 1 m/s", "refused, with the joint")
def inconsistent_velocities(subject: Subject) -> Trial:
    state = _shifted(v=np.array([1.0, 0, 0, 0, 0, 0]))
    return Trial(lambda: subject.solve(models.single(), (0.0, 0.1), state=state), Promise(refusal="top"))


@fault(GROUP, "accelerations and multipliers of a `State` off the equations", "refused")
def inconsistent_accelerations(subject: Subject) -> Trial:
    state = _shifted(a=1.0, lam=-3.0)
    return Trial(lambda: subject.solve(models.single(), (0.0, 0.1), state=state), Promise(refusal="equations of motion"))


@fault(GROUP, "a constraint given twice", "solved")
def duplicated_constraint(subject: Subject) -> Trial:
    return Trial(lambda: subject.solve(models.doubled_system(), (0.0, 0.1)), Promise(models.whole(models.single, 0.1)))


@fault(GROUP, "two constraints that contradict each other", "refused, with both")
def contradictory_constraints(subject: Subject) -> Trial:
    return Trial(lambda: subject.solve(models.doubled(0.1), (0.0, 0.1)), Promise(refusal="top|no degree of freedom"))


@fault(GROUP, "redundant equations that change on the way (a door on two ball joints that tumbles)", "solved")
def redundant_rows_change(subject: Subject) -> Trial:
    return Trial(lambda: subject.solve(models.hinged_by_balls(), (0.0, 0.5)), Promise(models.whole(models.hinged_by_a_pin, 0.5)))


@fault(GROUP, "a true singular position on the way (Bennett's linkage with 17 equations)", "solved, or ended there")
def singular_position(subject: Subject) -> Trial:
    right = models.whole(models.overconstrained, 0.8)
    ended = (Status.SINGULAR, Status.STEP_TOO_SMALL, Status.NEWTON_FAILED, Status.CHART_LOST)
    return Trial(lambda: subject.solve(models.crossing(), (0.0, 0.8)),
                 Promise(right, ended, (0.6, 0.71), right, culprit="rank|singular|joint", rough=True, checked=0.6))


@fault(GROUP, "a body without mass", "refused, with the body")
def zero_mass(subject: Subject) -> Trial:
    def run():
        m = double_pendulum()
        return subject.solve(replace(m, bodies=[replace(m.bodies[0], mass=0.0), m.bodies[1]]), (0.0, 0.1))

    return Trial(run, Promise(refusal="upper"))


@fault(GROUP, "a planar body without moment of inertia", "refused, with the body")
def zero_inertia(subject: Subject) -> Trial:
    def run():
        m = double_pendulum()
        return subject.solve(replace(m, bodies=[m.bodies[0], replace(m.bodies[1], inertia=0.0)]), (0.0, 0.1))

    return Trial(run, Promise(refusal="lower"))


@fault(GROUP, "a quaternion of length 1.2 in a `State`", "refused, with the body")
def long_quaternion(subject: Subject) -> Trial:
    s = mbdae.assemble(models.hinged_by_a_pin())
    q = s.q.copy()
    q[3:7] *= 1.2
    return Trial(lambda: subject.solve(models.hinged_by_a_pin(), (0.0, 0.1), state=replace(s, q=q)), Promise(refusal="frame"))
