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
    (0.1, -0.00147249683, 3.86184853e-07, -2.14029727e-06, 0.00131640422, -0.000260771171, 0.0282546357, -1.53422287e-05, -3.36578497e-05,
     0.0768699401, 0.00500367547, -0.00176183574, -0.00679099615, -0.00898648498),
    (0.2, 0.000900115803, 1.28314243e-07, 1.66371688e-07, -0.00298120395, 0.000159400046, -0.0739314607, -2.44364806e-05, 3.44557669e-05,
     -0.0453752273, -0.0130926862, 0.000339938842, -0.00881556309, -0.00696615044),
    (0.5, 0.00209154856, 6.49380959e-07, 2.54212984e-06, 0.00839257738, 0.000370393867, 0.181617355, 0.00014095044, -0.000650815541,
     -0.136801623, 0.0321630447, -0.00229108495, -0.00824486666, -0.00754513435),
    (1.0, 0.00141466517, -5.13685875e-08, 9.37528837e-05, -0.0145574965, 0.000250523463, -0.315486013, -0.00014181913, 0.00392057943,
     0.328876108, -0.055870319, -0.311756982, -0.00640538368, -0.0094194296),
    (2.0, 0.0063528101, 6.95447894e-06, -6.2617482e-05, -0.0123751258, 0.00112503303, -0.135462426, -0.000317465752, 0.00222734528,
     -0.171515599, -0.0239893846, -0.183464647, -0.0096639089, -0.00611216641),
    (4.0, 0.00492233915, 4.32725678e-06, 7.68715034e-05, 0.00365360296, 0.000871704992, 0.250193138, 0.000449463191, -0.00458348471,
     -0.490160466, 0.0443072845, -0.116593942, -0.0115459345, -0.00426672016),
    (6.0, -0.00795988593, 1.09703853e-05, -7.84565384e-05, 0.0146176992, -0.00140964329, 0.107313033, -0.00031507593, 0.00359953821,
     0.143365037, 0.0190043513, -0.266106094, -0.00625082818, -0.00950751021),
    (8.0, -0.0032941189, 1.87597217e-06, 8.58044477e-05, -0.00616223053, -0.000583366649, -0.254692202, 0.000311680465, -0.00168890031,
     0.427179507, -0.0451040128, -0.163309482, -0.00471696123, -0.0111022221),
    (10.0, 0.00863553825, 1.30383412e-05, -9.36358118e-05, -0.0136422959, 0.00152928942, -0.0769852378, -0.000251510627, 0.00205411478,
     -0.239048406, -0.0136334443, -0.244213703, -0.010124045, -0.00562856289),
)
_MOTION = table("motion", "recomputed", "eighth-order Runge-Kutta at tolerance 1e-11; BDF in index 2 at 1e-10 agrees to 7 digits", 7,
                f"{_STATE} {_RATES} lambda1 lambda2", _MOTION_ROWS)

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
