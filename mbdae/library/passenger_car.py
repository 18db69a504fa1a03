"""Passenger car: periodic lane changes, the steering a rheonomic joint.

The test problem of M. Arnold, A. Fuchs, C. Fuehrer, Comput. Methods Appl. Mech. Engrg. 195 (2006) 6958-6973, section 4.2.2. Its SIMPACK
model is not public: known are the rheonomic joint between car body and steering, the sinusoidal input, the constant speed, and 5 s. Here:

- The vehicle is the Iltis of the IAVSD benchmark (see `iltis`), its masses, suspensions with A-arms, leaf springs and shock absorbers, and
  its tyres with lateral forces by the Calspan formula, on a flat road. There are no bushings.
- The front tie rods end in points of the chassis that move across it as prescribed, `u(t) = a(t) sin(2 pi f t)`, chosen with 12 mm and
  0.4 Hz; the amplitude is reached within half a second. It is a rack without mass, eliminated exactly (`GuidedRod`). The Jacobian depends
  on `u` explicitly, for which extended partitioned updates are made.
- It rolls freely, from 10 m/s on.

Thirteen bodies; in Cartesian coordinates 91 of positions, 64 constraints; in joint coordinates the tie rods, leaf springs and their planes
are cut.
"""

import math
from dataclasses import replace

import numba
import numpy as np

from ..model.forces import UserForce
from ..model.joints import Rod
from ..model.mechanism import Mechanism
from ..model.motions import Function
from ..system.system import System
from ..typing import Vector
from . import iltis
from . import iltis_forces as forces
from .base import Entry, Observables
from .guided_rod import GuidedRod
from .passenger_car_references import REFERENCES

GROWTH = 0.5  # s
LARGEST, FASTEST = 0.02, 5.0  # displacement of the rack at its stops [m], frequency [Hz]


def build(amplitude: float = 0.012, frequency: float = 0.4, speed: float = 10.0) -> Mechanism:
    """The vehicle.

    Parameters
    ----------
    amplitude : float
        Of the rack [m], at most 0.02: its stops.
    frequency : float
        Of the rack [Hz], at most 5.
    speed : float
        Initial speed [m/s], 1 to 40.
    """
    for name, value, least, most in (("amplitude", amplitude, 0.0, LARGEST), ("frequency", frequency, 0.0, FASTEST),
                                     ("speed", speed, iltis.SLOWEST, iltis.FASTEST)):
        if not (isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and least <= value <= most):
            raise ValueError(f"passenger-car: {name} must be a number from {least:g} to {most:g}, got {value!r}")
    bodies, joints, loads = iltis._vehicle(iltis.EQUILIBRIUM, float(speed), False)
    rack = _rack(float(amplitude), float(frequency))
    steered = [_guided(j, rack) if j.name.startswith("tie front") else j for j in joints]
    loads += [UserForce(f"tyre {name}", (f"wheel {name}",), forces.rolling_tyre(iltis.RADIUS[axle], 0.0, 0.0))
              for name, (axle, _) in iltis.CORNERS.items()]
    free = [replace(b, velocity=None, omega=None) if b.name.startswith("hub front") else b for b in bodies]
    return Mechanism("passenger-car", free, steered, (), loads, gravity=(0.0, 0.0, -9.81))


def _guided(rod: Rod, motion: Function) -> GuidedRod:
    return GuidedRod(rod.name, rod.i, rod.j, axis=(0.0, 1.0, 0.0), length=rod.length, f=motion, s_i=rod.s_i, s_j=rod.s_j)


def _rack(amplitude: float, frequency: float) -> Function:
    """`a(t) sin(w t)` with two derivatives; `a` grows by a polynomial of fifth degree."""
    w = 2.0 * math.pi * frequency

    @numba.njit
    def growth(t: float) -> tuple[float, float, float]:
        x = min(max(t / GROWTH, 0.0), 1.0)
        return (x**3 * (10.0 - 15.0 * x + 6.0 * x * x), 30.0 * x * x * (1.0 - x) ** 2 / GROWTH,
                60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / GROWTH**2)

    @numba.njit
    def u(t: float) -> float:
        return amplitude * growth(t)[0] * np.sin(w * t)

    @numba.njit
    def d_u(t: float) -> float:
        a, da, _ = growth(t)
        return amplitude * (da * np.sin(w * t) + w * a * np.cos(w * t))

    @numba.njit
    def dd_u(t: float) -> float:
        a, da, dda = growth(t)
        return amplitude * (dda * np.sin(w * t) + 2.0 * w * da * np.cos(w * t) - w * w * a * np.sin(w * t))

    return Function(u, d_u, dd_u)


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    assert system.mechanism is not None
    out = iltis._observe(system, t, q, v, a, lam)
    rod = next(j for j in system.mechanism.joints if isinstance(j, GuidedRod))
    return {**out, "rack": float(rod.f(t)[0])}


ENTRY = Entry(
    name="passenger-car",
    title="Passenger car in periodic lane changes",
    summary="Chassis, four suspensions with A-arms, leaf springs and shock absorbers, four tyres; the steering is a rheonomic joint with "
            "sinusoidal input.",
    source="Arnold, Fuchs and Fuehrer 2006, section 4.2.2, with the data of the Iltis of the IAVSD benchmark",
    build=build,
    parameters={"amplitude": 0.012, "frequency": 0.4, "speed": 10.0},
    hardness="Not stiff. With 3 m/s^2 across the car the tyres are off their linear range. Derivatives of the constraints depend on "
             "the steering explicitly.",
    t_end=5.0,
    step=1e-3,
    observe=_observe,
    references=REFERENCES,
    view="xy",
)
