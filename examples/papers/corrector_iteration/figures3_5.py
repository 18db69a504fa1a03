"""Figures 3 to 5: the sparsity of the Jacobian of the rail carriage, and the groups of its columns.

The paper shows the pattern of the 98 x 98 Jacobian of GGL's formulation with at most 1620 non-zeros in 15 s, and the at most 46 groups
that TOMS 618 makes of its columns. Here the pattern is the union of the non-zeros of exact Jacobians at 151 times of the motion. The system
is one of functions, so its structural pattern is full, and this is what estimated patterns find. Jacobians by differences have up to 64
entries more, in the first rows and columns: those of `(Phi_q^T mu)_q`, which vanish with `mu`.
"""

from types import SimpleNamespace

import common
import numpy as np
from scipy.sparse import csc_array

from mbdae import GGL, State, library, solve
from mbdae.cli.scripts import output_folder
from mbdae.jacobians.grouping import column_groups
from mbdae.pictures.curves import save
from mbdae.studies import write_csv
from mbdae.studies.jacobian_figures import plot_groups, plot_pattern

FORMS = ("residual", "explicit")
PUBLISHED = {"nonzeros": 1620, "groups": 46}  # at most, in the whole motion
C = 100.0  # leading coefficient of the formula for `yd`


def run(form, t_end=15.0, points=151, spec=None):
    """A record of the problem with the pattern that was seen, as the figures take it, and its groups."""
    system = library.system("rail-carriage")
    problem = GGL(system, form)
    spec = common.solvers()[0] if spec is None else spec
    motion = solve(system, common.method(spec), (0.0, t_end), t_eval=np.linspace(0.0, t_end, points), rtol=1e-6, atol=1e-6)
    seen = sum(abs(_at(problem, motion, k)) for k in range(points))
    seen.eliminate_zeros()
    pattern = csc_array((np.ones(seen.nnz, dtype=bool), seen.indices, seen.indptr), shape=seen.shape)
    pattern.sort_indices()
    view = SimpleNamespace(n=problem.n, m=problem.m, pattern=pattern, blocks=problem.blocks, equations=problem.equations,
                           known=SimpleNamespace(mask=np.zeros(pattern.nnz, dtype=bool)))
    return view, column_groups(pattern)


def _at(problem, motion, k):
    state = State(t=motion.t[k], q=motion.q[k], v=motion.v[k], a=motion.a[k], lam=motion.lam[k])
    y, yd = problem.pack(state)
    return problem.jacobian(motion.t[k], y, yd, C)


def main(output, **settings):
    """Run, print, draw, write; returns the line for the summary."""
    told, rows = [], []
    for form in FORMS:
        view, grouping = run(form, **settings)
        title = f"Rail carriage, {form} form of GGL"
        save(plot_pattern(view, f"{title}: {view.pattern.nnz} non-zeros"), output / f"figure3_{form}.png")
        save(plot_groups(view, grouping, title), output / f"figures4_5_{form}.png")
        told.append(f"{form} {view.pattern.nnz} non-zeros in {grouping.count} groups")
        print(f"  {told[-1]}; published at most 1620 in at most 46")
        rows.append({"form": form, "unknowns": view.pattern.shape[0], "nonzeros": view.pattern.nnz, "groups": grouping.count,
                     **{f"published_{name}": value for name, value in PUBLISHED.items()}})
    write_csv(output / "figures3_5.csv", rows)
    return "; ".join(told) + " (published at most 1620 in at most 46)"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
