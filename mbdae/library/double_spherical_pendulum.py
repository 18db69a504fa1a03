"""Double spherical pendulum: two particles on two rigid rods, in space; energy and the vertical angular momentum are conserved.

Two sets of data, both with z up, the rods in line along the x-axis at the start, and velocities (0, 1, 0) and (0, 2, 0) m/s:

    example          masses [kg]   lengths [m]   gravity [m/s^2]
    "metis"          1, 1.5        1, 1.5        9.81
    "projected-rk"   1, 2          1, 1          10

The first is that of the toolbox plkinon/metis. The second has the masses, lengths and gravity of Wei, Deng, Li, Wang: Applied
Mathematics and Mechanics 37 (2016) 1077-1094, example 2, whose start could not be found; it was chosen here.

The multipliers belong to `g = (d^2 - l^2)/2`, as in the sources: `lambda` is the tension of a rod divided by its length.
"""

from ..model.bodies import GROUND, Particle
from ..model.joints import Rod
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Vector
from .base import Entry, Observables, table
from .four_particles import momenta, state

EXAMPLES = {"metis": ((1.0, 1.5), (1.0, 1.5), 9.81), "projected-rk": ((1.0, 2.0), (1.0, 1.0), 10.0)}  # masses, lengths, gravity


def build(example: str = "metis") -> Mechanism:
    """The mechanism.

    Parameters
    ----------
    example : {"metis", "projected-rk"}
        Masses, lengths and gravity, see above.
    """
    if example not in tuple(EXAMPLES):
        raise ValueError(f"double-spherical-pendulum: example must be 'metis' or 'projected-rk', got {example!r}")
    (m1, m2), (l1, l2), gravity = EXAMPLES[example]
    particles = [Particle("mass 1", m1, (l1, 0.0, 0.0), (0.0, 1.0, 0.0)), Particle("mass 2", m2, (l1 + l2, 0.0, 0.0), (0.0, 2.0, 0.0))]
    rods = [Rod("rod 1", GROUND, "mass 1", length=l1), Rod("rod 2", "mass 1", "mass 2", length=l2)]
    return Mechanism("double-spherical-pendulum", particles, rods, gravity=(0.0, 0.0, -gravity))


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    assert system.mechanism is not None
    bodies, (length1, length2) = system.mechanism.bodies, (rod.length for rod in system.mechanism.joints if isinstance(rod, Rod))
    lambda1, lambda2 = 2.0 * float(lam[0]), 2.0 * float(lam[1])
    return {**state(q, v), "lambda1": lambda1, "lambda2": lambda2, "tension1": length1 * lambda1, "tension2": length2 * lambda2,
            "angular_momentum_z": momenta([b.mass for b in bodies], q, v)["angular_momentum_z"], "energy": system.energy(t, q, v)}


_NAMES = "x1 y1 z1 x2 y2 z2 d_x1 d_y1 d_z1 d_x2 d_y2 d_z2 lambda1 lambda2"
_SOURCE = "extrapolation on the index-1 form in 113-bit arithmetic"
_METIS_ROWS = (
    (0.5, 0.5312975336972396, 0.3220965871294715, -0.7835666654770207, 1.8534151196811801, 0.8913620686562957, -1.2053982673918497,
     -1.9444199876997728, -0.06216985565921963, -1.3439701925369312, -3.5089637528098896, 1.1564611476907245, -4.60305807198336,
     29.72610059123858, 13.522998532107843),
    (1.0, -0.3197816117613096, 0.1743982613090511, -0.9313028332565724, -1.1914507553159221, 0.17077760855112575, -2.152032039529763,
     -3.7884883378801226, -2.1586853896834426, 0.896612678855816, -5.560002926244967, -3.203209922704983, 2.1646715216449586,
     66.84391060730452, 26.778700060074218),
    (2.0, -0.31546275151380293, -0.37779032367732884, -0.8704928051070381, -0.8560618316916871, -1.6507049856324079, -0.2895961723997962,
     2.002892594455662, 1.063781567488202, -1.187516295909921, 3.20080935226186, -0.11955685076279308, -2.665741640830249,
     15.375209056025211, 1.9364395795375071),
    (5.0, 0.41231994465994337, -0.9108065491169614, 0.020583812117135718, 1.7541104346261067, -0.7544457484947569, -0.6314511417504823,
     -0.00881509801894641, -0.0751516438684344, -3.14878353514386, 1.6969306842955871, 2.5154828831792178, 0.9826317238073597,
     13.098765783997504, 8.505371696344103),
    (10.0, 0.8666798899434002, -0.4352339919055181, -0.2437977453908939, 1.2635277771921591, 0.07167592691944744, -1.5986239661967445,
     -1.2911830584722332, -0.48608700592447335, -3.722269053623018, -1.2464060720767072, 4.932878032747383, -1.6816407148295258,
     23.495763358613395, 11.78386166865515),
)
_METIS = table("motion and multipliers", "recomputed", _SOURCE, 15, _NAMES, _METIS_ROWS)
_PROJECTED_RK_ROWS = (
    (0.5, 0.5481256824947947, 0.38307770912448186, -0.7435117382809463, 1.31068974690061, 0.8342529360380632, -1.2071246827684377,
     -1.676333324144876, 0.33789719488281245, -1.0617188988509223, -3.855719869748177, 0.6635180828479459, -4.32955212509081,
     50.836123595885894, 42.06172433998583),
    (1.0, -0.7473433991176446, -0.16425104627995737, -0.6438163073355818, -1.3395211656054187, -0.14637909191049603, -1.4494254471326469,
     -1.5035104326505546, -1.616985821584753, 2.1578052536605568, -3.3912899605099915, -3.3711066323445906, 3.5065380865755715,
     55.11785223494415, 40.85237391469765),
    (2.0, 0.01097821996604774, -0.6273143628542291, -0.7786887496575058, -0.21146131886744193, -1.5962321630274865, -0.8869428399772715,
     1.5596045053881058, 0.24286192939308432, -0.17366257729813123, 2.579609373919446, 0.5115342154250738, -4.67428487687606,
     29.481581473750776, 27.800511390274046),
    (5.0, 0.35071707253739715, 0.7053380191094802, -0.6160323155724159, 0.9878659747006672, 1.1030601911897124, -1.2762280064913447,
     -1.9036061437606098, -3.7499256895705972, -5.377302858885492, -2.0479022067408295, 2.254637009546392, -1.8992285961251285,
     183.42398088213326, 143.47658589778737),
    (10.0, 0.2352447165396632, -0.9360889554569491, -0.26152894832444706, 0.005252584903091681, -1.5276525891781547, -1.0342876989341243,
     4.849185633483687, 0.5508819169594794, 2.3900636070118977, 1.40757478970352, 2.9098321866726526, 1.6085444348017763, 60.40841275253315,
     40.274493113095296),
)
_PROJECTED_RK = table("motion and multipliers", "recomputed", _SOURCE, 14, _NAMES, _PROJECTED_RK_ROWS, example="projected-rk")

ENTRY = Entry(
    name="double-spherical-pendulum",
    title="Double spherical pendulum",
    summary="Two particles on two rods swing in space; energy and the angular momentum about the vertical are conserved.",
    source="plkinon/metis; Wei, Deng, Li, Wang: Projected Runge-Kutta methods for constrained Hamiltonian systems, Applied Mathematics and "
           "Mechanics 37 (2016) 1077-1094, example 2, start chosen here",
    build=build,
    parameters={"example": "metis"},
    variants=({"example": "projected-rk"},),
    hardness="Chaotic: errors grow by a factor of 40 (metis) to 1000 (projected-rk) between 5 and 10 s; a tolerance of 1e-12 leaves eight "
             "to nine digits at the end. Not stiff.",
    t_end=10.0,
    step=1e-3,
    observe=_observe,
    references=_METIS + _PROJECTED_RK,
    view="3d",
)
