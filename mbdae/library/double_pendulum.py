"""Double pendulum: two steel bars of square section, 4 m and 2 m long, the upper one released from the horizontal.

Fang, Kissel, Zhang, Negrut: On the use of half-implicit numerical integration in multibody dynamics, J. Comput. Nonlinear Dynam. 18
(2023) 014501, and the models published with it. Section 0.05 m x 0.05 m, density 7800 kg/m^3, motion in the y-z plane. As in those
models the lower bar is kept in the plane by two equations against the ground, not against the upper bar; the motion is the same.

The paper compares its results with an ordinary differential equation for slender bars (inertia `m L^2/12`), while the bars of its
multibody model have the inertia `m (L^2 + w^2)/12`. These are two models: they differ by 1e-4 m after 1 s and by 0.1 m after 10 s,
so a convergence plot of one against the other levels off. The references here belong to the bars with section.
"""

from collections.abc import Sequence
from typing import Any

from ..model.bodies import GROUND, RigidBody
from ..model.joints import Revolute, Spherical
from ..model.mechanism import Mechanism
from ..model.primitives import DP1
from ..system.system import System
from ..typing import Vector
from .base import Entry, Observables, table
from .rigid import angle_in_plane, place, rates

WIDTH, DENSITY = 0.05, 7800.0


def build() -> Mechanism:
    """The mechanism."""
    upper = _bar("upper", 4.0, (0.0, 2.0, 0.0), [(0, 0, 1), (1, 0, 0), (0, 1, 0)])
    lower = _bar("lower", 2.0, (0.0, 4.0, -1.0), [(0, 0, 1), (0, 1, 0), (-1, 0, 0)])
    joints = [
        Revolute("support", "upper", GROUND, s_i=(-2.0, 0.0, 0.0), a_i=(0.0, 0.0, 1.0), a_j=(1.0, 0.0, 0.0)),
        DP1("plane.b", "lower", GROUND, (1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
        DP1("plane.c", "lower", GROUND, (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)),
        Spherical("elbow", "upper", "lower", (2.0, 0.0, 0.0), (-1.0, 0.0, 0.0)),
    ]
    return Mechanism("double-pendulum", [upper, lower], joints, gravity=(0.0, 0.0, -9.81))


def _bar(name: str, length: float, position: Sequence[float], orientation: Any) -> RigidBody:
    m = DENSITY * WIDTH**2 * length
    across = m * (WIDTH**2 + length**2) / 12.0
    return RigidBody(name, m, (m * WIDTH**2 / 6.0, across, across), position, orientation, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    out: Observables = {}
    for k, n in enumerate("12"):
        r, A = place(q, k)
        out |= {f"y{n}": float(r[1]), f"z{n}": float(r[2]), f"theta{n}": angle_in_plane(A[:, 0], 1, 2),
                f"d_theta{n}": float(rates(v, k)[1][2]), f"dd_theta{n}": float(rates(a, k)[1][2])}
    return out | {"energy": system.energy(t, q, v)}


# angles from the y-axis, wrapped to (-pi, pi]; energy zero at z = 0
_ROWS = (
    (1.0, 0.16807258586693044, -1.9929253889395868, 1.3129965652368425, -4.199769816328964, -1.4866608060997537, -0.21558511823436644,
     -2.2053653356894776, -1.5505238837211317, 1.07492088215566, -22.076288170727253),
    (2.0, -1.8678810115479556, -0.7148569973768084, -3.861262318796702, -0.43762041258557655, -2.7760796046444622, 1.6966284246718384,
     -0.8086233503692382, -0.7053114962720315, 2.84901381251909, 4.85715479895267),
    (3.0, -1.2426115322685733, -1.5671364266946093, -3.467675769550296, -2.947760970624755, -2.2412043670630237, 2.9539821293246735,
     1.2495022288823492, 5.084753949030851, -2.656105736984791, 15.073812519285424),
    (4.0, 1.8008298404666678, -0.870064299741574, 3.7570856209803063, -2.7279761470128845, -0.45007398208046023, -1.4147377081214898,
     1.6668586012046276, -0.9568568548955961, -3.8061164504883305, 12.209891820347844),
    (5.0, 1.7865770457767505, -0.8989674407361029, 4.572906435978066, -1.7756806724863576, -0.4661873010002203, 0.022256046294168108,
     -1.6386234349307758, 2.605616714651871, -1.0417756626624801, -8.374450046288473),
    (6.0, -0.9255985718116453, -1.7729261924457664, -2.836045346597712, -3.3724337668078537, -2.051946746191243, 2.9672928245120604,
     -1.9491362389946636, -2.0050548388266023, -0.034734751926938326, 18.13968133720765),
    (7.0, -1.9949016719936794, -0.14271411659966407, -4.217908762529858, -1.2590646735771271, -3.070174899781532, -1.8009276828477951,
     0.5313126794241482, 1.136000291487808, 3.2089065555302647, -1.9892033347947904),
    (8.0, 0.6732563413808834, -1.8832753114694696, 0.7429528189788145, -4.563868307949314, -1.2274625458141568, -2.218754730367503,
     1.701323316536179, 4.806630936976529, -5.608510701507903, 20.917022732675633),
    (9.0, 1.9324519183661182, -0.5153926495431517, 3.729378197713877, -0.04001145952014614, -0.26063724286516826, 1.7067403038455773,
     0.2187901491612193, 0.6390114897966892, -2.933925567222289, -2.5347729897485527),
    (10.0, 0.6156301688391187, -1.9028924024271887, 2.0114992520248323, -4.431266408532093, -1.257900565329424, -0.6757486318848706,
     -0.5099217192196047, -8.8668285979112, 9.256762526837983, -29.36091988354352),
)
_REFERENCES = table("bars with section", "recomputed", "two angles as coordinates, extrapolation in 113-bit arithmetic", 16,
                    "y1 z1 y2 z2 theta1 theta2 d_theta1 d_theta2 dd_theta1 dd_theta2", _ROWS)

ENTRY = Entry(
    name="double-pendulum",
    title="Double pendulum of two bars",
    summary="Two bars swing in a plane under gravity; energy is conserved and the motion is chaotic.",
    source="Fang, Kissel, Zhang, Negrut: J. Comput. Nonlinear Dynam. 18 (2023) 014501",
    build=build,
    parameters={},
    hardness="Chaotic: a digit is lost every few seconds. Otherwise easy.",
    t_end=8.0,
    step=1e-3,
    observe=_observe,
    references=_REFERENCES,
    view="yz",
)
