"""Spatial rigid slider-crank that moves freely: the crank starts at 6 rad/s and nothing drives it.

Benchmark "Rigid slider-crank mechanism" of the IFToMM Technical Committee for Multibody Dynamics; the data are those of its model in the
library of Exudyn. Crank 0.08 m and 0.12 kg, rod 0.3 m and 0.5 kg, slider 2 kg, gravity 9.81 along -z, one degree of freedom. At the slider
the rod's transverse axis that is perpendicular to the guide at the start, `(0, 2, -1)/sqrt 5`, stays perpendicular to it. The slider does
not turn, so its moments of inertia do not matter.

The start velocities are exact: rod `(0.12, -0.24, 0)` and, in global components, `omega = (1.92, -0.96, 0.48)`. The crank makes a turn
in 0.57889743960071 s.
"""

import numpy as np

from ..model.bodies import GROUND, RigidBody
from ..model.joints import Revolute, Spherical, Translational, Universal
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Vector
from .base import Entry, Observables, table
from .rigid import angle_in_plane, place, rates

_AXIS = np.array([2.0, -1.0, -2.0]) / 3.0  # from the crank pin to the slider
_ACROSS = np.array([0.0, 2.0, -1.0]) / np.sqrt(5.0)
_ROD = np.column_stack([_AXIS, _ACROSS, np.cross(_AXIS, _ACROSS)])


def build() -> Mechanism:
    """The mechanism."""
    crank = RigidBody("crank", 0.12, (1e-4, 1e-4, 1e-5), (0.0, 0.1, 0.16), velocity=(0.0, -0.24, 0.0), omega=(6.0, 0.0, 0.0))
    rod = RigidBody("rod", 0.5, (4e-4, 4e-3, 4e-3), (0.1, 0.05, 0.1), _ROD, (0.12, -0.24, 0.0), _ROD.T @ (1.92, -0.96, 0.48))
    slider = RigidBody("slider", 2.0, (1e-4, 1e-4, 1e-4), (0.2, 0.0, 0.0), velocity=(0.24, 0.0, 0.0), omega=(0.0, 0.0, 0.0))
    joints = [
        Revolute("A", GROUND, "crank", s_i=(0.0, 0.1, 0.12), s_j=(0.0, 0.0, -0.04), a_i=(1, 0, 0), a_j=(1, 0, 0)),
        Spherical("B", "crank", "rod", (0.0, 0.0, 0.04), (-0.15, 0.0, 0.0)),
        Universal("C", "rod", "slider", s_i=(0.15, 0.0, 0.0), a_i=(0, 1, 0), a_j=(1, 0, 0)),
        Translational("D", GROUND, "slider", a_i=(1, 0, 0), a_j=(1, 0, 0)),
    ]
    return Mechanism("slider-crank-free", [crank, rod, slider], joints, gravity=(0.0, 0.0, -9.81))


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    turned = -angle_in_plane(place(q, 0)[1][:, 2], 2, 1)
    return {"crank_angle": turned, "d_crank_angle": float(rates(v, 0)[1][0]), "slider_x": float(place(q, 2)[0][0]),
            "d_slider_x": float(rates(v, 2)[0][0]), "energy": system.energy(t, q, v)}


# crank angle about x from the vertical, wrapped to (-pi, pi]
_ROWS = (
    (0.1, 0.56003148209304, 5.8288881346543056, 0.2267871885529191, 0.305277006934754),
    (0.25, 1.9478548375813485, 18.607236332293024, 0.28486000292094793, 0.39062513154766454),
    (0.5, -0.699422753872282, 14.408160810200375, 0.18495262977780264, -0.0045602906325156005),
    (1.0, -1.652779884494505, 10.427593000412049, 0.21172166139344378, -0.5034918649250101),
    (2.0, 2.223188601237717, 22.58424002783247, 0.2890851970671418, 0.2165394234534353),
    (3.0, 0.592401219859263, 5.916170357808076, 0.22848481369792872, 0.3106396219398338),
    (4.0, -0.38054324372139486, 9.539454748310972, 0.18823047558156217, 0.1957260723212769),
    (5.0, -2.215335596303113, 11.494996265042086, 0.2407195737296153, -0.5959844120449362),
)
_REFERENCES = table("crank and slider", "recomputed", "energy integral of the one-degree-of-freedom reduction, 30 digits", 16,
                    "crank_angle d_crank_angle slider_x d_slider_x", _ROWS)

ENTRY = Entry(
    name="slider-crank-free",
    title="Spatial slider-crank, free (IFToMM)",
    summary="The same topology without a drive: one degree of freedom, energy is conserved, the crank rate varies between 5 and 24 rad/s.",
    source="IFToMM Technical Committee for Multibody Dynamics, benchmark: rigid spatial slider-crank",
    build=build,
    parameters={},
    hardness="The crank is light and the slider heavy: near the dead points the motion is ten times faster than on the average.",
    t_end=5.0,
    step=2.5e-4,
    observe=_observe,
    references=_REFERENCES,
    view="3d",
)
