"""The overdetermined form for ODASSL: an ordinary differential equation with the constraints as invariants."""

import numpy as np

from mbdae.compilation.compiled import compiled
from mbdae.jacobians.signatures import Array, Indices, Tables
from mbdae.problems import Overdetermined, UnderlyingODE
from mbdae.problems.base import Problem
from mbdae.system import layout as lay
from mbdae.typing import Integers, Vector

ODE, WHOLE = UnderlyingODE.kernel, Overdetermined.kernel


@compiled
def _with_invariants(t: float, y: Array, yd: Array, out: Array, model: Tables, work: Array, baumgarte: tuple[float, float], lam: Array,
                     code: Indices, whole_work: Array, whole_y: Array, whole_yd: Array, F: Array, rows: Indices) -> bool:
    """`(yd - f(t, y), F[rows])`, with the residual `F` of the overdetermined form; whether all of it is finite."""
    n = y.shape[0]
    good = ODE(t, y, out[:n], model, work, baumgarte, lam, code)
    for k in range(n):
        out[k] = yd[k] - out[k]
        whole_y[k], whole_yd[k] = y[k], yd[k]
    good = WHOLE(t, whole_y, whole_yd, F, model, whole_work) and good
    for k in range(rows.shape[0]):
        out[n + k] = F[rows[k]]
    return good


class WithInvariants(UnderlyingODE):
    """`qd = T v`, `vd = a(t, q, v)` with the invariants `Phi = 0`, `Phi_q v = nu`, `y = (q, v)`: more equations than unknowns.

    ODASSL satisfies the invariants, the last equations, and relaxes the others, one for each unknown, along the gradients of the
    invariants. With multipliers among the unknowns its matrix would be singular: a relaxation of `M vd + Phi_q^T lam = Q` along `Phi_q^T`
    only changes `lam`.

    Parameters
    ----------
    problem : Overdetermined
    """

    formulation = "overdetermined"
    title = "overdetermined, multipliers eliminated"
    implicit = True
    kernel = staticmethod(_with_invariants)
    residual = Problem.residual

    def __init__(self, problem: Overdetermined) -> None:
        super().__init__(problem.system, project=False)
        whole_y = np.zeros(problem.n)
        whole_y[problem.blocks["lam"]] = problem.system.multiplier_guess()  # unused, but forces must be finite
        rows = self._invariants(problem)
        self.m = self.n + len(rows)
        self.parameters = *self.parameters, problem.arguments[1], whole_y, np.zeros(problem.n), np.empty(problem.m), rows

    def _invariants(self, whole: Overdetermined) -> Integers:
        """Rows of the constraint equations that are not redundant: the matrix must have full rank."""
        independent = np.delete(np.arange(self.system.nc), lay.records_of(self.model, lay.DEPENDENT, lay.DEPENDENT_T)["row"])
        return np.concatenate([whole.equations[name].start + independent for name in ("position", "velocity")])

    def compile(self, t: float, y: Vector, yd: Vector) -> None:
        self.kernel(t, y, yd, np.empty(self.m), *self.arguments)
