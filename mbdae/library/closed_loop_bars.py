"""Four bars in a closed loop with spherical joints, free in space, set in motion by a force and a torque on one of them.

Data as in the toolbox plkinon/metis: uniform bars of 10 m with a section of 1 m x 1 m and density 1 (10 kg) along the sides of a square
in the x-y plane, spherical joints at its corners, no gravity. Bar 1 gets the force `8 f(t)` along the global x-axis at its centre and the
torque `6 f(t)` about it, `f` rising to 100 at 0.5 s and falling to zero at 1 s. The axes of all bodies are parallel to the global ones
at the start.

    bar   centre        along        bar   centre        along
    1     ( 5,  0, 0)   y            3     (-5,  0, 0)   y
    2     ( 0,  5, 0)   x            4     ( 0, -5, 0)   x

Half a turn about the x-axis maps the mechanism and its loads onto themselves: bar 4 mirrors bar 2, bars 1 and 3 stay on the x-axis. From
1 s on energy, momentum (400, 0, 0) N s and angular momentum (300, 0, 0) N m s are conserved, and the centre of mass is at
x = 10 (t - 0.5). The quaternions are followed from their start (1, 0, 0, 0) without a change of sign.
"""

import numba
import numpy as np

from ..model.bodies import RigidBody
from ..model.forces import PointForce, PointTorque
from ..model.joints import Spherical
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Vector
from .base import PRECISE, Entry, Observables, table
from .rigid import components, place, rates

MASS, HALF = 10.0, 5.0
ALONG, ACROSS = MASS / 6.0, MASS * 101.0 / 12.0
CENTRES = ((HALF, 0.0, 0.0), (0.0, HALF, 0.0), (-HALF, 0.0, 0.0), (0.0, -HALF, 0.0))


def build() -> Mechanism:
    """The mechanism."""
    rest = (0.0, 0.0, 0.0)
    inertia = ((ACROSS, ALONG, ACROSS), (ALONG, ACROSS, ACROSS))
    bars = [RigidBody(f"bar {k + 1}", MASS, inertia[k % 2], r, velocity=rest, omega=rest) for k, r in enumerate(CENTRES)]
    loads = [PointForce("force", "bar 1", (_force, 0.0, 0.0)), PointTorque("torque", "bar 1", (_torque, 0.0, 0.0), frame="global")]
    return Mechanism("closed-loop-bars", bars, [_corner(1, 2), _corner(2, 3), _corner(3, 4), _corner(4, 1)], forces=loads)


def _corner(i: int, j: int) -> Spherical:
    """The joint of two bars at their common corner of the square."""
    r_i, r_j = np.array(CENTRES[i - 1]), np.array(CENTRES[j - 1])
    return Spherical(f"corner {i}{j}", f"bar {i}", f"bar {j}", tuple(r_j), tuple(r_i))


@numba.njit
def _pulse(t: float) -> float:
    if t <= 0.5:
        return 200.0 * t
    return 200.0 * (1.0 - t) if t <= 1.0 else 0.0


@numba.njit
def _force(t: float) -> float:
    return 8.0 * _pulse(t)


@numba.njit
def _torque(t: float) -> float:
    return 6.0 * _pulse(t)


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    """Momentum and angular momentum about the origin are those of all bars."""
    out: Observables = {}
    assert system.mechanism is not None
    momentum, turning = np.zeros(3), np.zeros(3)
    for k, bar in enumerate(b for b in system.mechanism.bodies if isinstance(b, RigidBody)):
        (r, A), (d_r, omega) = place(q, k), rates(v, k)
        out |= {f"{axis}{k + 1}": float(x) for axis, x in zip("xyz", r)}
        out |= {f"e{c}_{k + 1}": float(x) for c, x in enumerate(q[7 * k + 3:7 * k + 7])}
        momentum += MASS * d_r
        turning += MASS * np.cross(r, d_r) + A @ (np.reshape(bar.inertia, (3, 3)) @ omega)
    return {**out, **components("momentum", momentum), **components("angular_momentum", turning), "energy": system.energy(t, q, v)}


_NAMES = " ".join(f"x{k} y{k} z{k} e0_{k} e1_{k} e2_{k} e3_{k}" for k in (1, 2, 3))
_ROWS = (
    (1.0, 9.820369141149206, 0.0, 0.0, 0.9693231789064808, 0.24578969635571504, 0.0, 0.0, 5.0, 4.695830500846883, 1.0886388585107747,
     0.9909762967294009, 0.0017010101125000676, -0.13061550562830473, -0.030044559816075844, 0.1796308588507946, 0.0, 0.0,
     0.9997893153079859, -0.02052620266851285, 0.0, 0.0),
    (2.0, 19.22106781259821, 0.0, 0.0, 0.8002591094878171, 0.5996543651819488, 0.0, 0.0, 15.0, 3.172203025922489, 2.78469772881741,
     0.9599635607443566, 0.024015480483158384, -0.2142826289591172, -0.17881882917228903, 10.77893218740179, 0.0, 0.0, 0.9970085069177013,
     0.07729189565365908, 0.0, 0.0),
    (5.0, 48.14617734258766, 0.0, 0.0, -0.13448590770147406, 0.9909155063019807, 0.0, 0.0, 45.0, -2.5598051958497723, 1.8291607994685601,
     0.8631572434852763, 0.26377510738821686, 0.26186241505518526, -0.3417752789812333, 41.85382265741234, 0.0, 0.0, 0.6855308172939829,
     0.7280436103285598, 0.0, 0.0),
    (10.0, 99.9155185081165, 0.0, 0.0, -0.8181438192188748, 0.5750136442502499, 0.0, 0.0, 95.0, 2.483440546833184, -4.242033150976166,
     0.8341789770938732, 0.5437805485545335, -0.0044147754358626595, -0.09180772813985057, 90.0844814918835, 0.0, 0.0, -0.9095761652773174,
     0.41553724208476206, 0.0, 0.0),
)
_BARS = table("bars 1 to 3", "recomputed", PRECISE, 14, _NAMES, _ROWS)
_ENERGY = table("energy after the loads", "recomputed", PRECISE, 15, "energy",
                ((1.0, 2096.167842266732), (10.0, 2096.167842266732)))
_MOMENTA = table("momenta after the loads", "closed form", "time integrals of the loads", 16, "momentum_x angular_momentum_x",
                 ((1.0, 400.0, 300.0), (10.0, 400.0, 300.0)))

ENTRY = Entry(
    name="closed-loop-bars",
    title="Closed loop of four bars",
    summary="Four bars with spherical joints fly through space; energy and momenta are conserved once the loads on one bar are gone.",
    source="Kinon, Betsch (2024) and their toolbox plkinon/metis",
    build=build,
    parameters={},
    hardness="Slow and not stiff, but the loads have kinks at 0.5 s and 1 s, where methods of high order lose theirs: DOP853 at tolerances "
             "of 1e-12 reaches 11 digits across the kinks, 13 with restarts there.",
    t_end=10.0,
    step=1e-3,
    observe=_observe,
    references=_BARS + _ENERGY + _MOMENTA,
    view="3d",
)
