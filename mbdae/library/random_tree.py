"""Random tree of rigid bodies: topology, masses, inertia tensors, joints and their axes drawn from a seed.

The first body hangs on the ground. Each further one hangs on the body before it or, by the toss of a coin again and again, on what that
one hangs on, down to the first body: the bodies are numbered depth first, and the depth grows about with the square root of their number.
All joints are equally likely:

    joint           relative degrees of freedom
    Spherical       3
    Universal       2
    Revolute        1
    Cylindrical     2   a spring along the axis holds the body
    Translational   1   likewise

A spring of 1 m has the rate `400 m` where m is the mass of all it holds, and is relaxed at the start: a single body would swing with
20 rad/s. (In 2 s of 40 trees of 20 bodies the springs kept between 0.22 and 1.86 m; at the length zero their force would jump.)
Masses are 1 to 5 kg, radii of gyration (of the coordinates, along the principal axes) 0.1 to 0.4 m, the principal axes any, joints 0.3 to
0.7 m from the centres of mass, the orientations of the bodies any. Start at rest, gravity 9.81 along -z.

The constraints of a tree are independent in every position, and the initial values are computed from the ground upwards, so that they
are consistent to rounding.

The numbers come from SplitMix64 (Steele, Lea, Flood: OOPSLA 2014), 53 bits each; directions by rejection from the cube, with no function
but the square root. So a seed defines the same mechanism on all machines, up to the last bits of its numbers.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ..model import rotations
from ..model.bodies import GROUND, RigidBody
from ..model.forces import TSDA
from ..model.joints import Cylindrical, Revolute, Spherical, Translational, Universal
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Matrix, Vector
from .base import Entry, Observables, table, whole_number
from .chain import MOST
from .rigid import components, rates

Joint: TypeAlias = Cylindrical | Revolute | Spherical | Translational | Universal

KINDS = (Spherical, Universal, Revolute, Cylindrical, Translational)
REACH = 1.0  # free length of the springs [m]
FREQUENCY = 20.0  # of a body on its spring [rad/s]


def build(bodies: int = 20, seed: int = 0) -> Mechanism:
    """The mechanism.

    Parameters
    ----------
    bodies : int
        1 to 4096.
    seed : int
        0 to 2^64 - 1.
    """
    bodies = whole_number("random-tree", "bodies", bodies, 1, MOST)
    draw = Draw(whole_number("random-tree", "seed", seed, 0, 2**64 - 1))
    parents = _parents(bodies, draw)
    found, joints, frames, places = [], [], [np.eye(3)], [np.zeros(3)]
    for k, parent in enumerate(parents, 1):
        mass, inertia = _inertia(draw)
        orientation, s_i, s_j = draw.direction(4), draw.point(), draw.point()
        A, B = frames[parent], rotations.to_matrix(orientation)
        ends = (f"joint {k}", f"body {parent}" if parent else GROUND, f"body {k}", s_i, s_j)
        joints.append(_joint(draw, ends, A, B))
        places.append(places[parent] + A @ s_i - B @ s_j)
        frames.append(B)
        found.append(RigidBody(f"body {k}", mass, inertia, places[k], orientation, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    return Mechanism("random-tree", found, joints, forces=_springs(parents, found, joints), gravity=(0.0, 0.0, -9.81))


def _parents(bodies: int, draw: "Draw") -> list[int]:
    """Number of the body that each body hangs on; the ground is number 0."""
    found = [0]
    for parent in range(1, bodies):
        while parent > 1 and draw.between(0.0, 1.0) < 0.5:
            parent = found[parent - 1]
        found.append(parent)
    return found


def _inertia(draw: "Draw") -> tuple[float, Matrix]:
    """Mass, and inertia tensor in axes that are not the principal ones."""
    mass, axes = draw.between(1.0, 5.0), rotations.to_matrix(draw.direction(4))
    moments = np.diag([mass * draw.between(0.1, 0.4) ** 2 for _ in "xyz"])  # of second order: of x^2, y^2, z^2
    tensor = axes @ (np.trace(moments) * np.eye(3) - moments) @ axes.T
    return mass, 0.5 * (tensor + tensor.T)


def _joint(draw: "Draw", ends: tuple[str, str, str, Vector, Vector], A: Matrix, B: Matrix) -> Joint:
    """A joint of any kind, its axis of any direction; `A`, `B` are the rotation matrices of its bodies."""
    kind, axis = KINDS[draw.below(len(KINDS))], draw.direction(3)
    if kind is Spherical:
        return Spherical(*ends)
    if kind is Universal:
        other = np.cross(axis, draw.direction(3))
        return Universal(*ends, A.T @ axis, B.T @ (other / np.linalg.norm(other)))
    of_one_axis: Callable[..., Joint] = kind
    return of_one_axis(*ends, A.T @ axis, B.T @ axis)


def _springs(parents: list[int], bodies: list[RigidBody], joints: list[Joint]) -> list[TSDA]:
    """Springs along the axes of the joints that slide."""
    held = [0.0] + [b.mass for b in bodies]
    for k in range(len(bodies), 0, -1):
        held[parents[k - 1]] += held[k]
    return [TSDA(f"spring {k}", j.i, j.j, np.subtract(j.s_i, np.multiply(REACH, j.a_i)), j.s_j, k=FREQUENCY**2 * held[k], l0=REACH)
            for k, j in enumerate(joints, 1) if isinstance(j, (Cylindrical, Translational))]


class Draw:
    """Random numbers from the generator SplitMix64.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int) -> None:
        self._state = seed

    def bits(self) -> int:
        """64 random bits as an integer."""
        self._state = (self._state + 0x9E3779B97F4A7C15) % 2**64
        z = (self._state ^ (self._state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def between(self, low: float, high: float) -> float:
        """A number between two others, evenly distributed."""
        return low + (high - low) * ((self.bits() >> 11) * 2.0**-53)

    def below(self, n: int) -> int:
        """An integer from 0 to n - 1."""
        return int(self.between(0.0, n))

    def direction(self, n: int) -> Vector:
        """A vector of length one in n dimensions, evenly distributed."""
        while True:
            x = np.array([self.between(-1.0, 1.0) for _ in range(n)])
            if 0.01 < x @ x < 1.0:
                return x / np.sqrt(x @ x)

    def point(self) -> Vector:
        """A point 0.3 to 0.7 m from the centre of mass."""
        return self.between(0.3, 0.7) * self.direction(3)


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    n = system.nv // 6
    out = {f"{axis}{k + 1}": float(q[7 * k + c]) for k in range(n) for c, axis in enumerate("xyz")}
    return out | components("omega_last", rates(v, n - 1)[1]) | {"energy": system.energy(t, q, v)}


_SOURCE = "eighth-order Runge-Kutta on the index-1 form at relative tolerance 1e-13; a model in joint coordinates agrees"

_TWENTY_ROWS = (
    (0.25, -0.39087875790272, 0.2300508658994, -0.14506537349322, 0.32182188145963, 1.0746714291635, -0.56099613457436,
     0.85503247937726, 0.94701685159866, -0.52346648798859, -0.018080798800687, -0.044850634363129, 0.028833506420361),
    (0.5, -0.56184582265813, 0.19854802185227, -0.36372597162003, 0.44201791275753, 1.1373658340887, -1.2903995584252, 0.85522342678515,
     0.93889389593427, -1.4449266544495, -0.077868858446118, -0.046016913318102, 0.017518255155203),
    (1.0, -0.43628501383964, 0.26910632313613, -0.79069346215537, 0.61621089733721, 1.2487454124545, -1.4789286912595, 0.48102281545235,
     0.98990905481627, -4.1798994361682, -9.523334440134, -1.950320318425, -1.1793628051139),
)
_TWENTY = table("twenty bodies", "recomputed", _SOURCE, 10,
                "x1 y1 z1 x10 y10 z10 x20 y20 z20 omega_last_x omega_last_y omega_last_z", _TWENTY_ROWS)

_SEED_1_ROWS = (
    (0.25, -0.73768427307006, 0.28011777220688, -0.078508932560907, -1.286001790307, 1.1033639724261, 0.7519019713206,
     -0.76750020701128, 1.1359108932549, 0.27919818423535, 0.18129744900447, -0.2329992010817, -0.57230856570913),
    (0.5, -0.62735911214137, 0.26699837129585, -0.20009259816884, -1.184682781993, 1.1816486053378, -0.10982212225837,
     -0.98403670001417, 0.7904365379243, -0.62478320953579, 3.5171152316902, 6.0986424087329, -6.0562834706447),
    (1.0, -0.53112631490541, 0.12670757473404, -0.2998977286203, -0.030921941915478, -0.071325428658093, -2.3876755799472,
     -0.73154098353874, -1.5961406917572, -1.9277547152474, 1.9753734671043, 7.4104026064849, -9.9601162211401),
)
_SEED_1 = table("seed 1", "recomputed", _SOURCE, 10,
                "x1 y1 z1 x10 y10 z10 x20 y20 z20 omega_last_x omega_last_y omega_last_z", _SEED_1_ROWS, seed=1)

_FIVE_ROWS = (
    (0.25, -0.66926861808944, -0.31188730589291, -0.083332401794795, -0.61376245663922, 0.69356732319135, -0.43789655877601,
     -0.77437382711503, 0.76075161033111, -0.49937908743929, -0.939114570344, 0.14281787756274, -0.3315096672089, -0.83704355536767,
     -0.21241829152363, -1.1539923906012, 0.370221209954, 0.70438251018831, 0.29707489568517),
    (0.5, -0.6577625940405, -0.33891299868778, -0.10834220561923, -0.72973197937022, 0.43494828015792, -1.0541414162509,
     -0.72798912205304, 0.74874048813408, -1.2754749494956, -0.88564853167965, 0.12848892615229, -1.1008427212153, -0.68787149310697,
     -0.081631629682707, -1.8535596563266, -0.16851216288291, 3.2335461173033, -0.27188032230224),
    (1.0, -0.67319843034015, -0.30974482613257, -0.15322206630013, -0.0012910788211305, -1.0974701007514, -0.81495626802349,
     -0.58644697019174, -0.50666373926068, -1.1073973998146, -0.11181709828545, -0.50709144131169, -1.5117142319722, 0.56406814515221,
     -0.70969751204864, -1.2678389484643, -3.6061422975054, -0.21702888563768, 0.13047881919805),
)
_FIVE = table("five bodies", "recomputed", _SOURCE, 10,
              "x1 y1 z1 x2 y2 z2 x3 y3 z3 x4 y4 z4 x5 y5 z5 omega_last_x omega_last_y omega_last_z", _FIVE_ROWS, bodies=5, seed=2)

ENTRY = Entry(
    name="random-tree",
    title="Random tree of rigid bodies",
    summary="Bodies with full inertia tensors on spherical, universal, revolute, cylindrical and translational joints, all drawn "
            "from a seed.",
    source="none; made for studies of size and sparsity, and for tests",
    build=build,
    parameters={"bodies": 20, "seed": 0},
    variants=({"seed": 1}, {"bodies": 5, "seed": 2}),
    hardness="Strongly chaotic: disturbances grow by a factor of 400 to 20000 in 2 s and by 100 more in the third. Springs of 20 rad/s and "
             "accelerations of 1000 rad/s^2 bound the step: 1e-3 s is sensible for a method of first order, 1e-2 s is not.",
    t_end=2.0,
    step=1e-3,
    observe=_observe,
    references=_TWENTY + _SEED_1 + _FIVE,
    view="3d",
)
