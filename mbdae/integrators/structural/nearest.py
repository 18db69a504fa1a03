"""The nearest vector that satisfies linear constraints: what null-space coordinates do to a step, without a basis of the null space.

With `N` a basis of the null space of `G` and a particular solution `x_p` of minimal norm, old values `x` are projected into the tangent
space by least squares, `alpha = N^+ (x - x_p)` [Bustos, eqs. (53)-(58)]. Newmark's formulas for `alpha` then say that `N^T (x1 - x^) = 0`
where `x^` is what they give for `x` itself: `x1` is the solution of `G x = b` that is nearest to `x^`,

    x1 = x^ - G^T (G G^T)^-1 (G x^ - b),

whatever the basis. The envelope of `G G^T` is that of the reduced matrix, so it costs as little.
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
