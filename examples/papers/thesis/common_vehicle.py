"""What the scripts on the vehicle share: the model, methods, published tables, runs, the explicit code.

The thesis: D. Negrut, "On the implicit integration of differential-algebraic equations of multibody dynamics", The University of Iowa
(1998), sections 5.2 and 5.3. The vehicle is `hmmwv` of the library with stiff bushings and a locked rack: 14 bodies, 98 coordinates, 80
constraints with the norms of the quaternions, 18 degrees of freedom, over a half cylinder at 10 mph. Topology, tyres and bushings are
published. Masses, hard points and springs are not: those of Project Chrono's vehicle stand in for them, see `mbdae/library/hmmwv.py`.

The published times are CPU seconds on an SGI Onyx (R10000), so only ratios of times can be compared.
"""

import time
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.integrate import ode

import mbdae
from mbdae import library
from mbdae.adapters.scipy import solve_ivp_arguments
from mbdae.system.assembly import State

OUTPUT = "results/papers/thesis"  # default of --output
TOLERANCES = (-2, -3, -4, -5)  # exponents k of rtol = atol = 10^k, for positions and velocities
LENGTHS = (1, 2, 3, 4)  # seconds of motion
MAX_STEP = 1.0  # s, the bound of the thesis (section 5.3)
HEIGHT = 2  # column of the height of the chassis among the positions, and of its rate among the velocities
FORM = "partition"
STEPS = {"max_step": MAX_STEP, "local_error": 1.0}
IMPLICIT = {"newton_tol": 0.02, **STEPS}  # `kappa` is between 0.01 and 0.1 in the thesis
METHODS = {
    "SspTrap": mbdae.TrapezoidalStateSpace(**IMPLICIT), "InflSDIRK": mbdae.SdirkDescriptor(**IMPLICIT),
    "InflTrap": mbdae.TrapezoidalDescriptor(**IMPLICIT), "ForSDIRK": mbdae.SdirkFirstOrder(filter=True, **IMPLICIT),
    "ForRosen": mbdae.RosenbrockNystrom(filter=False, **STEPS),
    "ForRosen, filtered": mbdae.RosenbrockNystrom(**STEPS)}
EXPLICIT = "DEABM"
EIGENVALUE = 2.6e5  # 1/s, modulus of the dominant eigenvalue, section 5.2
MAX_WINDOWS = 40  # in which stability must have become the bound of the explicit code's step
TABLES = {  # method -> number of the table and CPU seconds by length of the motion, a column for each tolerance
    EXPLICIT: (24, {1: (3618, 3641, 3667, 3663), 2: (7276, 7348, 7287, 7276), 3: (10865, 11122, 10949, 10965),
                    4: (14480, 14771, 14630, 14592)}),
    "SspTrap": (25, {1: (42, 54, 122, 312), 2: (79, 140, 330, 849), 3: (92, 168, 400, 1053), 4: (98, 179, 424, 1095)}),
    "InflSDIRK": (26, {1: (33, 52, 90, 170), 2: (69, 124, 218, 433), 3: (81, 150, 248, 493), 4: (84, 155, 256, 500)}),
    "InflTrap": (27, {1: (42, 61, 158, 463), 2: (79, 155, 420, 1198), 3: (92, 189, 524, 1521), 4: (100, 206, 552, 1568)}),
    "ForSDIRK": (28, {1: (10.1, 21, 33, 57), 2: (25.3, 49, 78, 139), 3: (29.5, 58, 92, 166), 4: (30, 61, 94, 184)}),
    "ForRosen": (29, {1: (5.6, 13.2, 40.7, 172), 2: (12.6, 32.6, 95, 405), 3: (13, 36.3, 105, 422), 4: (13.3, 37, 106, 428)}),
}
TABLE_30 = {"analytic": (21, 49, 58, 61), "numeric": (104, 229, 269, 278)}  # CPU seconds of ForSDIRK by length of the motion, at 1e-3
STEPS = {"ForRosen": 2211, "ForSDIRK": 308}  # accepted ones over 1 s at 1e-5, section 5.3
STAND_IN = "masses, hard points and springs of the vehicle are those of Project Chrono; the thesis' are not public (mbdae/library/hmmwv.py)"


def published(method, k, length):
    """CPU seconds of the thesis; `None` if there are none, as for other tolerances and lengths."""
    lines = TABLES[method][1] if method in TABLES else {}
    return lines[length][TOLERANCES.index(k)] if length in lines and k in TOLERANCES else None


@cache
def system():
    """The stiff vehicle with a locked rack, in Cartesian coordinates."""
    return library.system("hmmwv", model="stiff")


@dataclass(frozen=True)
class Cost:
    """A run of `method` at `10^k` over `length` seconds: processor time, work, error of the height of the chassis at the end."""

    method: str
    k: int
    length: float
    seconds: float
    steps: int
    rejected_error: int | None = None
    rejected_newton: int | None = None
    evaluations: int | None = None
    jacobians: int | None = None
    iterations: int | None = None
    error: float = np.nan
    published: float | None = None


def motion(method, k, t_end):
    """The motion at `rtol = atol = 10^k`.

    Raises
    ------
    RuntimeError
        If the run fails.
    """
    s = mbdae.solve(system(), method, (0.0, float(t_end)), formulation=FORM, rtol=10.0**k, atol=10.0**k)
    if not s.success:
        raise RuntimeError(f"{method.label}, tolerance 1e{k}: {s.message}")
    return s


@cache
def cost(name, k, length, repeats=3):
    """`Cost` of one of `METHODS`, with the shortest of several times."""
    runs = [motion(METHODS[name], k, length) for _ in range(repeats)]
    return summary(name, k, length, runs)


def summary(name, k, length, runs):
    """`Cost` of several runs of the same motion."""
    s, c = runs[0], runs[0].statistics
    known = [r.values["height"] for r in library.entry("hmmwv").references_for({"model": "stiff"}) if r.t == length]
    error = abs(s.q[-1, HEIGHT] - known[0]) if known else np.nan
    return Cost(name, k, length, min(r.statistics.cpu_seconds for r in runs), c.steps, c.rejected_error, c.rejected_newton, c.residuals,
                c.jacobians, c.newton_iterations, float(error), published(name, k, length))


# --- the explicit code -------------------------------------------------------------------------------------------------------------------


@cache
def _states():
    """Consistent states in the middle of each second, on the motion of `ForRosen, filtered` at 1e-6."""
    times = [length - 0.5 for length in LENGTHS]
    s = mbdae.solve(system(), METHODS["ForRosen, filtered"], (0.0, LENGTHS[-1]), formulation=FORM, rtol=1e-6, atol=1e-6, t_eval=times)
    return {length: State(*row) for length, row in zip(LENGTHS, zip(s.t.tolist(), s.q, s.v, s.a, s.lam))}


@dataclass(frozen=True)
class Sample:
    """What an explicit code needs for one second of motion: time, steps, evaluations, scaled from a fraction of that second.

    `lead` is the time after the start from a smooth state in which stability does not yet bound the step; it is left out.
    """

    k: int
    second: int
    seconds: float
    steps: float
    evaluations: float
    lead: float


def _adams(k, second):
    """VODE with Adams formulas and functional iteration, at the middle of a second of the motion."""
    problem, state = mbdae.problem(system(), FORM), _states()[second]
    y, yd = problem.pack(state)
    problem.compile(state.t, y, yd)
    code = ode(solve_ivp_arguments(problem)["fun"])
    code.set_integrator("vode", method="adams", with_jacobian=False, rtol=10.0**k, atol=10.0**k, nsteps=10**8)
    return code.set_initial_value(y, state.t)


@cache
def sample(k, second, window):
    """`Sample` of VODE over `window` seconds, as soon as stability bounds its step.

    VODE, like DEABM a code of variable order and step size without a matrix, stands for it.

    Raises
    ------
    RuntimeError
        If the run fails.
    """
    code, steps, evaluations, bound = _adams(k, second), 0, 0, False
    for _ in range(MAX_WINDOWS):
        begin, start = time.process_time(), code.t
        code.integrate(start + window)
        seconds = time.process_time() - begin
        if not code.successful():
            raise RuntimeError(f"VODE, tolerance 1e{k}, second {second}: it stopped at {code.t:g} s")
        before, (steps, evaluations) = (steps, evaluations), map(int, code._integrator.iwork[10:12])
        if bound:
            break
        bound = (steps - before[0]) * 10.0 > window * EIGENVALUE  # h |lambda| < 10
    return Sample(k, second, seconds / window, (steps - before[0]) / window, (evaluations - before[1]) / window, start - second + 0.5)


def explicit_cost(k, length, window):
    """`Cost` of the explicit code for a motion of `length` seconds, from the samples of its seconds."""
    parts = [sample(k, second, window) for second in range(1, length + 1)]
    seconds, steps, evaluations = (sum(getattr(p, name) for p in parts) for name in ("seconds", "steps", "evaluations"))
    return Cost(EXPLICIT, k, length, seconds, round(steps), evaluations=round(evaluations), published=published(EXPLICIT, k, length))
