"""The two pictures of the README: a work-precision diagram of eight methods, and an animation.

    python docs/tools/front.py

CPU time of whole runs, the least of several; errors of the positions at the end against a reference of tolerance 1e-12.
"""

import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import mbdae
from mbdae import library, studies
from mbdae.pictures.figures import COLOURS, MARKERS, style

DOCS = Path(__file__).parents[1]
T_END, REPEATS = 1.0, 7
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
STEPS = (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4)
CURVES = {
    "half-implicit Euler, index 3": [(mbdae.HalfImplicit(h=h), 1e-6) for h in STEPS],
    "RATTLE of order 4, index 3": [(mbdae.Rattle(h=h, order=4), 1e-6) for h in (5e-3, 2.5e-3, 1.25e-3, 6.25e-4)],
    "Gauss, 3 stages, projected": [(mbdae.ProjectedGauss(h=h, stages=3), 1e-6) for h in (5e-3, 2.5e-3, 1.25e-3, 6.25e-4)],
    "Rosenbrock-Nystrom, state space": [(mbdae.RosenbrockNystrom(), tol) for tol in TOLERANCES],
    "Dormand-Prince 8, ODE, projected": [(mbdae.DormandPrince(), tol) for tol in TOLERANCES],
    "IDA, Gear's form": [(mbdae.Ida(), tol) for tol in TOLERANCES],
    "CVODE, ODE": [(mbdae.Cvode(), tol) for tol in TOLERANCES],
    "DOP853, ODE": [(mbdae.SolveIvp("DOP853"), tol) for tol in TOLERANCES],
}


def measured(system, state, exact, method, tol):
    """CPU time and error of a run."""
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        run = mbdae.solve(system, method, (0.0, T_END), state=state, rtol=tol, atol=tol / 100)
        times.append(time.process_time() - begin)
    return min(times), np.abs(run.q[-1] - exact).max() if run.success else np.nan


def work_precision():
    """The diagram."""
    system = library.system("slider-crank-free")
    state = mbdae.assemble(system)
    exact = mbdae.solve(system, mbdae.SolveIvp("DOP853"), (0.0, T_END), state=state, rtol=1e-12, atol=1e-14).q[-1]
    with style():
        figure = Figure(figsize=(5.2, 3.1), layout="constrained")
        axes = figure.subplots()
        for (label, settings), colour, marker in zip(CURVES.items(), COLOURS, MARKERS):
            points = np.array([measured(system, state, exact, *setting) for setting in settings])
            axes.loglog(1e3 * points[:, 0], points[:, 1], color=colour, marker=marker, label=label, markersize=4)
            print(label, points.round(12).tolist(), flush=True)
        axes.set(xlabel="CPU time of the run  [ms]", ylabel="error of the positions")
        figure.legend(loc="outside right upper", fontsize=7, title="slider-crank without a motor, 1 s", title_fontsize=7)
    figure.savefig(DOCS / "work-precision.png", dpi=110)


def animation():
    """One turn of a slider-crank."""
    run = mbdae.solve(library.system("slider-crank"), mbdae.HalfImplicit(h=2e-3), (0.0, 1.0), t_eval=np.linspace(0, 1, 101))
    studies.animate(run, DOCS / "slider-crank.gif", view="xz", fps=20, title="slider-crank")


if __name__ == "__main__":
    animation()
    work_precision()
