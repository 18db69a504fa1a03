"""Fused kernels of multibody systems: every family in turn, none for nothing. The state must have been placed (see `frames`)."""

import numpy as np

from ..compilation.compiled import compiled
from . import layout as lay
from .elements import angle, cd, coincident, distance, dp1, dp2, pin, turn
from .layout import BODY_T, ELEMENT_T, FRICTION_T, LOAD_T, MOTION_T, SPRING_T, USER_FORCE_T, count, table
from .loads import friction, gravity, load, rsda, tsda, user_force
from .sparse import fill
from .vec3 import vec


@compiled
def phi(t, q, model, work, out):
    X, m = lay.frames(model, work), table(model, lay.MOTION, MOTION_T)
    if count(model, lay.COINCIDENT):
        coincident.phi(table(model, lay.COINCIDENT, ELEMENT_T), X, out)
    if count(model, lay.PIN):
        pin.phi(table(model, lay.PIN, ELEMENT_T), X, out)
    if count(model, lay.DP1):
        dp1.phi(table(model, lay.DP1, ELEMENT_T), t, m, X, out)
    if count(model, lay.DP2):
        dp2.phi(table(model, lay.DP2, ELEMENT_T), t, m, X, out)
    if count(model, lay.DISTANCE):
        distance.phi(table(model, lay.DISTANCE, ELEMENT_T), t, m, X, out)
    if count(model, lay.CD):
        cd.phi(table(model, lay.CD, ELEMENT_T), t, m, X, out)
    if count(model, lay.TURN):
        turn.phi(table(model, lay.TURN, ELEMENT_T), t, m, X, out)
    if count(model, lay.ANGLE):
        angle.phi(table(model, lay.ANGLE, ELEMENT_T), t, m, q, out)


@compiled
def phi_q(t, model, work, G):
    X, m = lay.frames(model, work), table(model, lay.MOTION, MOTION_T)
    if count(model, lay.COINCIDENT):
        coincident.rows(table(model, lay.COINCIDENT, ELEMENT_T), X, G)
    if count(model, lay.PIN):
        pin.rows(table(model, lay.PIN, ELEMENT_T), X, G)
    if count(model, lay.DP1):
        dp1.rows(table(model, lay.DP1, ELEMENT_T), X, G)
    if count(model, lay.DP2):
        dp2.rows(table(model, lay.DP2, ELEMENT_T), X, G)
    if count(model, lay.DISTANCE):
        distance.rows(table(model, lay.DISTANCE, ELEMENT_T), X, G)
    if count(model, lay.CD):
        cd.rows(table(model, lay.CD, ELEMENT_T), X, G)
    if count(model, lay.TURN):
        turn.rows(table(model, lay.TURN, ELEMENT_T), t, m, X, G)
    if count(model, lay.ANGLE):
        angle.rows(table(model, lay.ANGLE, ELEMENT_T), G)


@compiled
def nu(t, model, work, out):
    X, m = lay.frames(model, work), table(model, lay.MOTION, MOTION_T)
    fill(out, 0.0)
    if count(model, lay.DP1):
        dp1.nu(table(model, lay.DP1, ELEMENT_T), t, m, out)
    if count(model, lay.DP2):
        dp2.nu(table(model, lay.DP2, ELEMENT_T), t, m, out)
    if count(model, lay.DISTANCE):
        distance.nu(table(model, lay.DISTANCE, ELEMENT_T), t, m, out)
    if count(model, lay.CD):
        cd.nu(table(model, lay.CD, ELEMENT_T), t, m, out)
    if count(model, lay.TURN):
        turn.nu(table(model, lay.TURN, ELEMENT_T), t, m, X, out)
    if count(model, lay.ANGLE):
        angle.nu(table(model, lay.ANGLE, ELEMENT_T), t, m, out)


@compiled
def gamma(t, model, work, out):
    X, m = lay.frames(model, work), table(model, lay.MOTION, MOTION_T)
    if count(model, lay.COINCIDENT):
        coincident.gamma(table(model, lay.COINCIDENT, ELEMENT_T), X, out)
    if count(model, lay.PIN):
        pin.gamma(table(model, lay.PIN, ELEMENT_T), X, out)
    if count(model, lay.DP1):
        dp1.gamma(table(model, lay.DP1, ELEMENT_T), t, m, X, out)
    if count(model, lay.DP2):
        dp2.gamma(table(model, lay.DP2, ELEMENT_T), t, m, X, out)
    if count(model, lay.DISTANCE):
        distance.gamma(table(model, lay.DISTANCE, ELEMENT_T), t, m, X, out)
    if count(model, lay.CD):
        cd.gamma(table(model, lay.CD, ELEMENT_T), t, m, X, out)
    if count(model, lay.TURN):
        turn.gamma(table(model, lay.TURN, ELEMENT_T), t, m, X, out)
    if count(model, lay.ANGLE):
        angle.gamma(table(model, lay.ANGLE, ELEMENT_T), t, m, out)


@compiled
def force(t, q, lam, model, work, out):
    bodies, X = table(model, lay.BODY, BODY_T), lay.frames(model, work)
    m = table(model, lay.MOTION, MOTION_T)
    fill(out, 0.0)
    gravity.forces(bodies, vec(table(model, lay.GRAVITY, np.float64)), X, out)
    if count(model, lay.TSDA):
        tsda.forces(table(model, lay.TSDA, SPRING_T), bodies, t, X, out)
    if count(model, lay.RSDA):
        rsda.forces(table(model, lay.RSDA, SPRING_T), bodies, t, q, X, out)
    if count(model, lay.LOAD):
        load.forces(table(model, lay.LOAD, LOAD_T), bodies, m, t, X, out)
    if count(model, lay.USER_FORCE):
        users = table(model, lay.USER_FORCE, USER_FORCE_T)
        user_force.forces(users, table(model, lay.USER_IDS, np.int64), bodies, t, X, out)
    if count(model, lay.FRICTION):
        friction.forces(table(model, lay.FRICTION, FRICTION_T), bodies, X, lam, out)


@compiled
def mass(model, out):
    """Mass blocks: `m` on the translations, `J` on the rotations; constant."""
    bodies = table(model, lay.BODY, BODY_T)
    at = 0
    for b in range(bodies.shape[0]):
        for _ in range(2 if bodies[b]["kind"] == lay.PLANAR else 3):
            out[at] = bodies[b]["mass"]
            at += 1
        J = bodies[b]["J"]
        if bodies[b]["kind"] == lay.PLANAR:
            out[at] = J[8]
            at += 1
        elif bodies[b]["kind"] == lay.RIGID:
            if J[1] == 0.0 and J[2] == 0.0 and J[5] == 0.0:
                out[at], out[at + 1], out[at + 2] = J[0], J[4], J[8]
                at += 3
            else:
                for k in range(9):
                    out[at + k] = J[k]
                at += 9
