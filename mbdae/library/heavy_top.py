"""Heavy top: a fast symmetric top on a spherical joint, the standard test of integrators with rotations.

Bruels, Cardona, Arnold: Mechanism and Machine Theory 48 (2012) 121-137, and many others since: 15 kg, centre of mass 1 m from the fixed
point on the body's y-axis, moments of inertia (0.234375, 0.46875, 0.234375) kg m^2 about the centre of mass, gravity 9.81 along -z; start
with the body axes along the global ones and with 150 rad/s about the y-axis, -4.61538 rad/s about the z-axis.

The moments about the fixed point are 15.234375, 0.46875, 15.234375, so the rate about the y-axis is constant; energy and the angular
momentum about the vertical are conserved as well. The quaternion is followed from its start (1, 0, 0, 0) without a change of sign.
"""

from ..model.bodies import GROUND, RigidBody
from ..model.joints import Spherical
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Vector
from .base import Entry, Observables, table
from .rigid import components, rates

MASS, INERTIA, ARM, GRAVITY = 15.0, (0.234375, 0.46875, 0.234375), 1.0, 9.81
SPIN, NUTATION = 150.0, -4.61538  # about the body's y- and z-axis


def build() -> Mechanism:
    """The mechanism."""
    top = RigidBody("top", MASS, INERTIA, (0.0, ARM, 0.0), velocity=(-ARM * NUTATION, 0.0, 0.0), omega=(0.0, SPIN, NUTATION))
    support = Spherical("support", GROUND, "top", s_j=(0.0, -ARM, 0.0))
    return Mechanism("heavy-top", [top], [support], gravity=(0.0, 0.0, -GRAVITY))


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    """The reaction is the force of the support on the top."""
    return {**dict(zip("xyz", map(float, q[:3]))), **{f"e{k}": float(q[3 + k]) for k in range(4)}, **components("omega", rates(v, 0)[1]),
            **components("reaction", -lam), "energy": system.energy(t, q, v)}


_RECOMPUTED_ROWS = (
    (0.2, -0.7082791529743125, 0.4387810881265819, 0.5457283961454177, 0.08939975282400502, -2.6915909121434085, 150.0, 4.917260989893994,
     0.6055505613771198, 0.5989576817949192, -0.5239830274300031),
    (1.0, 0.7329439806796637, -0.2782857193376127, 0.5318246113341626, -0.3201761427362493, -0.8220781016827045, 150.0, -5.923291348117337,
     0.17334396409838604, 0.6400885920705688, -0.7484907911335813),
)
_RECOMPUTED = table("motion", "recomputed", "extrapolation in 113-bit arithmetic", 15, "e0 e1 e2 e3 omega_x omega_y omega_z x y z",
                    _RECOMPUTED_ROWS)
_PUBLISHED = table("quaternion", "published", "jgerstmayr/EXUDYN, test model heavyTop", 4, "e0 e1 e2 e3",
                   ((0.2, -0.70828, 0.43878, 0.54573, 0.0894),))
_ENERGY = table("energy", "closed form", "1/2 omega . J omega about the fixed point", 17, "energy",
                ((0.0, 5435.696790865547), (1.0, 5435.696790865547)))

ENTRY = Entry(
    name="heavy-top",
    title="Heavy top",
    summary="A fast symmetric top on a spherical joint; it nutates while it falls and precesses. The standard test of integrators with "
            "rotations.",
    source="Bruels, Cardona, Arnold: Lie group generalized-alpha time integration of constrained flexible multibody systems, "
           "Mechanism and Machine Theory 48 (2012) 121-137",
    build=build,
    parameters={},
    hardness="Not stiff, but fast: the body turns 24 times a second while it falls and precesses slowly, and each turn has to "
             "be resolved. At default tolerances IDA takes 17000 to 34000 evaluations for 2 s, DOP853 on the underlying ODE "
             "3100. First-order methods need very small steps: with 2e-4 s the half-implicit one is off by 3 % after 1 s.",
    t_end=2.0,
    step=2e-4,
    observe=_observe,
    references=_RECOMPUTED + _PUBLISHED + _ENERGY,
    view="3d",
    film=0.2,
)
