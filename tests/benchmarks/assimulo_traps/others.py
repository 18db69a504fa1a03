"""GLIMDA, DASP3, Radar5, and the import."""

import sys

import numpy as np

from .base import ALL, PROGRESS, oscillator, outcome, pendulum, told, trap

# --- GLIMDA, DASP3, Radar5, import -------------------------------------------------------------------------------------------------------


@trap("errors of GLIMDA: no solution, singular equations, NaN, index 3", "KeyError becomes a sentence (assimulo.py: _failure)",
      ("no solution", "singular", "NaN at the start", "index 3"))
def glimda_flags(case):
    from assimulo.problem import Implicit_Problem
    from assimulo.solvers import GLIMDA

    def res(t, y, yd):
        PROGRESS.calls += 1
        return {"no solution": y**2 + 1.0, "singular": 0.0 * yd + 1.0, "NaN at the start": np.nan * y}[case]

    solver = GLIMDA(pendulum(3) if case == "index 3" else Implicit_Problem(res, [1.0, 0.0], [0.0, 0.0], 0.0))
    solver.verbosity, solver.maxsteps = 49, 2000
    return outcome(solver, solution=lambda t: np.nan)


@trap("GLIMDA with a matrix before yd that turns", "refused, or the mass matrix is divided out (assimulo.py: _suited)")
def glimda_constant():
    from assimulo.problem import Implicit_Problem
    from assimulo.solvers import GLIMDA

    found = []
    for rate in (0.0, 3.0):
        def res(t, y, yd, rate=rate):
            PROGRESS.calls += 1
            c, s = np.cos(rate * t), np.sin(rate * t)
            return np.array([[c, -s], [s, c]]) @ (yd - oscillator(t, y))

        solver = GLIMDA(Implicit_Problem(res, [1.0, 0.0], [0.0, -1.0], 0.0))
        solver.verbosity = 49
        found.append(outcome(solver) + f" in {solver.statistics.statistics['nsteps']} steps")
    return f"{found[1]}; the same equations with a constant one: {found[0]}"


@trap("DASP3ODE with fast unknowns", "all forms refused (assimulo_support.py: _DASP3)", ("1", "2", "5"))
def dasp3(fast):
    from assimulo.problem import SingPerturbed_Problem
    from assimulo.solvers import DASP3ODE

    m = int(fast)
    problem = SingPerturbed_Problem(lambda t, y, z: -y, lambda t, y, z: np.arange(1, m + 1) * y[0] - z, yy0=[1.0],
                                    zz0=np.arange(1.0, m + 1), eps=np.full(m, 1e-3))
    solver = DASP3ODE(problem)
    solver.verbosity, solver.rtol, solver.atol = 49, 1e-5, 1e-5
    return outcome(solver, 1.0, solution=lambda t: np.exp(-t) * np.array([1.0, *np.arange(1, m + 1)]))


@trap("Radar5ODE: y' = -y + y(t - 1)", "left out")
def radar5():
    from assimulo.problem import Delay_Explicit_Problem
    from assimulo.solvers import Radar5ODE

    class Delayed(Delay_Explicit_Problem):
        def __init__(self):
            super().__init__()
            self.lagcompmap, self.y0 = [[0]], 0.0

        def time_lags(self, t, y):
            return [t - 1.0]

        def rhs(self, t, y, delayed):
            return -y + delayed[0][0]

        def phi(self, i, t):
            return np.sin(np.pi * t)

    try:
        solver = Radar5ODE(Delayed())
    except Exception as error:
        return f"cannot be made: {told(error)}"
    solver.verbosity = 49

    def solution(t):
        w = np.pi
        return np.array([-(np.sin(w * t) - w * np.cos(w * t) + w * np.exp(-t)) / (1 + w * w)])

    return outcome(solver, 1.0, solution=solution)


@trap("import of assimulo.solvers", "nothing")
def import_solvers():
    import assimulo.solvers

    missing = [name for name in (*ALL, "DASP3ODE", "Radar5ODE", "KINSOL") if not hasattr(assimulo.solvers, name)]
    extra = [name for name in ("matplotlib", "pylab") if sys.modules.get(name)]
    return f"missing: {', '.join(missing) or 'none'}" + (f"; imports {', '.join(extra)}" if extra else "")


@trap("import of assimulo.solvers without Matplotlib", "nothing")
def import_without_matplotlib():
    sys.modules["matplotlib"] = sys.modules["pylab"] = None
    return import_solvers()
