"""Chain of N bars on spherical joints, on revolute joints, or in the plane.

Fang, Kissel, Zhang, Negrut: J. Comput. Nonlinear Dynam. 18 (2023) 014501: bars of 2 m x 0.05 m x 0.05 m, density 7800 kg/m^3, hanging
down along -z on spherical joints, gravity 9.81 (0.07169162, 0.68473815, 0.72525442), N up to 32.

The published start cannot be reproduced: the rates were drawn at random without a seed, and they turn the bars about a transverse axis,
which the joints do not allow while the centres of mass are at rest; the paper speaks of turns about the longitudinal axes. Here the bars
spin about their own axes with 6, -4, 8, -2 rad/s in turn. This is consistent, and without torques about these axes the spins are
constant.

    joints      bars                                      start                                     degrees of freedom
    spherical   in space                                  hanging along -z, spinning as above       3 N
    revolute    in space, axes y, z, y, ... of the bars   hanging along -z at rest, same gravity    N
    planar      in the x-y plane, gravity along -y        horizontal along x, at rest               N

The constraints of an open chain are independent in every position. The other families, `tree`, `ring` and `ladder`, use the same bars and
joints.
"""

from collections.abc import Sequence

from ..model.bodies import GROUND, PlanarBody, RigidBody
from ..model.joints import PlanarRevolute, Revolute, Spherical
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Vector
from .base import PRECISE, Entry, Observables, one_of, table, whole_number
from .rigid import components, rates

MOST = 4096
SPINS = (6.0, -4.0, 8.0, -2.0)
WIDTH, LENGTH, DENSITY = 0.05, 2.0, 7800.0
HALF = 0.5 * LENGTH
MASS = DENSITY * WIDTH**2 * LENGTH
ACROSS = MASS * (WIDTH**2 + LENGTH**2) / 12.0  # moment of inertia about the y- and the z-axis of a bar
JOINTS = ("spherical", "revolute", "planar")
SKEW = tuple(9.81 * c for c in (0.07169162, 0.68473815, 0.72525442))
GRAVITY = {"spherical": SKEW, "revolute": SKEW, "planar": (0.0, -9.81, 0.0)}
AXES = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))  # of the revolute joints of even and of odd levels, in the bars and in the ground
DOWN = (2**-0.5, 0.0, 2**-0.5, 0.0)  # body x-axis along -z, y-axis along y


def build(links: int = 4, joints: str = "spherical") -> Mechanism:
    """The mechanism.

    Parameters
    ----------
    links : int
        Number of bars, 1 to 4096.
    joints : {"spherical", "revolute", "planar"}
    """
    links = whole_number("chain", "links", links, 1, MOST)
    one_of("chain", "joints", joints, JOINTS)
    pins = [joint(joints, "joint 1", GROUND, "link 1", 0.0, -HALF, 1)]
    pins += [joint(joints, f"joint {k}", f"link {k - 1}", f"link {k}", HALF, -HALF, k) for k in range(2, links + 1)]
    return Mechanism("chain", [_link(k, joints) for k in range(1, links + 1)], pins, gravity=GRAVITY[joints])


def _link(k: int, joints: str) -> RigidBody | PlanarBody:
    if joints == "planar":
        return planar_bar(f"link {k}", (LENGTH * (k - 0.5), 0.0), 0.0)
    return bar(f"link {k}", (0.0, 0.0, -LENGTH * (k - 0.5)), DOWN, (spin(k, joints), 0.0, 0.0))


# what the families share


def bar(name: str, position: Sequence[float] | Vector, orientation: Sequence[float] | Vector, omega: Sequence[float],
        velocity: Sequence[float] = (0.0, 0.0, 0.0)) -> RigidBody:
    """A bar in space along its x-axis."""
    return RigidBody(name, MASS, (MASS * WIDTH**2 / 6.0, ACROSS, ACROSS), position, orientation, velocity, omega)


def planar_bar(name: str, position: Sequence[float] | Vector, angle: float, omega: float = 0.0,
               velocity: Sequence[float] = (0.0, 0.0)) -> PlanarBody:
    """A bar in the plane along its x-axis."""
    return PlanarBody(name, MASS, ACROSS, position, angle, velocity, omega)


def spin(k: int, joints: str) -> float:
    """Rate of the k-th bar about its own axis: only spherical joints let it turn."""
    return SPINS[(k - 1) % 4] if joints == "spherical" else 0.0


def joint(kind: str, name: str, i: str, j: str, at_i: float, at_j: float, level: int = 1) -> Spherical | PlanarRevolute | Revolute:
    """A joint between two points on the axes of bars, given by their distances from the centres; `level` alternates the axes."""
    if kind == "planar":
        return PlanarRevolute(name, i, j, (at_i, 0.0), (at_j, 0.0))
    ends = (name, i, j, (at_i, 0.0, 0.0), (at_j, 0.0, 0.0))
    return Spherical(*ends) if kind == "spherical" else Revolute(*ends, AXES[level % 2], AXES[level % 2])


def observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    """Centres of all bars and energy; in space the angular velocity of the last bar, in the plane the angles and their rates."""
    energy = {"energy": system.energy(t, q, v)}
    assert system.mechanism is not None
    if isinstance(system.mechanism.bodies[0], PlanarBody):
        n = system.nv // 3
        out = {f"{name}{k + 1}": float(q[3 * k + c]) for k in range(n) for c, name in enumerate(("x", "y", "angle"))}
        return out | {f"d_angle{k + 1}": float(v[3 * k + 2]) for k in range(n)} | energy
    n = system.nv // 6
    out = {f"{axis}{k + 1}": float(q[7 * k + c]) for k in range(n) for c, axis in enumerate("xyz")}
    return out | components("omega_last", rates(v, n - 1)[1]) | energy


_SOURCE = "eighth-order Runge-Kutta on the index-1 form at relative tolerances 1e-12 and 1e-13; spin about the bar exact"

_TWO_ROWS = (
    (0.5, 0.058210375644449, 0.55536464837041, -0.82956715189775, 0.095080984526725, 0.90737308077988, -2.6380065445831, -4.0,
     0.2916082901213, 0.17259082756055),
    (1.0, 0.10018325763911, 0.95325834126865, 0.28506464124923, 0.30200581211983, 2.8814160970478, 0.37203691786866, -4.0,
     7.1404733818616, -4.9736391755566),
    (2.0, -0.10380741140184, -0.99447681216055, 0.015488428359179, -0.28370737541686, -2.7088463716577, 0.72087855679526, -4.0,
     -2.8271179270006, -0.71892834455084),
    (3.0, 0.019273306108092, 0.18588900924206, 0.98238170581229, 0.0093548414805012, 0.088336475428537, 1.0062182993886, -4.0,
     -1.0571341818433, -2.091751471309),
)
_TWO = table("two bars", "recomputed", _SOURCE, 10, "x1 y1 z1 x2 y2 z2 omega_last_x omega_last_y omega_last_z", _TWO_ROWS, links=2)

_FOUR_ROWS = (
    (0.5, 0.058798447840284, 0.56088604149101, -0.82580239221748, 0.098492718609595, 0.94014356247305, -2.6347864110718, 0.084918236714667,
     0.81102581590007, -4.6165730853084, 0.088543351451239, 0.84557808003478, -6.6150150518601, -2.0, -0.043951030604242,
     0.02222029916123),
    (1.0, 0.10399747676418, 0.99068583918246, 0.08789819605678, 0.2919917549785, 2.7852928654558, -0.41297798087877, 0.36374449737799,
     3.4737949369876, -1.9949937700341, 0.35097813497005, 3.3525347855171, -3.9882179907986, -2.0, 0.78938080019687,
     0.46607401727117),
    (2.0, 0.033477994423492, 0.31835239844481, 0.9473811135408, 0.041884376659116, 0.40166133917091, 2.8664236841982, -0.03875951751851,
     -0.37455271453852, 4.6771596955169, -0.15246290536395, -1.4537322457946, 6.3571665657271, -2.0, 0.0053584634204287,
     0.00098180745207818),
    (3.0, -0.092763931417678, -0.86809502667479, 0.4876534401503, -0.24702242918818, -2.3360736396415, 0.17758631443397, -0.41072895923515,
     -3.9255204824767, -0.51856025979421, -0.40996685770467, -3.9228401811366, -0.34735104911921, -2.0, -0.052376413178758,
     -0.29896255408317),
)
_FOUR = table("four bars", "recomputed", _SOURCE, 10,
              "x1 y1 z1 x2 y2 z2 x3 y3 z3 x4 y4 z4 omega_last_x omega_last_y omega_last_z", _FOUR_ROWS)

_JOINT_SOURCE = "eighth-order Runge-Kutta on the index-1 form at relative tolerance 1e-13; a model in joint coordinates agrees"

_REVOLUTE_ROWS = (
    (0.5, 0.031230998320486, 0.0, -0.99951219339431, 0.09224474134762, 0.30098875998231, -2.9521868884021, 0.10650843411995,
     0.90265738442284, -4.8589482460008, 0.083341912519881, 0.92157028693395, -6.7719994954705, -0.1249239251869, 0.010554318588664,
     -1.1108316506421),
    (1.0, 0.1516119223866, 0.0, -0.98844009681429, 0.35445423909494, 0.94118029888406, -2.3108788338805, 0.33460026221917,
     2.8163533831686, -2.9950267123029, 0.38610566335062, 3.6356358879509, -4.3309818640492, 0.31203653205523, -0.71378276020796,
     3.4275010035117),
    (1.5, 0.63221826839043, 0.0, -0.77479033364737, 0.94910999426297, 0.86673889851034, -1.1631445750456, 0.83875341406554,
     2.4317448889818, -0.090843785621739, 0.69534722359486, 3.0912051653913, 1.5315720779252, -2.684831180797, -0.73639750525104,
     2.4050595985651),
)
_REVOLUTE = table("four bars", "recomputed", _JOINT_SOURCE, 10,
                  "x1 y1 z1 x2 y2 z2 x3 y3 z3 x4 y4 z4 omega_last_x omega_last_y omega_last_z", _REVOLUTE_ROWS, joints="revolute")

_PLANAR_ROWS = (
    (0.5, -0.586275679868922, -0.09490803497060873, 0.045984505812430194, -0.016631575647305902, -1.5734170475784055, -1.467339846539963,
     0.3876027547981977, -0.0971017429719941, 6.654760676663245, -1.2207504070980402),
    (1.0, -1.1707242167130025, -1.0139738321254075, -0.8374349893485857, 0.05146941017861339, -1.1432240036328112, -0.7625551355736558,
     -3.972348950541312, -2.500491285707913, 4.173369278088245, -4.974353734582369),
    (2.0, -2.828930812121784, -2.5068200818913517, -2.6538879246914457, -2.569375254680306, -2.320527178306544, -1.601836318961706,
     0.7673464839181672, -0.3784276570705743, -6.1209733424175115, -3.279870298423279),
    (3.0, -2.373920422244938, -3.132257193494872, -3.9769705074977226, -2.8647552260755704, 0.9157227002902562, 2.249429888104586,
     -1.2814108388636856, -2.809221813003172, -5.742690871080955, -0.19780982963017155),
)
_PLANAR = table("four bars", "recomputed", PRECISE, 15,
                "angle1 angle2 angle3 angle4 d_angle1 d_angle2 d_angle3 d_angle4 x4 y4", _PLANAR_ROWS, joints="planar")

ENTRY = Entry(
    name="chain",
    title="Chain of N bars",
    summary="Bars linked by spherical or revolute joints swing in space or in the plane; energy is conserved. The test of how cost grows "
            "with size.",
    source="Fang, Kissel, Zhang, Negrut: J. Comput. Nonlinear Dynam. 18 (2023) 014501; spins chosen here",
    build=build,
    parameters={"links": 4, "joints": "spherical"},
    variants=({"links": 1}, {"links": 7}, {"joints": "revolute"}, {"joints": "planar"}),
    hardness="Chaotic for more than two links: digits are lost at a steady rate, in 3 s one with four links on spherical joints, two and a "
             "half with seven or with revolute joints, hardly any in the plane. The size is free, the cost per link ought not to grow.",
    t_end=3.0,
    step=1e-3,
    observe=observe,
    references=_TWO + _FOUR + _REVOLUTE + _PLANAR,
    view="yz",
)
