"""What all problem classes share: the contract between formulations, integrators and solver adapters."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csc_array, eye_array

from ..jacobians.complex_step import ComplexBuffers, Sweep, sweep_of
from ..jacobians.grouping import column_groups
from ..jacobians.signatures import DerivativeArguments, Indices, Vector
from ..results.rows import by_rows
from ..results.status import Cause
from ..summary import Summarised, Summary
from ..system.assembly import State, accelerations, accelerations_of_rows, on_constraints, on_constraints_of_rows
from ..system.system import System
from ..typing import Matrix
from .blocks import Blocks, size, slices
from .known import Known
from .null_vectors import NullVectors, renew
from .once import once
from .pattern import Structure, structure
from .regularisation import regularisation_weight
from .shown import summary_of

Outputs = tuple[Vector, Vector, Vector, Vector]  # (q, v, a, lam), at one time or by rows
KnownBlocks = tuple[tuple[str, str, str, str], ...]  # (matrix "y" or "yd", equations, unknowns, piece), see `known`
PatternBlocks = dict[tuple[str, str], Any]  # sparse or dense pattern by (equations, unknowns)
Place = tuple[Indices, Indices]  # rows and columns


class Problem(Summarised, ABC):
    """An implicit problem `F(t, y, yd) = 0` made from a system.

    Subclasses define the compiled residual, the blocks of unknowns and equations, and the settings that solvers need.

    Parameters
    ----------
    system : System

    Attributes
    ----------
    formulation : str
        Name of the form.
    system : System
    n, m : int
        Numbers of unknowns and equations.
    blocks : dict of str to slice
        Named parts of `y`: `q v` and what the form adds (`lam mu`, `w z`).
    equations : dict of str to slice
        Named parts of `F`.
    index : ndarray of int, shape (n,)
        Differentiation index of each unknown in this form, for solvers that scale by it.
    algebraic : ndarray of bool, shape (n,)
        Unknowns whose derivative does not appear.
    excluded_blocks : tuple of str
        Blocks that are excluded from the error test, by an absolute tolerance as large as `excluded_atol`.
    model : ndarray of uint8
        The tables of the system, for kernels.
    kernel : compiled function
        `kernel(t, y, yd, out, *arguments) -> bool`: the residual, and whether all of it is finite. For adapters, which call compiled code
        directly; exceptions of user functions are not raised (see `residual`).
    arguments : tuple
        Further arguments of `kernel`.
    """

    formulation: str = "?"
    title: str = "?"
    implicit: bool = True
    unknowns: Blocks = ()
    rows: Blocks = ()
    block_index: dict[str, int] = {}
    algebraic_blocks: ClassVar[tuple[str, ...]] = ()
    known_blocks: KnownBlocks = ()
    regularised: tuple[tuple[str, str, str], ...] = ()  # (matrix, equations, unknowns) of redundant constraints, see `pieces.regularise`
    project: bool = False  # whether output is projected onto the constraints
    drifts: bool = False  # whether the constraints hold on the acceleration level only, see `system.drift`
    excluded_blocks: tuple[str, ...] = ()
    excluded_atol: ClassVar[float] = 1e4
    first_step: ClassVar[float] = 0.0  # suggested to solvers [s]; zero leaves it to the solver
    kernel: Callable[..., Any]
    derivative: Callable[..., Any]
    parameters: tuple[Any, ...] = ()  # of the equations, behind `model` and `work`

    def __init__(self, system: System) -> None:
        if not isinstance(system, System):
            raise ValueError(f"{type(self).__name__}: a System is needed, got {type(system).__name__}")
        self.system = system
        self.blocks = slices(self.unknowns, system)
        self.equations = slices(self.rows, system)
        self.n = max(s.stop for s in self.blocks.values())
        self.m = max(s.stop for s in self.equations.values())
        self.model = system.model
        self._redundant = system.redundancy.candidates

    def _summary(self) -> Summary:
        return summary_of(self)

    @cached_property
    def index(self) -> Indices:
        """Index of each unknown, shape (n,)."""
        return np.concatenate([np.full(size(s), self.block_index[k]) for k, s in self.blocks.items()])

    @cached_property
    def algebraic(self) -> NDArray[np.bool_]:
        """Which unknowns are algebraic, shape (n,)."""
        return np.concatenate([np.full(size(s), k in self.algebraic_blocks) for k, s in self.blocks.items()])

    @property
    def fixed_parameters(self) -> tuple[Any, ...]:
        """What of the `parameters` a run does not change, for comparisons of runs."""
        return self.parameters

    # the equations -----------------------------------------------------------------------------------------------------

    def residual(self, t: float, y: Vector, yd: Vector, out: Vector | None = None) -> Vector:
        """`F(t, y, yd)`, shape (m,), written to `out` if given.

        Exceptions of user functions are raised; values that are not finite are returned as they are.
        """
        if out is None:
            out = np.empty(self.m)
        self.follow(t, y)
        self.kernel(t, y, yd, out, *self.arguments)
        self.system.callbacks.check()
        return out

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.model, self._work, *self.parameters

    def jacobian(self, t: float, y: Vector, yd: Vector, c: float) -> csc_array:
        """`F_y + c F_yd` to rounding error, by the complex step along groups of columns, a CSC array in the structural pattern.

        Parameters
        ----------
        t : float
        y, yd : ndarray, shape (n,)
        c : float
            Leading coefficient of the solver's formula for `yd`.
        """
        return self._csc(self.jacobian_values(t, y, yd, c))

    def jacobian_parts(self, t: float, y: Vector, yd: Vector) -> tuple[csc_array, csc_array]:
        """`(F_y, F_yd)`, two CSC arrays in the structural pattern of their sum."""
        return self._csc(self.jacobian_values(t, y, yd, 0.0)), self._csc(self.jacobian_values(t, y, yd, 1.0, 0.0))

    def jacobian_values(self, t: float, y: Vector, yd: Vector, c: float, a: float = 1.0) -> Vector:
        """The values of `a F_y + c F_yd` in the order of `pattern`."""
        self.follow(t, y)
        values, (sweep, scratch, arguments) = np.empty(self.pattern.nnz), self.derivative_arguments
        self.derivative(t, y, yd, (float(a), float(c)), sweep, scratch, values, arguments)
        self.system.callbacks.check()
        return values

    @property
    def derivative_arguments(self) -> DerivativeArguments:
        """Further arguments of `derivative(t, y, yd, (a, c), sweep, scratch, values, arguments)`."""
        return DerivativeArguments(tuple(self._sweep), tuple(self._complex), (self.model, self._complex_work, *self.parameters))

    @abstractmethod
    def _pattern_blocks(self, s: Structure) -> PatternBlocks:
        """Patterns of the blocks of `F_y + c F_yd`, by equations and unknowns: the same for all with the same class, blocks and kernel,
        see `once`."""

    def _csc(self, values: Vector) -> csc_array:
        p = self.pattern  # copied, as operations in place of the result would change the pattern
        return csc_array((values, p.indices.copy(), p.indptr.copy()), shape=p.shape)

    @cached_property
    def pattern(self) -> csc_array:
        """Structural pattern of `F_y + c F_yd`, a boolean CSC array with sorted int32 indices, not to be changed."""
        return once(self, "pattern", self._make_pattern)

    def _make_pattern(self) -> csc_array:
        blocks = self._pattern_blocks(structure(self.system))
        rows, columns = [], []
        for (equation, unknown), block in blocks.items():
            coo = coo_array(block)
            rows.append(coo.row + self.equations[equation].start)
            columns.append(coo.col + self.blocks[unknown].start)
        for row, column in self.regularised_entries("y", "yd"):
            rows.append(row)
            columns.append(column)
        r, k = np.concatenate(rows), np.concatenate(columns)
        pattern = coo_array((np.ones(len(r)), (r, k)), shape=(self.m, self.n)).tocsc()
        pattern.sum_duplicates()
        pattern.sort_indices()
        pattern.data = np.ones(pattern.nnz, dtype=bool)
        pattern.indices, pattern.indptr = pattern.indices.astype(np.int32), pattern.indptr.astype(np.int32)
        return pattern

    def regularised_entries(self, *matrices: str) -> list[Place]:
        """Rows and columns of the entries that `regularise` adds to the given matrices, one pair of arrays for each block."""
        rows, columns = (x.ravel() for x in np.meshgrid(self._redundant, self._redundant, indexing="ij"))
        return [(rows + self.equations[e].start, columns + self.blocks[u].start)
                for matrix, e, u in self.regularised if matrix in matrices and len(rows)]

    @cached_property
    def known(self) -> Known:
        """Entries of `F_y` and all of `F_yd` that are assembled without evaluating `F`."""
        return Known(self)

    @cached_property
    def groups(self) -> Indices:
        """Column group of each unknown for differences in the structural pattern, not to be changed."""
        return once(self, "groups", lambda: column_groups(self.pattern).groups)

    @cached_property
    def _sweep(self) -> Sweep:
        return once(self, "sweep", lambda: sweep_of(self.pattern, self.groups))

    @cached_property
    def _complex(self) -> ComplexBuffers:
        return ComplexBuffers(*(np.zeros(k, complex) for k in (self.n, self.n, self.m)))

    @cached_property
    def _work(self) -> Vector:
        made: Vector = self.system.workspace()
        return made

    @cached_property
    def _complex_work(self) -> NDArray[np.complex128]:
        made: NDArray[np.complex128] = self.system.workspace(complex)
        return made

    def compile(self, t: float, y: Vector, yd: Vector) -> None:
        """Evaluate residual and Jacobian once, so that compilation does not count as run time."""
        self.residual(t, y, yd)
        self.jacobian_values(t, y, yd, 1.0)

    # settings of solvers -------------------------------------------------------------------------------------------------

    def tolerances(self, rtol: float, atol: ArrayLike, excluded_atol: float | None = None) -> Vector:
        """Absolute tolerance per component, shape (n,).

        `q` and `v` get `atol`. Multipliers are excluded from the error test by a very large tolerance: they follow from `q` and `v`, and
        forms of high index amplify their errors by negative powers of the step size.

        Parameters
        ----------
        rtol : float
        atol : float or array_like of shape (n,)
            An array is returned as it is.
        excluded_atol : float, optional
            Absolute tolerance of the excluded blocks, by default that of the class.
        """
        del rtol
        atol = np.asarray(atol, dtype=float)
        if atol.ndim:
            if atol.shape != (self.n,):
                raise ValueError(f"atol must be a number or have shape ({self.n},), got {atol.shape}")
            return atol
        out = np.full(self.n, float(atol))
        for name in self.excluded_blocks:
            out[self.blocks[name]] = self.excluded_atol if excluded_atol is None else excluded_atol
        return out

    # states ----------------------------------------------------------------------------------------------------------------

    @abstractmethod
    def pack(self, state: State) -> tuple[Vector, Vector]:
        """Consistent `(y, yd)` from a `State`."""

    @property
    def start(self) -> State:
        """Consistent initial values of the system at `t = 0`."""
        start: State = self.system.start
        return start

    @property
    def y0(self) -> Vector:
        """Initial values of the unknowns, shape (n,)."""
        return self.pack(self.start)[0]

    @property
    def yd0(self) -> Vector:
        """Initial values of their derivatives, shape (n,)."""
        return self.pack(self.start)[1]

    def unpack(self, y: Vector, yd: Vector) -> Outputs:
        """`(q, v, a, lam)` from `y` and `yd`; works on rows of 2-D arrays too."""
        b = self.blocks
        return y[..., b["q"]], y[..., b["v"]], yd[..., b["v"]], y[..., b["lam"]]

    def motion(self, t: float, y: Vector) -> tuple[Vector, Vector]:
        """`(q, v)` at one time, copies."""
        return y[self.blocks["q"]].copy(), y[self.blocks["v"]].copy()

    def fault(self, t: float) -> Cause | None:
        """`(Status, reason)` if the cause is known for which the evaluation just made at `t` has failed, otherwise `None`."""
        return None

    def stored(self, t: float, y: Vector, yd: Vector | None) -> tuple[float, Vector, Any]:
        """What a run stores of an output of a solver for a later call of `state`; what will no longer be valid is evaluated now."""
        return t, y, yd

    def state(self, t: float, y: Vector, yd: Any = None) -> Outputs:
        """`(q, v, a, lam)` at one time, for the output of a solver.

        Accelerations and multipliers are computed from `q` and `v`, as solvers do not control their errors: where they are excluded from
        the error test they are as accurate as the last Newton iterate, otherwise they are difference quotients.
        """
        q, v = self.projected(t, y)
        a, lam, _ = accelerations(self.system, t, q, v)
        return q, v, a, lam

    def states(self, t: Vector, y: Matrix, yd: Sequence[Any]) -> Outputs:
        """`state` of several outputs, by rows: (n, nq), (n, nv), (n, nv), (n, nc)."""
        if type(self).state is not Problem.state:
            q, v, a, lam = by_rows([self.state(*row) for row in zip(t.tolist(), y, yd)])
            return q, v, a, lam
        q, v = self.motions(t, y)
        return q, v, *accelerations_of_rows(self.system, t, q, v)

    def motions(self, t: Vector, y: Matrix) -> tuple[Matrix, Matrix]:
        """`projected` of several outputs, by rows."""
        if type(self).projected is not Problem.projected or type(self).motion is not Problem.motion:
            q, v = by_rows([self.projected(*row) for row in zip(t.tolist(), y)])
            return q, v
        q, v = y[:, self.blocks["q"]].copy(), y[:, self.blocks["v"]].copy()
        return on_constraints_of_rows(self.system, t, q, v) if self.project else (q, v)

    @cached_property
    def null_vectors(self) -> NullVectors | None:
        """What `follow` needs; `None` where it has nothing to do."""
        if not self.regularised or not len(self._redundant):
            return None
        weight = float(np.sqrt(regularisation_weight(self.system, self.regularised[0][1])))
        nowhere = np.full(self.system.nq + self.system.nv, np.inf)
        return NullVectors(np.asarray(self._redundant, dtype=np.int64), nowhere, int(self.drifts), weight)

    def follow(self, t: float, y: Vector) -> None:
        """Evaluate the null space of `Phi_q^T` in the equations, and the term against drift, at the state in `y`.

        To be called before each evaluation of `kernel`; it costs time only where constraints are redundant. If it were called less often,
        the multipliers would jump and fail error tests. Jacobians treat both as constant: the derivatives of the null space have the
        small weight of the term.

        Parameters
        ----------
        t : float
        y : ndarray, shape (n,)
        """
        if self.null_vectors is not None:
            renew(float(t), np.ascontiguousarray(y), *self.null_vectors, self.model, self._work)

    def projected(self, t: float, y: Vector) -> tuple[Vector, Vector]:
        """`(q, v)` of `state`, projected onto the constraints if `project` is set."""
        q, v = self.motion(t, y)
        return on_constraints(self.system, t, q, v) if self.project else (q, v)

    def interpolated(self, t: float, y: Vector) -> Vector:
        """The values that dense output interpolates, a copy: by default the unknowns."""
        return np.array(y)

    def completed(self, t: float, values: Vector) -> Outputs:
        """The state `(q, v, a, lam)` that belongs to interpolated values."""
        return self.state(t, values)

    def undisturbed(self) -> AbstractContextManager[None]:
        """Context in which states can be evaluated without an effect on later evaluations."""
        return nullcontext()

    def _pack(self, state: State, **more: tuple[ArrayLike, ArrayLike]) -> tuple[Vector, Vector]:
        """`y` and `yd` from the blocks `q, v` and those in `more`, given as pairs (value, derivative)."""
        y, yd = np.zeros(self.n), np.zeros(self.n)
        known = {"q": (state.q, self.system.qdot(state.q, state.v, state.t)), "v": (state.v, state.a), **more}
        for name, (value, rate) in known.items():
            y[self.blocks[name]], yd[self.blocks[name]] = value, rate
        self.follow(state.t, y)
        return y, yd


class WithMultipliers(Problem):
    """Base of the forms with `y = (q, v, lam)`."""

    unknowns = (("q", "nq"), ("v", "nv"), ("lam", "nc"))
    algebraic_blocks = ("lam",)
    excluded_blocks: tuple[str, ...] = ("lam",)

    def pack(self, state: State) -> tuple[Vector, Vector]:
        return self._pack(state, lam=(state.lam, 0.0))

    def _pattern_blocks(self, s: Structure) -> PatternBlocks:
        """Kinematics and dynamics; constraints come on top."""
        return {("kinematics", "q"): with_diagonal(s.map_q), ("kinematics", "v"): s.map_v, ("dynamics", "q"): s.dyn_q,
                ("dynamics", "v"): s.dyn_v + s.mass, ("dynamics", "lam"): s.dyn_c}


def with_diagonal(block: Any) -> Any:
    """The pattern with its diagonal filled: where `yd` enters."""
    return block + eye_array(*block.shape)
