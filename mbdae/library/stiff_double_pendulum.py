"""Planar double pendulum with a spring-damper in each hinge, the second one very stiff.

Negrut: On the implicit integration of differential-algebraic equations of multibody dynamics, PhD thesis, The University of Iowa (1998),
section 5.1. Bars of 2 m and 3 m (3 kg and 0.3 kg), k1 = 400, c1 = 15, k2 = 3e5, c2 = 5e4; the fastest eigenvalue is near -1e5 1/s,
while the motion itself takes about a second per swing.

Of the data as published: the thesis gives neither the moments of inertia nor the free angles of the springs nor gravity, the lengths it
lists are half lengths, and its start rate theta2' = 10 contradicts its start velocities. A fit to the 16 reference values that its error
tables imply leaves no doubt: uniform slender bars, the first spring free when the bar hangs down, the second when the bars are in line,
gravity 9.81, start at rest. With these data all 16 values come out to the rounding of the printed times.

It stands for another double pendulum as well, that of Gavrea, Negrut, Potra (2005), the second example of Fernandez de Bustos, Uriarte,
Urkullu, Garcia-Marina (2021): bars with spring-dampers in both hinges, too, 10 s in steps of 1e-3 s by Newmark's method with
alpha = 0.75 and beta = 0.390625. Its lengths, masses, stiffnesses and start are not public, so that step limits found here are not those
of that paper.
"""

import math

from ..model.bodies import GROUND, PlanarBody
from ..model.forces import RSDA
from ..model.joints import PlanarRevolute
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Vector
from .base import Comparison, Entry, Observables, table

HALF_1, HALF_2 = 1.0, 1.5
MASS_1, MASS_2 = 3.0, 0.3


def build() -> Mechanism:
    """The mechanism."""
    angle = 23.0 * math.pi / 12.0
    tip = (2.0 * HALF_1 + HALF_2 * math.cos(angle), HALF_2 * math.sin(angle))
    bodies = [PlanarBody("body 1", MASS_1, MASS_1 * HALF_1**2 / 3.0, (HALF_1, 0.0), 2.0 * math.pi, (0.0, 0.0), 0.0),
              PlanarBody("body 2", MASS_2, MASS_2 * HALF_2**2 / 3.0, tip, angle, (0.0, 0.0), 0.0)]
    joints = [PlanarRevolute("support", GROUND, "body 1", s_j=(-HALF_1, 0.0)),
              PlanarRevolute("elbow", "body 1", "body 2", (HALF_1, 0.0), (-HALF_2, 0.0))]
    springs = [RSDA("spring 1", GROUND, "body 1", k=400.0, c=15.0, theta0=1.5 * math.pi),
               RSDA("spring 2", "body 1", "body 2", k=3e5, c=5e4)]
    return Mechanism("stiff-double-pendulum", bodies, joints, forces=springs, gravity=(0.0, -9.81, 0.0))


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    return {"theta1": float(q[2]), "theta2": float(q[5]), "d_theta1": float(v[2]), "d_theta2": float(v[5]),
            "abs_d_theta1": abs(float(v[2])), "energy": system.energy(t, q, v)}


_RECOMPUTED_ROWS = (
    (0.1, 5.879332917021955, 5.735831838678531, -7.157153497664994, -6.2942481545701074),
    (0.136235, 5.591740573930008, 5.476331221328259, -8.6084998255324, -7.9147652120680565),
    (0.186183, 5.1340601945051105, 5.048569993855039, -9.497322817748406, -8.984053248620743),
    (0.2, 5.002633726621564, 4.92394758364337, -9.509899903513617, -9.03771909645185),
    (0.217757, 4.834669495707639, 4.763933808843316, -9.381522616610873, -8.957375616459974),
    (0.291094, 4.208379477581557, 4.162769843119647, -7.322804772714268, -7.050548487428596),
    (0.351082, 3.854978615457987, 3.8230696939250017, -4.325132788115051, -4.135584517036849),
    (0.373114, 3.7734003320785856, 3.745402387325923, -3.073073171430193, -2.907066236663261),
    (0.413557, 3.6965263790901046, 3.674489364532746, -0.7312436605484368, -0.6009933526703232),
    (0.425395, 3.691861927191727, 3.671313527194397, -0.05886004568612791, 0.06249499853373344),
    (0.5, 3.8333745088596025, 3.820139342123607, 3.668280765635426, 3.7462771524181395),
    (0.55101, 4.067942544661121, 4.058147329200735, 5.392035183914226, 5.449953615327864),
    (0.578444, 4.224262048570376, 4.215936219884445, 5.959771114657194, 6.0092088444914005),
    (0.592127, 4.3071376655528395, 4.299462402471885, 6.142658239396674, 6.188362717807725),
    (0.599954, 4.35552137939782, 4.348195950080264, 6.2169479499411775, 6.26065061373477),
    (0.626135, 4.519986574321421, 4.513723979573023, 6.30614947885783, 6.343794664622038),
    (0.795548, 5.331415393820167, 5.329251096601033, 2.201990930027479, 2.2163105401537613),
    (1.0, 5.055276117600376, 5.0547509436836, -3.938459122583186, -3.934920624245548),
    (1.065146, 4.785239856855356, 4.7848899979325825, -4.1832133577229955, -4.18126027748899),
    (1.084304, 4.706072511595186, 4.705756658408463, -4.06809052278166, -4.066485294219103),
    (1.5, 4.691026932814018, 4.690939731324602, 2.761904621360961, 2.7625757071471946),
    (2.0, 4.601880532081426, 4.601889039566138, -1.3951565174107374, -1.3955145921625383),
)
_RECOMPUTED = table("motion", "recomputed", "two angles as coordinates, extrapolation in 113-bit arithmetic", 15,
                    "theta1 theta2 d_theta1 d_theta2", _RECOMPUTED_ROWS)

# printed times have six decimals: good to 5e-7 s times the rate of change
_THESIS = "implied by the error tables of the thesis: error / relative error"
_ANGLES_ROWS = (
    (0.351082, 3.85497982),
    (0.413557, 3.69652665),
    (0.425395, 3.69186191),
    (0.592127, 4.30713564),
    (0.599954, 4.35552184),
    (0.626135, 4.51998966),
    (1.065146, 4.78524073),
    (1.084304, 4.70607412),
)
_ANGLES = table("angle of body 1", "published", f"{_THESIS}, tables 20 and 21", 6, "theta1", _ANGLES_ROWS)
_RATES_ROWS = (
    (0.136235, 8.60848483),
    (0.186183, 9.49732503),
    (0.217757, 9.38152267),
    (0.291094, 7.32282582),
    (0.373114, 3.07304909),
    (0.55101, 5.39202966),
    (0.578444, 5.95977204),
    (0.795548, 2.20198235),
)
_RATES = table("rate of body 1", "published", f"{_THESIS}, tables 22 and 23", 5, "abs_d_theta1", _RATES_ROWS)

ENTRY = Entry(
    name="stiff-double-pendulum",
    title="Stiff planar double pendulum",
    summary="Two bars with spring-dampers in their hinges, one of them too stiff for explicit methods.",
    source="Negrut: On the implicit integration of differential-algebraic equations of multibody dynamics, PhD thesis, Iowa (1998)",
    build=build,
    parameters={},
    t_end=2.0,
    step=5e-6,
    observe=_observe,
    references=_RECOMPUTED + _ANGLES + _RATES,
    view="xy",
    stiff=True,
    # eigenvalues near -1e5 1/s: explicit forces need steps below 2e-5 s
    comparison=Comparison(("HalfImplicit", "Ida:gear", "Ida:ggl", "Cvode:BDF", "SolveIvp:Radau", "SdirkFirstOrder", "RosenbrockNystrom"),
                          (1.6e-5, 8e-6)),
    hardness="The second spring makes one eigenvalue near -1e5 1/s while the bars swing in a second: explicit methods need very "
             "small steps, and methods without damping at infinity oscillate. No difficulty for stiff solvers.",
)
