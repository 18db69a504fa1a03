"""The mass-matrix form `M y' = f(t, y)` with constant singular `M`, for RADAU5 and similar solvers."""

from typing import Any

import numpy as np
from scipy.sparse import block_diag, csc_array, eye_array

from ..compilation.compiled import compiled
from ..jacobians.complex_step import directional
from ..jacobians.signatures import Array, Arrays, Tables, Vector
from ..system import kernels
from ..system.assembly import State
from ..system.system import System
from . import index2, index3
from .base import PatternBlocks, Problem, with_diagonal
from .pattern import Structure
from .pieces import acceleration, begin, dynamics, finite, kinematics, regularise, sizes, split, velocity

LEVELS = {3: "position", 2: "velocity", 1: "acceleration"}


@compiled
def _residual(t: float, y: Array, yd: Array, out: Array, model: Tables, work: Array, level: int) -> bool:
    """The form with accelerations among the unknowns, `y = (q, v, a, lam)`."""
    nq, nv, nc = sizes(model)
    q, v, a, lam = split(y, 0, nq), split(y, nq, nv), split(y, nq + nv, nv), split(y, nq + 2 * nv, nc)
    vd, F = split(yd, nq, nv), split(out, nq + 2 * nv, nc)
    G = begin(t, q, v, model, work)
    kinematics(t, q, split(yd, 0, nq), v, model, split(out, 0, nq))
    for k in range(nv):
        out[nq + k] = vd[k] - a[k]
    dynamics(t, q, v, a, lam, G, model, work, split(out, nq + nv, nv))
    # constraints on the level of the form
    if level == 3:
        kernels.phi(t, q, model, work, F)
    elif level == 2:
        velocity(t, q, v, G, model, work, F)
    else:
        acceleration(t, q, v, a, G, model, work, F)
    regularise(model, F, lam)
    return finite(out)


@compiled
def _derivative(t: float, y: Array, yd: Array, factors: tuple[float, float], sweep: Arrays, scratch: Arrays, values: Vector,
                arguments: tuple[Any, ...]) -> None:
    directional(_residual, t, y, yd, factors, sweep, scratch, values, arguments)


class MassMatrix(Problem):
    """`M y' = f(t, y)`: the equations of motion with a constant matrix before the derivatives.

    With a constant mass matrix `y = (q, v, lam)`, `M = diag(I, M, 0)`, `f = (T v, Q - Phi_q^T lam, -Phi)`. Otherwise the accelerations
    become unknowns: `y = (q, v, a, lam)`, `M = diag(I, I, 0, 0)`, `f = (T v, a, Q - M a - Phi_q^T lam, -Phi)`.

    Parameters
    ----------
    system : System
    level : {3, 2, 1}
        Index: the constraints as `Phi`, as `Phi_q v - nu` (the default), or as `Phi_q a - gamma`. In index 3 the order of the velocities is
        reduced, between the steps by one more.
    accelerations : bool, optional
        Whether the accelerations are unknowns; by default only where required: if the mass matrix is not constant, or `level=1`.
    project : bool
        Project the positions and velocities of the output onto the constraints.

    Attributes
    ----------
    mass : csc_array, shape (n, n)
        `M`.
    nind : tuple of int
        Numbers of unknowns of index 1, 2 and 3, which follow each other in this order in `y`.

    Examples
    --------
    >>> import mbdae
    >>> mbdae.MassMatrix(mbdae.library.system("particle-pendulum")).nind
    (6, 2, 0)
    """

    formulation = "mass"
    title = "mass matrix"
    algebraic_blocks = ("a", "lam")
    excluded_blocks: tuple[str, ...] = ("lam",)
    first_step = 1e-5

    def __init__(self, system: System, level: int = 2, accelerations: bool | None = None, project: bool = True) -> None:
        if level not in LEVELS:
            raise ValueError(f"MassMatrix: level must be 3, 2 or 1, got {level!r}")
        self.project = bool(project)
        constant = system.constant_mass if isinstance(system, System) else True
        needed = level == 1 or not constant
        if accelerations is False and needed:
            raise ValueError("MassMatrix: the accelerations must be unknowns, as " + (
                "the constraints are on their level" if level == 1 else "the mass matrix is not constant"))
        self.level, self.accelerations = level, needed if accelerations is None else bool(accelerations)
        a = (("a", "nv"),) if self.accelerations else ()
        self.unknowns = ("q", "nq"), ("v", "nv"), *a, ("lam", "nc")
        self.rows = ("kinematics", "nq"), *((("rate", "nv"),) if a else ()), ("dynamics", "nv"), (LEVELS[level], "nc")
        self.regularised, self.drifts = (("y", LEVELS[level], "lam"),), level == 1
        self.excluded_blocks = ("a", "lam") if self.accelerations else ("lam",)
        self.block_index = {"q": 1, "v": max(1, level - 1), "a": level, "lam": level}
        inertia = ((("yd", "rate", "v", "I"), ("y", "rate", "v", "0"), ("y", "rate", "a", "-I"), ("y", "dynamics", "a", "M")) if a
                   else (("yd", "dynamics", "v", "M"),))
        constraint = {3: (), 2: (("y", "velocity", "v", "G"),), 1: (("y", "acceleration", "a", "G"),)}[level]
        self.known_blocks = (("yd", "kinematics", "q", "I"), ("y", "kinematics", "v", "-T"), ("y", "dynamics", "lam", "G^T"),
                             *inertia, *constraint)
        if self.accelerations:
            self.kernel, self.derivative, self.parameters = _residual, _derivative, (level,)
        else:
            form = {3: index3.Index3, 2: index2.Index2}[level]
            self.kernel, self.derivative = form.kernel, form.derivative
        super().__init__(system)
        self.nind = tuple(int((self.index == k).sum()) for k in (1, 2, 3))

    @property
    def mass(self) -> csc_array:
        s = self.system
        q0, _ = s.initial_guess()
        middle = [eye_array(s.nv), csc_array((s.nv, s.nv))] if self.accelerations else [csc_array(s.mass(0.0, q0))]
        return csc_array(block_diag([eye_array(s.nq), *middle, csc_array((s.nc, s.nc))]))

    def rhs(self, t: float, y: Vector, out: Vector | None = None) -> Vector:
        """`f(t, y)`, shape (n,), written to `out` if given."""
        out = self.residual(t, y, np.zeros(self.n), out)
        return np.negative(out, out=out)

    def rhs_jacobian(self, t: float, y: Vector) -> csc_array:
        """`df/dy`, a CSC array in the structural pattern."""
        return self._csc(-self.jacobian_values(t, y, np.zeros(self.n), 0.0))

    def pack(self, state: State) -> tuple[Vector, Vector]:
        more = {"a": (state.a, 0.0)} if self.accelerations else {}
        return self._pack(state, lam=(state.lam, 0.0), **more)

    def _pattern_blocks(self, s: Structure) -> PatternBlocks:
        out = {("kinematics", "q"): with_diagonal(s.map_q), ("kinematics", "v"): s.map_v, ("dynamics", "q"): s.dyn_q,
               ("dynamics", "v"): s.dyn_v + (0 if self.accelerations else s.mass), ("dynamics", "lam"): s.dyn_c}
        if self.accelerations:
            eye = eye_array(self.system.nv)
            out |= {("rate", "v"): eye, ("rate", "a"): eye, ("dynamics", "a"): s.mass}
        if self.level == 3:
            return out | {("position", "q"): s.phi_q}
        if self.level == 2:
            return out | {("velocity", "q"): s.vel_q, ("velocity", "v"): s.vel_v}
        return out | {("acceleration", "q"): s.vel_q + s.phi_q, ("acceleration", "v"): s.acc_v, ("acceleration", "a"): s.vel_v}
