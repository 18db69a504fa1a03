"""`python -m tests.benchmarks.linear_solvers`: the linear solver of mbdae in IDA and CVODE against those of SUNDIALS.

Microseconds of a factorisation and of a solution, called in turn through `SUNLinSolSetup` and `SUNLinSolSolve`, of an evaluation of the
Jacobian, and of a step of a run by `Ida` in the library of the wheel; minima of several. Then the exponent of a power of the number of
links for each. The forms are GGL, and the underlying ODE for CVODE, of which whole runs are measured.
"""

import time
from ctypes import c_double, c_int, c_void_p

import numpy as np
from rich.console import Console
from rich.table import Table

import mbdae
from mbdae.adapters import storage
from mbdae.adapters.sundae import Cvode, Ida
from mbdae.adapters.sundials.bound import Bound
from mbdae.adapters.sundials.library import LibraryError, library
from mbdae.adapters.sundials.linear import SOLVE
from mbdae.adapters.sundials.own_solver import own_solver
from mbdae.adapters.sundials.session import Session
from mbdae.driver.callbacks import SolverCallbacks

LINKS = (32, 128, 512, 1024)
CASES = [("chain", {"links": n}, 0.02, ("kkt", "sparse")) for n in LINKS]
CASES += [(name, {}, t_end, ("kkt", "dense", "sparse"))
          for name, t_end in (("andrews", 0.01), ("iltis", 0.05), ("stewart-platform", 0.1), ("hmmwv", 0.05), ("passenger-car", 0.02))]
OF_CVODE = (("andrews", {}, 0.01), ("iltis", {}, 0.05), ("stewart-platform", {}, 0.1), ("chain", {"links": 8}, 0.1),
            ("chain", {"links": 32}, 0.1), ("chain", {"links": 128}, 0.1), ("chain", {"links": 512}, 0.1))
LARGEST_DENSE = 2000  # unknowns
REPEATS, RTOL, C = 9, 1e-5, 1e4  # C: leading coefficient of the matrices
ORIGINS = ("wheel", "system")


class Factors:
    """A linear solver of a session, for one matrix."""

    def __init__(self, problem, origin, linsolver, values):
        self.library = library(origin)
        self.session = session = Session(self.library, "IDA", problem.n)
        self.bound = bound = Bound(self.library, SolverCallbacks(problem, keeps=True), 1.0, linsolver)
        session.start_ida(bound.residual(), 0.0, problem.y0, problem.yd0)
        if linsolver == "kkt":
            session.use_own(own_solver(problem, bound.values, bound.equations.vector_data), SOLVE)
        elif linsolver == "sparse":
            session.use_sparse(problem.pattern)
        else:
            session.use_dense()
        self.linsolver, self.values, self.problem = linsolver, values, problem
        self.setup, self.solve = (self.library._symbol(f"SUNLinSol{name}") for name in ("Setup", "Solve"))
        self.setup.restype = self.solve.restype = c_int
        self.setup.argtypes, self.solve.argtypes = [c_void_p] * 2, [c_void_p] * 4 + [c_double]

    def seconds(self):
        """Of a factorisation and of a solution."""
        self._store()
        session = self.session
        session.view(session.inside)[:] = np.random.default_rng(1).normal(size=self.problem.n)
        begin = time.perf_counter()
        code = self.setup(session._linear, session._matrix)
        middle = time.perf_counter()
        assert code == 0, code
        code = self.solve(session._linear, session._matrix, session.y, session.inside, 0.0)
        assert code == 0, code
        return middle - begin, time.perf_counter() - middle

    def _store(self):
        matrix, bound = self.session._matrix, self.bound
        if self.linsolver == "kkt":
            bound.values[:] = self.values
        elif self.linsolver == "sparse":
            bound._store_sparse()(self.values, matrix)
        else:
            storage.dense(self.problem)(self.values, bound._dense(matrix))


def of_factors(problem, origins, linsolvers):
    """Least seconds of a factorisation and of a solution by (origin, linear solver)."""
    y, yd = problem.y0, problem.yd0
    values = problem.jacobian_values(0.0, y, yd, C)
    made = {(o, s): Factors(problem, o, s, values) for o in origins for s in linsolvers}
    found = {key: [] for key in made}
    for _ in range(REPEATS):
        for key, factors in made.items():
            found[key].append(factors.seconds())
    jacobian = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        problem.jacobian_values(0.0, y, yd, C)
        jacobian.append(time.perf_counter() - begin)
    return {key: np.min(x, axis=0) for key, x in found.items()}, min(jacobian)


def of_steps(problem, t_end, origins, linsolvers):
    """Least seconds of a step, and the numbers of steps and of factorisations, by (origin, linear solver)."""
    found = {}
    for _ in range(3):
        for origin in origins:
            for linsolver in linsolvers:
                s = mbdae.solve(problem, Ida(linsolver=linsolver, backend=origin), (0.0, t_end), rtol=RTOL, t_eval=[t_end])
                assert s.success, (linsolver, s.message)
                before = found.get((origin, linsolver), (np.inf,))[0]
                found[origin, linsolver] = (min(before, s.statistics.cpu_seconds / s.statistics.steps), s.statistics.steps,
                                            s.statistics.factorisations)
    return found


def available():
    """Origins of libraries that are there."""
    found = []
    for origin in ORIGINS:
        try:
            library(origin)
        except LibraryError:
            continue
        found.append(origin)
    return found


def of_cvode():
    """Print the table of CVODE."""
    table = Table("mechanism", "unknowns", "solver", "run [ms]", "steps", "Jacobians", title="CVODE, underlying ODE", title_justify="left")
    for name, options, t_end in OF_CVODE:
        problem = mbdae.problem(name, formulation="ode", **options)
        for linsolver in ("kkt", "dense"):
            if linsolver == "dense" and problem.n > LARGEST_DENSE:
                continue
            best = np.inf
            for _ in range(3):
                s = mbdae.solve(problem, Cvode(linsolver=linsolver, backend="wheel"), (0.0, t_end), rtol=RTOL, t_eval=[t_end])
                assert s.success, s.message
                best = min(best, s.statistics.cpu_seconds)
            table.add_row(f"{name} {options.get('links', '')}", str(problem.n), linsolver, f"{1e3 * best:.1f}", str(s.statistics.steps),
                          str(s.statistics.jacobians))
    Console(width=120).print(table)


def main():
    """Print the tables."""
    of_ida()
    of_cvode()


def of_ida():
    """Print the table of IDA, and the exponents."""
    table = Table("mechanism", "unknowns", "Jacobian", "library", "solver", "factorisation", "solution", "a step", "steps",
                  "factorisations", title="IDA, GGL, microseconds", title_justify="left")
    origins, by_size = available(), {}
    for name, options, t_end, linsolvers in CASES:
        problem = mbdae.problem(name, formulation="ggl", **options)
        problem.compile(0.0, problem.y0, problem.yd0)
        factors, jacobian = of_factors(problem, origins, linsolvers)
        steps = of_steps(problem, t_end, origins, linsolvers)
        label = f"{name} {options['links']}" if options else name
        for (origin, linsolver), (setup, solve) in factors.items():
            step, number, factorisations = steps[origin, linsolver]
            table.add_row(label, str(problem.n), f"{1e6 * jacobian:.0f}", origin, linsolver, f"{1e6 * setup:.0f}", f"{1e6 * solve:.1f}",
                          f"{1e6 * step:.0f}", str(number), str(factorisations))
            if options:
                by_size.setdefault((origin, linsolver), []).append((options["links"], setup, solve, step))
    Console(width=160).print(table)
    for key, rows in by_size.items():
        logs = np.log(np.array(rows))
        exponents = [np.polyfit(logs[:, 0], logs[:, k], 1)[0] for k in (1, 2, 3)]
        print(*key, "exponents of a factorisation, a solution, a step:", *(f"{x:.2f}" for x in exponents))


if __name__ == "__main__":
    main()
