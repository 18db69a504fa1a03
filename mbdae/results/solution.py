"""The result of `mbdae.solve`."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..model.mechanism import Mechanism
from ..summary import Summary, plural
from ..system.assembly import State, violations_of_rows
from ..system.system import System
from . import storage
from .choice import forms, in_words
from .shown import Shown
from .status import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import ArrayLike, FullState, Integers, Matrix, Vector
    from .jumps import Jump
    from .memory import Memory, Request
    from .trajectory import Trajectory


class Solution(Shown):
    """A motion of a mechanism.

    One row per time: `q[k]` belongs to `t[k]`. `plot`, `animate` and `view` draw it, `to_pandas` and `to_xarray` make tables with names
    and units.

    Attributes
    ----------
    t : ndarray, shape (n,)
    q, v, a, lam : ndarray, shape (n, nq), (n, nv), (n, nv), (n, nc)
    success : bool
    status : Status
    message : str
        Why and when the run ended.
    statistics : Statistics
    nfev, njev, nlu : int or None
        As in SciPy: evaluations (those for Jacobians not counted), Jacobians, factorisations; `None` where the solver does not report it.
    y : ndarray, shape (nq + nv, n)
        As in SciPy: positions and velocities stacked, one column per time, a new array.
    system : System
    method, formulation : str
        Of a run by `Automatic` the methods that it has chosen, with times and reasons, and their forms.
    sol : callable or None
        Dense output `sol(t) -> (q, v, a, lam)` at any time of the run, if `dense_output=True` was asked for: arrays of shape (nq,), (nv,),
        (nv,), (nc,), or with one row per time for an array of times. SciPy's `sol(t)` is `np.concatenate(solution.sol(t)[:2])`.
    t_events : list of ndarray or None
        Times at which each event was found.
    y_events : list of ndarray, shape (n_k, nq + nv), or None
        As in SciPy: positions and velocities stacked at these times, before the event has changed them.
    jumps : list of Jump
        The changes of the state by events, in the order of time, each with the states before and after.
    memory : Memory or None
        The memory of the integrator, with which `solve(..., resume=solution)` goes on; `None` if it has none that can be kept.
    request : Request or None
        What was asked of the run, which a continuation must agree with.
    package : str
        The version of mbdae that computed it.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.HalfImplicit(h=1e-2), (0, 1), dense_output=True)
    >>> run.success, run.q.shape, run.sol(0.5)[0].shape
    (True, (101, 14), (14,))
    """

    def __init__(self, system: System, trajectory: Trajectory, method: str, formulation: str) -> None:
        self.system = system
        self.t, self.q, self.v, self.a, self.lam = trajectory.t, trajectory.q, trajectory.v, trajectory.a, trajectory.lam
        self.status, self.message, self.statistics = Status(trajectory.status), trajectory.message, trajectory.statistics
        self.method, self.formulation = method, formulation
        if trajectory.choices:
            self.method, self.formulation = f"{method}: {in_words(trajectory.choices)}", forms(trajectory.choices)
        self.sol: Callable[[ArrayLike], FullState] | None = None
        self.t_events: list[Vector] | None = None
        self.y_events: list[Matrix] | None = None
        self.jumps: list[Jump] = []
        self.memory: Memory | None = None
        self.request: Request | None = None
        self.package = storage.package_version()

    def save(self, path: str | Path) -> None:
        """Write the solution to an `.npz` file: states, statistics, status, message, times of events, and the memory of the integrator.

        `np.load` reads the arrays `t`, `q`, `v`, `a`, `lam`; `metadata` is a text in JSON. Dense output is not saved. A file that exists is
        replaced at once, or not at all.

        Parameters
        ----------
        path : str or Path
            Ends in `.npz`.

        Raises
        ------
        ValueError
            The path has another ending.
        OSError
            The file cannot be written.

        Examples
        --------
        >>> solution.save("run.npz")  # doctest: +SKIP
        >>> longer = mbdae.solve(pendulum, method, (0, 20), resume="run.npz")  # doctest: +SKIP
        """
        storage.save(_npz(path), self, {}, {})

    @classmethod
    def load(cls, path: str | Path, target: Mechanism | System) -> Solution:
        """The solution that `save` has written, or the folder of `solve(..., output=folder)`, whose arrays stay in the file system.

        Parameters
        ----------
        path : str or Path
        target : Mechanism or System
            What it was computed for.

        Raises
        ------
        ValueError
            The file is damaged, is not a solution, has been written by a newer version, or belongs to another system, which is named.
        OSError
            There is no such file.
        """
        system = System(target) if isinstance(target, Mechanism) else target
        if not isinstance(system, System):
            raise ValueError(f"Solution.load: the target must be a Mechanism or System, got {type(target).__name__}")
        return storage.load(Path(path), system, cls)

    def state(self, k: int = -1) -> State:
        """The state at `t[k]`, by default the last one, from which another run may start: `solve(..., state=solution.state())`."""
        q, v, a, lam = (np.array(x[k]) for x in (self.q, self.v, self.a, self.lam))
        return State(float(self.t[k]), q, v, a, lam)

    @property
    def y(self) -> Matrix:
        """Positions and velocities stacked as in SciPy, shape (nq + nv, n)."""
        return np.concatenate([self.q, self.v], axis=1).T

    @property
    def success(self) -> bool:
        """Whether the run reached its end, or the terminal event."""
        return self.status == Status.SUCCESS

    @property
    def nfev(self) -> int | None:
        """Evaluations, those for Jacobians not counted."""
        return self.statistics.residuals

    @property
    def njev(self) -> int | None:
        """Jacobians."""
        return self.statistics.jacobians

    @property
    def nlu(self) -> int | None:
        """Factorisations."""
        return self.statistics.factorisations

    def _summary(self) -> Summary:
        span = f"t = {self.t[0]:g} ... {self.t[-1]:g} s, {plural(len(self.t), 'point')}" if len(self.t) else "no output"
        shapes = ", ".join(f"{name} {getattr(self, name).shape}" for name in ("q", "v", "a", "lam"))
        found = sum(map(len, self.t_events or ()))
        events = "" if self.t_events is None else f"{found} found, {plural(len(self.jumps), 'change')} of the state"
        return Summary(f"Solution of {self.system.name!r} by {self.method}, {self.formulation}: {self.status.name}",
                       (("time", span), ("arrays", shapes), ("message", self.message), ("work", self.statistics.in_words()),
                        ("events", events), ("dense output", "" if self.sol is None else "solution.sol(t)")))

    def body(self, name: str) -> tuple[Matrix, Matrix]:
        """Coordinates and velocities of one body, `(n, 3 or 7)` and `(n, 3 or 6)`.

        Rigid bodies: centre of mass and quaternion, velocity and body-fixed angular velocity; planar bodies: x, y, angle and their rates.
        """
        q, v = self.system.coordinates(name)
        return self.q[:, q], self.v[:, v]

    def multipliers(self, name: str) -> Matrix:
        """Multipliers of a joint, driver or single constraint equation, shape (n, rows)."""
        return self.lam[:, self.system.rows(name)]

    @cached_property
    def energy(self) -> Vector:
        """Kinetic and potential energy at each time, shape (n,)."""
        return np.array([self.system.energy(t, q, v) for t, q, v in zip(self.t, self.q, self.v)])

    @cached_property
    def constraint_residuals(self) -> Matrix:
        """Largest `|Phi|`, `|Phi_q v - nu|`, `|Phi_q a - gamma|` at each time, shape (n, 3)."""
        return self._residuals(range(len(self.t)))

    def _residuals(self, rows: Sequence[int] | Integers) -> Matrix:
        """The same at some of the times."""
        at = np.asarray(rows, dtype=int)
        return violations_of_rows(self.system, self.t[at], self.q[at], self.v[at], self.a[at])


def _npz(path: str | Path) -> Path:
    """The path of a file for a solution."""
    found = Path(path)
    if found.suffix != ".npz":
        raise ValueError(f"the name of the file of a solution must end in .npz, got {str(path)!r}")
    return found
