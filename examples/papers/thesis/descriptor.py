"""The descriptor form with a sparse matrix of accelerations and multipliers beside the reduced one: work and cost at a tolerance of 1e-3.

In the thesis InflSDIRK and InflTrap factorise a sparse matrix of size n + m in every step, 178 for the vehicle (section 3.3), with the
routines of Harwell. Here `matrix="sparse"` is that form. `matrix="reduced"`, the default, has the Newton correction in the form of Sherman,
Morrison and Woodbury: the factors of the equations of motion at each iterate, and a matrix of the size of the degrees of freedom. The first
table has the matrix and the time of one factorisation and of one correction, the second whole runs.

In both forms every iterate needs the factors of the reduced matrix of the equations of motion, for positions and velocities; these are no
part of the times of the first table. Sizes have no norms of quaternions: 150 for the vehicle.
"""

import time
from dataclasses import asdict, dataclass

import common
import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

import mbdae
from mbdae import library
from mbdae.cli.scripts import output_folder, show
from mbdae.integrators.control.driver import Driver
from mbdae.integrators.state_space import accelerations, descriptor, step
from mbdae.integrators.state_space.stepper import ChartedStepper
from mbdae.studies import write_csv

SPANS = {"hmmwv": 1.0, "iltis": 1.0, "flyball-governor": 2.0, "andrews": 0.05}
PARAMETERS = {"hmmwv": {"model": "stiff"}}
METHODS = {"InflSDIRK": mbdae.SdirkDescriptor, "InflTrap": mbdae.TrapezoidalDescriptor}
MATRICES = ("reduced", "sparse")
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Matrix:
    """The matrix of a mechanism, and times in seconds: of the derivatives' products, the factorisation, and one correction.

    `entries` and `filled` are shares of `size^2`: entries above rounding of the matrix, and of its factors.
    """

    mechanism: str
    size: int
    freedom: int
    entries: float
    filled: float
    products: float
    sparse_factors: float
    superlu: float
    reduced_factors: float
    sparse_correction: float
    reduced_correction: float


@dataclass(frozen=True)
class Run:
    """A run at the tolerance: shortest time of several, and work."""

    mechanism: str
    method: str
    matrix: str
    seconds: float
    steps: int
    rejected_newton: int
    iterations: int
    jacobians: int
    factorisations: int


def shortest(function, *arguments, repeats=5, seconds=0.02):
    """CPU time of a call, the least of several averages."""
    function(*arguments)
    begin, number = time.process_time(), 0
    while time.process_time() - begin < seconds:
        function(*arguments)
        number += 1
    found = []
    for _ in range(repeats):
        begin = time.process_time()
        for _ in range(number):
            function(*arguments)
        found.append((time.process_time() - begin) / number)
    return min(found)


def _system(name):
    return library.system(name, **PARAMETERS.get(name, {}))


def _stepper(name, span):
    """The arrays of `SdirkDescriptor` with the sparse matrix after a run.

    Raises
    ------
    RuntimeError
        If it fails.
    """
    s = _system(name)
    stepper = ChartedStepper(mbdae.SdirkDescriptor(matrix="sparse"), mbdae.StateSpace(s), s.start, span, TOLERANCE, TOLERANCE)
    found = Driver(stepper, t_eval=None, every=1, progress=None, until=None).to_end()
    if found.status != mbdae.Status.SUCCESS:
        raise RuntimeError(f"{name}: {found.message}")
    return stepper


def matrix(name, span):
    """`Matrix` of a mechanism, at the end of a run."""
    stepper = _stepper(name, span)
    run, g, n = stepper.run, stepper.run.augmented, stepper.chart.n
    gh = stepper.method.tableau.A[0, 0] * stepper.clock.past_step
    bhh, t, x, dx = gh * gh, stepper.t, run.end.zdd.copy(), np.empty(n)
    products = shortest(descriptor._keep, run.factors, g)
    factors = shortest(descriptor._form, gh, bhh, g)
    size = len(g.b)
    A = csc_array((g.A.values[:g.A.start[-1]], g.A.rows[:g.A.start[-1]], g.A.start), shape=(size, size))
    rows = np.abs(A).max(axis=1).toarray().ravel()
    entries = int((np.abs(A.data) > 1e-14 * rows[A.indices]).sum())
    filled = g.lu.L.start[-1] + g.lu.U.start[-1] + size
    ordered = csc_array(A[:, g.lu.order])
    return Matrix(name, size, n, entries / size**2, float(filled) / size**2, products, factors,
                  shortest(lambda: splu(ordered, permc_spec="NATURAL")), shortest(step.form, gh, bhh, run.near),
                  shortest(descriptor._correct, t, run.end, x, dx, run.factors, g),
                  shortest(accelerations._descriptor_correction, t, gh, bhh, run.end, x, run, dx))


def runs(name, span, repeats):
    """`Run` by method and matrix, the repetitions of both matrices in turn."""
    problem, found = mbdae.StateSpace(_system(name)), []
    for method, make in METHODS.items():
        several = {m: [] for m in MATRICES}
        for _ in range(repeats):
            for m, kept in several.items():
                s = mbdae.solve(problem, make(matrix=m), (0.0, span), rtol=TOLERANCE, atol=TOLERANCE)
                if not s.success:
                    raise RuntimeError(f"{name}, {method}, {m}: {s.message}")
                kept.append(s.statistics)
        for m, kept in several.items():
            c = kept[0]
            found.append(Run(name, method, m, min(k.cpu_seconds for k in kept), c.steps, c.rejected_newton, c.newton_iterations,
                             c.jacobians, c.factorisations))
    return found


def study(spans=SPANS, repeats=5):
    """`Matrix` and `Run` of every mechanism."""
    return [matrix(name, span) for name, span in spans.items()], [r for name, span in spans.items() for r in runs(name, span, repeats)]


def report(matrices, table):
    """Print both tables."""
    print("\n  the matrix, times in microseconds")
    show([(m.mechanism, m.size, m.freedom, f"{100 * m.entries:.0f} %", f"{100 * m.filled:.0f} %",
           *(f"{1e6 * x:.3g}" for x in (m.products, m.sparse_factors, m.superlu, m.reduced_factors, m.sparse_correction,
                                        m.reduced_correction))) for m in matrices],
         ("mechanism", "n + m", "freedom", "entries", "factors", "products", "factorisation", "SuperLU", "reduced", "correction",
          "reduced"))
    print(f"\n  runs at {TOLERANCE:g}")
    plain = {(r.mechanism, r.method): r for r in table if r.matrix == "reduced"}
    show([(r.mechanism, r.method, r.matrix, f"{1e3 * r.seconds:.3g}", f"{r.seconds / plain[r.mechanism, r.method].seconds:.2f}", r.steps,
           r.rejected_newton, r.iterations, r.jacobians, f"{1e6 * r.seconds / r.iterations:.3g}") for r in table],
         ("mechanism", "method", "matrix", "ms", "/ reduced", "steps", "rejected: Newton", "iterations", "Jacobians", "us / iteration"))


def main(output, **settings):
    """Run, print, write; returns the line for the summary."""
    matrices, table = study(**settings)
    report(matrices, table)
    write_csv(output / "descriptor_matrices.csv", [asdict(m) for m in matrices])
    write_csv(output / "descriptor_runs.csv", [asdict(r) for r in table])
    plain = {(r.mechanism, r.method): r.seconds for r in table if r.matrix == "reduced"}
    return "time, sparse / reduced matrix: " + ", ".join(
        f"{r.mechanism} {r.method} {r.seconds / plain[r.mechanism, r.method]:.2f}" for r in table if r.matrix == "sparse")


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
