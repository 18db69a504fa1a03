"""What all problem classes share: the contract between formulations, integrators and solver adapters."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.sparse import coo_array, csc_array, eye_array

from ..jacobians.complex_step import sweep_of
from ..jacobians.grouping import column_groups
from ..system import evaluate as ev
from ..system import layout as lay
from ..system.assembly import accelerations
from ..system.null_space import vectors
from ..system.system import System
from .known import Known
from .pattern import structure
from .regularisation import regularisation_weight


class Problem:
    """An implicit problem `F(t, y, yd) = 0` made from a system.

    Subclasses define the compiled residual, the blocks of unknowns and equations, and what a solver must be told.

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
    model : ndarray of uint8
        The tables of the system, for kernels.
    kernel : compiled function
        `kernel(t, y, yd, out, *arguments) -> bool`: the residual, and whether all of it is finite. For adapters: nothing between the
        solver and compiled code, and no check of what a user function has raised (see `residual`).
    arguments : tuple
        What `kernel` takes behind `out`.
    """

    formulation = "?"
    title = "?"
    implicit = True
    unknowns: tuple[tuple[str, str], ...] = ()  # (block, size attribute of the system)
    rows: tuple[tuple[str, str], ...] = ()
    block_index: dict[str, int] = {}
    algebraic_blocks: ClassVar[tuple[str, ...]] = ()
    known_blocks: tuple[tuple[str, str, str, str], ...] = ()  # (matrix "y" or "yd", equations, unknowns, piece), see `known`
    regularised: tuple[tuple[str, str, str], ...] = ()  # (matrix, equations, unknowns) of redundant constraints, see `pieces.regularise`
    drifts: bool = False  # whether constraints are kept on the level of accelerations only, see `system.drift`
    loose_blocks: tuple[str, ...] = ()  # blocks that must not spoil the error test
    loose_tolerance: ClassVar[float] = 1e4
    first_step: ClassVar[float] = 0.0  # that a solver should try [s]; zero leaves it to the solver
    kernel: Callable
    derivative: Callable
    parameters: tuple = ()  # of the equations, behind `model` and `work`

    def __init__(self, system):
        if not isinstance(system, System):
            raise ValueError(f"{type(self).__name__}: a System is needed, got {type(system).__name__}")
        self.system = system
        self.blocks = _slices(self.unknowns, system)
        self.equations = _slices(self.rows, system)
        self.n = max(s.stop for s in self.blocks.values())
        self.m = max(s.stop for s in self.equations.values())
        self.index = np.concatenate([np.full(_size(s), self.block_index[k]) for k, s in self.blocks.items()])
        self.algebraic = np.concatenate([np.full(_size(s), k in self.algebraic_blocks) for k, s in self.blocks.items()])
        self.model = system.model
        self._redundant = system.redundancy.candidates
        self._null_space_at = np.full(system.nq + system.nv, np.inf)  # state at which it was computed last
        self._work = system.workspace()
        self._complex = None

    def __repr__(self):
        return f"<{type(self).__name__} of {self.system.name!r}: {self.n} unknowns, {self.m} equations>"

    # the equations -----------------------------------------------------------------------------------------------------

    def residual(self, t, y, yd, out=None):
        """`F(t, y, yd)`, shape (m,), written to `out` if given.

        A user function that raises lets its exception through; values that are not finite are returned as they are.
        """
        if out is None:
            out = np.empty(self.m)
        self.follow(t, y)
        self.kernel(t, y, yd, out, *self.arguments)
        self.system.callbacks.check()
        return out

    @property
    def arguments(self):
        return self.model, self._work, *self.parameters

    def jacobian(self, t, y, yd, c):
        """`F_y + c F_yd` to rounding error, by the complex step along groups of columns, a CSC array in the structural pattern.

        Parameters
        ----------
        t : float
        y, yd : ndarray, shape (n,)
        c : float
            Leading coefficient of the solver's formula for `yd`.
        """
        return self._csc(self.jacobian_values(t, y, yd, c))

    def jacobian_parts(self, t, y, yd):
        """`(F_y, F_yd)`, two CSC arrays in the structural pattern of their sum."""
        return self._csc(self.jacobian_values(t, y, yd, 0.0)), self._csc(self.jacobian_values(t, y, yd, 1.0, 0.0))

    def jacobian_values(self, t, y, yd, c, a=1.0):
        """The values of `a F_y + c F_yd` in the order of `pattern`."""
        self.follow(t, y)
        z, zd, work, out = self._complex_buffers()
        values = np.empty(self.pattern.nnz)
        self.derivative(t, y, yd, float(a), float(c), self._sweep, z, zd, out, values, self.model, work, *self.parameters)
        self.system.callbacks.check()
        return values

    def _csc(self, values):
        return csc_array((values, self.pattern.indices, self.pattern.indptr), shape=self.pattern.shape)

    @cached_property
    def pattern(self):
        """Structural pattern of `F_y + c F_yd`, a boolean CSC array with sorted int32 indices."""
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

    def regularised_entries(self, *matrices):
        """Where `regularise` adds entries to the matrices named: pairs of rows and columns, arrays, one pair for each block."""
        rows, columns = (x.ravel() for x in np.meshgrid(self._redundant, self._redundant, indexing="ij"))
        return [(rows + self.equations[e].start, columns + self.blocks[u].start)
                for matrix, e, u in self.regularised if matrix in matrices and len(rows)]

    @cached_property
    def known(self):
        """`Known`: entries of `F_y` and all of `F_yd` that can be assembled without evaluating `F`."""
        return Known(self)

    @cached_property
    def groups(self):
        """Column group of each unknown for differences in the structural pattern."""
        return column_groups(self.pattern).groups

    @cached_property
    def _sweep(self):
        return sweep_of(self.pattern, self.groups)

    def _complex_buffers(self):
        if self._complex is None:
            y, yd, out = (np.zeros(k, complex) for k in (self.n, self.n, self.m))
            self._complex = y, yd, self.system.workspace(complex), out
        return self._complex

    def compile(self, t, y, yd):
        """Evaluate residual and Jacobian once, so that compilation does not count as run time."""
        self.residual(t, y, yd)
        self.jacobian_values(t, y, yd, 1.0)

    # what a solver must be told ------------------------------------------------------------------------------------------

    def tolerances(self, rtol, atol, loose=None):
        """Absolute tolerance per component, shape (n,).

        `q` and `v` get `atol`. Multipliers follow from them and would only spoil the error test of a high-index form, whose
        difference quotients amplify them by negative powers of the step: they get a tolerance so large that it never acts.

        Parameters
        ----------
        rtol : float
        atol : float or array_like of shape (n,)
            An array is returned as it is.
        loose : float, optional
            Tolerance of the multipliers, by default `loose_tolerance`.
        """
        del rtol
        atol = np.asarray(atol, dtype=float)
        if atol.ndim:
            if atol.shape != (self.n,):
                raise ValueError(f"atol must be a number or have shape ({self.n},), got {atol.shape}")
            return atol
        out = np.full(self.n, float(atol))
        for name in self.loose_blocks:
            out[self.blocks[name]] = self.loose_tolerance if loose is None else loose
        return out

    # states ----------------------------------------------------------------------------------------------------------------

    def pack(self, state):
        """Consistent `(y, yd)` from a `State`."""
        raise TypeError(f"{type(self).__name__} does not define pack")

    @property
    def start(self):
        """The consistent start of the system at `t = 0`, a `State`."""
        return self.system.start

    @property
    def y0(self):
        """Unknowns at the start, shape (n,)."""
        return self.pack(self.start)[0]

    @property
    def yd0(self):
        """Their derivatives at the start, shape (n,)."""
        return self.pack(self.start)[1]

    def unpack(self, y, yd):
        """`(q, v, a, lam)` from `y` and `yd`; works on rows of 2-D arrays too."""
        b = self.blocks
        return y[..., b["q"]], y[..., b["v"]], yd[..., b["v"]], y[..., b["lam"]]

    def motion(self, t, y):
        """`(q, v)` at one time, copies."""
        return y[self.blocks["q"]].copy(), y[self.blocks["v"]].copy()

    def stored(self, t, y, yd):
        """What a run keeps of an output of a solver until it asks `state`; whatever holds for the present moment only is settled here."""
        return t, y, yd

    def state(self, t, y, yd=None):
        """`(q, v, a, lam)` at one time, for the output of a solver.

        Accelerations and multipliers are computed anew from `q` and `v`. A solver does not control them: where the error test must not see
        them they are what Newton's method has left, and elsewhere they are difference quotients.
        """
        q, v = self.projected(t, y)
        a, lam, _ = accelerations(self.system, t, q, v)
        return q, v, a, lam

    @cached_property
    def _root_of_weight(self):
        """The factor of `N` with which `N N^T` has its weight."""
        return np.sqrt(regularisation_weight(self.system, self.regularised[0][1]))

    @property
    def _null_space(self):
        """`N^T` as the equations contain it, with the root of its weight, shape (d, nc), see `regularise`."""
        return lay.records_of(self.model, lay.NULL_SPACE, float).reshape(-1, self.system.nc)

    def follow(self, t, y):
        """Renew the null space of `Phi_q^T` in the equations, and the term against drift, if they are not those of the state in `y`.

        To be called before each evaluation of `kernel`; it costs something only where constraints are redundant. Were it renewed less
        often, multipliers would jump with it, and error tests that see them would fail. Jacobians take both for constant: derivatives of
        the null space only tell how the part of the multipliers in it, which is zero, depends on the positions.

        Parameters
        ----------
        t : float
        y : ndarray, shape (n,)
        """
        if self.regularised and len(self._redundant):
            n = self.system.nq + (self.system.nv if self.drifts else 0)  # `y` begins with positions and velocities
            if not (y[:n] == self._null_space_at[:n]).all():
                self._null_space_at[:n] = y[:n]
                self._renew(t, *np.split(self._null_space_at, [self.system.nq]))

    def _renew(self, t, q, v):
        """The null space and the term against drift at this state."""
        ev.factor(t, q, self.model, self._work)
        kept = self._redundant  # the others are zero but for rounding and constraint violations
        self._null_space[:, kept] = self._root_of_weight * vectors(self.model, self._work)[:, kept]
        if self.drifts:
            lay.records_of(self.model, lay.DRIFT, float)[:] = ev.drift_term(t, q, v, self.model, self._work)

    def projected(self, t, y):
        """`(q, v)` of `state`."""
        return self.motion(t, y)

    def interpolated(self, t, y):
        """What dense output interpolates in the place of the states at `t`, a copy: by default the unknowns."""
        return np.array(y)

    def completed(self, t, values):
        """The state `(q, v, a, lam)` that belongs to interpolated values."""
        return self.state(t, values)

    def undisturbed(self):
        """Context in which states may be asked for without an effect on the evaluations that follow."""
        return nullcontext()

    def _pack(self, state, **more):
        """`y` and `yd` from the blocks `q, v` and those in `more`, given as pairs (value, derivative)."""
        y, yd = np.zeros(self.n), np.zeros(self.n)
        known = {"q": (state.q, self.system.qdot(state.q, state.v, state.t)), "v": (state.v, state.a), **more}
        for name, (value, rate) in known.items():
            y[self.blocks[name]], yd[self.blocks[name]] = value, rate
        self.follow(state.t, y)
        return y, yd


class WithMultipliers(Problem):
    """What the forms with `y = (q, v, lam)` share."""

    unknowns = (("q", "nq"), ("v", "nv"), ("lam", "nc"))
    algebraic_blocks = ("lam",)
    loose_blocks: tuple[str, ...] = ("lam",)

    def pack(self, state):
        return self._pack(state, lam=(state.lam, 0.0))

    def _pattern_blocks(self, s):
        """Kinematics and dynamics; constraints come on top."""
        return {("kinematics", "q"): with_diagonal(s.map_q), ("kinematics", "v"): s.map_v, ("dynamics", "q"): s.dyn_q,
                ("dynamics", "v"): s.dyn_v + s.mass, ("dynamics", "lam"): s.dyn_c}


def with_diagonal(block):
    """The pattern with its diagonal filled: where `yd` enters."""
    return block + eye_array(*block.shape)


def _slices(parts, system):
    out, at = {}, 0
    for name, size in parts:
        n = getattr(system, size)
        out[name] = slice(at, at + n)
        at += n
    return out


def _size(s):
    return s.stop - s.start
