"""Andrews' squeezing mechanism: seven bodies, ten revolute joints, a spring and a motor; one degree of freedom.

Schiehlen (ed.): Multibody Systems Handbook (1990); Test Set for IVP Solvers, Bari, problem "Andrews' squeezing mechanism" (data,
start, solution at 0.03 s); benchmark A03 of the IFToMM Technical Committee for Multibody Dynamics (0.05 s, coordinates of F, balance of
energy). A torque of 0.033 N m on the crank K1, from rest, no gravity. The motion is fast: the crank has passed 2.5 turns after 0.03 s.

Revolute joints: one each at O, B (ground), F, G, H; two at A on the ground, for K5 and K7; three at E, which joins K2, K3, K4, K6. These
are 20 equations for 21 coordinates. The spring acts between D on K3 and C on the ground.

    body        from    angle of its x-axis         points in its frame, which begins at the point "from"
    K1 crank    O       beta                        F (rr, 0)
    K2 rod      F       beta + theta                E (-d, 0)
    K3 ternary  B       gamma                       E (0, -ss), D (sd, -sc)
    K4 rod      G       phi + delta                 E (0, -e)
    K5 arm      A       delta                       G (zt, 0)
    K6 rod      H       Omega + epsilon             E (zf, 0)
    K7 arm      A       epsilon                     H (0, -u)

The seven classical angles are `beta, gamma, delta, epsilon` of K1, K3, K5, K7, and the angles of K2, K4, K6 relative to K1, K5, K7. The
multipliers of the joints at E, in the order K3, K4, K6, are those of the classical form with its loops cut at E (see `andrews_classical`).
Of K1, K3, K5, K7, which turn about fixed points, only the distance of the centre of mass matters; its direction is the customary one and
affects pictures only.

Of the data as published:

- The list of the test set at 0.03 s has 16 digits per value. Its errors are up to 3e-10 in the angles, 5e-8 in the velocities, 1.3e-6 in
  accelerations and multipliers.
- The IFToMM start `beta = -0.0620` is the rounded one of the test set. Taken as exact, with the other angles recomputed, it changes F(0.05
  s) in the third digit; hence the parameter `start`.
"""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from ..model.bodies import GROUND, PlanarBody
from ..model.forces import TSDA, PointTorque
from ..model.geometry import Geometry, Picture
from ..model.joints import PlanarRevolute
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Vector
from .andrews_classical import (
    ANGLES,
    FREE_LENGTH,
    INERTIAS,
    LENGTHS,
    MASSES,
    POINT_A,
    POINT_B,
    POINT_C,
    POINT_O,
    STIFFNESS,
    TORQUE,
    seven_angles,
    start_angles,
)
from .base import Entry, Observables, check_coordinates, table

(rr, ra), (d, da), (ss, sa, sb, sc, sd), (e, ea), (zt, ta, tb), (zf, fa), (u, ua, ub) = LENGTHS

# body: centre of mass and points in the frame of the table above
_SHAPES = {
    "K1": {"centre": (ra, 0.0), "O": (0.0, 0.0), "F": (rr, 0.0)},
    "K2": {"centre": (-da, 0.0), "F": (0.0, 0.0), "E": (-d, 0.0)},
    "K3": {"centre": (sb, -sa), "B": (0.0, 0.0), "E": (0.0, -ss), "D": (sd, -sc)},
    "K4": {"centre": (0.0, ea - e), "G": (0.0, 0.0), "E": (0.0, -e)},
    "K5": {"centre": (ta, tb), "A": (0.0, 0.0), "G": (zt, 0.0)},
    "K6": {"centre": (zf - fa, 0.0), "H": (0.0, 0.0), "E": (zf, 0.0)},
    "K7": {"centre": (-ub, -ua), "A": (0.0, 0.0), "H": (0.0, -u)},
}
_LOOPS = slice(14, 20)  # multipliers of the joints at E


def build(start: str = "ivp", coordinates: str = "cartesian") -> Mechanism | System:
    """The mechanism at rest; `start` as in `start_angles`, `coordinates` of the bodies or `"classical"`, the seven angles."""
    if coordinates == "classical":
        return seven_angles(start, picture=_picture)
    check_coordinates("andrews", coordinates)
    spring = TSDA("spring", GROUND, "K3", (*POINT_C, 0.0), (*_local("K3", "D"), 0.0), k=STIFFNESS, l0=FREE_LENGTH)
    motor = PointTorque("motor", "K1", (0.0, 0.0, TORQUE))
    return Mechanism("andrews", _bodies(start_angles(start)), _joints(), forces=[spring, motor])


def _bodies(angles: Sequence[float]) -> list[PlanarBody]:
    return [PlanarBody(name, m, inertia, r, angle, (0.0, 0.0), 0.0)
            for name, m, inertia, (r, angle) in zip(_SHAPES, MASSES, INERTIAS, _poses(angles))]


def _poses(angles: Sequence[float]) -> list[tuple[tuple[float, float], float]]:
    """Centre of mass and angle of each body."""
    beta, theta, gamma, phi, delta, omega, epsilon = angles
    turned = (beta, beta + theta, gamma, phi + delta, delta, omega + epsilon, epsilon)
    at_f, at_g, at_h = _placed(POINT_O, beta, (rr, 0.0)), _placed(POINT_A, delta, (zt, 0.0)), _placed(POINT_A, epsilon, (0.0, -u))
    origins = (POINT_O, at_f, POINT_B, at_g, POINT_A, at_h, POINT_A)
    return [(_placed(origin, angle, shape["centre"]), angle) for shape, origin, angle in zip(_SHAPES.values(), origins, turned)]


@cache
def _geometry() -> Geometry:
    return Geometry(build())


def _picture(t: float, q: Vector) -> Picture:
    """The bodies at the seven angles `q`."""
    return _geometry().at(t, np.array([x for r, angle in _poses(q) for x in (*r, angle)]))


def _joints() -> list[PlanarRevolute]:
    def pin(name: str, i: str, j: str) -> PlanarRevolute:
        return PlanarRevolute(name, i, j, _local(i, name[0]), _local(j, name[0]))

    return [pin("O", GROUND, "K1"), pin("F", "K1", "K2"), pin("B", GROUND, "K3"), pin("A5", GROUND, "K5"), pin("G", "K5", "K4"),
            pin("A7", GROUND, "K7"), pin("H", "K7", "K6"), pin("E3", "K3", "K2"), pin("E4", "K4", "K2"), pin("E6", "K6", "K2")]


def _local(body: str, point: str) -> tuple[float, float]:
    """A point of a body, seen from its centre of mass."""
    if body == GROUND:
        return {"O": POINT_O, "A": POINT_A, "B": POINT_B}[point]
    (x, y), (cx, cy) = _SHAPES[body][point], _SHAPES[body]["centre"]
    return x - cx, y - cy


def _placed(origin: Sequence[float], angle: float, point: Sequence[float]) -> tuple[float, float]:
    """A point of a frame that begins at `origin` and is turned by `angle`."""
    c, s = math.cos(angle), math.sin(angle)
    return origin[0] + c * point[0] - s * point[1], origin[1] + s * point[0] + c * point[1]


def _classical(system: System, x: Vector) -> list[float]:
    """The classical angles, their rates or accelerations, from those of the bodies."""
    if system.mechanism is None:
        return [float(value) for value in x]
    k1, k2, k3, k4, k5, k6, k7 = (float(value) for value in x[2::3])
    return [k1, k2 - k1, k3, k4 - k5, k5, k6 - k7, k7]


def _named(prefix: str, values: Sequence[float] | Vector) -> Observables:
    return dict(zip((prefix + name for name in ANGLES), values))


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    angles, energy = _classical(system, q), system.energy(t, q, v)
    q0, v0 = system.initial_guess()
    work = TORQUE * (angles[0] - _classical(system, q0)[0])
    loops = lam if system.mechanism is None else lam[_LOOPS]
    return {**_named("", angles), "F_x": rr * math.cos(angles[0]), "F_y": rr * math.sin(angles[0]), "energy": energy,
            "energy_balance": energy - system.energy(0.0, q0, v0) - work, **_named("d_", _classical(system, v)),
            **_named("dd_", _classical(system, a)), **{f"lambda{k + 1}": float(x) for k, x in enumerate(loops)}}


def _names(prefix: str, names: Sequence[str] = ANGLES) -> str:
    return " ".join(prefix + name for name in names)


_STATE, _RATES, _REACTIONS = _names(""), _names("d_"), f"{_names('dd_')} {_names('lambda', '123456')}"
_SOURCE = "Test Set for IVP Solvers, Bari; 16 digits are printed"
_PUBLISHED = (
    *table("test set, angles", "published", _SOURCE, 9, _STATE, (
        (0.03, 15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805304, 0.5347301163226948,
         1.048080741042263),)),
    *table("test set, rates", "published", _SOURCE, 7, _RATES, (
        (0.03, 1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385, 0.5735699284790808, -19.29337464421385,
         0.3231791658026955),)),
    *table("test set, accelerations and multipliers", "published", _SOURCE, 5, _REACTIONS, (
        (0.03, -24631.76316945196, 51850.37701610329, 324102.5686413781, 566749.3645176213, 16743.62929479361, -566749.3645176222,
         9826.520791458422,
         199.1753333731910, -29.75531228015052, 23.06654119098399, 31.45271365475927, 22.64249232082739, 11.61740700019673),)),
)

_INTEGRAL = "energy integral of the one degree of freedom, 30 digits; an extrapolation in 113-bit arithmetic has the same crank angles"
_STATE_ROWS = (
    (0.01,
     2.1601131315315265062, -1.8833642311070443193, 0.15851675800122669325, -0.32864107517467030658, 0.5251547747977294611,
     0.32864107517467030658, 1.0684272046324011487,
     711.92315283110397906, -786.77008085993975666, -136.4381913781196977, -240.29302926786455147, 4.7915482253710542423,
     240.29302926786455147, -41.140566961610488299,
     209058.27853254117288, -369745.60017161343228, -6373.7739358418416749, -5657.4103309945472977, -11869.750534558465143,
     5657.4103309945472977, 34721.437501431542186,
     57.025290437502583112, 2.9679042462494832455, 3.2188603850089387132, -18.179269867940356938, 5.1595027180323508247,
     34.240117291606608396),
    (0.03,
     15.810771195153707097, -15.75637105841183947, 0.040822240119645804858, -0.53473011634207959377, 0.52440996587995406937,
     0.53473011634207959377, 1.0480807410419378731,
     1139.9203022591060642, -1424.3792951775400732, 11.032911910618593745, 19.293374105032040832, 0.57356991482950245382,
     -19.293374105032040832, 0.32317914924913087499,
     -24631.76312287463447, 51850.319636464231534, 324102.60070757860581, 566749.42200099532649, 16743.63541834544461,
     -566749.42200099532649, 9826.5078015441626885,
     199.17534810453862819, -29.755309974971763324, 23.066543611622151129, 31.452725275771137075, 22.642494786394378578,
     11.617392352611255907),
    (0.05,
     33.825867766954517332, -33.583431517463868498, 0.11339507381259901503, -0.40785286560188444249, 0.52606044491699582713,
     0.40785286560188444249, 1.056902429434962831,
     1144.5355026538474684, -1336.033722651192454, -190.93706860429462468, -334.31706087086465358, 0.87586508294301516139,
     334.31706087086465358, -39.617288978352995018,
     391866.39768930252035, -745643.51879130329221, 107933.16503666823826, 194626.86080732441269, -26303.81735414978412,
     -194626.86080732441269, 102937.81804144961867,
     108.9054884295292468, -27.2162211484448085, 12.602041740749929586, -41.547752816204762071, 18.158341114689581235,
     105.37455182624509981),
)
_STATES = table("angles, rates, accelerations, multipliers", "recomputed", _INTEGRAL, 16,
                f"{_STATE} {_RATES} {_REACTIONS}", _STATE_ROWS)

_PIN_ROWS = (
    (0.001, -0.05446931094806395, 0.0069896183967277075, -0.00038109666506752084),
    (0.002, -0.031093998837155374, 0.006996616343960536, -0.00021762292026414928),
    (0.003, 0.01363959521519744, 0.006999348875142901, 9.547420612819547e-05),
    (0.004, 0.08937552298598607, 0.00697206066129838, 0.0006247960748721081),
    (0.005, 0.2110763859032667, 0.006844641754253787, 0.0014665876229961957),
    (0.006, 0.3985586475314529, 0.006451349283028937, 0.0027166325530630767),
    (0.007, 0.672515187266958, 0.0054758010453162176, 0.004360688353014214),
    (0.008, 1.0483175026624396, 0.0034932084614668086, 0.00606609385393407),
    (0.009, 1.5362022979140197, 0.00024210990471258372, 0.006995811803789469),
    (0.01, 2.1601131315315265, -0.003890552388649432, 0.005819244118541015),
    (0.011, 2.991745836475315, -0.00692155770389676, 0.0010450066753984895),
    (0.012, 3.919936941722046, -0.004984538937829329, -0.004914709714445326),
    (0.013, 4.636055038042386, -0.0005338188282067946, -0.006979615853229455),
    (0.014, 5.188029306670494, 0.003205354536209238, -0.006222997854507332),
    (0.015, 5.655429749991794, 0.005665434415839354, -0.004111307928120077),
    (0.016, 6.083336444320675, 0.006860676150735764, -0.0013896484284614964),
    (0.017, 6.511295617714366, 0.006818668241199995, 0.0015829603331892345),
    (0.018, 6.983024667502973, 0.005354619650356012, 0.004508663704471788),
    (0.019, 7.530693296017144, 0.0022238038278239087, 0.006637371206686856),
    (0.02, 8.184905889661676, -0.002274420924160498, 0.00662019708617054),
    (0.021, 9.025030597871663, -0.0064481154229087635, 0.002724299449922152),
    (0.022, 10.050382988603525, -0.005674262796726748, -0.0040991147475623),
    (0.023, 10.875718610439737, -0.000836982447318924, -0.0069497813190689695),
    (0.024, 11.519519933915822, 0.003502102581588015, -0.0060609634141805015),
    (0.025, 12.10714923444766, 0.006274785249525569, -0.0031027520159265616),
    (0.026, 12.702387522336785, 0.00693534767044536, 0.0009491852769865912),
    (0.027, 13.319922446547558, 0.005104842345159569, 0.004789633037202928),
    (0.028, 13.991547800317754, 0.0010157353184366983, 0.0069259137854062475),
    (0.029, 14.778868644085158, -0.0041899165331022855, 0.0056075484345332344),
    (0.03, 15.810771195153707, -0.006963039427046852, -0.0007183884307191019),
    (0.031, 16.833763590902873, -0.0030131799132520985, -0.006318286698969435),
    (0.032, 17.606235798241098, 0.0022515806639765976, -0.006628000038745225),
    (0.033, 18.298978306953007, 0.005965557276640734, -0.00366225700615328),
    (0.034, 19.02385883435354, 0.00689393367734625, 0.0012139515856702072),
    (0.035, 19.76150341445135, 0.004285449235466332, 0.005534882550717859),
    (0.036, 20.543717770526058, -0.0008613698975288866, 0.006946800839208727),
    (0.037, 21.486916413664815, -0.006128819916769071, 0.0033819471355736415),
    (0.038, 22.657055305785764, -0.0055044986870035235, -0.004324406803802862),
    (0.039, 23.594611329408973, 0.0002286243266716356, -0.006996265497910577),
    (0.04, 24.375304972013357, 0.0050861989111456035, -0.0048094262273436815),
    (0.041, 25.19837925111977, 0.0069849261881574165, 0.00045913630437235546),
    (0.042, 26.035390355896432, 0.004336728598321146, 0.005494796180433221),
    (0.043, 26.89633702728012, -0.0013412507112885426, 0.00687030177863156),
    (0.044, 27.93883932226131, -0.006609733186327153, 0.0023046533807853844),
    (0.045, 29.162549312057454, -0.004415584339038533, -0.005431630965450216),
    (0.046, 30.10331645747433, 0.0017872913701873446, -0.006767982680094109),
    (0.047, 30.964089015943962, 0.00629752427348827, -0.003056335718605866),
    (0.048, 31.89991994207462, 0.006196006483059524, 0.0032572233054987726),
    (0.049, 32.81618987325356, 0.0011879534189874546, 0.006898461181619856),
    (0.05, 33.82586776695452, -0.00520850472229672, 0.004676695260310722),
)
_PIN = table("crank pin", "recomputed", _INTEGRAL, 16, "beta F_x F_y", _PIN_ROWS)

_IFTOMM_ROWS = (
    (0.001, -0.05478797217261769, 0.006989496601119486, -0.00038332396603806424),
    (0.002, -0.031517351887912944, 0.0069965235856419925, -0.00022058493954782635),
    (0.003, 0.013017627794461155, 0.006999406903158636, 9.11208209753819e-05),
    (0.004, 0.08842403671437706, 0.006972651990102383, 0.0006181619730469358),
    (0.005, 0.2096185030747202, 0.006846772592532549, 0.0014566073822911629),
    (0.006, 0.39638743041142815, 0.006457232471085502, 0.0027026188807079375),
    (0.007, 0.6694480895445807, 0.005489149926010162, 0.004343873051757226),
    (0.008, 1.0442420627100069, 0.0035179013846011976, 0.006051807155571051),
    (0.009, 1.5310072379995763, 0.00027845013560385846, 0.006994459630449102),
    (0.01, 2.1533813401990143, -0.003851290593627422, 0.00584530245269113),
    (0.011, 2.982762076921607, -0.006911890431036095, 0.0011071452792437205),
    (0.012, 3.912059279752357, -0.0050231002958414685, -0.0048752911110945315),
    (0.013, 4.630211301852534, -0.0005745965150877729, -0.006976377200585486),
    (0.014, 5.183302800497629, 0.0031759058044298154, -0.006238078415777491),
    (0.015, 5.65126157654578, 0.005648248606303632, -0.004134886658832268),
    (0.016, 6.079378619844392, 0.006855122446500704, -0.0014167908255921875),
    (0.017, 6.507135932617727, 0.006825193847162242, 0.0015545832073770392),
    (0.018, 6.978289800756153, 0.0053759074700385516, 0.004483259848991992),
    (0.019, 7.525134882898536, 0.00226066253585254, 0.0066249079162651586),
    (0.02, 8.178115005483415, -0.00222941183453165, 0.006635489648251305),
    (0.021, 9.015914851502421, -0.006423013836899697, 0.002782964831074054),
    (0.022, 10.041394278122258, -0.005710878826329331, -0.004047945532116671),
    (0.023, 10.8690721709365, -0.0008831549214850131, -0.006944064903545819),
    (0.024, 11.513925227568418, 0.003468138638944127, -0.006080461691439457),
    (0.025, 12.101668786889864, 0.006257686632629825, -0.0031370938793421534),
    (0.026, 12.69676615191202, 0.006940573786857772, 0.0009101843270364357),
    (0.027, 13.31398875942931, 0.005133172495219456, 0.004759258359694551),
    (0.028, 13.984906833280268, 0.0010617073473882706, 0.0069190156459211566),
    (0.029, 14.770642947631929, -0.004143649313555653, 0.005641823319306425),
    (0.03, 15.80017467066272, -0.006970260781768039, -0.0006445654614904544),
    (0.031, 16.825622645414384, -0.003064516324000333, -0.006293547465455034),
    (0.032, 17.59970100531037, 0.0022082202894073235, -0.006642572028472844),
    (0.033, 18.292441982046977, 0.005941492310990804, -0.0037011713170883023),
    (0.034, 19.01704938480818, 0.0069020401251167224, 0.001166979910400663),
    (0.035, 19.754569721080234, 0.004323723092976326, 0.005505035750589022),
    (0.036, 20.536006020357853, -0.0008077728228078275, 0.006953236876932432),
    (0.037, 21.476807632003318, -0.0060943199922113165, 0.0034437281879575597),
    (0.038, 22.646907784217827, -0.0055480965424916755, -0.004268328098353256),
    (0.039, 23.587041439139455, 0.00017565731993443578, -0.006997795689069055),
    (0.04, 24.36806492575055, 0.005051245442674753, -0.004846124170701524),
    (0.041, 25.190557737666555, 0.006988303638236793, 0.0004044901232495183),
    (0.042, 26.027690471862076, 0.004378908915818668, 0.00546124131557687),
    (0.043, 26.887918245336817, -0.0012833642910778723, 0.006881349874580291),
    (0.044, 27.927626411602997, -0.006583476340954287, 0.002378621295644843),
    (0.045, 29.152529784311643, -0.004469784165152152, -0.005387116994919925),
    (0.046, 30.095477232338546, 0.0017341812563212002, -0.006781785559144746),
    (0.047, 30.955690887980246, 0.006271635000404586, -0.0031091147327977717),
    (0.048, 31.89139114595923, 0.006223560991230505, 0.003204261005042188),
    (0.049, 32.80763539995662, 0.0012469219348451848, 0.0068880465800110514),
    (0.05, 33.81534072136017, -0.005158985250188671, 0.004731265284079487),
)
_IFTOMM = table("crank pin", "recomputed", _INTEGRAL, 16, "beta F_x F_y", _IFTOMM_ROWS, start="iftomm")

ENTRY = Entry(
    name="andrews",
    title="Andrews' squeezing mechanism",
    summary="Seven planar bodies, fast, started from rest by a motor; the classical index-3 test problem, one degree of freedom.",
    source="Test Set for IVP Solvers, Bari: Andrews' squeezing mechanism; IFToMM Technical Committee for Multibody Dynamics, benchmark A03",
    build=build,
    parameters={"start": "ivp", "coordinates": "cartesian"},
    variants=({"start": "iftomm"}, {"coordinates": "classical"}, {"start": "iftomm", "coordinates": "classical"}),
    hardness="The crank turns faster and faster, and the short arms K4 and K6 are whipped around: accelerations grow to 1e6 rad/s^2 and "
             "change within 1e-4 s. Not stiff; an explicit method on the underlying ODE is the fastest. IDA at its defaults fails in "
             "index 3 and GGL: the error test of the multipliers can never be passed.",
    film=0.005,
    t_end=0.05,
    step=1e-5,
    observe=_observe,
    references=_PUBLISHED + _STATES + _PIN + _IFTOMM,
    view="xy",
)
