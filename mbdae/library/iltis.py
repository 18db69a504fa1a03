"""Bombardier Iltis: a road vehicle with four wheels on A-arms and leaf springs, over bumps and in a turn.

Frik, Leister, Schwartz: Simulation of the IAVSD Road Vehicle Benchmark Bombardier Iltis, Vehicle System Dynamics 22 (1993) 215-253. Data,
tyre model, equilibrium and motions of the public Robotran model `ovankerm/IAVSD_ILTIS`. x forward, y to the left, z up; gravity 9.81.

    body        mass [kg]   inertia [kg m^2]               joints
    chassis     1260        130, 1620, 1670
    4 A-arms    6           0.052099, 0.023235, 0.068864   Revolute (x) on the chassis
    4 hubs      half of a wheel                            Spherical on the A-arm; leaf spring link: Rod to the chassis, and DP2 that keeps
                                                           its end in the plane of the axle; tie rod: Rod to chassis or rack
    4 wheels    57.35       1.2402, 1.908 (spin), 1.2402   Revolute on the hub

78 coordinates, 64 constraints, 14 degrees of freedom: ten, and four spins. Points and closed form of the suspension: `iltis_suspension`;
forces: `iltis_forces`. All body axes are parallel to those of the chassis in the nominal position.

Massless parts of the source, and how they are modelled here:

- Leaf spring link and carrier are eliminated exactly: the joints of the carrier lie on the steering axis, and so are points of the hub.
- The hub carries half the mass and transverse inertia of its wheel, and 1e-3 of the spin inertia, as inertias must be positive. Both
  together are the wheel of the source, except that 1e-3 of its spin inertia does not spin.
- The rack, there in "ramp-steer" only, slides on the chassis and has 1e-3 of its mass and inertia, about the same centre.

Manoeuvres: "rest" starts in the nominal position, standing, the chassis 0.57 m high; tyres carry vertical forces through the wheel
centres, and the vehicle settles in its static equilibrium. All others start from that equilibrium, rolling at `speed`: over a cosine bump
of 0.2 m x 5 m that begins at x = 0.97 ("bump"), over the same with a hole for the wheels at y < 0 ("anti-bump"), or on a flat road with
the rack moving to the left by 2 mm ("ramp-steer"). Tyres then exert a force normal to the road below the wheel centre, and a lateral force
and an aligning torque by the Calspan formula, at the foot of the spoke; there is no longitudinal slip force, nor is there in the source.
The friction coefficient of that formula is negative at tyre loads above 26.5 kN, which front wheels exceed three times behind the bump.

Differences from the source:

- There the wheels turn in their hubs at a prescribed constant rate, with reactions on the hubs: `wheels="driven"`. Here they turn
  freely by default, which changes the pitch by 1.4 per cent after half a second of the bump.
- There the rack moves at 4 mm/s from the first instant to 0.5 s, so that velocities jump twice. Here the corners of the ramp are rounded
  over 0.1 s each, which delays the motion by 0.05 s.
- The list of data has 0.32146 m as the length of the A-arm; the points make it 0.3214001, with which the nominal forces come out. The
  centre of mass, 0.16073 m from the outer ball, is that of the longer one; with it the equilibrium is the published one to six digits.
- With the points in closed form the nominal tyre loads are 3829.50 and 3593.52 N (published with the benchmark: 3829.6 and 3593.6).
- The source calls the side y < 0 left, which it is not.

Angles of the chassis: it is turned by `pitch` about y, then by `roll` about x, then by `yaw` about z, as in the source; its rates are
the body-fixed components of the angular velocity. `load` is the vertical force on a tyre; `shock`, `leaf`, `link` are tensions.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numba
import numpy as np

from ..model.bodies import RigidBody
from ..model.drivers import AngleDriver
from ..model.forces import TSDA, UserForce
from ..model.joints import Revolute, Rod, Spherical, Translational
from ..model.mechanism import Mechanism
from ..model.motions import Function, Polynomial
from ..model.primitives import DP2
from ..system.system import System
from ..typing import Matrix, Vector
from . import iltis_forces as forces
from . import iltis_suspension as at
from .base import Entry, Observables
from .iltis_references import REFERENCES
from .rigid import place, rates

Joint: TypeAlias = Revolute | Rod | Spherical | Translational | DP2

CHASSIS, CHASSIS_INERTIA = 1260.0, (130.0, 1620.0, 1670.0)
ARM, ARM_INERTIA = 6.0, (0.052099, 0.023235, 0.068864)
WHEEL, WHEEL_INERTIA = 57.35, (1.2402, 1.908, 1.2402)
REMAINDER = 1e-3  # share of the spin inertia that stays with the hub, and share of mass and inertia of the chassis that the rack has
RADIUS = {at.FRONT: 0.364325, at.REAR: 0.363812}  # of the tyres, unloaded
CORNERS = {"front left": (at.FRONT, 1.0), "front right": (at.FRONT, -1.0), "rear left": (at.REAR, 1.0), "rear right": (at.REAR, -1.0)}
MANOEUVRES = {"rest": (0.0, 0.0), "bump": (1.0, 1.0), "anti-bump": (1.0, -1.0), "ramp-steer": (0.0, 0.0)}  # road on the left and right
SLOWEST, FASTEST = 1.0, 40.0  # m/s
# static equilibrium: height and pitch of the chassis, angles of the A-arms at the front and rear
NOMINAL = (at.HEIGHT, 0.0, 0.0, 0.0)
EQUILIBRIUM = (0.56291664666080, 0.0025574990423073, 0.030333606461529, 0.014013294113661)
RACK_RATE, RACK_TIME, RACK_ROUNDING = 4e-3, 0.5, 0.1  # m/s, s, s


def build(manoeuvre: str = "bump", speed: float = 10.0, wheels: str = "free") -> Mechanism:
    """The vehicle.

    Parameters
    ----------
    manoeuvre : {"bump", "anti-bump", "ramp-steer", "rest"}
    speed : float
        Initial speed of all manoeuvres but "rest" [m/s], 1 to 40.
    wheels : {"free", "driven"}
        Whether the wheels turn freely or with their initial rate.
    """
    if not isinstance(manoeuvre, str) or manoeuvre not in MANOEUVRES:
        raise ValueError(f"iltis: manoeuvre must be one of {', '.join(repr(m) for m in MANOEUVRES)}, got {manoeuvre!r}")
    if not (isinstance(speed, (int, float, np.number)) and not isinstance(speed, bool) and SLOWEST <= speed <= FASTEST):
        raise ValueError(f"iltis: speed must be a number from {SLOWEST:g} to {FASTEST:g} m/s, got {speed!r}")
    if wheels not in ("free", "driven"):
        raise ValueError(f"iltis: wheels must be 'free' or 'driven', got {wheels!r}")
    standing, steered = manoeuvre == "rest", manoeuvre == "ramp-steer"
    speed = 0.0 if standing else float(speed)
    bodies, joints, loads = _vehicle(NOMINAL if standing else EQUILIBRIUM, speed, steered)
    loads += [UserForce(f"tyre {name}", (f"wheel {name}",), _tyre(axle, manoeuvre)) for name, (axle, _) in CORNERS.items()]
    drivers: list[DP2 | AngleDriver] = []
    if steered:
        drivers += [DP2("steer", "chassis", "rack", (0.0, 1.0, 0.0), f=Function(_rack, _d_rack, _dd_rack))]
    if wheels == "driven":
        drivers += [AngleDriver(f"spin {name}", f"hub {name}", f"wheel {name}", Polynomial((0.0, speed / RADIUS[axle])),
                                (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 1.0)) for name, (axle, _) in CORNERS.items()]
    return Mechanism("iltis", bodies, joints, drivers, loads, gravity=(0.0, 0.0, -9.81))


def _tyre(axle: float, manoeuvre: str) -> Callable[..., None]:
    return forces.standing_tyre(RADIUS[axle]) if manoeuvre == "rest" else forces.rolling_tyre(RADIUS[axle], *MANOEUVRES[manoeuvre])


def _vehicle(position: Sequence[float], speed: float,
             steered: bool) -> tuple[list[RigidBody], list[Joint], list[TSDA | UserForce]]:
    """Bodies, joints, and the forces within the vehicle."""
    height, pitch, *angles = position
    c, s = math.cos(pitch), math.sin(pitch)
    frame = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    origin, share = np.array([0.0, 0.0, height]), 1.0 - REMAINDER if steered else 1.0

    def body(name: str, mass: float, inertia: Sequence[float] | Matrix, r: Vector, A: Matrix, spin: float = 0.0) -> RigidBody:
        return RigidBody(name, mass, inertia, origin + frame @ r, frame @ A, (speed, 0.0, 0.0), (0.0, spin, 0.0),
                         name.startswith("wheel"))  # half of their transverse inertia is that of the hub

    centre = np.zeros(3), np.eye(3)
    bodies, joints, loads = [body("chassis", share * CHASSIS, np.diag(CHASSIS_INERTIA) * share, *centre)], [], []
    for name, (axle, side) in CORNERS.items():
        arm, hub = at.places(axle, side, angles[0 if axle == at.FRONT else 1])
        R = at.arm_axes(side)
        x, y, z = (0.5 * i for i in WHEEL_INERTIA)
        bodies += [body(f"arm {name}", ARM, R @ np.diag(ARM_INERTIA) @ R.T, *arm),
                   body(f"hub {name}", 0.5 * WHEEL, (x, 2.0 * REMAINDER * y, z), *hub),
                   body(f"wheel {name}", 0.5 * WHEEL, (x, 2.0 * (1.0 - REMAINDER) * y, z), *hub, speed / RADIUS[axle])]
        joints += _suspension(name, axle, side, "rack" if steered and axle == at.FRONT else "chassis")
        loads += _springs(name, axle, side)
    if steered:
        across, up = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
        bodies += [body("rack", REMAINDER * CHASSIS, np.diag(CHASSIS_INERTIA) * REMAINDER, *centre)]
        joints += [Translational("rack", "chassis", "rack", a_i=across, a_j=across, b_i=up, b_j=(1.0, 0.0, 0.0))]
    return bodies, joints, loads


def _suspension(name: str, axle: float, side: float, rack: str) -> list[Joint]:
    arm, hub, wheel = f"arm {name}", f"hub {name}", f"wheel {name}"
    link, end, tie = at.on_chassis(at.P, axle, side), at.seen(at.E, at.W, side), -math.copysign(at.TIE, axle)
    return [
        Revolute(arm, "chassis", arm, at.on_chassis(at.A, axle, side), at.seen(at.A, at.C, side), (1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
        Spherical(f"ball {name}", arm, hub, at.seen(at.B, at.C, side), at.seen(at.B, at.W, side)),
        Rod(f"link {name}", "chassis", hub, link, end, at.distance(at.P, at.E)),
        DP2(f"plane {name}", "chassis", hub, (1.0, 0.0, 0.0), link, end),
        Rod(f"tie {name}", rack, hub, at.on_chassis(at.K, axle, side, tie), at.seen(at.T, at.W, side, tie), at.distance(at.T, at.K)),
        Revolute(wheel, hub, wheel, a_i=(0.0, 1.0, 0.0), a_j=(0.0, 1.0, 0.0)),
    ]


def _springs(name: str, axle: float, side: float) -> list[TSDA | UserForce]:
    arm, hub, x = f"arm {name}", f"hub {name}", math.copysign(at.SHOCK, axle)
    return [TSDA(f"shock {name}", "chassis", arm, at.on_chassis(at.U, axle, side, x), at.seen(at.S, at.C, side, x), law=forces.shock),
            UserForce(f"leaf {name}", ("chassis", hub), _LEAF)]


_LEAF = forces.leaf_spring(at.W[0] - at.E[0], at.E[1] - at.W[1])


@numba.njit
def _ramp(t: float) -> tuple[float, float, float]:
    """Integral of the share of the rack's rate that has been reached since t = 0, and two derivatives."""
    if t <= 0.0:
        return 0.0, 0.0, 0.0
    if t >= RACK_ROUNDING:
        return t - 0.5 * RACK_ROUNDING, 1.0, 0.0
    w = 2.0 * np.pi / RACK_ROUNDING
    return t * t / (2.0 * RACK_ROUNDING) - (1.0 - np.cos(w * t)) / (w * w * RACK_ROUNDING), (t - np.sin(w * t) / w) / RACK_ROUNDING, \
        (1.0 - np.cos(w * t)) / RACK_ROUNDING


@numba.njit
def _rack(t: float) -> float:
    return RACK_RATE * (_ramp(t)[0] - _ramp(t - RACK_TIME)[0])


@numba.njit
def _d_rack(t: float) -> float:
    return RACK_RATE * (_ramp(t)[1] - _ramp(t - RACK_TIME)[1])


@numba.njit
def _dd_rack(t: float) -> float:
    return RACK_RATE * (_ramp(t)[2] - _ramp(t - RACK_TIME)[2])


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    r, A = place(q, 0)
    out = {"x": float(r[0]), "y": float(r[1]), "height": float(r[2]), "pitch": math.atan2(A[0, 2], A[2, 2]), "roll": -math.asin(A[1, 2]),
           "yaw": math.atan2(A[1, 0], A[1, 1]), "d_x": float(v[0]), "d_y": float(v[1]), "d_height": float(v[2]), "roll_rate": float(v[3]),
           "pitch_rate": float(v[4]), "yaw_rate": float(v[5]), "dd_height": float(a[2]), "lateral_acceleration": float(a[:3] @ A[:, 1])}
    assert system.mechanism is not None
    tyres = {f.name: f.function for f in system.mechanism.forces if isinstance(f, UserForce) and f.name.startswith("tyre")}
    for k, (name, (axle, side)) in enumerate(CORNERS.items()):
        arm, hub, wheel, x = 3 * k + 1, 3 * k + 2, 3 * k + 3, math.copysign(at.SHOCK, axle)
        end = _point(q, v, hub, at.seen(at.E, at.W, side))[0]
        d, dd = np.subtract(_point(q, v, arm, at.seen(at.S, at.C, side, x)), _point(q, v, 0, at.on_chassis(at.U, axle, side, x)))
        length = math.sqrt(d @ d)
        values = {"load": _tyre_force(tyres[f"tyre {name}"], t, q, v, wheel)[2], "shock": forces.shock(length, d @ dd / length, t),
                  "leaf": forces.leaf(forces.LEAF_ROOF - A[:, 2] @ (end - r)),
                  "link": 2.0 * at.distance(at.P, at.E) * lam[system.labels.index(f"link {name}")]}
        out |= {f"{what}_{name.replace(' ', '_')}": float(value) for what, value in values.items()}
    return out


def _point(q: Vector, v: Vector, k: int, s: Sequence[float]) -> tuple[Vector, Vector]:
    """Position and velocity of a point of the k-th body."""
    (r, A), (d_r, omega) = place(q, k), rates(v, k)
    return r + A @ np.asarray(s), d_r + A @ np.cross(omega, s)


def _tyre_force(function: Callable[..., None], t: float, q: Vector, v: Vector, k: int) -> Vector:
    (r, A), (d_r, omega) = place(q, k), rates(v, k)
    F, T = np.zeros((1, 3)), np.zeros((1, 3))
    function(t, r.reshape(1, 3).copy(), A.reshape(1, 3, 3).copy(), d_r.reshape(1, 3).copy(), omega.reshape(1, 3).copy(), F, T)
    return F[0]


ENTRY = Entry(
    name="iltis",
    title="Bombardier Iltis, road vehicle (IAVSD benchmark)",
    summary="Chassis, four suspensions with A-arms, leaf springs and shock absorbers, four tyres: over bumps at speed, and in a turn.",
    source="S. Frik, G. Leister, W. Schwartz: Vehicle System Dynamics 22 (1993) 215-253; data of the public Robotran model "
           "ovankerm/IAVSD_ILTIS",
    build=build,
    parameters={"manoeuvre": "bump", "speed": 10.0, "wheels": "free"},
    variants=({"manoeuvre": "rest"}, {"manoeuvre": "anti-bump"}, {"manoeuvre": "ramp-steer"}, {"wheels": "driven"}),
    hardness="Not stiff: wheel hop, 85 rad/s with a third of critical damping, is fastest. At 10 m/s the wheels leave the ground for "
             "tenths of a second behind the bumps; there, where tyres saturate, and in the shock absorbers the laws have kinks, at which "
             "methods of high order lose steps. DOP853 takes 16000 evaluations at a tolerance of 1e-6 and is far faster than IDA.",
    t_end=2.5,
    step=1e-3,
    observe=_observe,
    references=REFERENCES,
    view="3d",
)
