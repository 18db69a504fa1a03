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
from .base import PRECISE, Entry, Observables, table, whole_number
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


_TWENTY_ROWS = (
    (0.25, -0.3908787579027118, 0.23005086589939222, -0.14506537349321663, 0.32182188145968993, 1.0746714291635364, -0.5609961345743545,
     0.8550324793772652, 0.9470168515986537, -0.5234664879885944, -0.018080798790542904, -0.044850634354274665, 0.02883350641598801),
    (0.5, -0.5618458226581856, 0.19854802185238002, -0.36372597162013864, 0.4420179127563358, 1.13736583408883, -1.2903995584251864,
     0.8552234267851573, 0.9388938959342445, -1.4449266544495534, -0.0778688584524028, -0.04601691332165013, 0.01751825515650694),
    (1.0, -0.4362850138396514, 0.26910632313595123, -0.7906934621553408, 0.6162108973376244, 1.2487454124554116, -1.4789286912588224,
     0.48102281545244524, 0.9899090548162759, -4.179899436168232, -9.523334440141216, -1.950320318425421, -1.1793628051150709),
)
_TWENTY = table("twenty bodies", "recomputed", PRECISE, 13,
                "x1 y1 z1 x10 y10 z10 x20 y20 z20 omega_last_x omega_last_y omega_last_z", _TWENTY_ROWS)

_SEED_1_ROWS = (
    (0.25, -0.7376842730694768, 0.2801177722072874, -0.07850893256027458, -1.2860017903069527, 1.1033639724261377, 0.7519019713205899,
     -0.7675002070113045, 1.1359108932548818, 0.2791981842353308, 0.18129744900647526, -0.2329992010822424, -0.5723085657158478),
    (0.5, -0.6273591121410611, 0.26699837129607296, -0.2000925981685106, -1.1846827819929964, 1.1816486053377946, -0.10982212225838536,
     -0.9840367000141585, 0.7904365379242625, -0.6247832095357255, 3.517115231672587, 6.098642408740282, -6.056283470628482),
    (1.0, -0.5311263149062673, 0.12670757473339855, -0.2998977286211982, -0.03092194191526472, -0.07132542865802717, -2.387675579946949,
     -0.7315409835388906, -1.5961406917571113, -1.9277547152471213, 1.97537346711017, 7.4104026064876765, -9.960116221142105),
)
_SEED_1 = table("seed 1", "recomputed", PRECISE, 13,
                "x1 y1 z1 x10 y10 z10 x20 y20 z20 omega_last_x omega_last_y omega_last_z", _SEED_1_ROWS, seed=1)

_FIVE_ROWS = (
    (0.25, -0.6692686180894432, -0.31188730589290925, -0.08333240179479404, -0.6137624566392224, 0.6935673231913553, -0.4378965587760044,
     -0.7743738271150309, 0.7607516103311189, -0.4993790874392893, -0.9391145703439946, 0.14281787756273157, -0.33150966720889974,
     -0.8370435553676727, -0.21241829152363273, -1.1539923906011924, 0.3702212099534845, 0.7043825101877437, 0.2970748956850147),
    (0.5, -0.6577625940404995, -0.3389129986877797, -0.10834220561923173, -0.7297319793702066, 0.43494828015791265, -1.0541414162508635,
     -0.7279891220530332, 0.7487404881340609, -1.275474949495603, -0.8856485316796661, 0.1284889261523054, -1.1008427212152774,
     -0.6878714931069732, -0.08163162968269866, -1.8535596563266044, -0.16851216288171525, 3.2335461173050173, -0.27188032230184955),
    (1.0, -0.6731984303401628, -0.30974482613255827, -0.15322206630009075, -0.00129107882141826, -1.0974701007515484, -0.8149562680234927,
     -0.5864469701917656, -0.5066637392604637, -1.1073973998148392, -0.1118170982854177, -0.5070914413116125, -1.5117142319721666,
     0.5640681451521535, -0.7096975120486082, -1.2678389484642634, -3.6061422975081205, -0.21702888564042355, 0.13047881919742008),
)
_FIVE = table("five bodies", "recomputed", PRECISE, 13,
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
