"""Chain of mathematical pendulums whose suspension moves slowly: small, nearly linear swings over a long time.

Arnold, Fuchs, Fuehrer: Computer Methods in Applied Mechanics and Engineering 195 (2006), section 4.2.1: point masses of 1 kg on massless
rods of 1 m, gravity 9.81 along -y, suspension at `(2 + 0.3 sin wt, 0.2 sin wt)` m, 0 ... 200 s, N = 12, 14, 16. With the angles `a_i` of
the rods from the vertical, `c_ij = N + 1 - max(i, j)` and `c_i = N + 1 - i`

    sum_j c_ij (cos(a_i - a_j) a_j" + sin(a_i - a_j) a_j'^2) + c_i (xs" cos a_i + (9.81 + ys") sin a_i) = 0

With `coordinates="classical"` these are the equations, an ODE without constraints; otherwise the masses are particles on rods, and so is
the one at the suspension, which is driven.

The paper gives w as "0.05 Hz", which may mean 0.05 rad/s or 2 pi 0.05 rad/s (`frequency`), and neither gravity nor the start: the usual
gravity and a hanging chain that moves along with its suspension (all angles and their rates zero) are assumed.

The references are verified up to 200 s by two other integrations in 113-bit arithmetic, which agree with each other to 23 digits: by
extrapolation in the angles, and by collocation in the Cartesian coordinates of the masses. With 12 links they are right to 13.5 digits or
more, with 16 links to 12.6 or more. See `mbdae confirm --precise` for what is left with 64 bits of mantissa.
"""

import math
from collections.abc import Callable
from functools import cache

import numba
import numpy as np

from ..model.bodies import GROUND, Particle
from ..model.drivers import CoordinateDriver
from ..model.geometry import Picture
from ..model.joints import Rod
from ..model.mechanism import Mechanism
from ..model.motions import Harmonic
from ..model.primitives import CD
from ..system.system import System
from ..typing import Numbers, Vector
from .base import Entry, Observables, check_coordinates, one_of, table, whole_number

MOST, GRAVITY, PLACE, SWAY, HEAVE = 1024, 9.81, 2.0, 0.3, 0.2
FREQUENCIES = {"0.05 Hz": 0.1 * math.pi, "0.05 rad/s": 0.05}  # [rad/s]


def build(links: int = 12, frequency: str = "0.05 Hz", coordinates: str = "cartesian") -> Mechanism | System:
    """The mechanism.

    Parameters
    ----------
    links : int
        Number of rods, 1 to 1024.
    frequency : {"0.05 Hz", "0.05 rad/s"}
        Of the suspension.
    coordinates : {"cartesian", "classical"}
        Particles on rods, or angles.
    """
    links = whole_number("pendulum-chain", "links", links, 1, MOST)
    one_of("pendulum-chain", "frequency", frequency, tuple(FREQUENCIES))
    check_coordinates("pendulum-chain", coordinates)
    omega = FREQUENCIES[frequency]
    return _angles(links, omega) if coordinates == "classical" else _particles(links, omega)


def _particles(links: int, omega: float) -> Mechanism:
    velocity = (SWAY * omega, HEAVE * omega, 0.0)
    names = ["suspension"] + [f"mass {k + 1}" for k in range(links)]
    bodies = [Particle(name, 1.0, (PLACE, -float(k), 0.0), velocity) for k, name in enumerate(names)]
    planes = [CD(f"plane {k}", GROUND, name, (0.0, 0.0, 1.0)) for k, name in enumerate(names)]
    rods = [Rod(f"rod {k + 1}", names[k], names[k + 1]) for k in range(links)]
    sway, heave = Harmonic(SWAY, omega, offset=PLACE), Harmonic(HEAVE, omega)
    drivers = [CoordinateDriver("sway", GROUND, "suspension", sway, (1.0, 0.0, 0.0)),
               CoordinateDriver("heave", GROUND, "suspension", heave, (0.0, 1.0, 0.0))]
    return Mechanism("pendulum-chain", bodies, [*rods, *planes], drivers, gravity=(0.0, -GRAVITY, 0.0))


# --- the angles as coordinates -------------------------------------------------------------------------------------------


def _angles(links: int, omega: float) -> System:
    def energy(t: float, q: Vector, v: Vector) -> float:
        return total_energy(t, q, v, omega)

    def excitation(t: float) -> Vector:
        return np.array([math.sin(omega * t)])

    names = ("suspension", *(f"mass {k}" for k in range(1, links + 1)))

    def picture(t: float, q: Vector) -> Picture:
        x, y = positions(t, q, omega)
        points = np.column_stack([x, y, 0.0 * x])
        return Picture(points, [[p] for p in points], rods=[points[k:k + 2] for k in range(links)], names=names)

    return System.from_functions(nq=links, nc=0, mass=mass, force=force(omega), phi=phi, phi_q=phi_q, nu=nu, gamma=gamma, energy=energy,
                                 excitation=excitation, picture=picture, name="pendulum-chain, angles")


@numba.njit
def mass(t: float, q: Numbers) -> Numbers:
    """`M(q)`, shape (N, N)."""
    n = q.shape[0]
    M = np.zeros((n, n), dtype=q.dtype)
    for i in range(n):
        for j in range(n):
            M[i, j] = (n - max(i, j)) * np.cos(q[i] - q[j])
    return M


@cache
def force(omega: float) -> Callable[[float, Vector, Vector], Vector]:
    """`Q(t, q, v)`, compiled for one frequency."""

    @numba.njit
    def force(t: float, q: Numbers, v: Numbers) -> Numbers:
        n = q.shape[0]
        Q = np.zeros(n, dtype=q.dtype)
        acceleration = -(omega**2) * np.sin(omega * t)
        for i in range(n):
            Q[i] = -(n - i) * (SWAY * acceleration * np.cos(q[i]) + (GRAVITY + HEAVE * acceleration) * np.sin(q[i]))
            for j in range(n):
                Q[i] -= (n - max(i, j)) * np.sin(q[i] - q[j]) * v[j] ** 2
        return Q

    return force


@numba.njit
def phi(t: float, q: Numbers) -> Numbers:
    """No constraints."""
    return np.zeros(0, dtype=q.dtype)


@numba.njit
def phi_q(t: float, q: Numbers) -> Numbers:
    """No constraints."""
    return np.zeros((0, q.shape[0]), dtype=q.dtype)


@numba.njit
def nu(t: float, q: Numbers) -> Numbers:
    """No constraints."""
    return np.zeros(0, dtype=q.dtype)


@numba.njit
def gamma(t: float, q: Numbers, v: Numbers) -> Numbers:
    """No constraints."""
    return np.zeros(0, dtype=q.dtype)


def positions(t: float, q: Vector, omega: float) -> tuple[Vector, Vector]:
    """Coordinates x and y of all masses, that of the suspension first."""
    s = np.sin(omega * t)
    return np.cumsum([PLACE + SWAY * s, *np.sin(q)]), np.cumsum([HEAVE * s, *-np.cos(q)])


def velocities(t: float, q: Vector, v: Vector, omega: float) -> tuple[Vector, Vector]:
    """Their velocities."""
    c = omega * np.cos(omega * t)
    return np.cumsum([SWAY * c, *(np.cos(q) * v)]), np.cumsum([HEAVE * c, *(np.sin(q) * v)])


def total_energy(t: float, q: Vector, v: Vector, omega: float) -> float:
    """Kinetic energy and that of gravity, zero at y = 0, of all masses."""
    (d_x, d_y), y = velocities(t, q, v, omega), positions(t, q, omega)[1]
    return 0.5 * (d_x @ d_x + d_y @ d_y) + GRAVITY * y.sum()


# --- outputs -------------------------------------------------------------------------------------------------------------


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    """Angles of the rods from the vertical, their rates, and the tensions of the rods."""
    if system.mechanism is None:
        angles, d_angles, tensions = q, v, _tensions(system, t, q, v, a)
    else:
        d, u = (np.diff(np.reshape(x, (-1, 3))[:, :2], axis=0) for x in (q, v))
        angles, d_angles, tensions = np.arctan2(d[:, 0], -d[:, 1]), d[:, 0] * u[:, 1] - d[:, 1] * u[:, 0], 2.0 * lam[:len(d)]
    groups = (("alpha", angles), ("d_alpha", d_angles), ("tension", tensions))
    return {f"{name}{k + 1}": float(x) for name, values in groups for k, x in enumerate(values)} | {"energy": system.energy(t, q, v)}


def _tensions(system: System, t: float, q: Vector, v: Vector, a: Vector) -> Vector:
    """Along each rod, what accelerates and carries the masses below it."""
    straight = 0.0 * q
    suspension = -system.force(t, straight, straight)[-1] / SWAY  # (sin wt)", which is all that moves a straight chain
    x = np.cumsum([SWAY * suspension, *(np.cos(q) * a - np.sin(q) * v**2)])[1:]
    y = np.cumsum([HEAVE * suspension, *(np.sin(q) * a + np.cos(q) * v**2)])[1:]
    below_x, below_y = (np.cumsum(f[::-1])[::-1] for f in (x, y + GRAVITY))
    return np.cos(q) * below_y - np.sin(q) * below_x



_SOURCE = "angles as coordinates, extrapolation in 113-bit arithmetic"


def _names(links: int) -> str:
    return " ".join(f"{name}{k + 1}" for name in ("alpha", "d_alpha") for k in range(links))


_TWELVE_ROWS = (
    (10.0, 0.0006794094984061441, 0.0007338628342462534, 0.0007901942360524895, 0.0008498244460286622, 0.0009101356190049516,
     0.0009712196094145139, 0.0010295819832508476, 0.0010852151450568988, 0.0011243125893328817, 0.0011392114983060217,
     0.0011344172587855318, 0.0011538259682938642, -0.0008719035549808926, -0.0008793832501571121, -0.0008547840216060464,
     -0.0008151991281276743, -0.0007850459870356141, -0.000734106413268944, -0.0006313369788678423, -0.0005047881528765861,
     -0.0003689304226178305, -0.00014009852014417883, -0.0002538279395586062, -0.00028151149424952886),
    (50.0, -9.3774104804556e-05, -0.00010107935367301856, -0.00010928158873815751, -0.0001221034245568905, -0.00013760766272833202,
     -0.00015653032705692909, -0.00017754395626638252, -0.0001899304132166927, -0.00018898710283697887, -0.000185575683917463,
     -0.00016406281083077134, -0.00012641200038876292, -0.00013544887025899086, -6.189520841677648e-05, -1.082493137605658e-05,
     2.158860127804597e-05, 5.169059786214443e-05, 6.661801821147784e-05, 9.7618646089117e-05, 4.760021031631508e-05,
     -2.0974288073070392e-05, -0.00011321332389534382, -0.00024086171922459162, 0.00017823054810633935),
    (100.0, 0.00018017140030341693, 0.00019429559043276457, 0.0002100565603278117, 0.00022762389687683824, 0.0002492731410673176,
     0.00027335821182635357, 0.0002993525857997086, 0.00032280406318622453, 0.00035152859682174387, 0.0003580503201914776,
     0.000325286962990982, 0.0002647189605668234, 0.0001606229564047365, 9.892349279220785e-05, 5.111280447938839e-05,
     1.0702547049344414e-05, 8.080927838281938e-06, -1.495622802734406e-05, -1.3879041127543129e-05, -8.661388942179528e-05,
     -0.00012994320280577018, -3.381766886788107e-05, 0.00023347290508858102, 0.0005340201351744899),
    (200.0, 0.0003801095246339945, 0.0004080915295502758, 0.0004314067619807504, 0.0004523772770974952, 0.0004738834655455414,
     0.000498480978284891, 0.0005283142961692169, 0.0005669837534785372, 0.0006068919717222165, 0.0006427948229016475,
     0.0007003841433348888, 0.0007518883834110424, 0.0002642195130375919, 0.00021160457212483582, 0.00015992610197788047,
     0.00012880380203706632, 0.00011890259853394054, 6.19550202300442e-05, -2.328968789834196e-06, -4.139247349324914e-06,
     4.0097267068182564e-05, 0.00013654080752309705, 0.0003652830551160692, 0.0008253428172067272),
)
_TWELVE = table("12 links", "recomputed", _SOURCE, 12, _names(12), _TWELVE_ROWS)
_TWELVE_SLOW_ROWS = (
    (10.0, 3.923652405563461e-05, 3.9442936131408285e-05, 3.965703204203413e-05, 3.9884065845998636e-05, 4.011293781841601e-05,
     4.0344788260209864e-05, 4.056643463842912e-05, 4.077716576355255e-05, 4.092123158835865e-05, 4.097005124112039e-05,
     4.093074077914738e-05, 4.0990806419427666e-05, 3.837158228156952e-06, 3.819429636094106e-06, 3.933911157916315e-06,
     4.098452028820059e-06, 4.231717805918471e-06, 4.441986516851519e-06, 4.8672117502745854e-06, 5.373039661932105e-06,
     5.933581197530751e-06, 6.880348817095211e-06, 6.454797593725966e-06, 6.33113376393863e-06),
    (50.0, 4.5516323403051954e-05, 4.54978999553582e-05, 4.547552729118013e-05, 4.5434345182000996e-05, 4.538247082147367e-05,
     4.531666613185461e-05, 4.524293530434887e-05, 4.5202203168536884e-05, 4.521468536449735e-05, 4.5236502346822104e-05,
     4.5330151700928405e-05, 4.550037941776699e-05, 2.225264044704407e-07, 5.171867209619611e-07, 7.162797522236492e-07,
     8.529873481241627e-07, 9.745344406264185e-07, 1.0385259288542587e-06, 1.1761087777320364e-06, 9.740368611246467e-07,
     6.836148657470115e-07, 3.191490458645157e-07, -2.0503506696473756e-07, 1.4696152740452962e-06),
    (100.0, -7.276557347379597e-05, -7.272297101003603e-05, -7.267405516639695e-05, -7.261814343570293e-05, -7.254613267516917e-05,
     -7.246454190945698e-05, -7.237555673372631e-05, -7.22968776533777e-05, -7.219710546892595e-05, -7.218693729389735e-05,
     -7.233491359083107e-05, -7.259419214124991e-05, -2.107790031861329e-06, -2.3577003718746344e-06, -2.551022314207534e-06,
     -2.7146342975980993e-06, -2.7251678646732964e-06, -2.8181962655807447e-06, -2.813738781849207e-06, -3.1081853081163423e-06,
     -3.2822821347246503e-06, -2.89881207543379e-06, -1.8306346041233302e-06, -6.31319873582209e-07),
    (200.0, -4.0246362684711894e-05, -4.014838145483466e-05, -4.006956944385372e-05, -4.000067217240826e-05, -3.9930109524367466e-05,
     -3.9847297311812634e-05, -3.9743828120028784e-05, -3.960557090807081e-05, -3.9463084862259463e-05, -3.933755437088232e-05,
     -3.912593705026476e-05, -3.894056953330686e-05, -6.014837548820524e-06, -6.229253819940535e-06, -6.442580343315933e-06,
     -6.572629082617835e-06, -6.6163713773769785e-06, -6.849055688516069e-06, -7.111472065527012e-06, -7.120141833070001e-06,
     -6.946404455212243e-06, -6.568405927975123e-06, -5.653649748541865e-06, -3.8177381065950684e-06),
)
_TWELVE_SLOW = table("12 links", "recomputed", _SOURCE, 12, _names(12), _TWELVE_SLOW_ROWS, frequency="0.05 rad/s")
_SIXTEEN_ROWS = (
    (10.0, -0.00019996612046368353, -0.00020719123572363033, -0.00020976392825935357, -0.00020857086287047528, -0.00020367083650455988,
     -0.00019901652377646146, -0.00019417433115313625, -0.00018846177972232537, -0.0001812469787807449, -0.00017128184140234189,
     -0.0001655332799205359, -0.00015715490627798062, -0.00014935511205558705, -0.00014159803476454467, -0.00013376740639782023,
     -0.00012594933313408242, -0.00015421380827686728, -0.0001160672485940767, -8.465775790664979e-05, -4.6816655204593604e-05,
     -1.3873231610297418e-05, 2.219137740572682e-05, 4.9824196456300313e-05, 4.42627340427877e-05, 2.4357977042717576e-05,
     4.4383796964973045e-05, 4.9572264006269556e-05, 3.771566546050984e-05, 4.2774315447893596e-05, 4.067079997432377e-05,
     4.009811410887621e-05, 3.9359947247248136e-05),
    (50.0, -0.0005556170864771387, -0.0005880643796761583, -0.0006216433107383099, -0.0006563885426273749, -0.0006942413811479476,
     -0.0007366810783503598, -0.0007849098936373402, -0.0008397997301223491, -0.0008994185808536203, -0.00096398257238676,
     -0.0010263636680133597, -0.001089890578658154, -0.0011454639672596402, -0.0011991559665439889, -0.0012212307949232577,
     -0.0012314004466380487, -0.0005724187970270162, -0.0005454794444973063, -0.0005124352473213623, -0.0004847748221245887,
     -0.000479968660676099, -0.00044905432203315004, -0.0004017637479630759, -0.0003615138361024475, -0.00031590629778616424,
     -0.00026154303489571694, -0.00014763529260842313, 6.019631878510883e-05, 0.00029821730562081715, 0.0004917840323456286,
     0.0007690963106201859, 0.0010047283319354289),
    (100.0, 0.0008412862601687164, 0.0008931190187647663, 0.000946960400408602, 0.0010021873982459105, 0.0010575405581531344,
     0.0011131075276799801, 0.0011679932766952073, 0.0012251889964560105, 0.001281940557409423, 0.0013385777336320087,
     0.0013947664829273363, 0.0014447503430046718, 0.0014939412131873503, 0.0015092465469041076, 0.0014667503971664342,
     0.0013612740754608001, 0.0009184440771135737, 0.0009109272586124375, 0.0009065365056606673, 0.0008942615109698334,
     0.0008945947033013786, 0.000886091206637251, 0.0009133793070432717, 0.0009812464492147304, 0.0010423133949569656,
     0.0011135637148259742, 0.0011596106254490087, 0.0012359938026875676, 0.0013044657707641835, 0.0014395038569952965,
     0.0014855204650169487, 0.0018024685506259723),
    (200.0, 0.00013742909502407688, 0.00014367664895744298, 0.00014840521530236475, 0.00015052732562403752, 0.0001504557208771297,
     0.00014736907178744817, 0.0001404189080275567, 0.00013337950049770522, 0.00012519540021424302, 0.00011318728773231352,
     8.754427285676674e-05, 4.813959523275197e-05, -1.5555630350282575e-06, -5.8055732354711535e-05, -0.00011125802873813502,
     -0.00016653072608102307, 0.0018261589978687493, 0.0018687936714092978, 0.0019045525520762165, 0.0019497060961154954,
     0.0019892067825646735, 0.002033329496204359, 0.0020531428773790704, 0.002082537705837629, 0.0021457153068128515, 0.0022035615097681883,
     0.002342933877518099, 0.0024937559830137466, 0.0026413973399813107, 0.0029183839726453185, 0.0032543306698686585,
     0.0032187166894537635),
)
_SIXTEEN = table("16 links", "recomputed", _SOURCE, 12, _names(16), _SIXTEEN_ROWS, links=16)
_SIXTEEN_SLOW_ROWS = (
    (10.0, 3.6028379307331815e-05, 3.600962091716517e-05, 3.600940593391564e-05, 3.6024497605598185e-05, 3.605431365492245e-05,
     3.608319991862172e-05, 3.611255651697568e-05, 3.614449242749472e-05, 3.618203198097139e-05, 3.623154254839152e-05,
     3.6263673849790476e-05, 3.63058281787158e-05, 3.6346013230444634e-05, 3.6385754376362794e-05, 3.6425743330064484e-05,
     3.646559085907625e-05, 6.603880234646649e-06, 6.755852946642063e-06, 6.877097151357094e-06, 7.0270696366242485e-06,
     7.1466426730471836e-06, 7.2933615087891815e-06, 7.4061012547041645e-06, 7.3846258848569685e-06, 7.30592274950831e-06,
     7.373853360911681e-06, 7.406592153169819e-06, 7.35389196067053e-06, 7.375128459756152e-06, 7.366895400859505e-06,
     7.3646387824824895e-06, 7.361816283501873e-06),
    (50.0, 4.389620879724618e-05, 4.37884181713135e-05, 4.3676814037842484e-05, 4.356101245640214e-05, 4.343286675996717e-05,
     4.3287523101770024e-05, 4.3119964243789054e-05, 4.2926210047020455e-05, 4.271431131955396e-05, 4.248351403535717e-05,
     4.2263562936367976e-05, 4.2041838119406545e-05, 4.185346217292413e-05, 4.1672328538829466e-05, 4.1620691739421255e-05,
     4.1616373770510185e-05, -1.407611067738626e-06, -1.2964409369582467e-06, -1.1564835076998932e-06, -1.0437569171420698e-06,
     -1.02066481684215e-06, -8.918079256821887e-07, -6.963575267826768e-07, -5.247054451304258e-07, -3.3783101084677927e-07,
     -1.0768757596620061e-07, 3.4267377746859787e-07, 1.181966351221669e-06, 2.1225221302966826e-06, 2.9018829284118774e-06,
     3.978788841364898e-06, 4.901706067708893e-06),
    (100.0, -7.044296182938796e-05, -7.026562413720202e-05, -7.00808986860921e-05, -6.989127460337427e-05, -6.970186377205425e-05,
     -6.951226290065499e-05, -6.93261578498175e-05, -6.913148729836713e-05, -6.893922820059602e-05, -6.874804106909263e-05,
     -6.855913054728802e-05, -6.839569106658434e-05, -6.823564455015041e-05, -6.821213058054195e-05, -6.842067021687668e-05,
     -6.888224664547872e-05, 6.176794209768298e-07, 5.669428175394388e-07, 5.285897426072693e-07, 4.582149034652144e-07,
     4.3782312412330083e-07, 3.814232426125278e-07, 4.6778735957337443e-07, 7.179657130954151e-07, 9.39189108951681e-07,
     1.2006231873968889e-06, 1.3600243264337612e-06, 1.6392491945097282e-06, 1.8880635827140937e-06, 2.4006978099588495e-06,
     2.5509285096413365e-06, 3.78912681403875e-06),
    (200.0, -4.1155811919402934e-05, -4.1137525620978636e-05, -4.112523745977798e-05, -4.112337756728951e-05, -4.1130178042912825e-05,
     -4.1148959435670275e-05, -4.118296076068288e-05, -4.121709135388526e-05, -4.125566024720778e-05, -4.130918915847124e-05,
     -4.141752605608364e-05, -4.158073334594174e-05, -4.178466818275927e-05, -4.201588810013397e-05, -4.223333252237739e-05,
     -4.2456482731717096e-05, -3.837974070372718e-07, -2.552893457120197e-07, -1.5427285255139999e-07, -1.7179431844784197e-08,
     9.707540488222703e-08, 2.28959301684511e-07, 2.598024456234353e-07, 3.306802928445676e-07, 5.36680429834318e-07, 7.210604900001026e-07,
     1.2277333882158353e-06, 1.7775139243631133e-06, 2.312500954004619e-06, 3.3655003197743992e-06, 4.655683701930181e-06,
     4.447435870124668e-06),
)
_SIXTEEN_SLOW = table("16 links", "recomputed", _SOURCE, 12, _names(16), _SIXTEEN_SLOW_ROWS, links=16, frequency="0.05 rad/s")

ENTRY = Entry(
    name="pendulum-chain",
    title="Chain of mathematical pendulums",
    summary="A hanging chain follows its slowly moving suspension in small swings: a long run in which the Jacobian hardly changes.",
    source="Arnold, Fuchs, Fuehrer: Efficient corrector iteration for DAE time integration in multibody dynamics, Computer Methods in "
           "Applied Mechanics and Engineering 195 (2006) 6958-6973, section 4.2.1",
    build=build,
    parameters={"links": 12, "frequency": "0.05 Hz", "coordinates": "cartesian"},
    variants=({"coordinates": "classical"}, {"frequency": "0.05 rad/s"}, {"links": 16}),
    hardness="Undamped natural frequencies from 1.07 to 19 rad/s (12 rods) under an excitation of 0.31 or 0.05 rad/s: a small, slow motion "
             "that keeps all of them alive, and 200 s are 600 periods of the fastest. IDA takes 6000 to 17000 evaluations, the paper's "
             "tolerances or the default ones. In Cartesian coordinates the angles, some 1e-3 and 1e-4, are small differences of large "
             "numbers.",
    t_end=200.0,
    step=1e-2,
    observe=_observe,
    references=_TWELVE + _TWELVE_SLOW + _SIXTEEN + _SIXTEEN_SLOW,
    view="xy",
    film=5.0,
)
