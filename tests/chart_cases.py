"""Systems of every kind at consistent states, and what is known about their charts without the code under test."""

from functools import cache

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.charts.chart import Chart
from mbdae.charts.choice import position_jacobian
from mbdae.charts.motion import evaluate
from mbdae.charts.store import bases

from .forms import random_state
from .helpers import T0, all_elements, double_pendulum, slider_crank, thorough_but
from .test_from_functions import FULL as GIVEN
from .test_from_functions import top, turned, user

PARAMETRISATIONS = ("partition", "tangent")
FREE_CRANK = mbdae.PlanarRevolute("bearing", "ground", "crank", s_j=(-0.1, 0.0))
CASES = {
    "double pendulum": lambda: mbdae.System(double_pendulum()),
    "andrews": lambda: library.system("andrews"),
    "friction": lambda: mbdae.System(slider_crank()),
    "particles": lambda: library.system("double-spherical-pendulum"),
    "chain": lambda: library.system("chain", links=2),
    "top": lambda: library.system("heavy-top"),
    "redundant": lambda: library.system("spatial-four-bar"),
    "rheonomic": lambda: library.system("car-axis"),
    "wheelset": lambda: library.system("wheelset"),
    "all elements": lambda: mbdae.System(all_elements(41)),
    "functions": lambda: user(**GIVEN),
    "functions, few": user,
    "functions, kinematics": lambda: top(None),
    "functions, retraction": lambda: top(turned),
}
QUICK = ("double pendulum", "friction", "redundant", "rheonomic", "all elements", "functions")
every_case = pytest.mark.parametrize("name", thorough_but(QUICK, CASES))
ROUGH = {"functions, few", "functions, kinematics", "functions, retraction"}  # their `gamma` is a difference quotient


@cache
def case(name):
    """A system and a consistent state with random velocities, off the start."""
    s, rng = CASES[name](), np.random.default_rng(len(name))
    if name == "all elements":
        return s, mbdae.assemble(s, T0, v=rng.normal(size=s.nv))
    return s, random_state(s, rng)


def centred(name, parametrisation):
    """A chart around the state of a case, with the state."""
    s, x = case(name)
    chart = Chart(s, parametrisation)
    chart.centre(x.t, x.q)
    return chart, x


def values_at(chart, t, z, zd, guess, lam):
    """`(code, q, v, a, lam, zdd)` of the kernel, nothing polished."""
    s = chart.system
    q, v, a, lam, zdd = guess.copy(), np.empty(s.nv), np.empty(s.nv), lam.copy(), np.empty(chart.n)
    code = evaluate(t, z, zd, q, v, a, lam, zdd, chart.factors)
    return code, q, v, a, lam, zdd


def beside(chart, x, share=0.02):
    """`(z, z')` at some distance from those of a state: another point of the same chart."""
    z, zd = chart.coordinates(x.t, x.q, x.v)
    rng = np.random.default_rng(chart.n)
    step = share * rng.uniform(0.5, 1.0, chart.n) * rng.choice([-1.0, 1.0], chart.n)
    return z + step * min(1.0, np.abs(x.q).max()), zd + share * rng.normal(size=chart.n)


def kept(chart):
    """`PT`, `N` and the Cholesky factor of `S`, copies."""
    return tuple(x.copy() for x in bases(chart.n, chart.system.model, chart.store))


def kinematic_map(system, t, q):
    """`T(q)`, dense."""
    return np.array([system.qdot(q, e, t) for e in np.eye(system.nv)]).T


def independent_rows(system):
    """Numbers of the constraint equations that do not follow from others."""
    return np.setdiff1d(np.arange(system.nc), system.dependent)


def exact_condition(chart, t, q):
    """`|Phi_q| |Phi_u^-1|` in the sum norm times the largest Euclidean norm for a norm of a quaternion, by inverse matrices."""
    s, rows = chart.system, independent_rows(chart.system)
    G, T = s.phi_q(t, q).toarray(), kinematic_map(s, t, q)
    inverse = np.linalg.inv(np.vstack([G[rows], chart.P @ T]))[:, :len(rows)]
    largest, longest = np.abs(inverse).sum(axis=0).max() if len(rows) else 1.0, 1.0
    if s.nq > s.nv and s.mechanism is not None:
        J = position_jacobian(s, t, q)
        whole = np.linalg.inv(np.vstack([J[rows], J[s.nc:], chart.P]))[:, len(rows):s.nq - chart.n]
        longest = max(1.0, np.linalg.norm(whole @ quaternion_normals(s, q, J[s.nc:]), axis=0).max())
    return max(1.0, np.abs(G).sum(axis=0).max(initial=0.0)) * largest * longest


def quaternion_normals(system, q, rows):
    """The normals of the quaternions in the basis of their span that `rows` are, by columns."""
    normals = []
    for body in system.mechanism.bodies:
        if isinstance(body, mbdae.RigidBody):
            at, p = system.coordinates(body.name)[0].start + 3, np.zeros(system.nq)
            p[at:at + 4] = q[at:at + 4]
            normals.append(rows @ p)
    return np.array(normals).T


def fourth_order(f, h):
    """Derivative at zero of a function of one number, by differences of fourth order."""
    return (8.0 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12.0 * h)
