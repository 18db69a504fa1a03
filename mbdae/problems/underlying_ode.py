"""The underlying ordinary differential equation: multipliers eliminated by the KKT matrix."""

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..compilation.compiled import compiled
from ..jacobians.complex_step import COMPLEX_STEP
from ..jacobians.signatures import Array, Indices, Tables, Vector
from ..results.diagnosis import explain
from ..results.status import Cause
from ..system import dynamics, kernels, kkt, motion
from ..system import layout as lay
from ..system.assembly import State
from ..system.codes import NO_FRICTION
from ..system.drift import subtract_drift_term
from ..system.layout import header
from ..system.system import System
from .explicit import Explicit
from .index1 import check_baumgarte
from .pieces import begin, finite, sizes, split, velocity


@compiled
def _rhs(t: float, y: Array, out: Array, model: Tables, work: Array, baumgarte: tuple[float, float], lam: Array, code: Indices) -> bool:
    """`out = (T v, a)`; whether all of it is finite.

    `lam` are the multipliers on return, on entry their initial values for joint friction; `code` is `GOOD` or that of a failure.
    """
    nq, nv, nc = sizes(model)
    q, v, a = split(y, 0, nq), split(y, nq, nv), split(out, nq, nv)
    kernels.qdot(t, q, v, model, split(out, 0, nq))
    if motion.is_free_tree(model):
        code[0] = motion.articulated(t, q, v, model, work, a)
        return finite(out)
    G = begin(t, q, v, model, work)
    kkt.factor(model, work, header(model)[lay.CONSTANT_MASS] == 0)
    target = np.empty(nc, work.dtype)
    _target(t, q, v, G, baumgarte, model, work, target)
    code[0] = dynamics.accelerations(t, q, v, target, a, lam, model, work)
    if code[0] == NO_FRICTION:
        a[:] = np.nan
    return finite(out)


class JacobianScratch(NamedTuple):
    """Complex arrays of an evaluation: unknowns, right-hand side, multipliers, and scratch of the system."""

    y: NDArray[np.complex128]
    out: NDArray[np.complex128]
    lam: NDArray[np.complex128]
    work: NDArray[np.complex128]


@compiled
def _rhs_jacobian(t: float, y: Array, scratch: JacobianScratch, J: Vector, model: Tables,
                  baumgarte: tuple[float, float], lam: Array, code: Indices) -> None:
    """`J = df/dy`, dense, column by column; `lam` are initial values of the multipliers."""
    z = scratch.y
    z[:] = y
    for k in range(y.shape[0]):
        scratch.lam[:] = lam
        z[k] = complex(y[k], COMPLEX_STEP)
        _rhs(t, z, scratch.out, model, scratch.work, baumgarte, scratch.lam, code)
        z[k] = y[k]
        for j in range(y.shape[0]):
            J[j, k] = scratch.out[j].imag / COMPLEX_STEP


@compiled
def _target(t: float, q: Array, v: Array, G: Array, baumgarte: tuple[float, float], model: Tables, work: Array, out: Array) -> None:
    """`gamma - 2 alpha (Phi_q v - nu) - beta^2 Phi`, less the term against drift where constraint equations are redundant."""
    kernels.gamma(t, q, v, model, work, out)
    subtract_drift_term(t, q, v, model, work, out)
    alpha, beta = baumgarte
    if alpha != 0.0 or beta != 0.0:
        x = np.empty_like(out)
        velocity(t, q, v, G, model, work, x)
        out -= 2.0 * alpha * x
        kernels.phi(t, q, model, work, x)
        out -= beta * beta * x


class UnderlyingODE(Explicit):
    """`qd = T v`, `vd = a(t, q, v)` with `[M Phi_q^T; Phi_q 0] (a, lam) = (Q, gamma - 2 alpha (Phi_q v - nu) - beta^2 Phi)`, `y = (q, v)`.

    Parameters
    ----------
    system : System
    alpha, beta : float
        Baumgarte's parameters [1/s].
    project : bool
        Project the positions and velocities of the output onto the constraints.

    Examples
    --------
    >>> import mbdae
    >>> problem = mbdae.UnderlyingODE(mbdae.library.system("four-link"))
    >>> problem.n, problem.m
    (39, 39)
    """

    formulation = "ode"
    title = "underlying ODE"
    unknowns = (("q", "nq"), ("v", "nv"))
    rows = (("kinematics", "nq"), ("dynamics", "nv"))
    block_index = {"q": 1, "v": 1}
    known_blocks = (("yd", "kinematics", "q", "I"), ("yd", "dynamics", "v", "I"))

    kernel: Callable[..., Any] = staticmethod(_rhs)  # `kernel(t, y, out, *arguments)`

    def __init__(self, system: System, alpha: float = 0.0, beta: float = 0.0, project: bool = True) -> None:
        self.alpha, self.beta = check_baumgarte(alpha, beta, "UnderlyingODE")
        self.project = bool(project)
        super().__init__(system)
        self._lam = system.multiplier_guess()
        self._code = np.zeros(1, dtype=np.int64)
        self.parameters = (self.alpha, self.beta), self._lam, self._code

    @property
    def fixed_parameters(self) -> tuple[Any, ...]:
        """See `Problem`: multipliers and code are those of the last evaluation."""
        return (self.alpha, self.beta), self.project

    def rhs_jacobian(self, t: float, y: Vector) -> Vector:
        """`df/dy`, dense, to rounding error by the complex step."""
        J = np.empty((self.n, self.n))
        scratch = JacobianScratch(self._complex.y, self._complex.out, np.zeros(self.system.nc, complex), self._complex_work)
        _rhs_jacobian(t, y, scratch, J, self.model, (self.alpha, self.beta), self._lam, self._code)
        self.system.callbacks.check()
        return J

    def compile(self, t: float, y: Vector, yd: Vector) -> None:
        self.rhs(t, y)
        if self.n <= 200:  # solvers for larger problems do not use the dense Jacobian
            self.rhs_jacobian(t, y)

    def fault(self, t: float) -> Cause | None:
        """`(Status, reason)` if the evaluation just made at `t` has failed because a joint jams, otherwise `None`."""
        return explain(self.system, NO_FRICTION, self.arguments[1], t, None) if self._code[0] == NO_FRICTION else None

    def unpack(self, y: Vector, yd: Vector) -> NoReturn:
        """Raises a TypeError: the multipliers are computed at a time, see `state`."""
        raise TypeError("UnderlyingODE: y has no multipliers; state(t, y) computes them, and motion(t, y) gives positions and velocities")

    def pack(self, state: State) -> tuple[Vector, Vector]:
        return self._pack(state)
