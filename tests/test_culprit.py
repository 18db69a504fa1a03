"""Runs that fail because a user's function has no value name it, with body and time."""

import re

import numba
import numpy as np
import pytest

import mbdae
from mbdae import FullyImplicit, HalfImplicit, ProjectedGauss
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from tests.helpers import double_pendulum

METHODS = {"half-implicit": HalfImplicit(h=1e-3), "fully implicit": FullyImplicit(h=1e-3), "Gauss": ProjectedGauss(h=2e-3),
           "RATTLE": mbdae.Rattle(h=2e-3), "SPARK": mbdae.Spark(h=2e-3, order=4),
           "HHT": mbdae.HHT(), "Rosenbrock": mbdae.RosenbrockNystrom(), "Bdf": mbdae.Bdf(), "IDA": Ida(),
           "DOP853": SolveIvp("DOP853"), "explicit": mbdae.DormandPrince(), "Radau IIA": mbdae.RadauIIA()}


def late(t):
    return 1.0 if t < 0.2 else np.nan


@numba.njit
def torn(length, rate, t):
    return 10.0 * np.sqrt(1.2 - length)


def wind(t, r, A, v, omega, F, T):
    F[0, 0] = np.log(0.2 - t) if t < 0.2 else np.nan


def mechanism(forces, drivers=()):
    bodies = [mbdae.PlanarBody("arm", 1.0, 0.1, (0.5, 0.0), 0.0), mbdae.PlanarBody("cart", 1.0, 0.1, (1.0, 1.0))]
    joints = [mbdae.PlanarRevolute("pin", "ground", "arm", s_j=(-0.5, 0.0))]
    return mbdae.Mechanism("two bodies", bodies, joints, drivers, forces=forces)


CASES = {
    "user force": (lambda: mechanism([mbdae.UserForce("calm", "arm", lambda t, r, A, v, w, F, T: None),
                                      mbdae.UserForce("wind", "cart", wind)]),
                   r"the user force 'wind' on 'cart' is nan at t = 0\.2"),
    "law": (lambda: mechanism([mbdae.PointForce("pull", "cart", (5.0, 0.0, 0.0)),
                               mbdae.TSDA("rope", "ground", "cart", s_i=(0.0, 1.0, 0.0), law=torn)]),
            r"the law of TSDA 'rope' between 'ground' and 'cart' is nan at t = 0\.\d"),
    "point force": (lambda: mechanism([mbdae.PointForce("push", "cart", (0.0, late, 0.0))]),
                    r"component 1 of PointForce 'push' on 'cart' is nan at t = 0\.2"),
    "motion": (lambda: mechanism([], [mbdae.PlanarAngleDriver("motor", "ground", "cart", lambda t: 0.0 * late(t))]),
               r"the (rate of |second derivative of |)?(the )?motion of driver 'motor' between 'ground' and 'cart' is nan at t = 0\.2"),
}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("case", CASES)
def test_the_function_without_a_value_is_named(case, method):
    make, pattern = CASES[case]
    x = mbdae.solve(make(), method, (0.0, 1.0))
    assert not x.success and 0.1 < x.t[-1] < 0.7 and np.isfinite(x.q).all()
    assert re.search(pattern, x.message), x.message


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_the_user_function_of_a_system_is_named(method):
    s = mbdae.System.from_functions(nq=2, nc=1, mass=lambda t, q: np.eye(2), phi=lambda t, q: np.array([q @ q - 1.0]), q0=[1.0, 0.0],
                                    force=lambda t, q, v: np.array([0.0, -9.81 if t < 0.2 else np.nan]), check=False)
    x = mbdae.solve(s, method, (0.0, 1.0))
    assert not x.success and "entry 1 of the user function 'force' is nan at t = 0.2" in x.message, x.message


def nowhere(t):
    return np.nan


STARTS = {
    "user force": (lambda: mechanism([mbdae.UserForce("calm", "arm", lambda t, r, A, v, w, F, T: None),
                                      mbdae.UserForce("wind", "cart", lambda t, r, A, v, w, F, T: F.fill(np.nan))]),
                   "two bodies: Q is not finite: the user force 'wind' on 'cart' is nan at t = 0"),
    "law": (lambda: mechanism([mbdae.RSDA("coil", "ground", "arm", law=lambda x, xd, t: np.inf)]),
            "two bodies: Q is not finite: the law of RSDA 'coil' between 'ground' and 'arm' is inf at t = 0"),
    "point force": (lambda: mechanism([mbdae.PointForce("push", "cart", (0.0, nowhere, 0.0))]),
                    "two bodies: Q is not finite: component 1 of PointForce 'push' on 'cart' is nan at t = 0"),
    "motion": (lambda: mechanism([], [mbdae.PlanarAngleDriver("motor", "ground", "cart", nowhere)]),
               "two bodies: Phi is not finite: the motion of driver 'motor' between 'ground' and 'cart' is nan at t = 0"),
}


@pytest.mark.parametrize("case", STARTS)
def test_the_function_without_a_value_at_the_start_is_named(case):
    make, message = STARTS[case]
    for start in (mbdae.assemble, lambda m: mbdae.solve(m, HalfImplicit(h=1e-3), (0.0, 1.0))):
        with pytest.raises(FloatingPointError) as caught:
            start(make())
        assert str(caught.value) == message


def test_the_user_function_without_a_value_at_another_start_is_named():
    s = mbdae.System.from_functions(nq=2, nc=1, mass=lambda t, q: np.eye(2), phi=lambda t, q: np.array([q @ q - 1.0]), q0=[1.0, 0.0],
                                    force=lambda t, q, v: np.array([0.0, -9.81 if t < 0.2 else np.nan]), check=False)
    with pytest.raises(FloatingPointError, match=r"Q is not finite: entry 1 of the user function 'force' is nan at t = 0\.5"):
        mbdae.assemble(s, 0.5)


def test_failures_without_a_culprit_accuse_nobody(fragile):
    x = mbdae.solve(double_pendulum(), HalfImplicit(h=1e-3, max_iter=1), (0.0, 1.0))
    assert not x.success and "force" not in x.message and x.message.startswith("Newton")
