"""The linear solver of mbdae for CVODE: the underlying ODE by the index-1 equations of the same mechanism, see `linear_ode`."""

from typing import NamedTuple

import numpy as np

from mbdae.problems.elimination import factors_of
from mbdae.problems.index1 import Index1
from mbdae.problems.null_vectors import FOLLOW, NOTHING, NullVectors
from mbdae.problems.underlying_ode import UnderlyingODE

from .callbacks import Equations
from .linear_ode import OdeDerivatives, OdeSolver, Rates, matrix_address


class OwnOde(NamedTuple):
    """A linear solver, and the address of the callback for Newton's matrix with what it needs."""

    solver: OdeSolver
    derivatives: OdeDerivatives
    address: int


def own_ode(problem: UnderlyingODE, equations: Equations) -> OwnOde:
    """The linear solver of an ODE whose callbacks get these `Equations`."""
    form = Index1(problem.system, problem.alpha, problem.beta)
    pattern, lam = form.pattern, problem.parameters[1]
    null = form.null_vectors or NullVectors(np.zeros(0, dtype=np.int64), np.zeros(0), 0, 0.0)
    rates = Rates(c=0.0, values=np.zeros(pattern.nnz), indices=pattern.indices.astype(np.int64), indptr=pattern.indptr.astype(np.int64),
                  x=np.zeros(form.n))
    derivatives = OdeDerivatives(**form.derivative_arguments._asdict(), model=form.model, work=form.arguments[1],
                                 follow=NOTHING if form.null_vectors is None else FOLLOW, **null._asdict(), lam=lam,
                                 y=np.zeros(form.n), yd=np.zeros(form.n), out=np.zeros(problem.n),
                                 dependence=np.zeros(pattern.nnz), values=np.zeros(pattern.nnz), rates=rates)
    solver = OdeSolver(n=problem.n, vector_data=equations.vector_data, values=derivatives.values,
                       factors=factors_of(form), rates=rates)
    equations.derivatives = derivatives._address
    return OwnOde(solver, derivatives, matrix_address(problem.kernel, form.derivative, equations, derivatives))
