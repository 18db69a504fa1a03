"""Tables 5 to 10: linear solvers for the equations of the HMMWV in joint coordinates, their operations and times.

Tables 6 and 8 follow from the sizes 43, 27 and 16 (but for step 3.4 of table 8), the steps 1 and 3.1 of table 7 from the tree. In its other
steps the thesis has numbers that the zeros of the matrices do not explain.
"""

import common
import numpy as np
from linear_solvers import lapack
from linear_solvers.contenders import Prepared, fastest_superlu
from linear_solvers.topology import Entry, measured

import mbdae
from mbdae import library
from mbdae.cli.scripts import output_folder, show
from mbdae.compilation.compiled import compiled
from mbdae.studies import write_csv
from mbdae.system.symmetric import solve_symmetric, width
from mbdae.system.tree.composite import ClosedLoopSolver, gauss_operations, solve_sparse

TABLE_6 = {"factorisation": (25585, 25585, 903, 0), "forward": (903, 903, 0, 0), "back": (903, 903, 43, 0)}
STEPS = ("1", "2", "3.1", "3.2", "3.3", "3.4", "3.5", "4")
TABLE_7 = dict(zip(STEPS, zip((975, 165, 708, 172, 834, 680, 145, 192), (975, 165, 804, 172, 1135, 680, 162, 165),
                              (165, 7, 174, 0, 0, 120, 0, 27), (27, 0, 0, 0, 0, 16, 0, 0))))
TABLE_8 = dict(zip(STEPS, zip((3276, 351, 5616, 432, 3536, 2280, 405, 378), (3276, 351, 5616, 432, 3672, 2280, 432, 351),
                              (351, 27, 432, 0, 0, 152, 0, 27), (27, 0, 0, 0, 0, 16, 0, 0))))
TABLE_9 = {"dense LU": 2336, "dense symmetric indefinite": 2022, "SuperLU": 3532, "Alg-S": 1201, "Alg-D": 1179}  # MA28, not SuperLU


def system():
    """The vehicle with a free rack, as in the thesis."""
    return mbdae.System(library.mechanism("hmmwv", steering="free"), coordinates="joint")


def bodies(s):
    """Table 5 with the tree of figure 10: every body, the one before it, its joint, and the numbers of its velocities."""
    rows = [[b.body, b.before, b.joint or "free", f"{s.coordinates(b.body).v.start} ... {s.coordinates(b.body).v.stop - 1}"]
            for b in s.tree.branches]
    show(rows, ["body", "before", "joint", "velocities"])
    print(f"  cut: {', '.join(s.tree.cut)}")


def operations(title, found, published):
    """One of the tables 6 to 8, with ours and what is published; returns the rows."""
    print(f"\n  {title}: additions, multiplications, divisions, square roots")
    rows = [[step, *(f"{ours} ({there})" if ours != there else f"{ours}" for ours, there in zip(found[step], published[step]))]
            for step in published]
    show([*rows, ["total", *(f"{sum(f[k] for f in found.values())}" for k in range(4))]], ["step", "A", "M", "D", "SQ"])
    return [{"step": step, **{f"{name}_{who}": int(value) for who, values in (("ours", found[step]), ("published", published[step]))
                              for name, value in zip("AMDS", values)}} for step in published]


def times(s, repeats, seconds):
    """`SolverTime` of all solvers of the 43 equations near the start."""
    rng = np.random.default_rng(1)
    q, b, c = s.closed(0.0, s.retract(s.start.q, rng.uniform(-0.05, 0.05, s.nv))), rng.uniform(-1, 1, s.nv), rng.uniform(-1, 1, s.nc)
    G, M = s.phi_q(0.0, q).toarray(), s.mass(0.0, q)
    A, right = np.block([[M, G.T], [G, np.zeros((s.nc, s.nc))]]), np.concatenate([b, c])
    expected, (sparse, ordering) = np.linalg.solve(A, right), fastest_superlu(A, right)
    solver = ClosedLoopSolver(s)
    solver.evaluate(0.0, q)
    H, ptr, path, T = (x.copy() for x in solver.operands())
    entries = [("Alg-S", _sparse(right, s.nv, H, T, ptr, path)), ("Alg-D", _dense(solver.arranged(b, c), len(right))),
               ("dense LU", lapack.general(A, right)),
               ("dense symmetric indefinite", lapack.symmetric(A, right)), (f"SuperLU, {ordering}", sparse)]
    return measured([Entry("augmented", name, prepared, expected) for name, prepared in entries], repeats, seconds)


def _sparse(right, n, matrix, T, *structure):
    """A loop that puts matrices and right-hand sides back before it solves."""
    m = len(right) - n
    x, A, S, B, y = right.copy(), matrix.copy(), T.copy(), np.empty(m * width(m)), np.empty(width(m))

    def run(repeats, solve=True):
        _repeat_sparse(repeats, solve, matrix, T, right, A, S, B, y, x[:n], x[n:], *structure)

    return Prepared(run, lambda repeats: run(repeats, False), x)


def _dense(matrix, n):
    """The same for the matrix with its right-hand side."""
    A, x = matrix.copy(), np.empty(width(n))

    def run(repeats, solve=True):
        _repeat_dense(repeats, solve, matrix, A, x)

    return Prepared(run, lambda repeats: run(repeats, False), x[:n])


@compiled
def _restore(M, A):
    for k in range(M.size):
        A.flat[k] = M.flat[k]


@compiled
def _repeat_sparse(repeats, solve, M, T, right, A, S, B, x, a, lam, ptr, path):
    for _ in range(repeats):
        _restore(M, A)
        _restore(T, S)
        for k in range(a.shape[0]):
            a[k] = right[k]
        for k in range(lam.shape[0]):
            lam[k] = right[a.shape[0] + k]
        if solve:
            solve_sparse(A, ptr, path, S, B, x, a, lam)


@compiled
def _repeat_dense(repeats, solve, matrix, A, x):
    for _ in range(repeats):
        _restore(matrix, A)
        if solve:
            solve_symmetric(A, x)


def main(output, repeats=9, seconds=0.02):
    """Run, print, write; returns the line for the summary."""
    s = system()
    bodies(s)
    counted = {6: operations("table 6, Gaussian elimination", gauss_operations(s.nv + s.nc), TABLE_6),
               7: operations("table 7, Alg-S", ClosedLoopSolver(s).operations(), TABLE_7),
               8: operations("table 8, Alg-D", ClosedLoopSolver(s, sparse=False).operations(), TABLE_8)}
    for number, rows in counted.items():
        write_csv(output / f"table{number}.csv", rows)
    write_csv(output / "tables6_8.csv", [{"table": number, "step": row["step"], "operation": name, "ours": row[f"{name}_ours"],
                                          "published": row[f"{name}_published"]}
                                         for number, rows in counted.items() for row in rows for name in "AMDS"])
    found = times(s, repeats, seconds)
    print(f"\n  tables 9 and 10: {s.nv} + {s.nc} equations")
    ratio = {k: f"{v / TABLE_9['Alg-S']:.2f}" for k, v in TABLE_9.items()}
    show(common.time_cells(found, lambda solver: ratio[solver.split(",")[0]]), common.TIME_HEAD)
    write_csv(output / "table9.csv", found)
    write_csv(output / "table9_ratios.csv", [{"solver": r.solver, "ratio": r.seconds / found[0].seconds,
                                              "published": TABLE_9[r.solver.split(",")[0]] / TABLE_9["Alg-S"]} for r in found])
    by = {r.solver: r.seconds for r in found}
    sparse, dense = (by["dense LU"] / by[name] for name in ("Alg-S", "Alg-D"))
    return f"dense LU takes {sparse:.1f} times as long as Alg-S (published 1.9), {dense:.1f} times as long as Alg-D (published 2.0)"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
