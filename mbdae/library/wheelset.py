"""Wheelset: one axle with two conical wheels runs on straight rails with round heads, and hunts from side to side.

Simeon, Fuehrer, Rentrop: Introduction to differential-algebraic equations in vehicle system dynamics, Surv. Math. Ind. 1 (1991) 1-37; Test
Set for IVP Solvers, Bari: wheelset. It runs at 30 m/s, held by springs to a chassis that moves steadily. Coordinates, seen from there: x
lateral, y vertical, z along the track, theta (yaw), phi (roll), and chi, what the wheelset has spun more than omega t; `beta = chi'` is an
unknown of the published form. Two constraints keep the wheels on the rails; the creep forces in the contacts depend on the normal forces,
that is on the multipliers. Equations: `wheelset_equations`.

Of the data as published:

- 17 unknowns of index 2, the constraints imposed on the velocities, and four algebraic equations for the places psi, xi of the contacts.
  Here these four are solved in closed form within every evaluation, and all forms are available.
- The published rows of theta and beta have a mass matrix that is not symmetric, (LI2 cos(phi), 0; LI1 sin(phi), LI1), with the constraint
  forces (Q4, 0). The second row times sin(phi), added to the first, makes it (LI2 cos(phi) + LI1 sin(phi)^2, LI1 sin(phi); LI1 sin(phi),
  LI1) and leaves these forces as they are: so the published model is exactly `M a + Phi_q^T lam = Q`.
- It is not quite Lagrange's: the row of theta is the moment about an axis across the axle, where the constraint force would be
  Q4/cos(phi). With phi below 0.003 that is a change by 5e-6 of that force.
- The published initial values have gaps of half a nanometre between wheels and rails, which the published form preserves. The constraints
  here contain these gaps; without them the motion at 10 s differs in the fifth digit.
- The published multipliers are those here divided by 1e4, left and right; they are listed as lambda1, lambda2.
- The published solution at 10 s is right to 5 digits in y, to 6 in most others.

The references "motion" have been computed twice in 113-bit arithmetic, from kink to kink: by collocation in all coordinates, and by
extrapolation in x, z, theta and chi, with y and phi from the constraints. Both agree to 16 digits. They start from x, z and theta as
printed; the constraints then change y by 9e-18 m and phi by 5e-17. Rounding of the data to double precision leaves 12 digits of y and
14 of all others. See `mbdae confirm` for what is left in double precision.
"""

import math

import numpy as np

from ..model.geometry import Picture
from ..system.system import System
from ..typing import Matrix, Vector
from . import wheelset_equations as e
from .base import Entry, Observables, table

COORDINATES = ("x", "y", "z", "theta", "phi")
SIDES = (("L", 1.0, 0), ("R", -1.0, 1))
START = (1.4941e-3, 4.0089e-7, 1.1241e-6, -2.8573e-4, 2.6459e-4)
_GUESS = (-83.6, -74.1)  # of the multipliers


def build() -> System:
    """The equations of motion."""
    return System.from_functions(
        nq=6, nc=2, mass=e.mass, force=e.force, phi=e.phi, phi_q=e.phi_q, nu=e.nu, gamma=e.gamma, friction=e.friction, q0=(*START, 0.0),
        lam0=_GUESS, picture=_picture, name="wheelset", labels=("left contact", "right contact"))


def _frame(q: Vector) -> Matrix:
    """Directions of the axle, from its centre down, and backward."""
    st, ct, sp, cp = math.sin(q[3]), math.cos(q[3]), math.sin(q[4]), math.cos(q[4])
    return np.array([[ct * cp, sp, -st * cp], [ct * sp, -cp, -st * sp], [-st, 0.0, -ct]])


def contact_point(q: Vector, side: float) -> Vector:
    """Place of a contact, seen from the chassis."""
    sin_psi, cos_psi, xi, radius, _ = e.contact(q, side)
    return q[:3] + np.array([xi, radius * cos_psi, radius * sin_psi]) @ _frame(q)


def _picture(t: float, q: Vector) -> Picture:
    angle = np.linspace(0.0, 2.0 * math.pi, 41)
    frame = _frame(q)

    def circle(place: float) -> Matrix:
        radius = e.RN0 + e.TAN * (e.AR - abs(place))
        return q[:3] + np.stack([np.full_like(angle, place), radius * np.cos(angle), radius * np.sin(angle)], axis=1) @ frame

    wheels = [np.concatenate([circle(side * (e.AR - 0.03)), circle(side * (e.AR + 0.03))]) for _, side, _ in SIDES]
    axle = q[:3] + np.outer([-e.AR - 0.06, 0.0, e.AR + 0.06], frame[0])
    rails = [_RAIL + [side * e.CENTRE, -e.DEPTH, 0.0] for _, side, _ in SIDES]
    return Picture([q[:3]], [axle, *wheels], [contact_point(q, side) for _, side, _ in SIDES], rods=rails, up="y",
                   names=("axle", "left wheel", "right wheel"), joint_names=("left contact", "right contact"),
                   rod_names=("left rail", "right rail"))


def _rail() -> Matrix:
    """The outline of a rail about the centre of its head, the circle of the contact: head, web and foot."""
    turn = np.linspace(-_HEAD, _HEAD, 25)
    head = e.RS * np.stack([np.sin(turn), np.cos(turn)], axis=1)
    half = e.RS * np.array([(0.25, 0.0), (0.2, -1.3), (1.0, -1.6), (1.0, -1.8)])
    points = np.concatenate([head, half, half[::-1] * (-1.0, 1.0), head[:1]])
    return np.column_stack([points, np.zeros(len(points))])


_HEAD = math.radians(75.0)  # of the circle, to either side
_RAIL = _rail()


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    out = {prefix + name: float(x) for prefix, values in (("", q), ("d_", v), ("dd_", a)) for name, x in zip(COORDINATES, values)}
    out |= {"beta": float(v[5]), "d_beta": float(a[5]), "lambda1": float(lam[0]) / 1e4, "lambda2": float(lam[1]) / 1e4}
    for name, side, k in SIDES:
        sin_psi, _, xi, _, _ = e.contact(q, side)
        normal = float(e.normal_force(q, lam[k], side))
        tangential = math.hypot(*e.creep(q, v, lam[k], side))
        out |= {f"psi_{name}": math.asin(sin_psi), f"xi_{name}": float(xi), f"normal_force_{name}": normal,
                f"creep_force_{name}": tangential, f"saturation_{name}": tangential / (e.MU * abs(normal))}
    return out


_STATE, _RATES = "x y z theta phi", "d_x d_y d_z d_theta d_phi beta"
_SOURCE = "Test Set for IVP Solvers, Bari: DASSL at tolerance 1e-9; 14 digits are printed"
_PUBLISHED = table("test set", "published", _SOURCE, 5, f"{_STATE} {_RATES} psi_R xi_R psi_L xi_L lambda1 lambda2", (
    (10.0, 0.86355386965811e-2, 0.13038281022727e-4, -0.93635784016818e-4, -0.13642299804033e-1, 0.15292895005422e-2, -0.76985374142666e-1,
     -0.25151106429207e-3, 0.20541188079539e-2, -0.23904837703692, -0.13633468454173e-1, -0.24421377661131, -0.33666751972196e-3,
     -0.15949425684022, 0.37839614386969e-3, 0.14173214964613, -0.10124044903201e-1, -0.56285630573753e-2),))

_EXTRAPOLATED = table("extrapolation", "recomputed", "index-1 form, extrapolation", 5, "x theta d_x d_theta lambda1 lambda2", (
    (1.0, 1.414668e-3, -1.455750e-2, -3.154860e-1, 3.288761e-1, -6.40538e-3, -9.41943e-3),))

_MOTION_ROWS = (
    (0.1, -0.001472496831793766, 3.8618485322768427e-07, -2.140297266560887e-06, 0.0013164042177761582, -0.00026077117069755334,
     0.028254635669325737, -1.5342228724827476e-05, -3.365784973042541e-05, 0.07686994010706108, 0.0050036754693072345,
     -0.0017618357420876715, -0.006790996147372855, -0.0089864849821797),
    (0.2, 0.0009001158025927185, 1.28314242876382e-07, 1.663716879340413e-07, -0.00298120395449583, 0.00015940004568512436,
     -0.07393146070467699, -2.443648059169233e-05, 3.445576686617925e-05, -0.045375227269136155, -0.013092686240416375,
     0.0003399388424241275, -0.008815563087768073, -0.006966150436088007),
    (0.5, 0.002091548552546021, 6.493809556230587e-07, 2.542129925979585e-06, 0.008392577391767572, 0.0003703938661375356,
     0.181617354664061, 0.00014095044009769384, -0.0006508155420865244, -0.1368016228751157, 0.03216304473176791, -0.0022910849616671483,
     -0.00824486666286067, -0.00754513434804122),
    (1.0, 0.0014146651832041735, -5.136858275313063e-08, 9.375288355347773e-05, -0.014557496540340454, 0.00025052346487860284,
     -0.31548601292737233, -0.00014181913108525165, 0.003920579436548385, 0.3288761072995614, -0.05587031899869646, -0.3117569821779554,
     -0.006405383678833285, -0.009419429595427846),
    (2.0, 0.0063528100979119186, 6.954478948436865e-06, -6.261748299295662e-05, -0.012375125842400284, 0.001125033027243956,
     -0.1354624262904493, -0.0003174657512897694, 0.0022273452766176406, -0.17151559874692301, -0.023989384587886776, -0.18346464716139024,
     -0.009663908897036888, -0.0061121664139759165),
    (4.0, 0.0049223391477266655, 4.327256783732681e-06, 7.687150386516537e-05, 0.0036536029753331508, 0.0008717049927534653,
     0.25019313797670195, 0.00044946319077480556, -0.004583484691709491, -0.49016046580036843, 0.044307284449735314, -0.11659394225227306,
     -0.011545934531146686, -0.004266720165950978),
    (6.0, -0.007959885913987311, 1.0970385231673035e-05, -7.845653578024268e-05, 0.014617699209876121, -0.0014096432910174347,
     0.10731303316295443, -0.00031507593029086686, 0.0035995382795285876, 0.14336503238760367, 0.01900435138866202, -0.26610609442641525,
     -0.006250828208746914, -0.009507510182334098),
    (8.0, -0.0032941189852494367, 1.875972269741402e-06, 8.5804446423427e-05, -0.006162230433890935, -0.0005833666637493484,
     -0.25469219919214714, 0.0003116804689235414, -0.0016889004074616464, 0.4271795032771433, -0.04510401226501628, -0.16330947796715692,
     -0.0047169612439537, -0.011102222120903877),
    (10.0, 0.00863553825053632, 1.3038341133132438e-05, -9.36358113238991e-05, -0.013642295983647985, 0.001529289421336691,
     -0.0769852415715488, -0.00025151063907715045, 0.0020541148990754674, -0.23904840204566813, -0.013633444975624924, -0.24421370613139082,
     -0.01012404499312438, -0.005628562909694029),
)
_TWICE = "collocation of Gauss of order 20, and extrapolation in minimal coordinates, in 113-bit arithmetic, from kink to kink"
_MOTION = table("motion", "recomputed", _TWICE, 12, f"{_STATE} {_RATES} lambda1 lambda2", _MOTION_ROWS)

ENTRY = Entry(
    name="wheelset",
    title="Wheelset on rails",
    summary="An axle with conical wheels hunts on straight rails: contact constraints, and creep forces that depend on their multipliers. "
            "Published in index 2.",
    source="Test Set for IVP Solvers, Bari: wheelset; Simeon, Fuehrer, Rentrop, Surv. Math. Ind. 1 (1991)",
    build=build,
    sizes=(None, 6, 6, 2),
    parameters={},
    hardness="The centred run is unstable; the motion settles to hunting at 4.8 Hz with 10 mm. The creep forces are saturated for five "
             "sixths of the time, with a kink at either end, where every error control has to shorten its steps; in between they damp with "
             "up to 680 1/s, which is hardly stiff. At rtol 1e-6 DOP853 takes 5500 evaluations per second of motion, IDA 2700 to 3600 in "
             "every form for four to five digits. One-step integrators of first order are off by a tenth of the amplitude after 1 s at "
             "steps of 1e-4 s.",
    t_end=10.0,
    step=1e-4,
    observe=_observe,
    references=_PUBLISHED + _EXTRAPOLATED + _MOTION,
    view="xy",
    film=0.5,
)
