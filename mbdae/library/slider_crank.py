"""Spatial slider-crank whose crank turns at one revolution per second, with or without friction in the guide of the slider.

Haug: Computer-Aided Kinematics and Dynamics of Mechanical Systems I (1989); data and the order of the 18 constraint equations as in the
models published with Fang, Kissel, Zhang, Negrut: J. Comput. Nonlinear Dynam. 18 (2023) 014501. With a driver there are as many equations
as coordinates: the motion is prescribed, and with `B = (0, 0.1 + 0.08 sin 2 pi t, 0.12 + 0.08 cos 2 pi t)` the slider is at
`x = sqrt(0.3^2 - B_y^2 - B_z^2)`.

Of the data as published:

- One of the two scripts gives the crank 1.2 kg; 0.12 kg of the paper is right.
- The rod's small moment of inertia is the one about its y-axis although the rod lies along x; kept as published.
- The initial values have nine digits, with constraint violations of 7e-7 in the positions and 6e-6 in the velocities; here they are
  projected.
- The published driver `cos` has dead points twice a turn, and the scripts change to a companion equation near them. Here the equation
  `sin(theta - 2 pi t) = 0` is used at all times; its multiplier is the torque of the drive on the crank about the global x-axis. The crank
  turns about -x, so the drive does work where that torque is negative.

Friction follows the paper: force `mu |N| sign(v)` against the motion of the slider, none below 1e-5 m/s. `N` is the multiplier of a
single equation, the one that holds the slider vertically (`D.db`); the horizontal reaction of the guide causes no friction. With a
prescribed motion friction changes the reactions and the torque of the drive only.
"""

import math
from typing import Any

from ..model import checks
from ..model.bodies import GROUND, RigidBody
from ..model.drivers import AngleDriver
from ..model.forces import Friction
from ..model.joints import Revolute, Spherical, Translational
from ..model.mechanism import Mechanism
from ..model.motions import Polynomial
from ..model.primitives import DP1, DP2, D
from ..system.system import System
from ..typing import Vector
from .base import PRECISE, Entry, Observables, table
from .rigid import components, place, rates

NORMAL = "D.db"  # the equation whose multiplier is the normal force of the friction law


def build(mu: float = 0.0) -> Mechanism:
    """The mechanism.

    Parameters
    ----------
    mu : float
        Coefficient of friction between slider and guide.
    """
    mu = checks.nonnegative(mu, "slider-crank", "mu")
    drive = AngleDriver("drive", GROUND, "crank", Polynomial((0.0, 2.0 * math.pi)), (-1, 0, 0), (0, 0, 1), (0, 1, 0))
    friction = [Friction("friction", "D", mu, v_s=1e-5, normal=NORMAL)] if mu > 0.0 else []
    return Mechanism("slider-crank", _bodies(), _joints(), [drive], friction, gravity=(0.0, 0.0, -9.81))


def _bodies() -> list[RigidBody]:
    crank = RigidBody("crank", 0.12, (1e-4, 1e-5, 1e-4), (0.0, 0.1, 0.12), [(1, 0, 0), (0, 0, -1), (0, 1, 0)],
                      (0.0, 0.0, 0.0), (-6.28318531, 0.0, 0.0))
    rod = RigidBody("rod", 0.5, (4e-3, 4e-4, 4e-3), (0.1, 0.05, 0.1),
                    [(0.666663941, 5.25423484e-7, 0.745357596), (-0.333335152, 0.894426107, 0.298141533),
                     (-0.66666755, -0.447214375, 0.596282179)],
                    (-0.125663706, 0.251327412, 0.0), (-1.34041287, 1.12397036, -1.49862714))
    slider = RigidBody("slider", 2.0, (1e-4, 1e-4, 1e-4), (0.2, 0.0, 0.0), [(0, 0, 1), (0, 1, 0), (-1, 0, 0)],
                       (-0.25132741, 0.0, 0.0), (0.0, 0.0, 0.0))
    return [crank, rod, slider]


def _joints() -> list[Revolute | Spherical | Translational | D | DP1 | DP2]:
    tip = (0.15, 0.0, 0.0)
    return [
        Revolute("A", GROUND, "crank", s_i=(0.0, 0.1, 0.12), a_i=(1, 0, 0), a_j=(1, 0, 0)),
        Spherical("B", "rod", "crank", (-0.15, 0.0, 0.0), (0.0, 0.08, 0.0)),
        DP1("C.cross", "rod", "slider", (0, 1, 0), (0, 0, 1)),
        DP2("C.y", "rod", "slider", (0, 1, 0), tip),
        DP2("C.z", "rod", "slider", (0, 0, 1), tip),
        Translational("D", "slider", GROUND, s_j=(0.2, 0.0, 0.0), a_i=(0, 0, -1), a_j=(1, 0, 0), b_i=(-1, 0, 0), b_j=(0, 1, 0)),
        D("C.along", "rod", "slider", tip, (0, 0, 1), 1.0),
    ]


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    x = system.nv - 6  # velocity coordinate of the slider along its guide
    multipliers = {f"lam[{label}]": float(value) for label, value in zip(system.labels, lam)}
    with_friction, without = system.force(t, q, v, lam), system.force(t, q, v)
    return {"slider_x": float(place(q, 2)[0][0]), "d_slider_x": float(v[x]), "dd_slider_x": float(a[x]),
            **components("rod", place(q, 1)[0]), **components("rod_omega", rates(v, 1)[1]),
            "normal_force": abs(multipliers[f"lam[{NORMAL}]"]), "friction_force": float(with_friction[x] - without[x]),
            "driving_torque": multipliers["lam[drive]"], **multipliers}


_MOTION_ROWS = (
    (0.0, 0.2, -0.25132741228718347, 1.579136704174297),
    (0.1, 0.18510080948316093, -0.02815362292394183, 2.655081041138421),
    (0.25, 0.20784609690826528, 0.29020789827747484, 1.114318334851638),
    (0.5, 0.28, 0.17951958020513104, -1.468643173853064),
    (0.75, 0.27422618401604176, -0.21995922513874713, -1.328135031544588),
    (1.3, 0.22341938597909658, 0.3262889008192967, 0.3437033212821507),
    (2.0, 0.2, -0.25132741228718347, 1.579136704174297),
)
_MOTION = table("slider", "closed form", "x = sqrt(0.09 - (0.1 + 0.08 sin 2 pi t)^2 - (0.12 + 0.08 cos 2 pi t)^2)", 15,
                "slider_x d_slider_x dd_slider_x", _MOTION_ROWS)

_ROD_ROWS = (
    (0.0, 0.1, 0.04999999999999999, 0.1, -1.3404128655316452, 1.1239703569665167, -1.4986271426220215),
    (0.1, 0.09255040474158045, 0.07351141009169893, 0.0923606797749979, -1.312391122573032, 0.11925038927552026, -1.6738997718926982),
    (0.25, 0.10392304845413262, 0.09, 0.06, -1.3394210689729609, -1.3414864843385552, -1.3941136491247974),
    (0.5, 0.14, 0.05, 0.02, 1.617739665296812, -1.66679745777971, 0.6222710509044247),
    (0.75, 0.13711309200802088, 0.01, 0.06, 0.62090592081208, 1.8080536930640556, 0.27545314708059354),
    (1.3, 0.11170969298954828, 0.08804226065180615, 0.0476393202250021, -1.2890037954551163, -1.6297386943452374, -1.1550948994183297),
    (2.0, 0.1, 0.04999999999999999, 0.1, -1.3404128655316452, 1.1239703569665167, -1.4986271426220215),
)
_ROD = table("rod", "recomputed", PRECISE, 15,
             "rod_x rod_y rod_z rod_omega_x rod_omega_y rod_omega_z", _ROD_ROWS)

_MULTIPLIERS_ROWS = (
    (0.0, -3.553057584392169, 1.6487766328283815, 0.15359571586078136, 0.0, 0.28424460675137353, 3.553057584392169, -1.6487766328283815,
     -1.3307957158607815, 0.0072316047693797465, -0.9609162689764726, 8.412913753005634, -0.003234071970149655, 0.006468143940297876,
     25.066227363773635, 1.6487766328283815, 0.0, -4.71444454426821, 0.1319021306262707),
    (0.1, -5.973932342561447, 4.726076989139234, 2.3412039070588775, 0.2809111463320516, 0.38664102307026804, 5.973932342561447,
     -4.726076989139234, -3.5184039070588775, 0.000493503977387617, -1.5131600754521957, 14.173381659230188, -0.4086141259699975,
     -0.06311392753195402, 27.40462969199975, 4.261980356105537, 0.0, -8.232030589833288, 0.14043285382084786),
    (0.25, -2.5072162534161855, 2.4884306557087945, -2.3031505259025336, 0.20057730027329485, 0.0, 2.5072162534161855, -2.4884306557087945,
     1.1259505259025335, -0.010932513316356095, -2.201999974061499, 5.065928708986501, 0.19268761065778806, 0.007265170986196505,
     23.399049474097467, 1.698862303621646, 0.0, -2.94086490666123, 0.09007604207220268),
    (0.5, 3.304447141169393, -0.5403707938688266, -5.930552866667047, 0.0, 0.2643557712935515, -3.304447141169393, 0.5403707938688266,
     4.753352866667047, -0.4404900882509342, -1.074585313929767, -0.16303181873275835, 2.053882018340591, -0.20682357531229936,
     20.561215485420103, -0.5403707938688267, 0.0, 1.4979082809424897, 0.043229663509506175),
    (0.75, 2.988303820975323, -1.6115603236625726, -4.701475802776656, 0.23906430567802583, 0.0, -2.988303820975323, 1.6115603236625726,
     3.524275802776655, 0.2813048324703867, -1.0377975459723228, 1.342107408886843, 1.512557389151006, 0.21646405015154216,
     21.000724197223345, -0.821991971575424, 0.0, 1.056011009597504, -0.2819420642221324),
    (1.3, -0.7733324728848379, 1.0072511519617242, -3.52640381577112, 0.05883863100798162, -0.019117830113873448, 0.7733324728848379,
     -1.0072511519617242, 2.34920381577112, -0.021776914385016978, -2.3404329548141427, 2.091821171800901, 0.5442104680207358,
     -0.004360505165036086, 22.41978622324443, 0.2563270256488154, 0.0, -1.0417068654757435, 0.15383742988277177),
    (2.0, -3.5530575843921604, 1.6487766328283815, 0.15359571586077297, 0.0, 0.2842446067513728, 3.5530575843921604, -1.6487766328283815,
     -1.330795715860773, 0.007231604769379855, -0.9609162689764726, 8.412913753005618, -0.00323407197014921, 0.006468143940297927,
     25.066227363773628, 1.6487766328283815, 0.0, -4.714444544268199, 0.13190213062627038),
)
_MULTIPLIERS = table("multipliers without friction", "recomputed", PRECISE, 14,
                     "lam[A.x] lam[A.y] lam[A.z] lam[A.b] lam[A.c] lam[B.x] lam[B.y] lam[B.z] lam[C.cross] lam[C.y] lam[C.z] "
                     "lam[D.b] lam[D.c] lam[D.db] lam[D.dc] lam[D.turn] lam[C.along] lam[drive]", _MULTIPLIERS_ROWS)

# columns: t; normal force, friction force, driving torque for mu = 0, 0.2 and 0.4
_FRICTION_ROWS = (
    (0.05, 26.754306797138554, 0.0, 0.17859393465722606, 22.17138566826407, 4.434277133652814, 0.07010290760985444, 18.928925547815272,
     7.571570219126109, -0.006655521945320354),
    (0.1, 27.40462969199975, 0.0, 0.14043285382084786, 22.844996645495065, 4.568999329099014, 0.11996013529315916, 19.586207212300646,
     7.834482884920259, 0.105328194931656),
    (0.2, 24.94112516018152, 0.0, 0.05020958710091038, 29.28680196250597, -5.857360392501194, -0.1497162906516329, 35.4663700734463,
     -14.186548029378521, -0.4340116110147443),
    (0.25, 23.399049474097467, 0.0, 0.09007604207220268, 26.45365436820382, -5.290730873640765, -0.1542923494563057, 30.42552304136415,
     -12.170209216545661, -0.472041843309132),
    (0.3, 22.41978622324443, 0.0, 0.15383742988277177, 24.510301506240296, -4.90206030124806, -0.1007289706364769, 27.030763752045026,
     -10.812305500818011, -0.4076509083893918),
    (0.4, 21.678089252682394, 0.0, 0.2055206936671589, 22.658167102547857, -4.531633420509571, -0.009273301520662582, 23.731060882707588,
     -9.492424353083036, -0.24440884864511583),
    (0.5, 20.561215485420103, 0.0, 0.043229663509506175, 21.165957117344224, -4.233191423468845, -0.07771866287531792, 21.807349757263744,
     -8.722939902905498, -0.20599719085922227),
    (0.6, 21.06239481401471, 0.0, -0.1756928889888697, 21.896991199954407, -4.379398239990881, -0.18821512502628363, 22.800458266991736,
     -9.120183306796696, -0.20177069279061488),
    (0.7, 21.578612111179744, 0.0, -0.1769043294594302, 20.219360256212322, 4.043872051242465, -0.2718879247399813, 19.021201483666097,
     7.608480593466441, -0.3556144449705535),
    (0.75, 21.000724197223345, 0.0, -0.2819420642221324, 19.31067346476906, 3.862134692953812, -0.41714612281847546, 17.872378918440738,
     7.1489515673762964, -0.5322096865247409),
    (0.8, 20.857751516185104, 0.0, -0.2863717579215834, 18.78055667566116, 3.756111335132232, -0.45289999630470096, 17.079620696910162,
     6.831848278764065, -0.5892636472332868),
    (0.9, 21.882934729949877, 0.0, -0.1156565791781239, 18.858622338648534, 3.7717244677297073, -0.314004863246084, 16.568752047323365,
     6.627500818929346, -0.4641850643155614),
    (0.95, 23.246907029548694, 0.0, 0.016963850909712953, 19.649467374571365, 3.929893474914274, -0.17704931777006436, 17.016221203107882,
     6.806488481243154, -0.3190626613247438),
)


def _friction(mu: float, first: Any) -> Any:
    rows = [(row[0], *row[first:first + 3]) for row in _FRICTION_ROWS]
    return table(f"friction, mu = {mu:g}", "recomputed", PRECISE, 14,
                 "normal_force friction_force driving_torque", rows, **({"mu": mu} if mu else {}))


ENTRY = Entry(
    name="slider-crank",
    title="Spatial slider-crank, driven",
    summary="The crank turns at a prescribed rate, so the motion is known in closed form; reactions and torque depend on the friction.",
    source="Haug: Computer-Aided Kinematics and Dynamics of Mechanical Systems I (1989); data of Fang, Kissel, Zhang, Negrut: "
           "J. Comput. Nonlinear Dynam. 18 (2023) 014501",
    build=build,
    parameters={"mu": 0.0},
    variants=({"mu": 0.4},),
    hardness="Nothing is left to integrate: 18 equations for 18 coordinates. A solver shows how well it follows a driver, and with "
             "friction how it copes with forces that depend on the multipliers and jump when the slider turns back.",
    t_end=8.0,
    step=1e-3,
    observe=_observe,
    references=_MOTION + _ROD + _MULTIPLIERS + _friction(0.0, 1) + _friction(0.2, 4) + _friction(0.4, 7),
    view="3d",
)
