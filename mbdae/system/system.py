"""`System`: the equations of a mechanism, ready to be evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model.geometry import Geometry, Picture, Sketch
from ..model.mechanism import Mechanism
from ..spelling import guess
from ..summary import Summarised, Summary
from ..typing import (
    ArrayLike,
    Bytes,
    Energy,
    Excitation,
    Integers,
    Limit,
    MultiplierFunction,
    PositionFunction,
    Records,
    Retraction,
    Vector,
    VelocityFunction,
)
from . import dynamics, kkt, out_of_line, rare
from . import evaluate as ev
from . import layout as lay
from .assembly import State
from .branches import closed
from .build import Tables, build
from .callbacks import Callbacks
from .coordinates import Coordinates, Guess, position_of, velocity_of
from .evaluations import Evaluations
from .excitations import Excitations, checked_excitation
from .extra import kind_of
from .from_functions import checked_limits, tables_from_functions
from .null_space import MAX_ENTRY
from .redundancy import Redundancy, find_redundancy
from .shown import summary_of
from .start import start_at


class System(Summarised, Evaluations):
    """`M(q) a + Phi_q^T lam = Q(t, q, v)`, `Phi(t, q) = 0`, `qdot = T(q) v`.

    `Phi_q` is always with respect to the velocity coordinates. A system is immutable; its methods allocate their results.
    Compiled code receives a copy of its own of `model` (all tables in one buffer) and a scratch array from `workspace()`.

    Parameters
    ----------
    mechanism : Mechanism
    numbering : {"best", "natural", "rcm", "gibbs-king"} or sequence of str
        Order in which joints and drivers are eliminated from `Phi_q M^-1 Phi_q^T`: the cheapest that is found, that of the mechanism,
        reverse Cuthill-McKee, Gibbs-King, or the names of all joints and drivers in the order wanted. Solutions do not depend on it,
        only the work does; the order of multipliers stays that of the mechanism.
    coordinates : {"cartesian", "joint"}
        Cartesian coordinates of all bodies, or those of the joints of a spanning tree: the latter is a `TreeSystem`.
    cut : sequence of str
        Joints that the tree leaves out, see `TreeSystem`.
    prescribed : sequence of str
        Drivers that move a joint without an unknown, see `TreeSystem`.

    Raises
    ------
    ValueError
        If a joint or driver is missing in the numbering, unknown or named twice.

    Attributes
    ----------
    nq, nv, nc : int
        Numbers of position coordinates, velocity coordinates, constraint equations.
    labels : tuple of str
        One name per constraint equation.
    pattern : Pattern
        Fixed sparse pattern of `Phi_q`.
    model : ndarray of uint8
        The tables, for kernels, a new copy each time: where constraints are redundant the factorisation stores in it which are left out.
    row_order : ndarray of int64
        The constraint equations in the order of their elimination.

    Examples
    --------
    >>> import mbdae
    >>> system = mbdae.System(mbdae.library.mechanism("four-link"))
    >>> system.nq, system.nv, system.nc
    (21, 18, 18)
    """

    cartesian: System | None = None  # of a system in joint coordinates
    constrained: Mechanism | None  # with the joints and drivers that are constraints
    _picture: Callable[[float, Vector], Picture] | None  # these two in a system of functions only
    _excitation: Excitation | None
    limits: Mapping[str, Limit] = MappingProxyType({})

    def __new__(cls, mechanism: Mechanism | None = None, numbering: str | Sequence[str] = "best", coordinates: str = "cartesian",
                cut: Iterable[str] = (), prescribed: Iterable[str] = ()) -> System:
        if cls is System and coordinates == "joint":
            from .tree.system import TreeSystem
            return object.__new__(TreeSystem)
        return object.__new__(cls)

    def __init__(self, mechanism: Mechanism, numbering: str | Sequence[str] = "best", coordinates: str = "cartesian",
                 cut: Iterable[str] = (), prescribed: Iterable[str] = ()) -> None:
        if coordinates != "cartesian":
            raise ValueError(f"System: coordinates must be 'cartesian' or 'joint', got {coordinates!r}")
        if tuple(cut):
            raise ValueError("System: joints are cut in joint coordinates; add coordinates='joint'")
        if tuple(prescribed):
            raise ValueError("System: joints are prescribed in joint coordinates; add coordinates='joint'")
        if not isinstance(mechanism, Mechanism):
            raise ValueError(f"System: a Mechanism is needed, got {type(mechanism).__name__}")
        self.mechanism = mechanism
        self.constrained = mechanism
        self.name = mechanism.name
        self.labels = mechanism.labels
        self.callbacks = Callbacks()
        self.numbering = numbering if isinstance(numbering, str) or not np.iterable(numbering) else tuple(numbering)
        self._adopt(build(mechanism, self.callbacks, self.numbering))

    @classmethod
    def from_functions(cls, *, nq: int, nc: int, mass: PositionFunction, force: VelocityFunction, phi: PositionFunction,
                       phi_q: PositionFunction | None = None, nu: PositionFunction | None = None, gamma: VelocityFunction | None = None,
                       kinematics: VelocityFunction | None = None, retract: Retraction | None = None, nv: int | None = None,
                       q0: ArrayLike | None = None, v0: ArrayLike | None = None, energy: Energy | None = None,
                       labels: Sequence[str] | None = None, friction: MultiplierFunction | None = None, lam0: ArrayLike | None = None,
                       excitation: Excitation | None = None, picture: Callable[[float, Vector], Picture] | None = None,
                       limits: Mapping[str, Limit] | None = None, name: str = "user system", check: bool = True) -> System:
        """A system of a user's own functions; it serves every formulation, integrator and solver.

        If all of `mass, force, phi, phi_q, nu, gamma` (and `friction`) are compiled with `numba.njit` and take complex arrays too, and
        there are no `kinematics`, no Python is called between the time steps. Functions in plain NumPy do as well, only slower.

        Parameters
        ----------
        nq, nc : int
            Numbers of position coordinates and constraints.
        mass : callable
            `mass(t, q) -> (nv, nv)`, symmetric positive definite.
        force : callable
            `force(t, q, v) -> (nv,)`.
        phi : callable
            `phi(t, q) -> (nc,)`.
        phi_q : callable, optional
            `phi_q(t, q) -> (nc, nv)`, derivative along the velocity coordinates; by default the complex step applied to `phi` where it
            is analytic, central differences otherwise.
        nu, gamma : callable, optional
            `nu(t, q) -> (nc,)`, `gamma(t, q, v) -> (nc,)`; by default derived from `phi_q` and `phi`.
        kinematics : callable, optional
            `kinematics(t, q, v) -> (nq,)`, linear in `v` and the same at all times, `qdot = T(q) v`; by default `qdot = v`.
        retract : callable, optional
            `retract(q, d) -> (nq,)`, `q` moved along `d`; by default `q + d` or, with `kinematics`, a step of the implicit midpoint rule
            for `q' = T(q) d`, which keeps the norms of quaternions.
        nv : int, optional
            Number of velocity coordinates, `nq` by default.
        q0, v0 : array_like, optional
            Guess of the initial state, zero by default.
        energy : callable, optional
            `energy(t, q, v) -> float`.
        friction : callable, optional
            `friction(t, q, v, lam) -> (nv,)`: forces that depend on the multipliers, added to `force`.
        lam0 : array_like, optional
            Guess of the multipliers for `friction`, zero by default.
        labels : sequence of str, optional
        excitation : callable, optional
            `excitation(t) -> (n_u,)`: the functions of time through which derivatives of the equations depend on time explicitly, for
            Jacobians that are updated along them (`JacobianStrategy(update="extended")`).
        picture : callable, optional
            `picture(t, q) -> mbdae.model.geometry.Picture`, for figures and films.
        limits : dict of str to callable, optional
            By the name of what happens there, `limit(t, q, v, lam) -> float`, not negative while the equations describe the system. A run
            ends with the first state of its output at which one is negative, with `Status.OUT_OF_LIMITS`.
        name : str
        check : bool
            Whether `phi_q`, `nu`, `gamma`, `retract` are compared with differences of `phi` and of each other, `mass` is looked at for
            symmetry and definiteness, and compared with the `energy`: at consistent states near `q0`, at a few times.

        Raises
        ------
        ValueError
            If a function returns the wrong shape or something that is not finite at `q0`, if `kinematics` is not linear in `v` or
            depends on the time, or if functions contradict each other; the message names function and entry.
        """
        self = cls.__new__(cls)
        self.mechanism, self.constrained, self.numbering = None, None, "natural"
        self.name, self._picture, self._excitation = name, picture, checked_excitation(excitation)
        self.callbacks = Callbacks()
        self.labels = tuple(labels) if labels is not None else tuple(f"phi[{k}]" for k in range(nc))
        functions, tables = tables_from_functions(
            self.callbacks, nq=nq, nv=nq if nv is None else nv, nc=nc, mass=mass, force=force, phi=phi, phi_q=phi_q, nu=nu,
            gamma=gamma, kinematics=kinematics, retract=retract, q0=q0, v0=v0, energy=energy, labels=self.labels,
            friction=friction, lam0=lam0, check=check)
        self._functions = functions
        self.limits = MappingProxyType(checked_limits(limits))
        self._adopt(tables)
        return self

    def _adopt(self, tables: Tables) -> None:
        self._model, self.pattern, self._bodies, self.row_order = tables.model, tables.pattern, tables.bodies, tables.order
        head = self._header
        self.nq, self.nv, self.nc = (int(head[k]) for k in (lay.NQ, lay.NV, lay.NC))
        self.nnz = int(head[lay.NNZ])
        self._work = self._scratch()

    def _summary(self) -> Summary:
        return summary_of(self)

    def coordinate_rows(self) -> tuple[tuple[str, str], ...]:
        """What the summary says of the coordinates."""
        return (("coordinates", "" if self.mechanism is None else "Cartesian, of each body"),)

    def __reduce__(self) -> tuple[type[System], tuple[Mechanism, str | tuple[str, ...]]]:
        if self.mechanism is None:
            raise TypeError("a system of user functions cannot be pickled; build it anew with System.from_functions")
        return System, (self.mechanism, self.numbering)

    def remade(self, mechanism: Mechanism) -> System:
        """The system of a mechanism with other functions, in the same coordinates."""
        return System(mechanism, "natural")

    @property
    def start(self) -> State:
        """The consistent state at `t = 0` nearest to the initial guess, see `mbdae.assemble`; a new copy of it every time."""
        return self._start.copy()

    @cached_property
    def _start(self) -> State:
        return start_at(self)

    @property
    def model(self) -> Bytes:
        self.redundancy  # noqa: B018  # found before anything is computed with the tables
        return self._model.copy()

    @property
    def _header(self) -> Integers:
        return self._model[:lay.HEADER_BYTES].view(np.int64)

    @cached_property
    def redundancy(self) -> Redundancy:
        """`Redundancy`: which constraint equations follow from others wherever the mechanism moves, found once, at the start.

        From then on the KKT matrix does without as many. Empty where no consistent start can be found.
        """
        if self.nc == 0:
            return Redundancy()
        try:
            found = find_redundancy(self, 0.0, closed(self, 0.0, self.initial_guess().q))
        except Exception:  # of assembly or of a user function: it is raised again where that state is needed
            self.callbacks.forget()
            return Redundancy()
        self._model = lay.with_redundancy(self._model, found.rows, found.candidates, MAX_ENTRY, self.row_order)
        self._work = self._scratch()
        return found

    @property
    def of_functions(self) -> bool:
        """Whether the equations are a user's functions."""
        return bool(self._header[lay.KIND] == lay.USER)

    @property
    def quaternions(self) -> Records:
        """Where quaternions begin in `q`, and their angular velocities in `v`: records with the fields `q` and `v`."""
        records: Records = lay.records_of(self._model, lay.QUATERNION, lay.QUATERNION_T)
        return records

    @property
    def turning_bodies(self) -> tuple[str, ...]:
        """The names of the bodies whose orientations are these quaternions."""
        bodies = self.mechanism.bodies if self.mechanism is not None else ()
        return tuple(b.name for b, record in zip(bodies, self._bodies) if record["kind"] == lay.RIGID)

    @property
    def angles(self) -> Integers:
        """Where rates of angles stand in `v`."""
        found: Integers = lay.records_of(self._model, lay.ANGLE, np.int64)
        return found

    @property
    def dependent(self) -> Integers:
        """Numbers of constraint equations that follow from the others at the start, as many as are redundant, an int64 array."""
        return self.redundancy.rows

    @cached_property
    def geometry(self) -> Geometry | Sketch | None:
        """The drawing of the system, with `at(t, q) -> Picture`; `None` for user functions without a `picture`."""
        if self.mechanism is not None:
            return Geometry(self.mechanism)
        return Sketch(self._picture) if self._picture is not None else None

    @cached_property
    def excitation(self) -> Excitation | None:
        """`u(t) -> (n_u,)`: functions of time on which derivatives of the equations depend explicitly; `None` if there are none known."""
        if self.mechanism is not None:
            return Excitations(self.mechanism) or None
        return self._excitation

    @property
    def dof(self) -> int:
        """`nv - nc`, redundant constraints not considered."""
        return self.nv - self.nc

    @property
    def freedom(self) -> int:
        """Number of degrees of freedom: `nv` less the constraint equations that do not follow from others."""
        return self.nv - self.nc + len(self.dependent)

    @property
    def rheonomic(self) -> bool:
        """Whether the equations may depend on time explicitly: by a motion, or by a user's function of time."""
        head = self._header
        if head[lay.KIND] == lay.USER or (lay.records_of(self._model, lay.MOTION, lay.MOTION_T)["kind"] != 0).any():
            return True
        m = self.mechanism
        assert m is not None
        return any(f.time_dependent for f in m.forces) or any(kind_of(p).time_dependent(p) for p in m.primitives)

    @property
    def constant_mass(self) -> bool:
        """Whether the mass matrix is constant."""
        return bool(self._header[lay.CONSTANT_MASS])

    @property
    def identity_map(self) -> bool:
        """Whether `qdot = v`."""
        return bool(self._header[lay.IDENTITY_MAP])

    @property
    def has_friction(self) -> bool:
        """Whether the forces depend on the multipliers."""
        return bool(self._header[lay.COUPLED])

    def workspace(self, dtype: npt.DTypeLike = float) -> Any:
        """A scratch array for kernels, with the constant mass blocks in place."""
        self.redundancy  # noqa: B018  # the null space needs room
        return self._scratch(dtype)

    def _scratch(self, dtype: npt.DTypeLike = float) -> Any:
        work = np.zeros(int(self._header[lay.WORK_SIZE]), dtype=dtype)
        out_of_line.fill(work, self._model)
        ev.prepare(self._model, work)
        if self.has_friction:
            rare.put(work, self._model, lay.RARE_FRICTION, dynamics.coupled_real, dynamics.coupled_complex)
        if lay.count(self._model, lay.DEPENDENT):
            rare.put(work, self._model, lay.RARE_NULL_SPACE, kkt.null_space_real, kkt.null_space_complex)
        return work

    @property
    def addresses(self) -> Integers:
        """Where addresses of functions stand in a workspace: they belong to the process."""
        return np.arange(lay.RARE_CALLS, dtype=np.int64) + int(self._header[lay.W_RARE])

    def initial_guess(self) -> Guess:
        """The user's guess `(q0, v0)`; velocities that were left out are zero."""
        if self.mechanism is None:
            return Guess(self._functions.q0.copy(), self._functions.v0.copy())
        q, v = np.zeros(self.nq), self.velocity_guess()
        for body, record in zip(self.mechanism.bodies, self._bodies):
            parts = position_of(body)
            q[record["q"]:record["q"] + len(parts)] = parts
        return Guess(q, np.where(np.isnan(v), 0.0, v))

    def velocity_guess(self) -> Vector:
        """The velocities that the user has given, shape (nv,); NaN for those that were left out."""
        if self.mechanism is None:
            return self._functions.v0.copy()
        v = np.zeros(self.nv)
        for body, record in zip(self.mechanism.bodies, self._bodies):
            parts = velocity_of(body)
            v[record["v"]:record["v"] + len(parts)] = parts
        return v

    def multiplier_guess(self) -> Vector:
        """A guess of the multipliers, where forces depend on them; zero unless a system of functions has another."""
        return np.zeros(self.nc) if self.mechanism is not None else self._functions.lam0.copy()

    def coordinates(self, body: str) -> Coordinates:
        """Where a body's coordinates stand: a slice of `q` and a slice of `v`."""
        found = self._coordinates.get(body)
        if found is None:
            known = ", ".join(self._coordinates) or "none with names"
            raise ValueError(f"{self.name}: there is no body {body!r}{guess(body, self._coordinates)}; there are {known}")
        return found

    @cached_property
    def _coordinates(self) -> dict[str, Coordinates]:
        """`Coordinates` by the names of the bodies."""
        if self.mechanism is None:
            return {}
        sizes = [(7, 6) if kind == lay.RIGID else (3, 3) for kind in self._bodies["kind"].tolist()]
        places = zip(self.mechanism.bodies, self._bodies["q"].tolist(), self._bodies["v"].tolist(), sizes)
        return {body.name: Coordinates(slice(q, q + nq), slice(v, v + nv)) for body, q, v, (nq, nv) in places}

    def rows(self, name: str) -> Integers:
        """Where the multipliers of a joint, driver or single constraint equation stand: an array of indices."""
        found = [k for k, label in enumerate(self.labels) if label == name or label.startswith(name + ".")]
        if not found:
            known = list(dict.fromkeys(x for label in self.labels for x in (label.rpartition(".")[0] or label, label)))
            raise ValueError(f"{self.name}: there is no joint, driver or constraint equation {name!r}{guess(name, known)}; "
                             f"there are {', '.join(known)}")
        return np.array(found)
