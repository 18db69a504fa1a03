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


_TWO_ROWS = (
    (0.5, 0.05821037564444417, 0.5553646483704102, -0.8295671518977492, 0.09508098452671916, 0.9073730807798802, -2.638006544583122, -4.0,
     0.29160829012131495, 0.17259082756051994),
    (1.0, 0.10018325763910721, 0.9532583412686552, 0.2850646412492232, 0.3020058121198263, 2.8814160970478024, 0.3720369178686035, -4.0,
     7.140473381860758, -4.973639175557759),
    (2.0, -0.10380741140185719, -0.9944768121605494, 0.015488428359161801, -0.2837073754169389, -2.708846371657762, 0.7208785567951348,
     -4.0, -2.8271179270015088, -0.7189283445491159),
    (3.0, 0.01927330610804102, 0.1858890092418317, 0.9823817058123364, 0.009354841480442952, 0.08833647542954856, 1.0062182993882063, -4.0,
     -1.0571341818406246, -2.0917514712993883),
)
_TWO = table("two bars", "recomputed", PRECISE, 15, "x1 y1 z1 x2 y2 z2 omega_last_x omega_last_y omega_last_z", _TWO_ROWS, links=2)

_FOUR_ROWS = (
    (0.5, 0.058798447840281834, 0.5608860414910105, -0.8258023922174833, 0.09849271860959528, 0.9401435624730526, -2.6347864110717567,
     0.08491823671466635, 0.8110258159000681, -4.616573085308399, 0.08854335145123776, 0.8455780800347789, -6.615015051860071, -2.0,
     -0.04395103060424666, 0.022220299161230386),
    (1.0, 0.10399747676418652, 0.9906858391824553, 0.08789819605678359, 0.29199175497850277, 2.785292865455802, -0.4129779808787699,
     0.3637444973779851, 3.473794936987568, -1.9949937700341231, 0.3509781349700459, 3.3525347855170766, -3.9882179907986406, -2.0,
     0.7893808001968636, 0.4660740172710525),
    (2.0, 0.03347799442347924, 0.31835239844483487, 0.9473811135407981, 0.04188437665906212, 0.40166133917095154, 2.866423684198183,
     -0.03875951751856008, -0.374552714538525, 4.677159695516876, -0.15246290536398904, -1.4537322457946296, 6.357166565727018, -2.0,
     0.005358463420704956, 0.0009818074518443205),
    (3.0, -0.09276393141766014, -0.8680950266748463, 0.4876534401502132, -0.24702242918810427, -2.336073639641557, 0.17758631443372241,
     -0.41072895923507685, -3.9255204824766152, -0.5185602597943433, -0.40996685770474456, -3.9228401811365505, -0.3473510491188758, -2.0,
     -0.05237641317763558, -0.29896255408286565),
)
_FOUR = table("four bars", "recomputed", PRECISE, 15,
              "x1 y1 z1 x2 y2 z2 x3 y3 z3 x4 y4 z4 omega_last_x omega_last_y omega_last_z", _FOUR_ROWS)

_REVOLUTE_ROWS = (
    (0.5, 0.031230998320488135, 0.0, -0.9995121933943105, 0.09224474134762234, 0.30098875998230723, -2.952186888402093, 0.10650843411995037,
     0.9026573844228343, -4.858948246000851, 0.08334191251988171, 0.9215702869339549, -6.771999495470469, -0.1249239251868962,
     0.010554318588660253, -1.110831650642077),
    (1.0, 0.15161192238666593, 0.0, -0.9884400968142781, 0.3544542390949818, 0.9411802988840768, -2.310878833880471, 0.3346002622191169,
     2.8163533831685745, -2.9950267123029373, 0.386105663350636, 3.635635887950941, -4.3309818640492, 0.31203653205539117,
     -0.7137827602078927, 3.4275010035115736),
    (1.5, 0.6322182683917131, 0.0, -0.7747903336463251, 0.9491099942651858, 0.8667388985106146, -1.1631445750443992, 0.8387534140670492,
     2.4317448889821884, -0.09084378562120207, 0.695347223594684, 3.091205165391899, 1.5315720779254962, -2.684831180808092,
     -0.7363975052419705, 2.4050595985674574),
)
_REVOLUTE = table("four bars", "recomputed", PRECISE, 15,
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
