"""Stiff pendulum: a slow torque on a pendulum whose own swings are 31 times as fast and hardly excited.

Fernandez de Bustos, Uriarte, Urkullu, Garcia-Marina (2021), section 3: a point mass of 1 kg on a massless truss of 1 m, gravity 9.8, torque
`T sin(0.1 t)` about the pin with T = 0.1 N m (up to 9 N m there), from rest in the hanging position; theta is counted from the vertical:

    theta'' + 9.8 sin theta = T sin(0.1 t)

The period of the torque would allow steps of some 6 s; the natural frequency sqrt(9.8) = 3.1305 rad/s limits conditionally stable methods
(central differences 0.639 s, Fox-Goodwin 0.782 s), and the constraints of the form in (x, y, theta) cause further instabilities, first
visible in the force of the pin.

A point mass has no moment of inertia, so the paper's mass matrix in (x, y, theta) is singular. Here, with `coordinates="cartesian"`, the
pendulum is a uniform bar of 1.5 m and 4/3 kg: it has the same equation of motion and the same energy, and the force of its pin differs by
the weight of 1/3 kg only. The outputs `pin_x`, `pin_y` are the force of the pin on the point mass and its truss.
"""

from collections.abc import Callable
from functools import cache

import numba
import numpy as np

from ..model import checks
from ..model.bodies import GROUND, PlanarBody
from ..model.forces import PointTorque
from ..model.geometry import Picture
from ..model.joints import PlanarRevolute
from ..model.mechanism import Mechanism
from ..model.motions import Harmonic
from ..system.system import System
from ..typing import Numbers, Vector
from .base import Entry, Observables, check_coordinates, table

GRAVITY, RATE = 9.8, 0.1  # of the torque [rad/s]
BAR_MASS, BAR_HALF = 4.0 / 3.0, 0.75  # mass * half = 1 kg m, mass * 4/3 half^2 = 1 kg m^2


def build(torque: float = 0.1, coordinates: str = "cartesian") -> Mechanism | System:
    """The mechanism.

    Parameters
    ----------
    torque : float
        Amplitude of the torque [N m].
    coordinates : {"cartesian", "classical"}
        Position and angle of a bar with a pin; or the angle alone, an ordinary differential equation.
    """
    torque = checks.nonnegative(torque, "stiff-pendulum", "torque")
    check_coordinates("stiff-pendulum", coordinates)
    if coordinates == "classical":
        return System.from_functions(nq=1, nc=0, mass=_mass, force=_force(torque), phi=_phi, phi_q=_phi_q, nu=_nu, gamma=_gamma,
                                     energy=_energy, picture=_picture, name="stiff-pendulum, angle")
    angle = -0.5 * np.pi  # of the bar, from the x-axis
    bar = PlanarBody("bar", BAR_MASS, BAR_MASS * BAR_HALF**2 / 3.0, (0.0, -BAR_HALF), angle, (0.0, 0.0), 0.0)
    drive = PointTorque("torque", "bar", (0.0, 0.0, Harmonic(torque, RATE)))
    return Mechanism("stiff-pendulum", [bar], [PlanarRevolute("pin", GROUND, "bar", s_j=(-BAR_HALF, 0.0))], forces=[drive],
                     gravity=(0.0, -GRAVITY, 0.0))


@numba.njit
def _mass(t: float, q: Numbers) -> Numbers:
    return np.ones((1, 1), dtype=q.dtype)


@cache
def _force(torque: float) -> Callable[[float, Vector, Vector], Vector]:
    @numba.njit
    def force(t: float, q: Numbers, v: Numbers) -> Numbers:
        return torque * np.sin(RATE * t) - GRAVITY * np.sin(q)

    return force


@numba.njit
def _phi(t: float, q: Numbers) -> Numbers:
    return np.zeros(0, dtype=q.dtype)


@numba.njit
def _phi_q(t: float, q: Numbers) -> Numbers:
    return np.zeros((0, 1), dtype=q.dtype)


@numba.njit
def _nu(t: float, q: Numbers) -> Numbers:
    return np.zeros(0, dtype=q.dtype)


@numba.njit
def _gamma(t: float, q: Numbers, v: Numbers) -> Numbers:
    return np.zeros(0, dtype=q.dtype)


@numba.njit
def _energy(t: float, q: Vector, v: Vector) -> float:
    return 0.5 * v[0] ** 2 - GRAVITY * np.cos(q[0])


def _picture(t: float, q: Vector) -> Picture:
    pin, mass = (0.0, 0.0, 0.0), (np.sin(q[0]), -np.cos(q[0]), 0.0)
    return Picture([mass], [[mass]], ground=[pin], rods=[[pin, mass]], names=("mass",))


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    theta, d_theta, dd_theta = (float(x[-1]) for x in (q, v, a))
    if system.mechanism is None:
        pin = _pin(theta, d_theta, dd_theta)
    else:
        theta += 0.5 * np.pi
        pin = {"pin_x": -float(lam[0]), "pin_y": -float(lam[1]) - (BAR_MASS - 1.0) * GRAVITY}
    return {"theta": theta, "d_theta": d_theta, "dd_theta": dd_theta, **pin, "energy": system.energy(t, q, v)}


def _pin(theta: float, d_theta: float, dd_theta: float) -> Observables:
    """What accelerates and carries the point mass."""
    s, c = np.sin(theta), np.cos(theta)
    return {"pin_x": float(c * dd_theta - s * d_theta**2), "pin_y": float(s * dd_theta + c * d_theta**2 + GRAVITY)}


_ROWS = (
    (1.0, 0.0010161279879099384, 0.002037735227199421),
    (10.0, 0.008631523727822022, -0.0004632197100608842),
    (20.0, 0.00936029378304545, -0.0014212562858375473),
    (50.0, -0.009622593133932397, -0.000577267129374975),
    (100.0, -0.00526414837334501, -0.0013079414679041481),
)
_RECOMPUTED = table("motion", "recomputed", "extrapolation in 113-bit arithmetic", 16, "theta d_theta", _ROWS)

ENTRY = Entry(
    name="stiff-pendulum",
    title="Stiff pendulum",
    summary="A slow torque on a pendulum that could swing fast: accuracy alone would allow steps far beyond the stability limit.",
    source="Fernandez de Bustos, Uriarte, Urkullu, Garcia-Marina (2021), on a null-space based integrator for index-3 equations, section 3",
    build=build,
    parameters={"torque": 0.1, "coordinates": "cartesian"},
    variants=({"coordinates": "classical"}, {"torque": 9.0}, {"torque": 9.0, "coordinates": "classical"}),
    hardness="Easy at small steps. The free swings are hardly excited, and steps as large as the torque alone would allow are stable only "
             "in methods without a limit; with constraints the instability appears first in the force of the pin. At default tolerances "
             "all methods resolve every swing: IDA takes 1900 to 4700 evaluations for 100 s, DOP853 3900. With 9 N m the pendulum moves "
             "up to 1.2 rad; 9.8 N m would turn it over.",
    t_end=100.0,
    step=1e-2,
    observe=_observe,
    references=_RECOMPUTED,
    view="xy",
    film=5.0,
)
