"""Systems of functions that contradict each other are refused, and the entry named; those that agree are not."""

import numpy as np
import pytest

import mbdae
from mbdae.library import catalogue
from mbdae.system.callbacks import interpreted

from .test_from_functions import FULL, Q0, force, mass, phi, quaternion_rate, turned

# --- three systems, right ----------------------------------------------------------------------------------------------------

PENDULUM = {"nq": 6, "nc": 4, "mass": mass, "force": force, "phi": phi, "q0": Q0, **FULL}


def arm_mass(t, q):
    return np.array([[3.0 + 2.0 * np.cos(q[1]), 1.0 + np.cos(q[1])], [1.0 + np.cos(q[1]), 1.0 + 0.0 * q[1]]])


def arm_phi(t, q):
    return np.array([np.cos(q[0]) + np.cos(q[0] + q[1]) - 1.2 - 0.3 * np.sin(2.0 * t)])


def arm_phi_q(t, q):
    return np.array([[-np.sin(q[0]) - np.sin(q[0] + q[1]), -np.sin(q[0] + q[1])]])


def arm_nu(t, q):
    return np.array([0.6 * np.cos(2.0 * t)])


def arm_gamma(t, q, v):
    return np.array([np.cos(q[0]) * v[0] ** 2 + np.cos(q[0] + q[1]) * (v[0] + v[1]) ** 2 - 1.2 * np.sin(2.0 * t)])


# two links, whose end follows a motion along x
ARM = {"nq": 2, "nc": 1, "mass": arm_mass, "force": lambda t, q, v: -0.1 * v, "phi": arm_phi, "phi_q": arm_phi_q, "nu": arm_nu,
       "gamma": arm_gamma, "q0": [0.4, 0.9], "energy": lambda t, q, v: 0.5 * v @ arm_mass(t, q) @ v + 9.81 * np.sin(q[0])}


def row(q):
    """The vertical in the frame of the top."""
    e0, e1, e2, e3 = q / np.sqrt(q @ q)
    return np.array([2 * (e1 * e3 - e0 * e2), 2 * (e2 * e3 + e0 * e1), e0 * e0 - e1 * e1 - e2 * e2 + e3 * e3])


def top_phi(t, q):
    return np.array([row(q)[0] - 0.1 * t])


def top_phi_q(t, q):
    return np.array([[0.0 * q[0], -row(q)[2], row(q)[1]]])


def top_gamma(t, q, w):
    r = row(q)
    return np.array([w[1] * (r[0] * w[1] - r[1] * w[0]) - w[2] * (r[2] * w[0] - r[0] * w[2])])


# a body about its fixed centre, an axis of it held in a plane that rises
TOP = {"nq": 4, "nv": 3, "nc": 1, "mass": lambda t, q: np.diag([1.0, 2.0, 2.5]), "force": lambda t, q, w: 0.0 * w, "phi": top_phi,
       "phi_q": top_phi_q, "nu": lambda t, q: np.array([0.1]), "gamma": top_gamma, "kinematics": quaternion_rate, "retract": turned,
       "q0": [1.0, 0.0, 0.0, 0.0], "v0": [1.0, 0.3, 2.0]}
SYSTEMS = {"pendulum": PENDULUM, "arm": ARM, "top": TOP}

# --- errors ------------------------------------------------------------------------------------------------------------------


def times(factor):
    return lambda f: lambda *x: factor * np.asarray(f(*x))


def entry(*index, factor=0.0, plus=0.0):
    """One wrong entry."""
    def plant(f):
        def wrong(*x):
            out = np.array(f(*x))
            out[index] = factor * out[index] + plus
            return out

        return wrong

    return plant


def instead(f):
    return lambda _: f


SIGN, TWICE, HALF = times(-1.0), times(2.0), times(0.5)
PLANTED = [
    ("pendulum", "phi_q", SIGN, "the sign is wrong"), ("pendulum", "phi_q", HALF, "factor 2"), ("pendulum", "phi_q", TWICE, "factor 1/2"),
    ("pendulum", "phi_q", entry(0, 2, factor=-1.0), r"phi_q\['phi\[0\]', 2\]"),
    ("pendulum", "phi_q", entry(2, 0), r"phi_q\['phi\[2\]', 0\]"),
    ("pendulum", "phi_q", entry(3, 5, factor=-1.0), r"phi_q\['phi\[3\]', 5\]"),
    ("pendulum", "phi_q", entry(1, 2, factor=0.5), r"phi_q\['phi\[1\]', 2\]"),
    ("pendulum", "phi_q", entry(0, 4, plus=0.01), r"phi_q\['phi\[0\]', 4\]"),
    ("pendulum", "phi_q", lambda f: lambda t, q: f(t, q + 0.01), "phi_q"),
    ("pendulum", "nu", entry(2, plus=0.1), r"nu\['phi\[2\]'\]"), ("pendulum", "nu", entry(0, plus=-1e-3), r"nu\['phi\[0\]'\]"),
    ("pendulum", "gamma", SIGN, r"gamma\[.*the sign is wrong"), ("pendulum", "gamma", HALF, r"gamma\[.*factor 2"),
    ("pendulum", "gamma", times(0.0), "gamma"), ("pendulum", "gamma", entry(0, factor=-1.0), r"gamma\['phi\[0\]'\]"),
    ("pendulum", "gamma", entry(3, plus=0.05), r"gamma\['phi\[3\]'\]"),
    ("pendulum", "mass", SIGN, "mass must be positive definite"), ("pendulum", "mass", entry(3, 3), "mass must be positive definite"),
    ("pendulum", "mass", entry(0, 1, plus=0.3), r"mass\[0, 1\] = 0.3"), ("pendulum", "mass", entry(2, 2, factor=2.0), r"mass\[2, 2\]"),
    ("pendulum", "mass", entry(5, 5, factor=-1.0), r"positive definite, .*mass\[5, 5\]"),
    ("arm", "phi_q", SIGN, "the sign is wrong"), ("arm", "phi_q", entry(0, 1, factor=-1.0), r"phi_q\['phi\[0\]', 1\]"),
    ("arm", "phi_q", instead(lambda t, q: np.array([[-np.sin(q[0] + q[1]), -np.sin(q[0] + q[1])]])), r"phi_q\['phi\[0\]', 0\]"),
    ("arm", "nu", SIGN, r"nu\[.*the sign is wrong"), ("arm", "nu", times(0.0), "nu"), ("arm", "nu", HALF, r"nu\[.*factor 2"),
    ("arm", "nu", instead(lambda t, q: np.array([0.6 * np.cos(t)])), "nu"),
    ("arm", "gamma", SIGN, r"gamma\[.*the sign is wrong"), ("arm", "gamma", TWICE, r"gamma\[.*factor 1/2"),
    ("arm", "gamma", instead(lambda t, q, v: arm_gamma(0.0, q, v)), r"gamma\[.*t = 0.37"),
    ("arm", "gamma", instead(lambda t, q, v: arm_gamma(-t, q, v)), r"gamma\[.*t = 0.37"),
    ("arm", "gamma", instead(lambda t, q, v: arm_gamma(t, q, v) - 2 * np.cos(q[0] + q[1]) * v[0] * v[1]), "gamma"),
    ("arm", "mass", entry(0, 1, plus=1.0), r"mass must be symmetric, but mass\[0, 1\] = 1 "), ("arm", "mass", TWICE, r"mass\[.*factor 1/2"),
    ("arm", "mass", instead(lambda t, q: np.array([[3 + 2 * np.cos(q[1]), 1.0], [1.0, 1.0]])), r"mass\[(0, 1|1, 0)\] at .* = 1, but"),
    ("arm", "mass", instead(lambda t, q: arm_mass(t, q) - np.diag([2.0, 0.0])), "mass must be positive definite|mass.0, 0"),
    ("top", "phi_q", SIGN, "the sign is wrong"), ("top", "phi_q", entry(0, 1), r"phi_q\['phi\[0\]', 1\]"),
    ("top", "phi_q", entry(0, 0, plus=0.2), r"phi_q\['phi\[0\]', 0\]"), ("top", "nu", SIGN, "nu"),
    ("top", "gamma", SIGN, "gamma"), ("top", "gamma", instead(lambda t, q, w: np.array([w[1] * row(q)[0] * w[1] - w[2] * w[0]])), "gamma"),
    ("top", "kinematics", SIGN, "kinematics"), ("top", "kinematics", TWICE, "kinematics"),
    ("top", "kinematics", entry(2, factor=-1.0), "kinematics"), ("top", "kinematics", entry(1), "kinematics"),
    ("top", "retract", instead(lambda q, d: turned(q, 2.0 * d)), "retract"),
    ("top", "retract", instead(lambda q, d: turned(q, -d)), "retract.*kinematics"),
]


@pytest.mark.parametrize("number", range(len(PLANTED)))
def test_errors_are_found_and_named(number):
    name, function, plant, pattern = PLANTED[number]
    right = SYSTEMS[name]
    wrong = right | {function: plant(right[function])}
    with pytest.raises(ValueError, match=rf"(?s)System\.from_functions: .*({pattern})") as caught:
        mbdae.System.from_functions(**wrong)
    assert function in str(caught.value)


@pytest.mark.parametrize("number", range(0, len(PLANTED), 7))
def test_the_check_can_be_switched_off(number):
    name, function, plant, _ = PLANTED[number]
    if function != "mass":
        mbdae.System.from_functions(**SYSTEMS[name] | {function: plant(SYSTEMS[name][function])}, check=False)


# --- no false alarm ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("missing", [(), ("gamma",), ("nu", "gamma"), ("phi_q",), ("phi_q", "nu", "gamma"), ("energy",), ("retract",)])
def test_functions_that_agree_are_accepted(name, missing):
    mbdae.System.from_functions(**{k: f for k, f in SYSTEMS[name].items() if k not in missing})


OWN = [("stiff-pendulum", {"coordinates": "classical"}), ("pendulum-chain", {"coordinates": "classical"}), ("flexible-slider-crank", {}),
       ("andrews", {"coordinates": "classical"}), ("car-axis", {"coordinates": "classical"}), ("truck", {"coordinates": "classical"}),
       ("wheelset", {})]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "parameters"), OWN)
def test_the_systems_of_the_library_are_accepted(name, parameters):
    with interpreted():
        assert catalogue.system(name, **parameters).mechanism is None


def test_functions_without_a_value_at_neighbours_are_accepted():
    """What cannot be evaluated there says nothing."""
    def only_here(f):
        def fragile(t, q, *v):
            if t > 0.0 or np.abs(np.real(q) - ARM["q0"]).max() > 1e-3:
                raise ArithmeticError("out of the table")
            return f(t, q, *v)

        return fragile

    functions = {k: only_here(f) if k in ("mass", "phi", "phi_q", "nu", "gamma") else f for k, f in ARM.items()}
    mbdae.System.from_functions(**functions)


def test_gamma_may_use_that_velocities_are_consistent():
    """A particle on a circle whose `gamma` is simplified by `q . v = 0`."""
    mbdae.System.from_functions(nq=2, nc=1, mass=lambda t, q: np.eye(2), force=lambda t, q, v: 0.0 * v,
                                phi=lambda t, q: np.array([q @ q - 1.0]), phi_q=lambda t, q: 2.0 * q[None],
                                nu=lambda t, q: np.zeros(1, q.dtype),
                                gamma=lambda t, q, v: np.array([-2.0 * (v[1] * q[0] - v[0] * q[1]) ** 2]), q0=[1.0, 0.2])
