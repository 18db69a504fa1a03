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
from .base import Entry, one_of, table, whole_number
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


_SOURCE = "eighth-order Runge-Kutta on the index-1 form at relative tolerance 1e-13; a model in joint coordinates agrees"

_HELD_ROWS = (
    (0.5, 1.8664056275925, -1.6090760829836, 0.97473989085683, 4.9330849892683, 0.015116066798972, 0.89548295649784, 1.6467851273306,
     2.2841757943841, 0.87411820335046, -2.0, 1.1446809482076, 0.52854562814719),
    (1.0, 1.7653296361141, 1.3694010491013, 1.9758719509125, 4.2352555011034, 2.8999862783085, 3.6477632721925, 1.3235022406717,
     1.7650998513115, 2.0055195226982, -2.0, -0.064486441779203, 0.70845378887768),
    (1.5, -0.61859829730734, 2.1844282313335, 0.92919877948929, -1.1687748447227, 4.1717461512348, 3.4356338606959, 0.11775227829671,
     1.2714317663518, 2.6638668674493, -2.0, -2.0121541444308, -0.465675580654),
    (2.0, -2.1925683216701, 1.3017655259298, 1.0995632968645, -5.0134373199256, 2.8258471533197, 2.0247966646275, -1.8644204397913,
     1.2679202747148, 1.9157193032531, -2.0000000000001, 3.8356241562653, -1.4685030314791),
)
_HELD = table("eight bars", "recomputed", _SOURCE, 10, "x2 y2 z2 x4 y4 z4 x7 y7 z7 omega_last_x omega_last_y omega_last_z", _HELD_ROWS)

_FREE_ROWS = (
    (0.5, 0.67981168405846, -1.9975877804688, 0.13287381229018, 2.5338983713669, -0.11123595421095, -0.13287381229018, -2.3526601424857,
     1.6124323561161, 0.12939774113944, -2.0, -1.6836308464001, 1.2316812160201),
    (1.0, 2.0122739563038, -1.2515070599899, 0.11300990248691, 1.9349380625494, 0.81805386017723, -0.11300990248691, -2.9662760329983,
     0.24520206274547, 0.083360635250353, -2.0, -1.1443970161284, -0.53707633385215),
    (1.5, 2.8028063310277, 0.001961385924211, -0.012040396479764, 0.81394177589782, 1.4853217967011, 0.012040396479765,
     -2.6791054085293, -1.1400203179671, -0.050870358362224, -2.0, 0.12110497624553, 0.2196426472919),
    (2.0, 2.4649630140675, 1.2028760457111, -0.12748808695894, -0.57499589983243, 1.7039916950801, 0.12748808695894, -1.3765524779345,
     -2.0551954270575, -0.11125493724201, -2.0, 0.67459367236787, -0.56590960128443),
)
_FREE = table("eight bars", "recomputed", _SOURCE, 10,
              "x2 y2 z2 x4 y4 z4 x7 y7 z7 omega_last_x omega_last_y omega_last_z", _FREE_ROWS, support="free")

_PLANAR_ROWS = (
    (0.5, 5.1900045392376, 5.3806547364488, 6.3932645098121, 7.3298883600752, 8.1069062974008, 8.9789814987034, 9.2277612738258,
     10.539413066876, 0.29184014213654, -0.74617215683199, 4.6469001742118, -2.2604897289446),
    (1.0, 5.0124907753007, 5.2456528444645, 5.0804881815646, 6.1832933726175, 7.849870214165, 8.5035376173778, 8.483054947905,
     9.178000107375, -0.17276795933885, -5.8525107777649, 3.3226285382387, -5.5986697035227),
    (1.5, 4.75395463232, 4.6834210878899, 3.6849978745881, 6.1981396989247, 9.5789201917649, 7.1514233249974, 7.7596269280146,
     7.7591054937184, -1.1961327235763, -0.29359347165424, -0.6903404435403, -5.1164839770701),
    (2.0, 3.7135263721787, 3.5645752345665, 3.5104035212875, 4.5073953307964, 7.4743657971823, 6.5980756542313, 6.5388713783955,
     7.2102827524533, -3.3269191158307, -2.4927397839204, -5.574523547243, -3.603557380069),
)
_PLANAR = table("eight bars", "recomputed", _SOURCE, 10,
                "angle1 angle2 angle3 angle4 angle5 angle6 angle7 angle8 d_angle1 d_angle8 x4 y4", _PLANAR_ROWS, joints="planar")

_PLANAR_FREE_ROWS = (
    (0.5, 5.7558028692941, 5.9873918893751, 7.0268471485361, 8.4307537973627, 8.8973955228839, 9.1289845429649, 10.168439802126,
     11.572346450952, 0.8234160752646, 2.0898185063608),
    (1.0, 6.0821880338925, 6.2936974998743, 7.8646513833288, 9.33960695724, 9.2237806874823, 9.4352901534641, 11.006244036919,
     12.48119961083, 0.75654965539433, 1.2494134769874),
    (2.0, 7.2921110115779, 7.9148932545977, 9.5326863936546, 9.6374816305889, 10.433703665168, 11.056485908188, 12.674279047244,
     12.779074284179, 1.2992517121439, 0.79756116677607),
    (3.0, 8.6554739348166, 9.3029951948512, 9.4436240992524, 11.144219966085, 11.797066588406, 12.444587848441, 12.585216752842,
     14.285812619675, 1.6556298851178, 1.6946734835098),
)
_PLANAR_FREE = table("eight bars", "recomputed", _SOURCE, 10,
                     "angle1 angle2 angle3 angle4 angle5 angle6 angle7 angle8 d_angle1 d_angle8", _PLANAR_FREE_ROWS,
                     joints="planar", support="free")

_FIVE_ROWS = (
    (0.5, 2.3197318520735, -0.45276808732057, 0.9627132437699, 1.9219799482537, 1.7243334949711, 0.91664393850626, 6.0,
     -1.5613408819518, -0.028440686197973),
    (1.0, 1.1106577543474, 1.4446875172357, 1.7257868804795, -0.068022256714374, 2.0986669967423, 1.8519012666977, 6.0,
     -0.40438833857919, 3.4502556638778),
    (1.5, -1.5375956245891, 1.6280233511588, 1.6377757076577, -2.483963519375, 0.56121584125527, 0.85468069979173, 6.0000000000001,
     -0.34963535699316, -1.328557482432),
    (2.0, -2.3591672885431, 1.2186279097393, -0.039016735188583, -2.7569702176989, -0.043331830566685, 0.8672213229772, 6.0000000000001,
     -0.27651901140204, -1.9602475520694),
)
_FIVE = table("five bars", "recomputed", _SOURCE, 10, "x2 y2 z2 x4 y4 z4 omega_last_x omega_last_y omega_last_z", _FIVE_ROWS, links=5)

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
