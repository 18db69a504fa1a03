"""Chain of N bars on spherical joints, hanging down along -z, under gravity in a skew direction.

Fang, Kissel, Zhang, Negrut: J. Comput. Nonlinear Dynam. 18 (2023) 014501: bars of 2 m x 0.05 m x 0.05 m, density 7800 kg/m^3, gravity
9.81 (0.07169162, 0.68473815, 0.72525442), N up to 32.

The published start cannot be reproduced: the rates were drawn at random without a seed, and they turn the bars about a transverse axis,
which the joints do not allow while the centres of mass are at rest; the paper speaks of turns about the longitudinal axes. Here the bars
spin about their own axes with 6, -4, 8, -2 rad/s in turn. That is consistent, and as nothing acts about these axes the spins stay
what they are.
"""

import operator

from ..model.bodies import GROUND, RigidBody
from ..model.joints import Spherical
from ..model.mechanism import Mechanism
from .base import Entry, table
from .rigid import components, rates

MOST = 4096
SPINS = (6.0, -4.0, 8.0, -2.0)
WIDTH, LENGTH, DENSITY = 0.05, 2.0, 7800.0
_DOWN = (2**-0.5, 0.0, 2**-0.5, 0.0)  # body x-axis along -z


def build(links=4):
    """The mechanism.

    Parameters
    ----------
    links : int
        Number of bars, 1 to 4096.
    """
    links = _checked(links)
    half = 0.5 * LENGTH
    joints = [Spherical("joint 1", GROUND, "link 1", s_j=(-half, 0.0, 0.0))]
    joints += [Spherical(f"joint {k}", f"link {k - 1}", f"link {k}", (half, 0.0, 0.0), (-half, 0.0, 0.0)) for k in range(2, links + 1)]
    gravity = tuple(9.81 * c for c in (0.07169162, 0.68473815, 0.72525442))
    return Mechanism("chain", [_link(k) for k in range(1, links + 1)], joints, gravity=gravity)


def _checked(links):
    try:
        n = operator.index(links)
    except TypeError:
        n = 0
    if isinstance(links, bool) or not 1 <= n <= MOST:
        raise ValueError(f"chain: links must be an integer from 1 to {MOST}, got {links!r}")
    return n


def _link(k):
    m = DENSITY * WIDTH**2 * LENGTH
    across = m * (WIDTH**2 + LENGTH**2) / 12.0
    return RigidBody(f"link {k}", m, (m * WIDTH**2 / 6.0, across, across), (0.0, 0.0, -LENGTH * (k - 0.5)), _DOWN,
                     (0.0, 0.0, 0.0), (SPINS[(k - 1) % 4], 0.0, 0.0))


def _observe(system, t, q, v, a, lam):
    n = system.nv // 6
    out = {f"{axis}{k + 1}": float(q[7 * k + c]) for k in range(n) for c, axis in enumerate("xyz")}
    return out | components("omega_last", rates(v, n - 1)[1]) | {"energy": system.energy(t, q, v)}


_SOURCE = "eighth-order Runge-Kutta on the index-1 form at relative tolerances 1e-12 and 1e-13; spin about the bar exact"

_TWO_ROWS = (
    (0.5, 0.058210375644449, 0.55536464837041, -0.82956715189775, 0.095080984526725, 0.90737308077988, -2.6380065445831, -4.0,
     0.2916082901213, 0.17259082756055),
    (1.0, 0.10018325763911, 0.95325834126865, 0.28506464124923, 0.30200581211983, 2.8814160970478, 0.37203691786866, -4.0,
     7.1404733818616, -4.9736391755566),
    (2.0, -0.10380741140184, -0.99447681216055, 0.015488428359179, -0.28370737541686, -2.7088463716577, 0.72087855679526, -4.0,
     -2.8271179270006, -0.71892834455084),
    (3.0, 0.019273306108092, 0.18588900924206, 0.98238170581229, 0.0093548414805012, 0.088336475428537, 1.0062182993886, -4.0,
     -1.0571341818433, -2.091751471309),
)
_TWO = table("two bars", "recomputed", _SOURCE, 10, "x1 y1 z1 x2 y2 z2 omega_last_x omega_last_y omega_last_z", _TWO_ROWS, links=2)

_FOUR_ROWS = (
    (0.5, 0.058798447840284, 0.56088604149101, -0.82580239221748, 0.098492718609595, 0.94014356247305, -2.6347864110718, 0.084918236714667,
     0.81102581590007, -4.6165730853084, 0.088543351451239, 0.84557808003478, -6.6150150518601, -2.0, -0.043951030604242,
     0.02222029916123),
    (1.0, 0.10399747676418, 0.99068583918246, 0.08789819605678, 0.2919917549785, 2.7852928654558, -0.41297798087877, 0.36374449737799,
     3.4737949369876, -1.9949937700341, 0.35097813497005, 3.3525347855171, -3.9882179907986, -2.0, 0.78938080019687,
     0.46607401727117),
    (2.0, 0.033477994423492, 0.31835239844481, 0.9473811135408, 0.041884376659116, 0.40166133917091, 2.8664236841982, -0.03875951751851,
     -0.37455271453852, 4.6771596955169, -0.15246290536395, -1.4537322457946, 6.3571665657271, -2.0, 0.0053584634204287,
     0.00098180745207818),
    (3.0, -0.092763931417678, -0.86809502667479, 0.4876534401503, -0.24702242918818, -2.3360736396415, 0.17758631443397, -0.41072895923515,
     -3.9255204824767, -0.51856025979421, -0.40996685770467, -3.9228401811366, -0.34735104911921, -2.0, -0.052376413178758,
     -0.29896255408317),
)
_FOUR = table("four bars", "recomputed", _SOURCE, 10,
              "x1 y1 z1 x2 y2 z2 x3 y3 z3 x4 y4 z4 omega_last_x omega_last_y omega_last_z", _FOUR_ROWS)

ENTRY = Entry(
    name="chain",
    title="Chain of N bars",
    summary="Bars linked by spherical joints swing in space; energy is conserved. The test of how cost grows with size.",
    source="Fang, Kissel, Zhang, Negrut: J. Comput. Nonlinear Dynam. 18 (2023) 014501; spins chosen here",
    build=build,
    parameters={"links": 4},
    variants=({"links": 1}, {"links": 7}),
    hardness="Chaotic for more than two links: digits are lost at a steady rate. The size is free, the cost per link ought not to grow.",
    t_end=3.0,
    step=1e-3,
    observe=_observe,
    references=_TWO + _FOUR,
    view="yz",
)
