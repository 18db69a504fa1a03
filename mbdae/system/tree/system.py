"""`TreeSystem`: a mechanism in joint coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...model.bodies import GROUND, PlanarBody
from ...model.geometry import Geometry, Picture, frame_of
from ...model.mechanism import Mechanism
from ...summary import named
from ...typing import ArrayLike, Excitation, Integers, Vector
from .. import layout as lay
from .. import rare
from ..branches import closed
from ..callbacks import Callbacks
from ..coordinates import Coordinates, Guess
from ..excitations import Excitations
from ..system import System
from . import call, kernels
from . import evaluate as ev
from .build import build
from .convert import Frame, coordinates
from .joints import reversed_axes
from .spanning import SpanningTree, spanning_tree

STATE_TOL = 1e-6  # violation of the joints of the tree by a state in Cartesian coordinates, relative to its size


class CartesianState(NamedTuple):
    """Positions, velocities and accelerations of the bodies."""

    q: Vector
    v: Vector
    a: Vector


class TreeSystem(System):
    """`M(q) a + Phi_q^T lam = Q(t, q, v)`, `Phi(t, q) = 0` in the coordinates of the joints of a spanning tree.

    The joints that the tree leaves out are cut: they, and the drivers, are the constraints [Negrut, section 3.4.3]. Multipliers are theirs
    alone. A body that no joint of the tree carries is free: its joint coordinates are its Cartesian ones. All evaluations grow linearly
    with the number of bodies for a given number of constraints.

    Parameters
    ----------
    mechanism : Mechanism
    numbering : {"best", "natural", "rcm", "gibbs-king"} or sequence of str
        Order in which cut joints and drivers are eliminated, see `System`.
    coordinates : {"joint"}
    cut : sequence of str
        Names of joints that are to be cut. By default the tree takes those of most constraint equations, near its root where there is a
        choice. Joints with friction are cut in any case: their reactions are needed.
    prescribed : sequence of str
        Names of drivers that make their joint rheonomic: its length or angle is a function `u(t)`, neither an unknown nor a constraint, and
        there is no multiplier. Possible are an `AngleDriver` or `PlanarAngleDriver` between the bodies of a joint that turns about that
        axis alone, and a `CoordinateDriver` along a joint that slides on the ground. By default all drivers are constraints.

    Raises
    ------
    ValueError
        If there is no such joint or driver, or if a driver prescribes no coordinate of the tree.

    Attributes
    ----------
    tree : SpanningTree
        `branches` in the order of the coordinates, the names of the joints that are `cut`, and the drivers that are `prescribed`.
    cartesian : System
        The same mechanism in Cartesian coordinates.

    Examples
    --------
    >>> import mbdae
    >>> system = mbdae.System(mbdae.library.mechanism("chain", links=4), coordinates="joint")
    >>> type(system).__name__, system.nv, system.nc
    ('TreeSystem', 12, 0)
    """

    cartesian: System

    def __init__(self, mechanism: Mechanism, numbering: str | Sequence[str] = "best", coordinates: str = "joint",
                 cut: Iterable[str] = (), prescribed: Iterable[str] = ()) -> None:
        if not isinstance(mechanism, Mechanism):
            raise ValueError(f"TreeSystem: a Mechanism is needed, got {type(mechanism).__name__}")
        if coordinates != "joint":
            raise ValueError(f"TreeSystem: its coordinates are 'joint', got {coordinates!r}; use System")
        self._cut = tuple(cut)
        self.tree: SpanningTree = spanning_tree(mechanism, self._cut, prescribed)
        self.cartesian = System(mechanism)
        self.mechanism = mechanism
        self.constrained = replace(mechanism, joints=tuple(j for j in mechanism.joints if j.name in self.tree.cut),
                                   drivers=tuple(d for d in mechanism.drivers if d.name not in self._prescribed))
        self.name, self.labels, self.callbacks = mechanism.name, self.constrained.labels, Callbacks()
        self.numbering = numbering if isinstance(numbering, str) or not np.iterable(numbering) else tuple(numbering)
        self._adopt(build(self.constrained, self.tree, self.callbacks, self.numbering))
        if self.tree.prescribed and not self.nv:
            raise ValueError(f"{self.name}: its drivers prescribe all coordinates, no equation of motion is left; leave one a constraint")

    def coordinate_rows(self) -> tuple[tuple[str, str], ...]:
        """See `System`."""
        cut, free = self.tree.cut, [b.body for b in self.tree.branches if b.joint is None]
        joints = [b.joint for b in self.tree.branches if b.joint is not None]
        rows = (("joints", joints), ("free bodies", free), ("cut joints", cut), ("prescribed by", self._prescribed))
        return tuple((what, f"{len(names)}: {named(names)}") for what, names in rows if names)

    def __reduce__(self) -> tuple[Any, ...]:
        return TreeSystem, (self.mechanism, self.numbering, "joint", self._cut, self._prescribed)

    @property
    def _prescribed(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.tree.prescribed)

    def remade(self, mechanism: Mechanism) -> TreeSystem:
        """The same coordinates for a mechanism with other functions."""
        return TreeSystem(mechanism, "natural", cut=self.tree.cut, prescribed=self._prescribed)

    def _scratch(self, dtype: Any = float) -> Any:
        work = super()._scratch(dtype)
        rare.put(work, self._model, lay.RARE_TREE, kernels.real, kernels.of_complex)
        # products with the mass matrix and its factors find the address there
        for at in (lay.W_MASS, lay.W_MINV):
            work[self._header[at] + call.ADDRESS] = work[self._header[lay.W_RARE] + lay.RARE_TREE]
        return work

    @property
    def addresses(self) -> Integers:
        """See `System`."""
        return np.concatenate([super().addresses, self._header[[lay.W_MASS, lay.W_MINV]] + call.ADDRESS])

    # coordinates -----------------------------------------------------------------------------------------------------

    def to_cartesian(self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None,
                     t: ArrayLike | None = None) -> CartesianState:
        """Positions, velocities and accelerations of the bodies in the coordinates of `cartesian`.

        Parameters
        ----------
        q : array_like, shape (nq,) or (m, nq)
            One state, or the rows of a trajectory.
        v, a : array_like, shape (nv,) or (m, nv), optional
            Zero by default.
        t : float or array_like, shape (m,), optional
            The time, or those of the rows; needed where joints move as prescribed.
        """
        given = np.asarray(q, dtype=float)
        rest = np.zeros((*given.shape[:-1], self.nv))
        x = tuple(rest if y is None else np.asarray(y, dtype=float) for y in (v, a))
        rows = (np.atleast_2d(given), *(np.atleast_2d(y) for y in x))
        for y, n, what in zip(rows, (self.nq, self.nv, self.nv), "qva"):
            if y.shape != (len(rows[0]), n):
                raise ValueError(f"{what} must have shape ({n},), or that of as many rows as q, got {y.shape}")
        given_q, given_v, given_a = (np.ascontiguousarray(y) for y in rows)
        found = ev.rows_to_cartesian(self._times(t, len(given_q)), given_q, given_v, given_a, self._model, self._work)
        self.callbacks.check()
        return CartesianState(*(y if given.ndim == 2 else y[0] for y in found))

    def from_cartesian(self, q: ArrayLike, v: ArrayLike | None = None, t: float | None = None) -> Guess:
        """Joint coordinates and their velocities of a state in the coordinates of `cartesian`.

        Parameters
        ----------
        q : array_like, shape (cartesian.nq,)
        v : array_like, shape (cartesian.nv,), optional
            By default the velocities of the joint coordinates are zero.
        t : float, optional
            The time, needed where joints move as prescribed.

        Raises
        ------
        ValueError
            If the state violates the joints of the tree.
        """
        c = self.cartesian
        at = float(self._times(t, 1)[0])
        q_c, v_c = c._q(q), None if v is None else c._v(v)
        found = coordinates(self.tree, c.mechanism.bodies_by_name(), self._frames(q_c))  # type: ignore[union-attr]
        rates = np.zeros(self.nv)
        if v_c is not None:
            for _ in range(2):  # the second time iterative refinement
                rates += ev.rates(at, found, v_c - self.to_cartesian(found, rates, t=at).v, self._model, self._work)
        self._check(at, found, rates, q_c, v_c)
        return Guess(found, rates)

    def kinetic_energy(self, t: float, q: ArrayLike, v: ArrayLike) -> float:
        """`1/2 v . M v` of the bodies: that of the joint coordinates, with what prescribed motions add to the velocities."""
        if not self.tree.prescribed:
            return super().kinetic_energy(t, q, v)
        bodies = self.to_cartesian(q, v, t=t)
        return self.cartesian.kinetic_energy(t, bodies.q, bodies.v)

    def _times(self, t: ArrayLike | None, rows: int) -> Vector:
        """The times of some states; zero where they do not matter."""
        if t is None:
            if self.tree.prescribed:
                raise ValueError(f"{self.name}: t is needed, since {self.tree.prescribed[0].name!r} moves a joint as a function of time")
            return np.zeros(rows)
        times = np.asarray(t, dtype=float)
        if times.shape not in ((), (rows,)):
            raise ValueError(f"t must be a number, or have as many entries as q has rows, {rows}, got shape {times.shape}")
        return np.array(np.broadcast_to(times, (rows,)))

    def _frames(self, q: Vector) -> dict[str, Frame]:
        frames = {GROUND: Frame(np.zeros(3), np.eye(3))}
        assert self.mechanism is not None
        for body in self.mechanism.bodies:
            x = q[self.cartesian.coordinates(body.name).q]
            frames[body.name] = Frame(*frame_of(body, x), float(x[2]) if isinstance(body, PlanarBody) else 0.0)
        return frames

    def _check(self, t: float, q: Vector, v: Vector, q_c: Vector, v_c: Vector | None) -> None:
        """Whether joint coordinates give back a state."""
        c, back = self.cartesian, self.to_cartesian(q, v, t=t)
        assert c.mechanism is not None
        levels = [("positions", c.difference(back.q, q_c), q_c)]
        if v_c is not None:
            levels.append(("velocities", back.v - v_c, v_c))
        for what, off, size in levels:
            limit = STATE_TOL * (1.0 + np.abs(size).max(initial=0.0))
            if not np.abs(off).max(initial=0.0) <= limit:
                self._check_axes(q_c)
                worst = max(c.mechanism.bodies, key=lambda b: np.nan_to_num(np.abs(off[c.coordinates(b.name).v]).max(), nan=np.inf))
                joint = next(b.joint for b in self.tree.branches if b.body == worst.name)
                raise ValueError(f"{self.name}: the {what} of {worst.name!r} violate the joint {joint!r} of the tree by "
                                 f"{np.abs(off[c.coordinates(worst.name).v]).max():.3g}")

    def _check_axes(self, q_c: Vector) -> None:
        """Refuse positions in which the axes of a joint have the other one of the two signs that its constraints admit."""
        assert self.mechanism is not None
        bodies, turned = self.mechanism.bodies_by_name(), {name: f.A for name, f in self._frames(q_c).items()}
        joints = {j.name: j for j in self.mechanism.joints}
        for b in self.tree.branches:
            if b.joint is not None and reversed_axes(joints[b.joint], b.before, bodies, turned):
                raise ValueError(f"{self.name}: at these positions axes of the joint {b.joint!r} point the other way than in the initial "
                                 "guess, which decides their signs in the tree; if assembly has turned them over, give "
                                 f"{b.body!r} an orientation in its guess that is nearer to the assembled one")

    def initial_guess(self) -> Guess:
        """Joint coordinates of the consistent state in Cartesian coordinates."""
        return Guess(*(x.copy() for x in self._guess))

    @cached_property
    def _guess(self) -> Guess:
        start = self.cartesian.start
        return self.from_cartesian(start.q, start.v, start.t)

    def velocity_guess(self) -> Vector:
        """Velocities of the consistent state in Cartesian coordinates."""
        return self._guess.v.copy()

    def closed(self, t: float, guess: Vector) -> Vector:
        """Positions on all constraints near a guess: the nearest ones in Cartesian coordinates."""
        return self.from_cartesian(closed(self.cartesian, t, self.to_cartesian(guess, t=t).q), t=t).q

    def coordinates(self, body: str) -> Coordinates:
        """Where the coordinates of the joint that carries a body stand: a slice of `q` and a slice of `v`."""
        return super().coordinates(body)

    @cached_property
    def _coordinates(self) -> dict[str, Coordinates]:
        """`Coordinates` by the names of the bodies, in the order of the tree."""
        found, q, v = {}, 0, 0
        for branch in self.tree.branches:
            end_q, end_v = q + branch.steps.positions, v + branch.steps.rates
            found[branch.body] = Coordinates(slice(q, end_q), slice(v, end_v))
            q, v = end_q, end_v
        return found

    @property
    def turning_bodies(self) -> tuple[str, ...]:
        """The names of the bodies behind joints with quaternions."""
        return tuple(b.body for b in self.tree.branches if b.steps.positions > b.steps.rates)

    @cached_property
    def excitation(self) -> Excitation | None:
        """`u(t)`, see `System.excitation`: a prescribed motion moves all bodies behind its joint."""
        assert self.constrained is not None
        return Excitations(self.constrained, self.tree.prescribed) or None

    # ------------------------------------------------------------------------------------------------------------------

    @cached_property
    def _drawing(self) -> Geometry:
        """The drawing of the mechanism, at Cartesian coordinates."""
        assert self.mechanism is not None
        return Geometry(self.mechanism)

    @cached_property
    def geometry(self) -> Geometry:
        """The drawing of the system, with `at(t, q) -> Picture`."""
        return _TreeGeometry(self)


class _TreeGeometry(Geometry):
    """The drawing of a mechanism at joint coordinates."""

    def __init__(self, system: TreeSystem) -> None:
        assert system.mechanism is not None
        super().__init__(system.mechanism)
        self._system = system

    def at(self, t: float, q: Vector) -> Picture:
        """The picture at the joint coordinates `q`."""
        return super().at(t, self._system.to_cartesian(q, t=t).q)
