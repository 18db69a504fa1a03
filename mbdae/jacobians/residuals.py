"""The residual of a problem, as its Jacobian sees it."""

import numpy as np

from .signatures import Array, Differentiable, Residual


def residual_of(problem: Differentiable) -> Residual:
    """`F(t, y, yd, out)` as the Jacobian of a problem sees it, `yd - f(t, y)` of an explicit one; exceptions of user functions are raised.

    Where constraints are redundant, the small term that determines their multipliers contains the null space of `Phi_q^T`. Here it is that
    of the last evaluation of `problem.residual` or `problem.jacobian`, which renew it; their Jacobian treats it as constant.

    Examples
    --------
    >>> import mbdae
    >>> from mbdae.jacobians import FoldedDifference, residual_of
    >>> problem = mbdae.GGL(mbdae.library.system("bricard"))
    >>> y, yd = problem.y0, problem.yd0
    >>> J = FoldedDifference(residual_of(problem), problem.pattern, "central")(0.0, y, yd, 100.0)
    >>> exact = problem.jacobian(0.0, y, yd, 100.0)
    >>> bool(abs(J - exact).max() < 1e-6 * abs(exact).max())
    True
    """
    kernel, arguments, check = problem.kernel, problem.arguments, problem.system.callbacks.check

    def implicit(t: float, y: Array, yd: Array, out: Array) -> None:
        kernel(t, y, yd, out, *arguments)
        check()

    def explicit(t: float, y: Array, yd: Array, out: Array) -> None:
        kernel(t, y, out, *arguments)
        check()
        np.subtract(yd, out, out=out)

    return implicit if problem.implicit else explicit
