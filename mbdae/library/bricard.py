"""Bricard's mechanism: five rods in a loop of six revolute joints, one equation redundant, and one degree of freedom.

Benchmark A04 of the IFToMM library of computational benchmark problems. Six corners P0 ... P5 of a cube of 1 m are joined by rods of 1 m
and 1 kg with a square section of 0.1 m; P0 and P5 are on the ground, the sixth side of the loop. Gravity 9.81 along -y, start at rest.

    joint        P0         P1         P2          P3          P4          P5
    position     (0,0,0)    (1,0,0)    (1,-1,0)    (1,-1,1)    (0,-1,1)    (0,0,1)
    axis         y          z          x           y           z           x

Six joints with five equations each and 30 coordinates leave no degree of freedom by count, but one equation is redundant in every
position. The multipliers are not unique; here they are those of minimal norm. The loop is one of the linkages of Bricard (1897) with
threefold symmetry: P0, P2, P4 turn by the same angle `alpha` and P1, P3, P5 by the same angle `beta`, where

    (1 + sin alpha) (1 + sin beta) = 1.

At the start both are zero. The mechanism swings to the mirrored position, alpha = pi and beta = 0, and back in 4.99171151368872 s. Slender
rods, without section, move differently in the third digit after 1 s.
"""

import math

import numpy as np

from ..model.bodies import GROUND, RigidBody
from ..model.joints import Revolute
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Vector
from .base import Entry, Observables, table
from .rigid import components, place, rates

MASS, LENGTH, WIDTH = 1.0, 1.0, 0.1
POINTS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
AXES = np.eye(3)[[1, 2, 0, 1, 2, 0]]
_CENTRES = (POINTS[:-1] + POINTS[1:]) / 2.0


def build() -> Mechanism:
    """The mechanism."""
    names = [GROUND, "rod 1", "rod 2", "rod 3", "rod 4", "rod 5", GROUND]
    origins = [np.zeros(3), *_CENTRES, np.zeros(3)]
    joints = [Revolute(f"P{k}", names[k], names[k + 1], point - origins[k], point - origins[k + 1], axis, axis)
              for k, (point, axis) in enumerate(zip(POINTS, AXES))]
    return Mechanism("bricard", [_rod(k) for k in range(5)], joints, gravity=(0.0, -9.81, 0.0))


def _rod(k: int) -> RigidBody:
    """From P(k) to P(k+1); all frames are parallel at the start."""
    along = np.abs(POINTS[k + 1] - POINTS[k])
    axial, across = MASS * WIDTH**2 / 6.0, MASS * (LENGTH**2 + WIDTH**2) / 12.0
    return RigidBody(f"rod {k + 1}", MASS, across + (axial - across) * along, _CENTRES[k], velocity=(0.0, 0.0, 0.0), omega=(0.0, 0.0, 0.0))


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    (r, A), (d_r, omega) = place(q, 2), rates(v, 2)
    arm = POINTS[3] - _CENTRES[2]
    first, last = place(q, 0)[1], place(q, 4)[1]
    return {**components("u", r + A @ arm - POINTS[3]), **components("d_u", d_r + A @ np.cross(omega, arm)),
            "alpha": _turn(first[0, 2], first[0, 0]), "beta": _turn(last[1, 2], last[1, 1]),
            "energy": system.energy(t, q, v)}


def _turn(sine: float, cosine: float) -> float:
    """An angle in (-pi/2, 3 pi/2]: alpha and beta reach pi, but not -pi/2."""
    return 0.5 * math.pi - math.atan2(cosine, sine)


_ROWS = (
    (0.5, -0.031716320893222835, -0.22462515943633388, -0.2498533905622331, -0.25823688785533305, -0.817207729938048,
     -1.0007731465679865, 0.25252884052505237, -0.2012621456093072),
    (1.0, -0.48949853881278027, -0.6491675993948063, -0.8598768854468142, -1.7510665152644451, -0.630374394907344, -1.0395930275692982,
     1.035028459518062, -0.48062110417718473),
    (1.5, -1.5177294918871562, -0.6465384128222766, -0.8555443724496509, -1.7371423331405962, 0.6384456065631183, 1.0512252157037925,
     2.1149912645553446, -0.4792058199351023),
    (2.0, -1.9693403447776516, -0.22124689495631739, -0.24572198922022326, -0.25172522995356006, 0.8131216789374133, 0.9930223256239836,
     2.8933282059812933, -0.19855473779586202),
    (2.5, -1.9999999998586304, -1.681470720892296e-05, -1.681484857611222e-05, 1.3644948636906152e-07, -0.00811468455469947,
     -0.008114821000744352, 3.1415758387412165, -1.681456584252605e-05),
    (3.0, -1.9671998000486897, -0.2280202146742363, -0.2540168238242787, 0.2648584462202608, -0.8212247464809722, -1.008480589469359,
     2.8847616044588458, -0.2039739962094086),
    (3.5, -1.503215955822708, -0.651763113839312, -0.86416069212007, 1.7648786543237314, -0.6221956670293282, -1.0277198523896909,
     2.0981125662275595, -0.4820150301609024),
    (4.0, -0.47510040660866015, -0.6438760013360603, -0.8511641538843175, 1.7231108367851022, 0.6464085161159305, 1.0626154467022322,
     1.018199181848926, -0.47776928207130887),
    (4.5, -0.029629748898307138, -0.21788570602984492, -0.24162279647590693, 0.2453227872482533, 0.8089672206298839, 0.9852296146518275,
     0.2440378514857052, -0.1958521012066687),
    (5.0, -2.2619510907623294e-09, -6.725769788291859e-05, -6.725995968188085e-05, -1.0916234194051098e-06, -0.01622882331417333,
     -0.01622991482746879, 6.725995973259376e-05, -6.725543613466414e-05),
    (5.5, -0.0339117492399443, -0.2314317732729857, -0.258212106113125, -0.27159057238311013, -0.8251721003011326, -1.0161431427292178,
     0.2611710911664907, -0.20668996238875612),
    (6.0, -0.5041265500567772, -0.6543245122737049, -0.8683947959548157, -1.7785740118073423, -0.6139102452283609, -1.0156067670172386,
     1.0519559624179595, -0.48338749483911714),
    (6.5, -1.5320113307413359, -0.6411808153324058, -0.8467372343075702, -1.708976742674276, 0.654262373815472, 1.0737628560997916,
     2.1317705139067504, -0.476311596811129),
    (7.0, -1.9713738492432022, -0.21454187485584933, -0.23755598288918078, -0.23902885711358324, 0.8047449810340507, 0.9773964780459309,
     2.901743621464551, -0.19315456546250837),
    (7.5, -1.9999999885485518, -0.00015132557914817511, -0.00015133702886362737, 3.684383854126662e-06, -0.02434187047571865,
     -0.02434555402336594, 3.141441316560352, -0.0001513141300102678),
    (8.0, -1.9649485716701014, -0.23485954522958508, -0.26243904822230885, 0.27843391516681393, -0.8290491620390666, -1.0237592712085304,
     2.8760436703924785, -0.20940971821595333),
    (8.5, -1.4884744373512417, -0.6568513542996316, -0.8725782051222617, 1.7921478422654131, -0.6055189884883369, -1.003254956131044,
     2.0811368832585098, -0.48473839675542385),
    (9.0, -0.46093571150519774, -0.6384533082403732, -0.8422646216419116, 1.6947447523121195, 0.6620064657324487, 1.0846666838558476,
     1.0014705600398175, -0.4748328719680943),
    (9.5, -0.0276484125803639, -0.2112156810412646, -0.2335217130001272, 0.2328427201301771, 0.800455585020053, 0.9695243565533473,
     0.23569796837933377, -0.19046246131918368),
    (10.0, -3.6193650590789566e-08, -0.0002690126961633442, -0.00026904888007869273, -8.733867904016866e-06, -0.032453280221667435,
     -0.03246201056607921, 0.00026904888332464653, -0.0002689765154926398),
)
_SOURCE = "alpha and beta as coordinates, extrapolation in 26-digit arithmetic; two step sizes agree to 1e-23"
_REFERENCES = table("displacement of P3", "recomputed", _SOURCE, 15, "u_x u_y u_z d_u_x d_u_y d_u_z alpha beta", _ROWS)

ENTRY = Entry(
    name="bricard",
    title="Bricard's mechanism (IFToMM A04)",
    summary="A spatial loop of five rods and six revolute joints that moves although by count it has no degree of freedom: one equation is "
            "redundant.",
    source="M. Gonzalez, D. Dopico, U. Lugris, J. Cuadrado: A benchmarking system for MBS simulation software, "
           "Multibody System Dynamics 16 (2006); problem A04",
    build=build,
    parameters={},
    hardness="The redundant equation: the full iteration matrix of Newton's method is singular, and the multipliers are "
             "not unique. Otherwise easy, for the motion is smooth: DOP853 on the underlying ODE takes 3300 evaluations at rtol = 1e-10.",
    t_end=10.0,
    step=1e-3,
    observe=_observe,
    references=_REFERENCES,
    view="3d",
)
