"""Ring of N bars, a closed loop on spherical joints or in the plane, held at one point or floating freely.

The bars of `chain`, at first a regular polygon in the x-y plane.

    support     start                                                                    degrees of freedom
                                                                                         spherical   planar
    point       the joint of the last and the first bar is on the ground at the origin,  3 N - 3     N - 2
                the polygon stands off along +x, at rest
    free        no gravity; the centre of mass rests at the origin, the bars turn        3 N         N
                with the rates below

In space the bars also spin about their own axes, 6, -4, 8, -2 rad/s in turn, and keep these spins: the degrees of freedom count them.
The bar in the direction beta from the centre turns with `1 + cos 2 beta` rad/s in the plane of the polygon and rises out of it with
`sin 2 beta / 2` rad/s. These rates keep the ring closed because the sums of `cos 2 beta cos beta`, ... over a regular polygon vanish.
Momentum, angular momentum and energy are constant.

The equations that close a ring are independent unless all bars are parallel. With an odd number of bars that cannot be. An even ring can
fold flat, but with six bars or more it hardly ever does; a rhombus in the plane always does (with this support after 0.84 s), and
therefore there are at least five bars.
"""

import math
from collections.abc import Sequence
from typing import TypeAlias

from ..model.bodies import GROUND, PlanarBody, RigidBody
from ..model.mechanism import Mechanism
from .base import PRECISE, Entry, one_of, table, whole_number
from .chain import GRAVITY, HALF, MOST, bar, joint, observe, planar_bar, spin

Point: TypeAlias = tuple[float, float]

TURN, STRETCH, RISE = 1.0, 1.0, 0.5  # rates of the free ring: as a whole, in its plane, out of it [rad/s]


def build(links: int = 8, joints: str = "spherical", support: str = "point") -> Mechanism:
    """The mechanism.

    Parameters
    ----------
    links : int
        Number of bars, 5 to 4096.
    joints : {"spherical", "planar"}
    support : {"point", "free"}
    """
    links = whole_number("ring", "links", links, 5, MOST)
    one_of("ring", "joints", joints, ("spherical", "planar"))
    one_of("ring", "support", support, ("point", "free"))
    free = support == "free"
    names = [f"link {k}" for k in range(1, links + 1)]
    pins = [joint(joints, f"joint {k}", names[k - 2], names[k - 1], HALF, -HALF) for k in range(2, links + 1)]
    if free:
        pins.append(joint(joints, "joint 1", names[-1], names[0], HALF, -HALF))
    else:
        pins.append(joint(joints, "last", GROUND, names[-1], 0.0, HALF))
        pins.insert(0, joint(joints, "first", GROUND, names[0], 0.0, -HALF))
    bodies = [_bar(k, name, joints, *state) for k, (name, state) in enumerate(zip(names, _free(links) if free else _held(links)), 1)]
    return Mechanism("ring", bodies, pins, gravity=(0.0, 0.0, 0.0) if free else GRAVITY[joints])


def _bar(k: int, name: str, joints: str, centre: Point, beta: float, velocity: Sequence[float] = (0.0, 0.0, 0.0), turn: float = 0.0,
         rise: float = 0.0) -> RigidBody | PlanarBody:
    """A bar of the polygon, perpendicular to the direction `beta`."""
    angle = beta + 0.5 * math.pi
    if joints == "planar":
        return planar_bar(name, centre, angle, turn, velocity[:2])
    orientation = (math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle))
    return bar(name, (*centre, 0.0), orientation, (spin(k, joints), -rise, turn), velocity)


def _directions(links: int) -> list[float]:
    """Of the centres of the bars, seen from the centre of the polygon; the first bar begins in the direction pi."""
    return [math.pi * (1.0 + (2 * k + 1) / links) for k in range(links)]


def _held(links: int) -> list[tuple[Point, float]]:
    """Centres and directions, the first corner at the origin."""
    inner, outer = HALF / math.tan(math.pi / links), HALF / math.sin(math.pi / links)
    return [((outer + inner * math.cos(beta), inner * math.sin(beta)), beta) for beta in _directions(links)]


def _free(links: int) -> list[tuple[Point, float, tuple[float, ...], float, float]]:
    """Centres, directions, velocities and rates, the centre of mass at rest at the origin."""
    inner, corner = HALF / math.tan(math.pi / links), [0.0, 0.0, 0.0]
    found: list[tuple[Point, float, list[float], float, float]] = []
    for beta in _directions(links):
        c, s = math.cos(beta), math.sin(beta)
        turn, rise = TURN + STRETCH * math.cos(2.0 * beta), RISE * math.sin(2.0 * beta)
        half = (-HALF * turn * c, -HALF * turn * s, HALF * rise)  # what the centre is faster than the first end
        found.append(((inner * c, inner * s), beta, [x + d for x, d in zip(corner, half)], turn, rise))
        corner = [x + 2.0 * d for x, d in zip(corner, half)]
    drift = [math.fsum(state[2][c] for state in found) / links for c in range(3)]
    return [(centre, beta, tuple(x - d for x, d in zip(velocity, drift)), turn, rise) for centre, beta, velocity, turn, rise in found]


_HELD_ROWS = (
    (0.5, 1.866405627592465, -1.609076082983594, 0.9747398908568242, 4.933084989268334, 0.015116066798962905, 0.895482956497845,
     1.6467851273306127, 2.2841757943841787, 0.8741182033504673, -2.0, 1.1446809482075992, 0.528545628147016),
    (1.0, 1.765329636114186, 1.369401049101275, 1.9758719509126357, 4.235255501103455, 2.899986278308452, 3.6477632721924493,
     1.3235022406717416, 1.765099851311614, 2.0055195226981954, -2.0, -0.06448644177927092, 0.7084537888780098),
    (1.5, -0.6185982973072407, 2.184428231333647, 0.9291987794893602, -1.1687748447221595, 4.171746151235015, 3.435633860696216,
     0.11775227829668108, 1.2714317663519314, 2.6638668674493906, -2.0, -2.012154144431205, -0.46567558065468273),
    (2.0, -2.1925683216699263, 1.3017655259301293, 1.0995632968648863, -5.013437319924918, 2.8258471533201384, 2.024796664628048,
     -1.8644204397911, 1.2679202747146796, 1.9157193032534867, -1.9999999999999991, 3.83562415626455, -1.468503031477252),
)
_HELD = table("eight bars", "recomputed", PRECISE, 14, "x2 y2 z2 x4 y4 z4 x7 y7 z7 omega_last_x omega_last_y omega_last_z", _HELD_ROWS)

_FREE_ROWS = (
    (0.5, 0.6798116840584539, -1.9975877804687958, 0.13287381229016856, 2.5338983713668664, -0.1112359542109426, -0.13287381229016856,
     -2.3526601424856866, 1.6124323561160818, 0.12939774113943323, -2.0, -1.6836308464001255, 1.2316812160200872),
    (1.0, 2.012273956303771, -1.2515070599897782, 0.11300990248692608, 1.9349380625492707, 0.8180538601771893, -0.11300990248692608,
     -2.966276032998283, 0.24520206274542222, 0.0833606352503466, -2.0, -1.1443970161281822, -0.5370763338520567),
    (1.5, 2.802806331027799, 0.0019613859244470115, -0.012040396479709024, 0.813941775897621, 1.485321796701051, 0.01204039647970881,
     -2.6791054085292867, -1.1400203179671888, -0.05087035836223782, -2.0, 0.12110497624572969, 0.21964264729192517),
    (2.0, 2.464963014067089, 1.2028760457117071, -0.1274880869589695, -0.5749958998327473, 1.7039916950798737, 0.1274880869589695,
     -1.3765524779341043, -2.0551954270576775, -0.11125493724203975, -2.0, 0.6745936723685177, -0.5659096012853448),
)
_FREE = table("eight bars", "recomputed", PRECISE, 14,
              "x2 y2 z2 x4 y4 z4 x7 y7 z7 omega_last_x omega_last_y omega_last_z", _FREE_ROWS, support="free")

_PLANAR_ROWS = (
    (0.5, 5.190004539237625, 5.3806547364488155, 6.393264509812119, 7.3298883600751905, 8.1069062974008, 8.97898149870342,
     9.227761273825788, 10.539413066875888, 0.2918401421365032, -0.7461721568319746, 4.646900174211817, -2.2604897289445556),
    (1.0, 5.0124907753007015, 5.245652844464468, 5.0804881815645775, 6.183293372617457, 7.8498702141650245, 8.503537617377763,
     8.483054947904941, 9.178000107375055, -0.1727679593387691, -5.852510777764792, 3.322628538238668, -5.5986697035227),
    (1.5, 4.7539546323200295, 4.683421087889937, 3.6849978745880954, 6.198139698924674, 9.578920191764874, 7.151423324997365,
     7.759626928014628, 7.75910549371843, -1.1961327235763302, -0.29359347165388794, -0.690340443540273, -5.1164839770701835),
    (2.0, 3.713526372178791, 3.564575234566523, 3.51040352128758, 4.507395330796073, 7.474365797182102, 6.598075654231324,
     6.538871378395457, 7.210282752453393, -3.3269191158305187, -2.4927397839207064, -5.574523547243184, -3.6035573800690752),
)
_PLANAR = table("eight bars", "recomputed", PRECISE, 14,
                "angle1 angle2 angle3 angle4 angle5 angle6 angle7 angle8 d_angle1 d_angle8 x4 y4", _PLANAR_ROWS, joints="planar")

_PLANAR_FREE_ROWS = (
    (0.5, 5.755802869294083, 5.987391889375089, 7.026847148536148, 8.430753797362705, 8.897395522883876, 9.128984542964883,
     10.168439802125942, 11.572346450952498, 0.8234160752645832, 2.0898185063608516),
    (1.0, 6.082188033892461, 6.293697499874296, 7.864651383328843, 9.339606957240024, 9.223780687482254, 9.435290153464088,
     11.006244036918636, 12.481199610829817, 0.7565496553943449, 1.2494134769874115),
    (2.0, 7.292111011577916, 7.91489325459772, 9.532686393654576, 9.637481630588905, 10.433703665167709, 11.056485908187513,
     12.674279047244369, 12.779074284178698, 1.299251712143857, 0.7975611667760971),
    (3.0, 8.655473934816644, 9.30299519485116, 9.443624099252467, 11.144219966085378, 11.79706658840644, 12.444587848440953,
     12.585216752842262, 14.285812619675172, 1.6556298851177986, 1.694673483509774),
)
_PLANAR_FREE = table("eight bars", "recomputed", PRECISE, 14,
                     "angle1 angle2 angle3 angle4 angle5 angle6 angle7 angle8 d_angle1 d_angle8", _PLANAR_FREE_ROWS,
                     joints="planar", support="free")

_FIVE_ROWS = (
    (0.5, 2.319731852073514, -0.4527680873205856, 0.9627132437698993, 1.9219799482537476, 1.7243334949710982, 0.9166439385062695, 6.0,
     -1.5613408819517933, -0.028440686197930796),
    (1.0, 1.1106577543472662, 1.4446875172354525, 1.7257868804794088, -0.06802225671443143, 2.0986669967424123, 1.8519012666974954, 6.0,
     -0.4043883385794623, 3.4502556638779383),
    (1.5, -1.5375956245891975, 1.6280233511587396, 1.637775707657991, -2.4839635193752034, 0.5612158412552096, 0.8546806997912969, 6.0,
     -0.34963535699161263, -1.3285574824323982),
    (2.0, -2.3591672885433344, 1.218627909739561, -0.039016735189189286, -2.756970217699262, -0.043331830566757976, 0.8672213229778621, 6.0,
     -0.2765190113970506, -1.9602475520701654),
)
_FIVE = table("five bars", "recomputed", PRECISE, 14, "x2 y2 z2 x4 y4 z4 omega_last_x omega_last_y omega_last_z", _FIVE_ROWS, links=5)

ENTRY = Entry(
    name="ring",
    title="Ring of bars",
    summary="A closed loop of bars on spherical joints or in the plane, hanging from a point or floating freely with constant momentum.",
    source="none; made for studies of size and sparsity",
    build=build,
    parameters={"links": 8, "joints": "spherical", "support": "point"},
    variants=({"support": "free"}, {"joints": "planar"}, {"joints": "planar", "support": "free"}, {"links": 5}),
    hardness="Not stiff. Disturbances of the planar ring that is held grow by a factor of 90 in 3 s, of the others by less than 10; there "
             "accelerations reach 350 rad/s^2. The loop couples the first joint with the last, so that numbering the joints along the "
             "ring is no longer the best.",
    t_end=3.0,
    step=1e-3,
    observe=observe,
    references=_HELD + _FREE + _PLANAR + _PLANAR_FREE + _FIVE,
    view="xy",
)
