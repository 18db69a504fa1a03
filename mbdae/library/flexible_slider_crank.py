"""Flexible slider-crank: a crank turned at constant speed, an elastic connecting rod, a sliding block; no gravity.

Simeon: Modelling a flexible slider crank mechanism by a mixed system of DAEs and PDEs, Math. Modelling of Systems 2 (1996) 1-18; Test Set
for IVP Solvers, Bari: slider crank. Seven coordinates: the angles phi1 of the crank and phi2 of the rod's frame, which begins at the crank
pin and points at the slider; the slider at x3; and the deformation of the rod, `q1 sin(pi x/L2) + q2 sin(2 pi x/L2)` across, and along it
the displacements q3 of its middle and q4 of its end. Equations: `flexible_slider_crank_equations`; pictures show the deflection
across ten times too large.

Of the data as published:

- Three constraints, the last one rheonomic, imposed on the velocities: 24 unknowns of index 2. Here all forms are available.
- The forces are exactly those of Lagrange for the published mass matrix, with or without the cubic potential of the stiffening.
- The block of Mq that belongs to q3 and q4 is (8 1; 1 2) without the factor 1/15 of a quadratic element: the rod is fifteen times too heavy
  along its axis, though not as a rigid body. The rounded pi is a part of the definition. Both are kept.
- The initial values "smooth" have nine digits and constraint violations of 2e-10 in the positions, 1e-8 in the velocities. Here x3, phi2',
  x3' follow from the other values by the constraints. Its accelerations q1", q2" and multipliers lambda1, lambda3, about 1e-4 and below,
  are only due to these violations, instead of zero; they are not listed. It is smooth only without damping and stiffening.
- References are solutions of these equations with data in double precision. Extrapolation in 113-bit arithmetic, of the index-1 and the
  minimal form, agrees with them up to 0.05 s to 14.3 digits (smooth) and 13.1 digits (undeformed); its data may be decimal fractions.
- The published solution at 0.1 s belongs to that start. It is right to 9 digits in phi2 and x3, to 6 in q1 and q2, 5 in q3 and q4, 3 in
  their rates, 2 in q2" and q3"; q4" is off by one per cent and not listed. The choice of the projection of the initial values changes q1
  and q2 by 1e-7, q3 and q4 by 2e-6 of their size.
"""

import math
from functools import partial

import numpy as np

from ..model.geometry import Picture
from ..system.system import System
from ..typing import Vector
from . import flexible_slider_crank_equations as equations
from .base import Entry, Observables, table
from .flexible_slider_crank_equations import L1, L2, OMEGA

COORDINATES = ("phi1", "phi2", "x3", "q1", "q2", "q3", "q4")
MAGNIFIED = 10.0  # deflection in pictures
_STARTS = {  # q1 ... q4 and their rates
    "smooth": ((0.0, 0.0, 1.03339863e-5, 1.69327969e-5), (0.444896105, 4.63434311e-3, -1.78591076e-6, -2.68938672e-6)),
    "undeformed": ((0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
}


def build(start: str = "smooth", damping: bool = False, stiffening: bool = False) -> System:
    """The equations of motion.

    Parameters
    ----------
    start : {"smooth", "undeformed"}
        Near a motion without elastic oscillations, or with a straight rod, which then oscillates strongly.
    damping : bool
        Damping of the rod, 0.5 per cent.
    stiffening : bool
        Cubic potential: tension makes the rod stiffer against bending.
    """
    if start not in tuple(_STARTS):
        raise ValueError(f"flexible-slider-crank: start must be 'smooth' or 'undeformed', got {start!r}")
    for name, given in (("damping", damping), ("stiffening", stiffening)):
        if not isinstance(given, bool):
            raise ValueError(f"flexible-slider-crank: {name} must be True or False, got {given!r}")
    e, (u, u_dot) = equations, _STARTS[start]
    return System.from_functions(
        nq=7, nc=3, mass=e.mass, force=e.FORCE[damping, stiffening], phi=e.phi, phi_q=e.phi_q, nu=e.nu, gamma=e.gamma,
        energy=partial(e.energy, cubic=stiffening), q0=(0.0, 0.0, L1 + L2 + u[3], *u),
        v0=(OMEGA, -OMEGA * L1 / (L2 + u[3]), u_dot[3], *u_dot), picture=_picture, name="flexible-slider-crank",
        labels=("loop.y", "loop.x", "drive"))


def _picture(t: float, q: Vector) -> Picture:
    phi1, phi2, x3, q1, q2 = q[:5]
    s = np.linspace(0.0, 1.0, 25)
    across = MAGNIFIED * (q1 * np.sin(math.pi * s) + q2 * np.sin(2.0 * math.pi * s))
    pin = np.array([L1 * math.cos(phi1), L1 * math.sin(phi1), 0.0])
    slider = np.array([x3, 0.0, 0.0])
    rod = pin + np.outer(s, slider - pin) + np.outer(across, (-math.sin(phi2), math.cos(phi2), 0.0))
    corners = 0.012 * np.array([(-2, -1, 0), (2, -1, 0), (2, 1, 0), (-2, 1, 0), (-2, -1, 0)])
    return Picture([pin / 2, rod[12], slider], [[(0, 0, 0), pin], rod, slider + corners], [pin, slider], [(0, 0, 0)],
                   names=("crank", "rod", "slider"))


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    levels = {"": q, "d_": v, "dd_": a}
    return {**{prefix + name: float(x) for prefix, values in levels.items() for name, x in zip(COORDINATES, values)},
            **{f"lambda{k + 1}": float(x) for k, x in enumerate(lam)}, "driving_torque": -float(lam[2]), "energy": system.energy(t, q, v)}


_STATE, _RATES, _ACCELERATIONS = (" ".join(prefix + name for name in COORDINATES) for prefix in ("", "d_", "dd_"))
_REACTIONS = "lambda1 lambda2 lambda3"
_ALL = f"{_STATE} {_RATES} {_REACTIONS}"

_SOURCE = "Test Set for IVP Solvers, Bari; 16 digits are printed"
_PUBLISHED = (
    *table("test set, start", "published", _SOURCE, 6, "dd_phi1 dd_phi2 dd_x3 dd_q3 dd_q4 lambda2", (
        (0.0, 0.0, -1.344541576008661e-3, -5062.194923138079, -4.268463211410861, 0.2098334687947376, 382.4589508329281),)),
    *table("test set, start", "published", _SOURCE, 15, f"{_ACCELERATIONS} {_REACTIONS}", (
        (0.0, 0.0, 0.0, -3789.473684210526, 0.0, 0.0, 192.4342105263158, 1273.026315789474, 0.0, 286.3023157894737, 0.0),),
        start="undeformed"),
    *table("test set, angles and slider", "published", _SOURCE, 9, "phi1 phi2 x3", ((0.1, 15.0, -0.3311734987910881, 0.1697373326718410),)),
    *table("test set, deformation", "published", _SOURCE, 5, "q1 q2 q3 q4", (
        (0.1, 1.893192460247178e-4, 2.375751865617931e-5, -5.323907988763734e-6, -8.363283141616840e-6),)),
    *table("test set, rates of angles and slider", "published", _SOURCE, 7, "d_phi1 d_phi2 d_x3", (
        (0.1, 150.0, 60.25346682645789, -8.753116989887888),)),
    *table("test set, rates of deformation", "published", _SOURCE, 3, "d_q1 d_q2 d_q3 d_q4", (
        (0.1, -3.005536801092212e-2, -5.500488291932075e-3, 4.978243404809343e-4, 1.104933470696396e-3),)),
    *table("test set, accelerations and multipliers", "published", _SOURCE, 4, f"dd_phi1 dd_phi2 dd_x3 dd_q1 {_REACTIONS}", (
        (0.1, 0.0, 6488.722210234531, 2167.924253080623, 33.91435115267547, -62.32893262533717, -163.7910131687472, 25.29853213732781),)),
    *table("test set, accelerations of deformation", "published", _SOURCE, 2, "dd_q2 dd_q3", (
        (0.1, 0.1699107480197843, -1.415799354959001),)),
)

_PRECISE = "collocation of Radau and of Gauss in 80-bit arithmetic, see `mbdae confirm --precise`"
_SMOOTH_ROWS = (
    (0.005, 0.75, -0.347776057304502, 0.39180276431725947, 0.0016142237464110496, 2.533633636434576e-05, 5.991420283219365e-06,
     1.0149316929647794e-05, 150.0, -58.37311552276358, -21.308326019350545, 0.03929559096335583, 0.005576919775830271,
     -0.001953595207325906, -0.0032412502950517107, 210.06240106918176, 205.48686703740177, -64.35951514117374),
    (0.01, 1.5, -0.5221639691885428, 0.2706282471161275, 0.0008319205130080009, 4.738752652921801e-05, -3.4977307824329787e-06,
     -5.662271471125995e-06, 150.0, -6.126044599498844, -23.36248862468132, -0.25637467662721064, 0.0009987172171376701,
     -0.0014753282712602624, -0.002592016946985236, -35.89281888354349, -127.38311391770354, 38.637431826456776),
    (0.05, 7.5, -0.4881581170576446, 0.3169547865126356, 0.0012739426523744593, 4.208688675381362e-05, -1.270513744675429e-07,
     3.2907712180482796e-08, 150.0, -29.442524980269724, -25.25091788469589, -0.2468207245820691, 0.004197479712893985,
     -0.002095625876471383, -0.0037989718669401633, 81.44871619679273, -16.643851458893288, 0.008688549997828147),
)
_UNDEFORMED_ROWS = (
    (0.005, 0.75, -0.34777614504548005, 0.39180268707966787, 0.0015825565787244394, 2.546378655579269e-05, 7.1189311566571405e-06,
     1.00767033240894e-05, 150.0, -58.2616431765392, -21.210185504100174, -0.4248008499012916, 0.02653297759584531,
     0.07555051610431034, 0.08902541783448446, 191.84840022728568, 168.88142779793392, -61.9248847048715),
    (0.01, 1.5, -0.5221319522332202, 0.2706475058764903, 0.0007609283145258688, 5.393616623458441e-05, 6.704357325889704e-06,
     1.1030257140742758e-05, 150.0, -6.121805582287828, -23.360143847359044, -0.6934622908223648, -0.002106186315640163,
     0.009603843072459295, -0.0006185027946955109, 20.938058654152936, -25.37815918971484, 16.097110334812367),
    (0.05, 7.5, -0.4881345304679803, 0.316969874557277, 0.0009893561525273547, 4.9205435495682655e-05, 9.191978846214924e-06,
     1.3358725022399688e-05, 150.0, -29.39307362341776, -25.22011986036512, -0.5200197617281554, 0.02722273368137277,
     0.04528240448601595, 0.02319379379742916, 79.10647807303285, 29.045054209858172, -14.122115213713016),
)
_SMOOTH = table("smooth start", "recomputed", _PRECISE, 15, _ALL, _SMOOTH_ROWS)
_UNDEFORMED = table("undeformed start", "recomputed", _PRECISE, 15, _ALL, _UNDEFORMED_ROWS, start="undeformed")

_SMOOTH_END = (
    (0.1, 15.0, -0.33117349882564434, 0.1697373326399585, 0.00018931928430200405, 2.3757513204885696e-05, -5.32389677819238e-06,
     -8.363313291666574e-06, 150.0, 60.25346755129606, -8.753116326727127, -0.030055411709506603, -0.005500430645925279,
     0.0004974111663674426, 0.0011055599716078652, -62.32935927828664, -163.79209934418648, 25.29857948786984),
)
_UNDEFORMED_END = (
    (0.1, 15.0, -0.3311790060439116, 0.16973225166872855, -0.00014172368254152215, 2.162529675540929e-05, -7.934711992435957e-06,
     -1.3168187251924481e-05, 150.0, 60.16395192591202, -8.836592694875284, 0.1219492355012489, -0.03419542301968902,
     -0.07968995756577096, -0.0779342179870264, -103.12914815831, -200.08788530586023, 32.204668620180186),
)
_DAMPED_ROWS = (
    (0.05, 7.5, -0.4881579806925796, 0.31695487373979975, 0.0013017079590131252, 4.205614365122315e-05, -8.097336275654423e-08,
     1.0994658928058662e-07, 150.0, -29.44188261394883, -25.250511826477954, -0.23476031014085072, 0.004335383923643694,
     -0.0020398352985177433, -0.0034415464337845037, 83.18600720557944, -16.427173160065866, -0.19322150181151768),
    (0.1, 15.0, -0.33117350255643935, 0.169737329197864, 0.0002108031932636742, 2.3823682252060675e-05, -5.332459085938477e-06,
     -8.366568347658417e-06, 150.0, 60.252803162340015, -8.753729906389557, -0.03897054373363597, -0.005646051392019551,
     0.00026710622011755084, 0.0005252539164016433, -60.62434309917679, -163.71059811626606, 25.060425990283488),
)
_STIFFENED_ROWS = (
    (0.05, 7.5, -0.4882057347535012, 0.31692433015573385, 0.0018080777424752264, 4.650665109185887e-05, -1.4550640347182798e-05,
     -2.6865751772707604e-05, 150.0, -29.435216048124158, -25.244554662061052, -0.18902629441120786, 0.005489228497251612,
     0.0008802068289275659, 0.0022414684014623984, 103.87566303205377, -17.204628922382227, -1.7933739277490588),
    (0.1, 15.0, -0.33117388762831834, 0.1697369739244487, -0.00011807672469119292, 2.365146392724488e-05, -5.475025837696496e-06,
     -8.702536690252668e-06, 150.0, 60.25087973974395, -8.755566742059004, -0.4920707774723167, -0.00674260715032037,
     -0.0003677991385914373, -0.0012187307976689178, -87.39734041140012, -163.55290067011714, 29.319751697524307),
)
_LATER = (
    *table("smooth start, end", "recomputed", _PRECISE, 15, _ALL, _SMOOTH_END),
    *table("undeformed start, end", "recomputed", _PRECISE, 15, _ALL, _UNDEFORMED_END, start="undeformed"),
    *table("damping", "recomputed", _PRECISE, 15, _ALL, _DAMPED_ROWS, damping=True),
    *table("stiffening", "recomputed", _PRECISE, 15, _ALL, _STIFFENED_ROWS, stiffening=True),
)

ENTRY = Entry(
    name="flexible-slider-crank",
    title="Flexible slider-crank",
    summary="A crank at constant speed drives a slider through an elastic rod: slow rotation and four fast elastic modes. Published in "
            "index 2, with a constraint that depends on time.",
    source="Test Set for IVP Solvers, Bari: slider crank; Simeon, Math. Modelling of Systems 2 (1996)",
    build=build,
    sizes=(None, 7, 7, 3),
    parameters={"start": "smooth", "damping": False, "stiffening": False},
    variants=({"start": "undeformed"}, {"damping": True}, {"stiffening": True}),
    hardness="Undamped elastic modes of 1277, 5107, 6841 and 24613 rad/s beside a rotation of 150 rad/s: every step must follow "
             "them, even from the smooth start, or damp them, as implicit methods at coarse tolerances do (RADAU at rtol 1e-6 takes 2000 "
             "evaluations and is off by three thousandths in q3). DOP853 needs 26000 to 34000 evaluations for six digits of q1, IDA at "
             "rtol 1e-6 in every form about as many for four to six; in index 3 it stalls on the smooth start. One-step integrators fail "
             "at steps of 1e-4 s.",
    film=0.01,
    t_end=0.1,
    step=1e-5,
    observe=_observe,
    references=_PUBLISHED + _SMOOTH + _UNDEFORMED + _LATER,
    view="xy",
)
