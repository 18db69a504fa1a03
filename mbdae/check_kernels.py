"""Checks that the kernels of constraints and forces are consistent: each is compared with differences of another at random states."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from .model.mechanism import Mechanism
from .problems.pattern import structure
from .system import evaluate as ev
from .system.system import System
from .typing import Matrix, Numbers, Vector

TIMES = (0.0, 0.37, 1.3)
SHIFT = 0.2  # random displacement, relative to the size of the positions
H = 1e-6  # of central differences
STEP = 1e-30  # complex step
TOLERANCE = 1e-5  # relative to the largest entry of a row


def check(mechanism: Mechanism) -> None:
    """Compare the kernels of all elements of a mechanism with central differences and complex steps, and with their declared zeros.

    Parameters
    ----------
    mechanism : Mechanism
        Its guess need not satisfy the constraints.

    Raises
    ------
    ValueError
        Names the equation or the body, the kernel, the value and what it should be.
    """
    system = System(mechanism)
    rng = np.random.default_rng(0)
    guess = system.initial_guess()[0]
    for t in TIMES:
        q = system.retract(guess, SHIFT * (1.0 + np.abs(guess).max()) * rng.uniform(-1.0, 1.0, system.nv))
        _State(system, t, q, rng).check()


class _Kernel(NamedTuple):
    """A kernel, its arguments besides time and positions, and the names of the rows of its result."""

    function: Callable[..., Numbers]
    rest: tuple[Vector, ...]
    labels: Sequence[str]


class _State:
    """The comparisons at one state."""

    def __init__(self, system: System, t: float, q: Vector, rng: np.random.Generator) -> None:
        assert system.mechanism is not None
        self.system, self.t, self.q, self.rng = system, t, q, rng
        self.v, self.lam = rng.normal(size=system.nv), rng.normal(size=system.nc)
        self._model, self._work, self._complex = system._model, system.workspace(), system.workspace(complex)
        self._of_v = [b.name for b in system.mechanism.bodies for _ in range(_size(system, b.name))]

    def check(self) -> None:
        """All comparisons."""
        s, t, q, v = self.system, self.t, self.q, self.v
        slopes = np.array([_central(partial(_moved_phi, s, t, q, e)) for e in np.eye(s.nv)]).T.reshape(s.nc, s.nv)
        self._compare(s.phi_q(t, q).toarray(), slopes, s.labels, "phi_q", "the derivative of phi")
        self._compare(s.nu(t, q), -_central(lambda h: s.phi(t + h, q)), s.labels, "nu", "-d phi/dt")

        def rate(h: float) -> Vector:
            at = s.retract(q, h * v)
            found: Vector = s.phi_q(t + h, at) @ v - s.nu(t + h, at)
            return found

        self._compare(s.gamma(t, q, v), -_central(rate), s.labels, "gamma", "-d (phi_q v - nu)/dt")
        self._check_zeros()
        self._check_complex_steps()
        self._check_patterns()

    def _compare(self, given: Numbers, expected: Matrix, labels: Sequence[str], kernel: str, what: str) -> None:
        """Compare the entries with what is expected; `labels` are the names of the rows."""
        if not len(labels):
            return
        given, expected = (np.asarray(x, dtype=float).reshape(len(labels), -1) for x in (given, expected))
        scale = 1.0 + np.abs(expected).max(axis=1, keepdims=True, initial=0.0)
        off = np.abs(given - expected) / scale
        if (off > TOLERANCE).any() or not np.isfinite(off).all():
            i, j = (int(k) for k in np.unravel_index(np.argmax(np.nan_to_num(off, nan=np.inf)), off.shape))
            raise ValueError(f"{self.system.name}: {kernel} of {labels[i]!r} is {given[i, j]:.6g}, but {expected[i, j]:.6g} is {what}, "
                             f"at t = {self.t:g} (entry {j})")

    def _check_zeros(self) -> None:
        """Entries that `nonzero` declares to be zero are zero."""
        pattern, values = self.system.pattern, self.system.phi_q(self.t, self.q).data
        wrong = np.flatnonzero(~pattern.nonzero & (values != 0.0))
        if len(wrong):
            row = int(np.searchsorted(pattern.ptr, wrong[0], side="right")) - 1
            raise ValueError(f"{self.system.name}: phi_q of {self.system.labels[row]!r} has the value {values[wrong[0]]:.6g} where nonzero "
                             "declares a zero")

    def _check_complex_steps(self) -> None:
        """Kernels are analytic functions of complex numbers."""
        labels = self.system.labels
        rows = np.repeat(np.array(labels, dtype=object), np.diff(self.system.pattern.ptr)).tolist()
        kernels = {"phi": _Kernel(ev.phi, (), labels), "phi_q": _Kernel(ev.phi_q, (), rows), "nu": _Kernel(ev.nu, (), labels),
                   "gamma": _Kernel(ev.gamma, (self.v,), labels), "force": _Kernel(ev.force, (self.v, self.lam), self._of_v)}
        for name, kernel in kernels.items():
            d = [self.rng.normal(size=len(x)) for x in (self.q, *kernel.rest)]
            step = self._displaced(kernel, d, self._complex, 1j * STEP).imag / STEP
            expected = _central(partial(self._displaced, kernel, d, self._work))
            self._compare(step, expected, kernel.labels, name, "its derivative by differences; by a complex step")

    def _displaced(self, kernel: _Kernel, d: Sequence[Vector], work: Numbers, h: complex) -> Numbers:
        """A kernel at arguments displaced by `h d`."""
        return kernel.function(self.t, *(x + h * e for x, e in zip((self.q, *kernel.rest), d)), self._model, work)

    def _check_patterns(self) -> None:
        """Forces do not depend on coordinates that `couplings` and `groups` leave out."""
        s, t = self.system, self.t
        found = structure(s)
        for name, pattern, k in (("q", found.dyn_q, 0), ("v", found.dyn_v, 1)):
            for column in range(pattern.shape[1]):
                x = [self.q.astype(complex), self.v.astype(complex)]
                x[k][column] += 1j * STEP
                lam = self.lam.astype(complex)
                G = ev.phi_q(t, x[0], self._model, self._complex)
                rows = np.repeat(np.arange(s.nc), np.diff(s.pattern.ptr))
                F = ev.force(t, x[0], x[1], lam, self._model, self._complex)
                np.subtract.at(F, s.pattern.col, G * lam[rows])
                inside = pattern[:, [column]].toarray().ravel() != 0.0
                wrong = np.flatnonzero((np.abs(F.imag) > 1e-12 * STEP * (1.0 + np.abs(F).max())) & ~inside)
                if len(wrong):
                    raise ValueError(f"{s.name}: the forces on {self._of_v[wrong[0]]!r} depend on {name}[{column}], which couplings or "
                                     "groups of an element leave out")


def _moved_phi(s: System, t: float, q: Vector, e: Vector, h: float) -> Vector:
    """`Phi` at positions displaced by `h e`."""
    found: Vector = s.phi(t, s.retract(q, h * e))
    return found


def _size(system: System, body: str) -> int:
    """Number of velocity coordinates of a body."""
    v = system.coordinates(body)[1]
    return int(v.stop - v.start)


def _central(f: Callable[[float], Numbers]) -> Matrix:
    """`f'(0)`."""
    slope: Matrix = (f(H) - f(-H)) / (2.0 * H)
    return slope
