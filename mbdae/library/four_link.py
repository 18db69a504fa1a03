"""Spatial four-link mechanism driven by a rotor at half a revolution per second.

Haug: Computer-Aided Kinematics and Dynamics of Mechanical Systems I (1989), p. 459; data as in the models published with Fang, Kissel,
Zhang, Negrut: J. Comput. Nonlinear Dynam. 18 (2023) 014501. The rotor (crank radius 2 m) moves link 3, hinged at (-4, -8.5, 0), through
link 2 of 12.2 m. The motion is prescribed: with `B = (0, -2 sin pi t, 2 cos pi t)` and `C = (-4, -8.5, 0) + 7.4 (cos u, 0, sin u)` the
angle `u` follows from `|C - B| = 12.2`. The masses enter the multipliers and the torque only.

Of the data as published:

- The printed start is not consistent: the orientation of link 3 violates the constraints of its hinge by 8.7e-3 m and of the spherical
  joint by 4.7e-3 m, and the rotor is at rest although its driver prescribes pi rad/s. Here the initial values are projected, the rate
  included.
- The paper states a density of 1500 kg/m^3; the script computes with the masses of Haug's book and keeps the others as comments
  (`masses`). It writes 0.1 for the axial moment of inertia of link 2 beside the inverse of 0.01; 0.01 is used here.
- The axis of the universal joint, (0, -0.662, 0.75), is rounded and not of unit length; here it is normalised, which scales the
  multiplier of that one equation by 1.0004.
- The published driver has dead points, as in the slider-crank; here `sin(theta - pi t) = 0` is used at all times.
"""

import math
from typing import TypeAlias

from ..model.bodies import GROUND, RigidBody
from ..model.drivers import AngleDriver
from ..model.joints import Revolute, Spherical, Universal
from ..model.mechanism import Mechanism
from ..model.motions import Polynomial
from ..system.system import System
from ..typing import Vector
from .base import Entry, Observables, table
from .rigid import components, place, rates

Inertia: TypeAlias = tuple[float, tuple[float, float, float]]  # mass and principal moments

_CODE = ((2.0, (4.0, 2.0, 2.0)), (1.0, (12.4, 0.01, 12.4)), (1.0, (4.54, 0.01, 4.54)))
_LINK_2 = [(0.750157212, 0.614025856, 0.24543106), (-0.661259471, 0.696721311, 0.278056337), (-2.63269879e-4, -0.37087958, 0.928680929)]
_LINK_3 = [(0.0, 0.474123134, 0.880458547), (-1.0, 0.0, 0.0), (0.0, -0.880458546, 0.474123135)]


def build(masses: str = "code") -> Mechanism:
    """The mechanism.

    Parameters
    ----------
    masses : {"code", "density"}
        Masses of the published script, or those of a disk and two round rods of density 1500 kg/m^3.
    """
    if masses not in ("code", "density"):
        raise ValueError(f"four-link: masses must be 'code' or 'density', got {masses!r}")
    drive = AngleDriver("drive", GROUND, "rotor", Polynomial((0.0, math.pi)), (1, 0, 0), (0, 0, 1), (-1, 0, 0))
    bodies = _bodies(*(_CODE if masses == "code" else _density()))
    return Mechanism("four-link", bodies, _joints(), [drive], gravity=(0.0, 0.0, -9.81))


def _density(rho: float = 1500.0) -> tuple[Inertia, Inertia, Inertia]:
    disk = rho * math.pi * 2.0**2 * 0.1
    return (disk, (disk, disk, 2.0 * disk)), _round_rod(rho, 12.2), _round_rod(rho, 7.4)


def _round_rod(rho: float, length: float, radius: float = 0.1) -> Inertia:
    m = rho * math.pi * radius**2 * length
    return m, (m * length**2 / 12.0, m * radius**2 / 2.0, m * length**2 / 12.0)


def _bodies(rotor: Inertia, link_2: Inertia, link_3: Inertia) -> list[RigidBody]:
    return [
        RigidBody("rotor", *rotor, (0.0, 0.0, 0.0), [(0, 0, 1), (0, 1, 0), (-1, 0, 0)]),
        RigidBody("link 2", *link_2, (-3.74555772, -4.25, 4.26236544), _LINK_2,
                  (-5.26684752, -3.14159265, -2.81807373), (0.49773763, 1.9303387, -0.98813601)),
        RigidBody("link 3", *link_3, (-5.74555772, -8.5, 3.26236544), _LINK_3, (-5.26684752, 0.0, -2.81807373), (1.61443, 0.0, 0.0)),
    ]


def _joints() -> list[Revolute | Spherical | Universal]:
    norm = math.hypot(0.662, 0.75)
    return [
        Revolute("A", "rotor", GROUND, a_i=(0, 0, 1), a_j=(1, 0, 0)),
        Revolute("D", "link 3", GROUND, s_i=(0.0, 3.7, 0.0), s_j=(-4.0, -8.5, 0.0), a_i=(1, 0, 0), a_j=(0, -1, 0)),
        Spherical("C", "link 3", "link 2", (0.0, -3.7, 0.0), (0.0, -6.1, 0.0)),
        Universal("B", "rotor", "link 2", s_i=(-2.0, 0.0, 0.0), s_j=(0.0, 6.1, 0.0),
                  a_i=(0.0, -0.662 / norm, 0.75 / norm), a_j=(0, 0, 1)),
    ]


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    d_r, omega = rates(v, 2)
    dd_r = rates(a, 2)[0]
    return {**components("link2", place(q, 1)[0]), **components("link3", place(q, 2)[0]),
            "d_link3_x": float(d_r[0]), "d_link3_z": float(d_r[2]), "dd_link3_x": float(dd_r[0]), "dd_link3_z": float(dd_r[2]),
            **components("link2_omega", rates(v, 1)[1]), "link3_omega_x": float(omega[0]), "driving_torque": -float(lam[-1])}


_POSITION_ROWS = (
    (0.0, -3.745557718914307, -4.25, 4.262365437828613, -5.7455577189143066, -8.5, 3.2623654378286138, -5.2668475224701705,
     -2.81807373281628, 17.015573185368755, -1.8328900875824137, 1.614425981037769),
    (0.25, -4.561091077642358, -4.957106781186548, 3.3774649017427976, -6.561091077642358, -8.5, 2.6703581205562497, -1.310252150575447,
     -1.2566386008186359, 16.27448654150835, 14.374304595339053, 0.49066533079934405),
    (0.5, -4.239375, -5.25, 2.9453691804890947, -6.239375, -8.5, 2.9453691804890947, 4.626575089767164, 3.5176020243163215,
     32.02378203015963, 12.879382344443881, -1.5707963267948966),
    (1.0, -0.43744228108569316, -4.25, 2.3538654378286137, -2.4374422810856933, -8.5, 3.3538654378286137, 5.414567499735126,
     -2.5226337782863686, -17.738028227528496, -2.374731369202219, -1.614425981037769),
    (1.5, 0.010625, -3.25, 3.106024325303168, -1.989375, -8.5, 3.106024325303168, -4.878931601121813, 3.158282364561989,
     -30.894946026785032, 9.124020556281451, 1.5707963267948966),
    (2.0, -3.745557718914307, -4.25, 4.262365437828613, -5.7455577189143066, -8.5, 3.2623654378286138, -5.2668475224701705,
     -2.81807373281628, 17.015573185368755, -1.8328900875824137, 1.614425981037769),
    (3.0, -0.43744228108569316, -4.25, 2.3538654378286137, -2.4374422810856933, -8.5, 3.3538654378286137, 5.414567499735126,
     -2.5226337782863686, -17.738028227528496, -2.374731369202219, -1.614425981037769),
)
_POSITIONS = table("positions, motion of link 3", "closed form", "intersection of a circle and a sphere, 64-bit mantissa", 15,
                   "link2_x link2_y link2_z link3_x link3_y link3_z d_link3_x d_link3_z dd_link3_x dd_link3_z link3_omega_x",
                   _POSITION_ROWS)

_RATE_ROWS = (
    (0.0, 0.497737632456041, 1.93033869813413, -0.988136005969006),
    (0.25, 0.00674507672282139, 1.63181922455662, -0.451362253663668),
    (0.5, -1.29861609683039, -1.32144503791971, -0.283894795790347),
    (1.0, 1.03958466831199, -0.719025584262728, 0.378707320322652),
    (1.5, -0.485944710788085, 1.06814280868387, -0.635283416089151),
    (2.0, 0.497737632456041, 1.93033869813413, -0.988136005969006),
    (3.0, 1.03958466831199, -0.719025584262728, 0.378707320322652),
)
_RATES = table("angular velocity of link 2", "recomputed", "Newton iteration on the 18 equations, double precision", 12,
               "link2_omega_x link2_omega_y link2_omega_z", _RATE_ROWS)

ENTRY = Entry(
    name="four-link",
    title="Spatial four-link mechanism, driven",
    summary="A rotor swings a hinged link through a coupler with a spherical and a universal joint; the motion is prescribed.",
    source="Haug: Computer-Aided Kinematics and Dynamics of Mechanical Systems I (1989), p. 459; data of Fang, Kissel, Zhang, Negrut: "
           "J. Comput. Nonlinear Dynam. 18 (2023) 014501",
    build=build,
    parameters={"masses": "code"},
    variants=({"masses": "density"},),
    hardness="Kinematically driven; the published initial values violate the constraints by 9 mm and must be projected. Not stiff.",
    t_end=8.0,
    step=1e-3,
    observe=_observe,
    references=_POSITIONS + _RATES,
    view="3d",
)
