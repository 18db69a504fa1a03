"""Jumps of forces within a step: error estimates see them wherever they lie, also where no stage of a formula is."""

import math

import numba
import numpy as np
import pytest
from scipy.optimize import brentq

import mbdae

EDGE, PULL, SPEED, T_END = 0.3, 20.0, 2.0, 0.12


@numba.njit
def pull(t, r, A, v, omega, F, T):
    F[0, 0] = -r[0, 0] - (PULL if r[0, 0].real < EDGE else 0.0)


def particle(x0):
    body = mbdae.Particle("particle", 1.0, (x0, 0.0, 0.0), velocity=(-SPEED, 0.0, 0.0))
    plane = [mbdae.CD(axis, "ground", "particle", c=c) for axis, c in (("y", (0.0, 1.0, 0.0)), ("z", (0.0, 0.0, 1.0)))]
    return mbdae.System(mbdae.Mechanism("edge", [body], plane, [], [mbdae.UserForce("pull", ("particle",), pull)]))


def exact(x0):
    """Position and velocity at the end: two harmonic motions that meet at the edge."""
    def first(t):
        return x0 * math.cos(t) - SPEED * math.sin(t), -x0 * math.sin(t) - SPEED * math.cos(t)

    t = brentq(lambda t: first(t)[0] - EDGE, 0.0, 1.0, xtol=1e-15)
    x, v = first(t)
    s = T_END - t
    return (x + PULL) * math.cos(s) + v * math.sin(s) - PULL, -(x + PULL) * math.sin(s) + v * math.cos(s)


METHODS = (mbdae.SdirkFirstOrder(), mbdae.SdirkFirstOrder(filter=True), mbdae.SdirkDescriptor(), mbdae.SdirkDescriptor(matrix="sparse"),
           mbdae.RosenbrockNystrom(), mbdae.TrapezoidalStateSpace(), mbdae.TrapezoidalDescriptor())


@pytest.mark.parametrize("rtol", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{type(m).__name__}{'-filtered' * m.filter}{'-sparse' * m.sparse}")
def test_a_jump_anywhere_within_a_step_is_seen(method, rtol):
    errors = []
    for x0 in np.linspace(0.34, 0.46, 13):
        found = mbdae.solve(particle(x0), method, (0.0, T_END), rtol=rtol, atol=rtol)
        assert found.success, found.message
        x, v = exact(x0)
        errors.append(max(abs(found.q[-1, 0] - x), abs(found.v[-1, 0] - v)) / rtol)
    assert max(errors) <= 100.0
    assert np.median(errors) <= 20.0
