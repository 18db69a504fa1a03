"""HMMWV14: the military vehicle of Negrut's thesis, 14 bodies on double-wishbone suspensions, over a half cylinder at 10 mph.

Topology, sizes, forces of tyres and bushings as published [Negrut, section 5.2, figs. 9, 10, 15, 16]; the report with the other data
(R-211, Serban, Negrut, Haug 1998) is not public. They are from the public model of the vehicle in Project Chrono (data/vehicle/hmmwv),
which follows the report of Aardema (TARDEC TR 13337). x forward, y to the left, z up; gravity 9.81; all body axes are parallel to those of
the chassis.

    body          mass [kg]   joints
    chassis       2086.52
    4 lower arms  23.965      Revolute on the chassis
    4 upper arms  5.813       Revolute on the chassis; model="stiff": Spherical and two bushings
    4 spindles    90.555      Spherical on both arms; a tie rod to rack (front) or chassis (rear); upright, hub, wheel and tyre in one
    rack          9.072       Translational on the chassis, locked or moved by `steering`

Soft: 84 velocities, 73 constraints, 11 degrees of freedom; in joint coordinates 27, 16. Stiff and with a locked rack: 98 coordinates with
quaternions, 80 constraints with their norms, 18 degrees of freedom.

As published: tyres are vertical springs and dampers at the wheel centres, 296325 N/m and 3502 N s/m, without horizontal forces; wheels do
not spin; bushings of 2e7 N/m and 2e6 N s/m; the half cylinder has a diameter of 0.1 m. Front wheels reach it at 0.5 s, rear ones at 1.24 s.

Chosen here:

- Suspension springs `k d (1 + 216 d^2)` (Chrono's tables are this law) and shock absorbers (linear) with Chrono's constants and points.
- The design position of Chrono's points is a static equilibrium: tyres and springs have the unloaded radii and lengths for it. Wheel
  centres are 0.449 m high then, the centre of mass of the chassis 0.688 m (thesis: 0.71 m).
- The start is `drop` = 50 mm above that: the vehicle settles before the bump. From rest, solvers with error control would take steps that
  pass over it.
- A tyre meets the half cylinder as a rigid circle of its radius would: the centre follows `sqrt((R + r)^2 - (x - x0)^2)`. Its force is
  never a pull: wheels lift off.
- The two bushings of a stiff upper arm resist the tilt of its axis, across which they lie, in perpendicular directions, at 0.56 of the way
  from its middle to its front end: with it the dominant eigenvalue is the published one, -2.6e5.

`load` is the vertical force on a tyre; `spring` and `shock` are tensions.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..model.bodies import RigidBody
from ..model.forces import TSDA, UserForce
from ..model.joints import Revolute, Rod, Spherical, Translational
from ..model.mechanism import Mechanism
from ..model.motions import Harmonic
from ..model.primitives import DP2
from ..system.system import System
from ..typing import Matrix, Vector
from .base import Entry, Observables
from .hmmwv_forces import spring, tyre
from .hmmwv_references import REFERENCES
from .rigid import place, rates

FRONT, REAR = 1.688965, -1.688965  # the axles along the chassis
HEIGHT = 0.475  # of the axes of the axles, from which all points are measured
SPEED = 4.4704  # 10 mph
BUSHING_STIFFNESS, BUSHING_DAMPING, BUSHING_LENGTH = 2e7, 2e6, 0.1
BUSHING_PLACE = 0.56  # from the middle to the front end of the axis of an upper arm
DROP = 0.05  # height of the start above the static equilibrium
CHASSIS = 2086.52, (1078.52, 2955.66, 3570.20), (0.056, 0.0, 0.213)
LOWER, UPPER = (23.965, (0.4, 0.4, 0.8938)), (5.813, (0.03, 0.03, 0.06276))
RACK = 9.072, (1.0, 1.0, 1.0), (1.24498, 0.0, 0.101322)
HUB, UPRIGHT, WHEEL = (14.705, (0.04117, 0.07352, 0.04117)), (19.450, (0.1656, 0.1934, 0.04367)), (56.4, (4.3034, 7.3143, 4.3034))
STEER = 0.01, math.pi, -0.5 * math.pi, 0.01  # of the driven rack: amplitude [m], frequency [rad/s], phase, offset [m]


class Axle(NamedTuple):
    """Points on the left side, from the axis of the axle; constants of springs, which a static equilibrium determines, and dampers."""

    x: float
    wheel: tuple[float, ...]
    upright: tuple[float, ...]
    upper: tuple[float, ...]  # centre of mass of the arm, then its points on the chassis, front and back, and on the upright
    upper_front: tuple[float, ...]
    upper_back: tuple[float, ...]
    upper_ball: tuple[float, ...]
    lower: tuple[float, ...]
    lower_front: tuple[float, ...]
    lower_back: tuple[float, ...]
    lower_ball: tuple[float, ...]
    tie: tuple[float, ...]  # on chassis or rack
    tie_upright: tuple[float, ...]
    spring: tuple[float, ...]  # on the chassis
    spring_arm: tuple[float, ...]
    shock: tuple[float, ...]
    shock_arm: tuple[float, ...]
    stiffness: float
    damping: float
    length: float  # of the unloaded spring
    radius: float  # of the unloaded tyre


AXLES = {
    "front": Axle(FRONT, (-0.040, 0.910, -0.026), (-0.040, 0.751, -0.026), (-0.106, 0.589, 0.218), (-0.048, 0.446, 0.245),
                  (-0.268, 0.478, 0.196), (-0.053, 0.716, 0.215), (0.0, 0.547, -0.059), (0.223, 0.307, 0.0), (-0.223, 0.307, 0.0),
                  (-0.036, 0.787, -0.118), (-0.250, 0.448, 0.054), (-0.176, 0.821, -0.016), (0.104, 0.510, 0.197), (0.097, 0.543, -0.047),
                  (0.104, 0.498, 0.323), (0.097, 0.543, -0.047), 167062.0, 19015.5692, 0.29474670158546723, 0.47099324229456274),
    "rear": Axle(REAR, (0.036, 0.910, -0.026), (0.036, 0.751, -0.026), (0.124, 0.589, 0.221), (0.349, 0.462, 0.228),
                 (0.077, 0.462, 0.224), (0.036, 0.716, 0.216), (0.0, 0.547, -0.059), (0.223, 0.307, 0.0), (-0.223, 0.307, 0.0),
                 (0.036, 0.787, -0.118), (0.223, 0.416, 0.059), (0.170, 0.821, -0.009), (-0.104, 0.502, 0.256), (-0.097, 0.543, -0.047),
                 (-0.104, 0.498, 0.323), (-0.097, 0.544, -0.038), 369149.0, 36725.2201, 0.3330804966982231, 0.4696619917221418),
}
CORNERS = {"front left": ("front", 1.0), "front right": ("front", -1.0), "rear left": ("rear", 1.0), "rear right": ("rear", -1.0)}
ROADS, STEERING, MODELS = ("bump", "flat"), ("locked", "free", "driven"), ("soft", "stiff")


def build(model: str = "soft", road: str = "bump", steering: str = "locked", speed: float = SPEED, drop: float = DROP) -> Mechanism:
    """The vehicle.

    Parameters
    ----------
    model : {"soft", "stiff"}
        Upper arms on revolute joints, or on spherical joints and bushings.
    road : {"bump", "flat"}
    steering : {"locked", "free", "driven"}
        The rack: fixed to the chassis, free to slide, or moved to the left by 20 mm and back in 2 s.
    speed : float
        Initial speed [m/s], 0 to 40.
    drop : float
        Height of the start above the static equilibrium [m], 0 to 0.2.
    """
    for name, value, known in (("model", model, MODELS), ("road", road, ROADS), ("steering", steering, STEERING)):
        if value not in known:
            raise ValueError(f"hmmwv: {name} must be one of {', '.join(map(repr, known))}, got {value!r}")
    if isinstance(speed, bool) or not isinstance(speed, (int, float, np.number)) or not 0.0 <= speed <= 40.0:
        raise ValueError(f"hmmwv: speed must be a number from 0 to 40 m/s, got {speed!r}")
    if isinstance(drop, bool) or not isinstance(drop, (int, float, np.number)) or not 0.0 <= drop <= 0.2:
        raise ValueError(f"hmmwv: drop must be a number from 0 to 0.2 m, got {drop!r}")
    start = float(speed), HEIGHT + float(drop)
    bodies = [_body("chassis", *CHASSIS, *start), _body("rack", *RACK, *start)]
    joints: list[Revolute | Rod | Spherical | Translational] = []
    forces: list[TSDA | UserForce] = []
    for name, (axle, side) in CORNERS.items():
        corner = _Corner(name, AXLES[axle], side)
        bodies += corner.bodies(*start)
        joints += corner.joints("rack" if axle == "front" else "chassis", model)
        forces += corner.forces(model, road == "bump")
    across = (0.0, 1.0, 0.0)
    origin = tuple(np.subtract(RACK[2], CHASSIS[2]))
    joints.append(Translational("rack", "chassis", "rack", origin, a_i=across, a_j=across, b_i=(0.0, 0.0, 1.0), b_j=(1.0, 0.0, 0.0)))
    drivers = [] if steering == "free" else [DP2("steer", "chassis", "rack", across, origin,
                                                 f=0.0 if steering == "locked" else Harmonic(*STEER))]
    return Mechanism("hmmwv", bodies, joints, drivers, forces, gravity=(0.0, 0.0, -9.81))


def _body(name: str, mass: float, inertia: Sequence[float] | Matrix, centre: Sequence[float], speed: float,
          height: float) -> RigidBody:
    return RigidBody(name, mass, inertia, np.add(centre, (0.0, 0.0, height)), velocity=(speed, 0.0, 0.0), omega=(0.0, 0.0, 0.0),
                     any_inertia="arm" in name)  # those of the source, 0.8938 > 0.4 + 0.4


class _Corner:
    """One suspension; `side` is 1 on the left, -1 on the right."""

    def __init__(self, name: str, axle: Axle, side: float) -> None:
        self.name, self.axle, self.side = name, axle, side
        self.mass, self.inertia, self.centre = _lumped(axle)
        self.origin = {"chassis": np.array(CHASSIS[2]), "rack": np.array(RACK[2]), "lower": self._of(axle.lower),
                       "upper": self._of(axle.upper), "spindle": self._of(self.centre)}

    def _of(self, point: Sequence[float]) -> Vector:
        """A point of the left side, seen from the middle of the vehicle."""
        return np.array([self.axle.x + point[0], self.side * point[1], point[2]])

    def at(self, body: str, point: Sequence[float]) -> tuple[float, ...]:
        """The same, seen from the centre of mass of a body."""
        return tuple(self._of(point) - self.origin[body])

    def bodies(self, speed: float, height: float) -> list[RigidBody]:
        mirror = np.diag([1.0, self.side, 1.0])
        return [_body(f"lower arm {self.name}", *LOWER, self.origin["lower"], speed, height),
                _body(f"upper arm {self.name}", *UPPER, self.origin["upper"], speed, height),
                _body(f"spindle {self.name}", self.mass, mirror @ self.inertia @ mirror, self.origin["spindle"], speed, height)]

    def joints(self, steered: str, model: str) -> list[Revolute | Rod | Spherical | Translational]:
        a, name = self.axle, self.name
        upper, lower, spindle = f"upper arm {name}", f"lower arm {name}", f"spindle {name}"
        hinge = self._hinge("lower", a.lower_front, a.lower_back)
        pivot = self._hinge("upper", a.upper_front, a.upper_back)
        made: list[Revolute | Rod | Spherical | Translational] = [Revolute(lower, "chassis", lower, *hinge)]
        made.append(Revolute(upper, "chassis", upper, *pivot) if model == "soft" else Spherical(upper, "chassis", upper, *pivot[:2]))
        length = float(np.linalg.norm(np.subtract(a.tie, a.tie_upright)))
        return [*made, Spherical(f"upper ball {name}", upper, spindle, self.at("upper", a.upper_ball), self.at("spindle", a.upper_ball)),
                Spherical(f"lower ball {name}", lower, spindle, self.at("lower", a.lower_ball), self.at("spindle", a.lower_ball)),
                Rod(f"tie {name}", steered, spindle, self.at(steered, a.tie), self.at("spindle", a.tie_upright), length)]

    def _hinge(self, arm: str, front: Sequence[float], back: Sequence[float]) -> tuple[tuple[float, ...], ...]:
        """The middle of the axis of an arm on the chassis and on the arm, and its direction on both."""
        middle = 0.5 * np.add(front, back)
        along = self._of(front) - self._of(back)
        axis = tuple((along / np.linalg.norm(along)).tolist())
        return self.at("chassis", middle), self.at(arm, middle), axis, axis

    def forces(self, model: str, bump: bool) -> list[TSDA | UserForce]:
        a, name, lower = self.axle, self.name, f"lower arm {self.name}"
        made: list[TSDA | UserForce] = [
            TSDA(f"spring {name}", "chassis", lower, self.at("chassis", a.spring), self.at("lower", a.spring_arm),
                 law=spring(a.stiffness, a.length)),
            TSDA(f"shock {name}", "chassis", lower, self.at("chassis", a.shock), self.at("lower", a.shock_arm), c=a.damping),
            UserForce(f"tyre {name}", (f"spindle {name}",), tyre(a.radius, self.at("spindle", a.wheel), bump))]
        return made + (self._bushings() if model == "stiff" else [])

    def _bushings(self) -> list[TSDA | UserForce]:
        a, axis = self.axle, np.array(self._hinge("upper", self.axle.upper_front, self.axle.upper_back)[2])
        up = np.cross(axis, np.cross([0.0, 0.0, 1.0], axis))
        directions = up / np.linalg.norm(up), np.cross(axis, up / np.linalg.norm(up))
        place = 0.5 * np.add(a.upper_front, a.upper_back) + 0.5 * BUSHING_PLACE * np.subtract(a.upper_front, a.upper_back)
        on_chassis: Vector = np.array(self.at("chassis", place))
        return [TSDA(f"bushing {k} {self.name}", "chassis", f"upper arm {self.name}", on_chassis + BUSHING_LENGTH * d,
                     self.at("upper", place), BUSHING_STIFFNESS, BUSHING_DAMPING, BUSHING_LENGTH) for k, d in enumerate(directions, 1)]


def _lumped(axle: Axle) -> tuple[float, Matrix, Vector]:
    """Mass, inertia and centre of mass of hub, upright, wheel and tyre of the left side."""
    parts = [(*HUB, axle.wheel), (*UPRIGHT, axle.upright), (*WHEEL, axle.wheel)]
    mass = sum(m for m, _, _ in parts)
    centre: Vector = np.sum([m * np.array(r) for m, _, r in parts], axis=0) / mass
    inertia = np.zeros((3, 3))
    for m, J, r in parts:
        d = np.array(r) - centre
        inertia += np.diag(J) + m * ((d @ d) * np.eye(3) - np.outer(d, d))
    return mass, inertia, centre


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    r, A = place(q, 0)
    out = {"x": float(r[0]), "y": float(r[1]), "height": float(r[2]), "pitch": math.atan2(A[0, 2], A[2, 2]), "roll": -math.asin(A[1, 2]),
           "yaw": math.atan2(A[1, 0], A[1, 1]), "d_height": float(v[2]), "dd_height": float(a[2])}
    assert system.mechanism is not None
    laws = {f.name: f.function for f in system.mechanism.forces if isinstance(f, UserForce)}
    for k, (name, (axle, side)) in enumerate(CORNERS.items()):
        corner, lower, spindle = _Corner(name, AXLES[axle], side), 3 * k + 2, 3 * k + 4
        (x, R), (u, w) = place(q, spindle), rates(v, spindle)
        F, T = np.zeros((1, 3)), np.zeros((1, 3))
        laws[f"tyre {name}"](t, x.reshape(1, 3).copy(), R.reshape(1, 3, 3).copy(), u.reshape(1, 3).copy(), w.reshape(1, 3).copy(), F, T)
        (y, B), a_k = place(q, lower), AXLES[axle]
        d = y + B @ corner.at("lower", a_k.spring_arm) - r - A @ corner.at("chassis", a_k.spring)
        key = name.replace(" ", "_")
        out |= {f"load_{key}": float(F[0, 2]), f"spring_{key}": float(spring(a_k.stiffness, a_k.length)(float(np.linalg.norm(d)), 0.0, t)),
                f"wheel_height_{key}": float(x[2] + R[2] @ corner.at("spindle", a_k.wheel))}
    return out


ENTRY = Entry(
    name="hmmwv",
    title="HMMWV14, military vehicle",
    summary="Fourteen bodies, four double-wishbone suspensions, a steering rack: over a half cylinder of 0.1 m diameter at 10 mph.",
    source="D. Negrut: On the implicit integration of differential-algebraic equations of multibody dynamics, PhD thesis, Iowa 1998, "
           "section 5.2; data of the public HMMWV of Project Chrono",
    build=build,
    parameters={"model": "soft", "road": "bump", "steering": "locked", "speed": SPEED, "drop": DROP},
    variants=({"model": "stiff"}, {"road": "flat", "steering": "driven"}),
    hardness="The stiff model has bushings with an eigenvalue near -2.6e5: explicit methods need steps of microseconds, implicit ones "
             "those of the soft model. The tyre forces have kinks where the wheels reach the half cylinder, leave it, and lift off.",
    t_end=4.0,
    step=1e-3,
    observe=_observe,
    references=REFERENCES,
    view="3d",
    animated=True,
    stiff=False,
)
