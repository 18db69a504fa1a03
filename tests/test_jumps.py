"""Jumps of forces within a step: error estimates see them wherever they lie, also where no stage of a formula is."""

import math
from dataclasses import replace

import numba
import numpy as np
import pytest
from scipy.optimize import brentq

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Cvode, Ida
from mbdae.system.c_functions import difference, quotient

from .helpers import double_pendulum, thorough_but, with_law

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
@pytest.mark.parametrize("method", thorough_but((mbdae.SdirkDescriptor(), mbdae.RosenbrockNystrom()), METHODS),
                         ids=lambda m: f"{type(m).__name__}{'-filtered' * m.filter}{'-sparse' * m.sparse}")
def test_a_jump_anywhere_within_a_step_is_seen(method, rtol):
    errors = []
    for x0 in np.linspace(0.34, 0.46, 13):
        found = mbdae.solve(particle(x0), method, (0.0, T_END), rtol=rtol, atol=rtol)
        assert found.success, found.message
        x, v = exact(x0)
        errors.append(max(abs(found.q[-1, 0] - x), abs(found.v[-1, 0] - v)) / rtol)
    assert max(errors) <= 100.0
    assert np.median(errors) <= 20.0


# derivatives beside a jump ---------------------------------------------------------------------------------------------------


def rubbing(x, xd, t):
    """A force that jumps with the sign of the rate, at the start of the motion too."""
    return 0.1 * x + (5.0 if xd > 0.0 else -5.0)


def rubbing_wrench(t, r, A, v, omega, F, T):
    F[0, 1] = -5.0 if v[0, 1] > 0.0 else 5.0


FORCES = {"compiled law": {"law": numba.njit(rubbing)}, "Python law": {"law": rubbing},
          "compiled force": {"wrench": numba.njit(rubbing_wrench)}, "Python force": {"wrench": rubbing_wrench}}


@pytest.mark.parametrize("force", FORCES.values(), ids=FORCES)
@pytest.mark.parametrize("method", [Cvode(), Ida(), mbdae.Bdf()], ids=["CVODE", "IDA", "Bdf"])
def test_the_iteration_matrix_has_no_quotients_across_a_jump(method, force):
    """With a stiffness of the jump over the increment CVODE had kept its prediction, 5000 tolerances off, with success."""
    system = sliding(**force)
    exact = mbdae.solve(system, SolveIvp("DOP853"), (0.0, 0.2), rtol=1e-11, atol=1e-12, t_eval=[0.2])
    found = mbdae.solve(system, method, (0.0, 0.2), rtol=1e-6, atol=1e-8, t_eval=[0.2])
    assert exact.success and found.success
    np.testing.assert_allclose(found.v, exact.v, atol=5e-5)


def sliding(law=None, wrench=None):
    """The double pendulum, which starts from rest, with one of these forces."""
    if law is not None:
        return with_law(law)
    m = double_pendulum()
    return mbdae.System(replace(m, forces=[*m.forces, mbdae.UserForce("rub", ("upper",), wrench)]))


@pytest.mark.parametrize(("values", "slope"), [((1.0, 2.0, 3.0), 1.0), ((0.0, 0.0, 5.0), 0.0), ((-5.0, 5.0, 5.5), 0.5),
                                               ((5.0, -5.0, -6.0), -1.0), ((0.0, 0.0, 1e-7), 1e-7)])
def test_a_difference_beside_a_jump_is_one_sided(values, slope):
    assert quotient(*values, 1.0) == pytest.approx(slope, abs=1e-7)
    assert difference(*values, 1.0) == pytest.approx(slope, abs=1e-7)


def test_a_smooth_function_has_central_differences():
    before, here, after = (math.exp(0.3 + d) for d in (-1e-5, 0.0, 1e-5))
    assert quotient(before, here, after, 1e-5) == pytest.approx(math.exp(0.3), rel=1e-9)
