"""Orthogonal projection onto linear constraints: a step in null-space coordinates without a basis of the null space.

With a basis `N` of the null space of `G` and the minimum-norm solution `x_p` of `G x = b` the coordinates of the old values `x` are
`alpha = N^+ (x - x_p)`, by least squares [Bustos, eqs. (53)-(58)]. Newmark's formulas for `alpha` are equivalent to `N^T (x1 - x^) = 0`,
where `x^` follows from the same formulas for `x`. So `x1` is the solution of `G x = b` that is nearest to `x^`,

    x1 = x^ - G^T (G G^T)^-1 (G x^ - b),

for any basis. `G G^T` has the envelope of the reduced matrix, so its factorisation costs the same.
"""

from ...compilation.compiled import compiled
from ...system import kkt, sparse


@compiled
def correct(defect, G, model, nearness, x):
    """`x -= G^T (G G^T)^-1 defect`; `defect` is overwritten. `nearness` holds the factors."""
    kkt.solve_rows(model, nearness.envelope, nearness.inverse, nearness.y, defect, defect)
    for k in range(defect.shape[0]):
        defect[k] = -defect[k]
    sparse.add_transposed(G, defect, model, x)
