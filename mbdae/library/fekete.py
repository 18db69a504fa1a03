"""Fekete points: damped motion of N points on the unit sphere that repel each other, towards an equilibrium of minimal energy.

Test Set for IVP Solvers, Bari, problem "Fekete" (N = 20; data and start). With positions `p_i` and velocities `v_i`

    p_i'' = -alpha v_i - 2 lam_i p_i + sum_j (p_i - p_j)/|p_i - p_j|^2,   |p_i|^2 = 1,   alpha = 1/2.

The points are particles of unit mass on rods of unit length; repulsion and damping are one user force. The form published, stabilised
with 8 N unknowns and of index 2, is `mbdae.GGL`; its multipliers are those of the test set (`lambda1`, `lambda2`, ... of `_observe`, and
`mu1`, ...) with the other sign.

As `p_i . (p_i - p_j)/|p_i - p_j|^2 = 1/2` on the sphere and `p_i . p_i'' = -|v_i|^2`, the multipliers of the test set are
`lambda_i = -(N - 1)/4 - |v_i|^2/2` at all times: every point at rest is held with the same force, wherever it is.

For N other than 20 the start is a spiral at rest, `z_i = 1 - (2 i - 1)/N` with steps of the golden angle about the z-axis.
"""

import math

import numpy as np
from numba import njit

from ..model.bodies import GROUND, Particle
from ..model.forces import UserForce
from ..model.joints import Rod
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Matrix, Numbers, Vector
from .base import Entry, Observables, table, whole_number

MOST = 400
ALPHA = 0.5
# circles of the published start: number of points, azimuth of the "zeroth" point, latitude
_CIRCLES = ((3, math.pi / 13, 3 * math.pi / 8), (7, math.pi / 29, math.pi / 8), (6, math.pi / 7, -2 * math.pi / 15),
            (4, math.pi / 17, -3 * math.pi / 10))
_GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))


def build(points: int = 20) -> Mechanism:
    """The mechanism.

    Parameters
    ----------
    points : int
        Number of points, 2 to 400.
    """
    n = whole_number("fekete", "points", points, 2, MOST)
    names = [f"p{k + 1}" for k in range(n)]
    bodies = [Particle(name, 1.0, r, (0.0, 0.0, 0.0)) for name, r in zip(names, _start(n))]
    rods = [Rod(f"rod {k + 1}", GROUND, name) for k, name in enumerate(names)]
    return Mechanism("fekete", bodies, rods, forces=[UserForce("repulsion and damping", names, repel)])


def _start(n: int) -> list[tuple[float, float, float]]:
    if n != 20:
        return [_on_sphere(k * _GOLDEN_ANGLE, math.asin(1.0 - (2 * k + 1) / n)) for k in range(n)]
    return [_on_sphere(2 * math.pi * k / m + first, latitude)
            for at, (m, first, latitude) in enumerate(_CIRCLES) for k in (range(m) if at == 3 else range(1, m + 1))]


def _on_sphere(azimuth: float, latitude: float) -> tuple[float, float, float]:
    return math.cos(azimuth) * math.cos(latitude), math.sin(azimuth) * math.cos(latitude), math.sin(latitude)


@njit(cache=True)
def repel(t: float, r: Numbers, A: Numbers, v: Numbers, omega: Numbers, F: Numbers, T: Numbers) -> None:
    """Repulsion `(p_i - p_j)/|p_i - p_j|^2` of all pairs, and damping `-alpha v`."""
    for i in range(len(r)):
        for c in range(3):
            F[i, c] -= ALPHA * v[i, c]
        for j in range(i):
            x, y, z = r[i, 0] - r[j, 0], r[i, 1] - r[j, 1], r[i, 2] - r[j, 2]
            s = x * x + y * y + z * z
            for c, d in enumerate((x / s, y / s, z / s)):
                F[i, c] += d
                F[j, c] -= d


def _potential(p: Matrix) -> float:
    """`-sum log |p_i - p_j|` over all pairs."""
    i, j = np.triu_indices(len(p), 1)
    return float(-0.5 * np.log(((p[i] - p[j]) ** 2).sum(axis=1)).sum())


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    p, potential, kinetic = q.reshape(-1, 3), _potential(q.reshape(-1, 3)), system.kinetic_energy(t, q, v)
    out = {"potential": potential, "kinetic": kinetic, "energy": potential + kinetic}
    out |= {f"p{k + 1}{axis}": float(p[k, c]) for k in range(len(p)) for c, axis in enumerate("xyz")}
    return out | {f"lambda{k + 1}": -float(x) for k, x in enumerate(lam)}


_SOURCE = "extrapolation with projection, 64-bit mantissa"
_MULTIPLIER_ROWS = (
    (1.0, -53.65810327916998, -4.751422185499956, -4.750093021526825),
    (10.0, -54.007870684318895, -4.750015671990691, -4.750497906715386),
)
_POSITION_ROWS = (
    (10.0, -0.3511637826091237, 0.34366636734151373, 0.8709635042537316, 0.08709094247694424, -0.3131590000277477, 0.9456990052020244,
     0.6718217443144278, 0.16129268267384794, 0.7229385965503523, 0.2520685168469469, 0.7881386445410846, 0.5615148615980902,
     -0.4877646423903007, 0.8394980679567295, 0.2394340149827931, -0.9571508430427054, 0.21076919428120192, 0.19859156680154189,
     -0.6544358243714964, -0.3890079819551175, 0.648372224693815, -0.1701636985680164, -0.932297867915936, 0.3191629696080878,
     0.5536853229553418, -0.7050466355288829, 0.443104733526106, 0.9870630477979082, -0.15296027950396573, 0.048059260980305316,
     0.11004543736445346, 0.9480497297527479, -0.298482347268658, -0.6867844555984673, 0.5420133987782321, -0.48430216507175144,
     -0.8466470838722389, -0.5140894728243517, -0.13747992326814243, -0.1933794102445724, -0.8717906915228149, -0.450094872074359,
     0.5862239265790722, -0.7237549377409056, -0.36403337484614284, 0.7770078467719217, 0.6288664224602211, -0.028032637352639365,
     0.7406670860854354, 0.14807869377391644, -0.6553510265803518, 0.02895385989170945, 0.46778120379987675, -0.8833699221554407,
     -0.6068487617038367, -0.14697382451547839, -0.7811102837153109, 0.16118250408836357, -0.3286173881910635, -0.9306077651482866),
)
_MOTION = (*table("potential and multipliers", "recomputed", _SOURCE, 15, "potential lambda1 lambda20", _MULTIPLIER_ROWS),
           *table("positions", "recomputed", _SOURCE, 14, " ".join(f"p{k}{axis}" for k in range(1, 21) for axis in "xyz"), _POSITION_ROWS))
_REST = table("at rest", "recomputed", "minimum of the potential; multipliers -(N - 1)/4", 15, "potential lambda1 lambda20", (
    (100.0, -54.01112997458417, -4.75, -4.75),))
_ICOSAHEDRON = table("icosahedron, at rest", "closed form", "30 edges of sin(2 pi/5)^-1, 30 diagonals, 6 diameters", 15,
                     "potential lambda1 lambda12", ((100.0, -21.606145230444884, -2.75, -2.75),), points=12)

ENTRY = Entry(
    name="fekete",
    title="Fekete points (IVP Test Set)",
    summary="Points on a sphere repel each other until they are spread evenly: a dense system of any size whose motion dies out.",
    source="Test Set for IVP Solvers, Bari: problem Fekete; data as distributed with the R package deTestSet",
    build=build,
    parameters={"points": 20},
    variants=({"points": 12},),
    hardness="Smooth and not stiff, the motion dies out; but every point acts on every other, so Jacobians are dense. At tolerances 1e-6 "
             "DOP853 takes 30 steps to t = 10, IDA 800. In the end explicit methods are held at steps of 1.7 s.",
    t_end=100.0,
    step=0.05,
    observe=_observe,
    references=_MOTION + _REST + _ICOSAHEDRON,
    view="3d",
    film=5.0,
)
