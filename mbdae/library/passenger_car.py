"""Passenger car: periodic lane changes, the steering a rheonomic joint.

The test problem of M. Arnold, A. Fuchs, C. Fuehrer, Comput. Methods Appl. Mech. Engrg. 195 (2006) 6958-6973, section 4.2.2. Its SIMPACK
model is not public: known are the rheonomic joint between car body and steering, the sinusoidal input, the constant speed, and 5 s. All
data are chosen here, as those of a saloon of 1.59 t with a wheelbase of 2.75 m (`passenger_car_data`):

- Chassis, powertrain on three mounts, two subframes on four mounts each.
- In front double wishbones, each on two bushings on subframe or chassis; behind five links on each side, each on one bushing on the
  subframe; balls on the uprights. Struts of a tube and a rod, with a spring, a digressive damper and progressive stops, between the lower
  arm or link and a mount on the chassis. Anti-roll bars of two halves with a torsion spring, each with a drop link to the lower arm.
- 37 bushings, linear springs and dampers in six directions (`bushing`), of 1.5e6 to 9e6 N/m along the stiff axes of suspension arms; their
  damping is 2e-4 s times their stiffness, a loss factor of 0.1 at 80 Hz.
- Tyres (`passenger_car_forces`) with a vertical spring and damper, lateral and longitudinal slip, camber thrust and an aligning torque.
  Slip forces are linear, decrease with the load, and saturate together, `F = s/sqrt(1 + |s|^2/(mu N)^2)`. The road is flat.
- The front tie rods end in points of the chassis that move across it as prescribed, `u(t) = a(t) sin(2 pi f t)`, chosen with 6 mm and
  0.5 Hz; the amplitude is reached within half a second. It is a rack without mass, eliminated exactly (`guided_rod`).
- It rolls freely, from 20 m/s on, 72 km/h, with 4 m/s^2 across it.

The design position is a static equilibrium: tyres, springs and bushings have the unloaded lengths for it, with the forces of least elastic
energy (`passenger_car_statics`). Body modes have 1.1 to 1.5 Hz, wheel hop 12 to 13 Hz, the fastest motion of the arms 800 Hz, with half of
critical damping.

Thirty-eight bodies; in Cartesian coordinates 266 of positions, 110 constraints. `Free` joints carry what stands on bushings in joint
coordinates: 124 velocities, 6 constraints (tie rods and drop links). With the joints of `loops()` cut there are 194 positions, 166
velocities and 48 constraints, and all bushings but one of each pair, and those of subframes and powertrain, act along coordinates, which
makes Jacobians change little. Full vehicles of the paper have 200 to 1000 coordinates and 10 to 50 constraints.

`load` and `side` are forces on a tyre, up and to the left of the chassis, `strut` the length of a strut, `tie` a tension.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TypeAlias

import numba
import numpy as np

from ..model.bodies import RigidBody
from ..model.forces import RSDA, TSDA, UserForce
from ..model.joints import Free, Revolute, Rod, Spherical, Translational
from ..model.mechanism import Mechanism
from ..model.motions import Function
from ..system.system import System
from ..typing import Vector
from . import passenger_car_forces as forces
from .base import Entry, Observables
from .bushing import Bushing
from .guided_rod import GuidedRod
from .passenger_car_data import AXLES, BUSHINGS, CHASSIS, MIDDLE, RACK, TIE, Arm, Axle, Bar, Mount, Part, Point, Strut
from .passenger_car_references import REFERENCES
from .passenger_car_statics import GRAVITY, loads_at_rest
from .rigid import place, rates

Joint: TypeAlias = Free | Revolute | Rod | Spherical | Translational | GuidedRod
Load: TypeAlias = Bushing | TSDA | RSDA | UserForce

GROWTH = 0.5  # s
LARGEST, FASTEST = 0.06, 5.0  # displacement of the rack at its stops [m], frequency [Hz]
SLOWEST, QUICKEST = 5.0, 40.0  # m/s
CORNERS = {"front left": ("front", 1.0), "front right": ("front", -1.0), "rear left": ("rear", 1.0), "rear right": ("rear", -1.0)}
ACROSS = (0.0, 1.0, 0.0)


def build(amplitude: float = 0.006, frequency: float = 0.5, speed: float = 20.0) -> Mechanism:
    """The vehicle.

    Parameters
    ----------
    amplitude : float
        Of the rack [m], at most 0.06: its stops.
    frequency : float
        Of the rack [Hz], at most 5.
    speed : float
        Initial speed [m/s], 5 to 40.
    """
    for name, value, least, most in (("amplitude", amplitude, 0.0, LARGEST), ("frequency", frequency, 0.0, FASTEST),
                                     ("speed", speed, SLOWEST, QUICKEST)):
        if not (isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and least <= value <= most):
            raise ValueError(f"passenger-car: {name} must be a number from {least:g} to {most:g}, got {value!r}")
    car, loads = _Car(_rack(float(amplitude), float(frequency))), _at_rest()
    moving = [_rolling(b, float(speed)) for b in car.bodies]
    held = [_held(f, loads) for f in car.forces]
    tyres = [UserForce(f"tyre {name}", (f"wheel {name}",), forces.tyre(_radius(axle))) for name, (axle, _) in CORNERS.items()]
    return Mechanism("passenger-car", moving, car.joints, (), [*held, *tyres], gravity=(0.0, 0.0, -GRAVITY))


@cache
def _at_rest() -> dict[str, Vector]:
    """Forces of bushings and springs in the design position, and loads of the tyres by wheel."""
    car = _Car(_rack(0.0, 0.0))
    return loads_at_rest(car.bodies, car.joints, car.forces, {f"wheel {name}": forces.TYRE_STIFFNESS for name in CORNERS})


def _radius(axle: str) -> float:
    """Of the unloaded tyres."""
    load = float(_at_rest()[f"wheel {axle} left"][0])
    return AXLES[axle].wheel.centre[2] + load / forces.TYRE_STIFFNESS


def _rolling(body: RigidBody, speed: float) -> RigidBody:
    spin = speed / body.position[2] if body.name.startswith("wheel") else 0.0
    return replace(body, velocity=(speed, 0.0, 0.0), omega=(0.0, spin, 0.0))


def _held(f: Load, loads: dict[str, Vector]) -> Load:
    """A bushing or a spring with its force in the design position."""
    if isinstance(f, Bushing):
        return replace(f, load=tuple(loads[f.name].tolist()))
    return replace(f, l0=f.l0 - float(loads[f.name][0]) / f.k) if isinstance(f, TSDA) else f


def loops() -> tuple[str, ...]:
    """Joints to cut, so that all bushings lie between a body and the one before it: their forces are linear in joint coordinates then."""
    first = {"front": "lower arm", "rear": "lower link"}
    balls = [f"ball {arm} {name}" for name, (axle, _) in CORNERS.items() for arm in AXLES[axle].arms if arm != first[axle]]
    return (*balls, *(f"foot {name}" for name in CORNERS))


class _Car:
    """Bodies, joints and forces, springs and bushings without tension; lines between places that are given for the left side."""

    def __init__(self, rack: Function) -> None:
        self.bodies: list[RigidBody] = []
        self.joints: list[Joint] = []
        self.forces: list[Load] = []
        self.at: dict[str, Vector] = {}
        self.add("chassis", CHASSIS)
        for name, (part, _) in MIDDLE.items():
            self.add(name, part)
        for name, (part, mounts) in MIDDLE.items():
            self.free("chassis", name, part.centre)
            for k, m in enumerate(mounts, 1):
                self.bushing(f"{name} {k}", m, name)
        for name, (axle, side) in CORNERS.items():
            _corner(self, name, AXLES[axle], side)
            if axle == "front":
                self.joints.append(self.tie(name, side, rack))
        for name, half in AXLES.items():
            _anti_roll_bar(self, name, half.bar)

    def add(self, name: str, part: Part, side: float = 1.0) -> None:
        self.at[name] = _mirrored(part.centre, side)
        self.bodies.append(RigidBody(name, part.mass, part.inertia, self.at[name]))

    def seen(self, body: str, point: Sequence[float], side: float = 1.0) -> Point:
        """A place from the centre of mass of a body."""
        x, y, z = (_mirrored(point, side) - self.at[body]).tolist()
        return x, y, z

    def bushing(self, name: str, mount: Mount, body: str, side: float = 1.0) -> None:
        rubber = BUSHINGS[mount.kind]
        c, c_r = (tuple(rubber.damping * x for x in stiffness) for stiffness in (rubber.k, rubber.k_r))
        self.forces.append(Bushing(f"bushing {name}", mount.base, body, self.seen(mount.base, mount.place, side),
                                   self.seen(body, mount.place, side), rubber.k, c, rubber.k_r, c_r))

    def ball(self, name: str, i: str, j: str, point: Point, side: float) -> None:
        self.joints.append(Spherical(name, i, j, self.seen(i, point, side), self.seen(j, point, side)))

    def free(self, base: str, body: str, point: Point, side: float = 1.0) -> None:
        """The body moves against this base, in joint coordinates."""
        self.joints.append(Free(f"free {body}", base, body, self.seen(base, point, side), self.seen(body, point, side)))

    def tie(self, name: str, side: float, rack: Function) -> GuidedRod:
        upright = f"upright {name}"
        return GuidedRod(f"tie {name}", "chassis", upright, ACROSS, math.dist(RACK, TIE), rack, self.seen("chassis", RACK, side),
                         self.seen(upright, TIE, side))


def _mirrored(point: Sequence[float], side: float) -> Vector:
    return np.array([point[0], side * point[1], point[2]])


def _corner(car: _Car, name: str, axle: Axle, side: float) -> None:
    """Upright, wheel, arms and strut."""
    upright, wheel = f"upright {name}", f"wheel {name}"
    car.add(upright, axle.upright, side)
    car.add(wheel, axle.wheel, side)
    car.joints.append(Revolute(wheel, upright, wheel, car.seen(upright, axle.wheel.centre, side), a_i=ACROSS, a_j=ACROSS))
    for what, arm in axle.arms.items():
        _arm(car, f"{what} {name}", upright, arm, side)
    _strut(car, name, axle.strut, side)


def _arm(car: _Car, name: str, upright: str, arm: Arm, side: float) -> None:
    car.add(name, arm.part, side)
    for k, m in enumerate(arm.mounts, 1):
        car.bushing(f"{name} {k}" if len(arm.mounts) > 1 else name, m, name, side)
    x, y, z = (sum(c) / len(arm.mounts) for c in zip(*(m.place for m in arm.mounts)))
    car.free(arm.mounts[0].base, name, (x, y, z), side)
    car.ball(f"ball {name}", name, upright, arm.ball, side)


def _strut(car: _Car, name: str, strut: Strut, side: float) -> None:
    """Tube and rod, spring, damper and stops between their ends."""
    arm, tube, rod = f"{strut.arm} {name}", f"tube {name}", f"rod {name}"
    length = math.dist(strut.foot, strut.top)
    for body, (mass, share) in ((tube, strut.tube), (rod, strut.rod)):
        x, y, z = (a + share * (b - a) for a, b in zip(strut.foot, strut.top))
        car.add(body, Part(mass, (0.012 * mass, 0.012 * mass, 0.0012 * mass), (x, y, z)), side)
    car.ball(f"foot {name}", arm, tube, strut.foot, side)
    axis = (_mirrored(strut.top, side) - _mirrored(strut.foot, side)) / length
    ends = car.seen(tube, strut.foot, side), car.seen(rod, strut.top, side)
    car.joints.append(Translational(f"slide {name}", tube, rod, *ends, axis, axis))
    car.free("chassis", rod, strut.top, side)
    car.bushing(f"top {name}", Mount("chassis", strut.top, "top mount"), rod, side)
    car.forces.append(TSDA(f"strut {name}", tube, rod, *ends, strut.stiffness, 0.0, length, forces.strut(length, strut.damping)))


def _anti_roll_bar(car: _Car, name: str, bar: Bar) -> None:
    """Two halves on a revolute joint with a spring, each with a bushing and a drop link to an arm."""
    halves = {side: f"bar {name} {side}" for side in ("left", "right")}
    for sign, side in ((1.0, "left"), (-1.0, "right")):
        half, arm = halves[side], f"{bar.arm} {name} {side}"
        car.add(half, bar.part, sign)
        if side == "left":
            car.free(bar.base, half, bar.mount)
        car.bushing(half, Mount(bar.base, bar.mount, "bar"), half, sign)
        car.joints.append(Rod(f"drop link {name} {side}", half, arm, car.seen(half, bar.end, sign), car.seen(arm, bar.foot, sign),
                              math.dist(bar.end, bar.foot)))
    left, right = halves.values()
    car.joints.append(Revolute(f"bar {name}", left, right, car.seen(left, bar.axis), car.seen(right, bar.axis), ACROSS, ACROSS))
    car.forces.append(RSDA(f"bar {name}", left, right, bar.stiffness, 0.0, a_i=ACROSS, b_i=(1.0, 0.0, 0.0),
                           b_j=(1.0, 0.0, 0.0)))


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
    r, A = place(q, 0)
    out = {"x": float(r[0]), "y": float(r[1]), "height": float(r[2]), "pitch": math.atan2(A[0, 2], A[2, 2]), "roll": -math.asin(A[1, 2]),
           "yaw": math.atan2(A[1, 0], A[1, 1]), "d_x": float(v[0]), "d_y": float(v[1]), "d_height": float(v[2]), "roll_rate": float(v[3]),
           "pitch_rate": float(v[4]), "yaw_rate": float(v[5]), "dd_height": float(a[2]), "lateral_acceleration": float(a[:3] @ A[:, 1])}
    m = system.mechanism
    assert m is not None
    number = {b.name: k for k, b in enumerate(m.bodies)}
    named = {f.name: f for f in m.forces}
    for name in CORNERS:
        wheel, strut, key = number[f"wheel {name}"], named[f"strut {name}"], name.replace(" ", "_")
        tyre = named[f"tyre {name}"]
        assert isinstance(tyre, UserForce) and isinstance(strut, TSDA)
        force = _tyre_force(tyre, t, q, v, wheel)
        top, foot = (_place(q, number[b], s) for b, s in ((strut.j, strut.s_j), (strut.i, strut.s_i)))
        out |= {f"load_{key}": float(force[2]), f"side_{key}": float(force @ A[:, 1]), f"strut_{key}": math.dist(top, foot)}
    tie = next(j for j in m.joints if isinstance(j, GuidedRod))
    return {**out, "tie_front_left": float(2.0 * tie.length * lam[system.labels.index(tie.name)]), "rack": float(tie.f(t)[0])}


def _place(q: Vector, k: int, s: Sequence[float]) -> Vector:
    r, A = place(q, k)
    at: Vector = r + A @ np.asarray(s)
    return at


def _tyre_force(tyre: UserForce, t: float, q: Vector, v: Vector, k: int) -> Vector:
    (r, A), (d_r, omega) = place(q, k), rates(v, k)
    F, T = np.zeros((1, 3)), np.zeros((1, 3))
    tyre.function(t, r.reshape(1, 3).copy(), A.reshape(1, 3, 3).copy(), d_r.reshape(1, 3).copy(), omega.reshape(1, 3).copy(), F, T)
    force: Vector = F[0]
    return force


ENTRY = Entry(
    name="passenger-car",
    title="Passenger car in periodic lane changes",
    summary="Thirty-eight bodies: double wishbones in front, five links behind, on bushings in six directions; subframes, struts, "
            "anti-roll bars, tyres. The steering is a rheonomic joint with sinusoidal input.",
    source="Arnold, Fuchs and Fuehrer 2006, section 4.2.2; data chosen",
    build=build,
    sizes=(38, 266, 228, 110),
    parameters={"amplitude": 0.006, "frequency": 0.5, "speed": 20.0},
    hardness="Bushings have frequencies up to 800 Hz, half damped: explicit methods need steps of a millisecond, implicit ones of 5 "
             "to 10 ms. Many modes between 15 and 150 Hz are lightly damped. Derivatives of constraints depend on the steering explicitly.",
    t_end=5.0,
    step=2e-4,
    size=100.0,
    observe=_observe,
    references=REFERENCES,
    view="3d",
    animated=True,
)
