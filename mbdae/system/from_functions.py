"""Systems made of a user's own NumPy functions: missing derivatives, checks, and the tables that the kernels expect."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from ..typing import (
    ArrayLike,
    Energy,
    Limit,
    MultiplierFunction,
    Numbers,
    PositionFunction,
    Retraction,
    Vector,
    VelocityFunction,
)
from . import layout as lay
from .build import Pattern, Tables
from .callbacks import Callbacks, plain, view
from .check_functions import Disagreement, check_functions, check_mass
from .reduced import PIECE_T, ROTATION, TRANSLATION, envelope, meetings, pair_table, segment_table

_STEP = 1e-30  # complex step
_DIFFERENCE_ITERATIONS = 50
_MIDPOINT_ITERATIONS = 50
_PART, _PARTS = 0.1, 50  # largest relative displacement of one step of a retraction, and the largest number of steps
_CUBE_ROOT = 6e-6  # relative increment of central differences
_OTHER_TIMES = (0.1, 1.7, 1e3)  # at which kinematics are compared with those at zero
_INCREMENTS = (_CUBE_ROOT, _CUBE_ROOT / 10.0, _CUBE_ROOT / 100.0)  # of the differences that complex steps are compared with


class UserFunctions:
    """The user's functions, completed: every evaluation exists, for real and complex arguments.

    Attributes
    ----------
    plain : dict
        The functions as they were given, for those of `layout.USER_FUNCTIONS`.
    compiled : bool
        Whether all of them are compiled and analytic, and positions change by `v` itself: then no Python is needed.
    """

    def __init__(self, *, nq: int, nv: int, nc: int, mass: PositionFunction, force: VelocityFunction, phi: PositionFunction,
                 phi_q: PositionFunction | None, nu: PositionFunction | None, gamma: VelocityFunction | None,
                 kinematics: VelocityFunction | None, retract: Retraction | None, q0: ArrayLike | None, v0: ArrayLike | None,
                 energy: Energy | None, labels: tuple[str, ...],
                 friction: MultiplierFunction | None = None, lam0: ArrayLike | None = None, check: bool = True) -> None:
        for what, n, least in (("nq", nq, 1), ("nv", nv, 1), ("nc", nc, 0)):
            self._require(isinstance(n, (int, np.integer)) and n >= least, f"{what} must be an integer of at least {least}, got {n!r}")
        self.nq, self.nv, self.nc, self.labels = nq, nv, nc, labels
        self.q0 = np.zeros(nq) if q0 is None else np.array(q0, dtype=float)
        self.v0 = np.zeros(nv) if v0 is None else np.array(v0, dtype=float)
        self._require(self.q0.shape == (nq,), f"q0 must have shape ({nq},), got {self.q0.shape}")
        self._require(self.v0.shape == (nv,), f"v0 must have shape ({nv},), got {self.v0.shape}")
        self.lam0 = np.zeros(nc) if lam0 is None else np.array(lam0, dtype=float)
        self._require(self.lam0.shape == (nc,), f"lam0 must have shape ({nc},), got {self.lam0.shape}")
        self._require(np.isfinite(self.q0).all(), f"q0 must be finite, got {self.q0}")
        self._require(np.isfinite(self.v0).all(), f"v0 must be finite, got {self.v0}")
        self._require(len(labels) == nc, f"labels must name {nc} constraints, got {len(labels)}")
        self._require(kinematics is not None or nq == nv, f"nq = {nq} and nv = {nv} differ, so kinematics must be given")
        self.user_kinematics, self.user_retract, self.user_energy = kinematics, retract, energy
        mass, force, phi, phi_q, nu, gamma, friction = (plain(f) for f in (mass, force, phi, phi_q, nu, gamma, friction))
        self._mass = self._checked("mass", mass, (nv, nv))
        self._force = self._checked("force", force, (nv,), 2)
        self._phi = self._checked("phi", phi, (nc,))
        if kinematics is not None:
            self._kinematics = self._checked("kinematics", kinematics, (nq,), 2)
            self._check_kinematics()
        self._phi_q = self._checked("phi_q", phi_q, (nc, nv)) if phi_q is not None else None
        self._nu = self._checked("nu", nu, (nc,)) if nu is not None else None
        self._gamma = self._checked("gamma", gamma, (nc,), 2) if gamma is not None else None
        self._friction = self._checked("friction", friction, (nv,), 3) if friction is not None else None
        self.plain = {"mass": mass, "force": force, "phi": phi, "phi_q": phi_q, "nu": nu, "gamma": gamma, "friction": friction}
        analytic = {name: getattr(self, f"_{name}") is f for name, f in self.plain.items()}
        self.compiled = kinematics is None and retract is None and all(
            isinstance(f, Dispatcher) and analytic[name] for name, f in self.plain.items() if name != "friction" or f is not None)
        self._check_mass()
        self._require(energy is None or callable(energy), f"energy must be callable, got {energy!r}")
        if retract is not None:
            self._require(callable(retract), f"retract must be callable, got {retract!r}")
            shape = np.shape(retract(self.q0.copy(), np.zeros(nv)))
            self._require(shape == (nq,), f"retract must return shape ({nq},), got {shape}")
        if check:
            self._check_together()

    @staticmethod
    def _require(condition: Any, message: str) -> None:
        if not condition:
            raise ValueError(f"System.from_functions: {message}")

    def _checked(self, name: str, function: Callable[..., Any], shape: tuple[int, ...], arguments: int = 1) -> Callable[..., Any]:
        """The function, tried at the initial guess, and lifted to complex arguments if it is not analytic."""
        self._require(callable(function), f"{name} must be callable, got {function!r}")
        args = (self.q0, self.v0, self.lam0)[:arguments]
        value = np.asarray(function(0.0, *(x.copy() for x in args)))
        self._require(value.shape == shape, f"{name} must return shape {shape}, got {value.shape}")
        self._require(not np.iscomplexobj(value), f"{name} must be real")
        self._require(np.isfinite(value).all(), f"{name} is not finite at the initial guess")
        return function if _analytic(function, args) else _lifted(function)

    def _check_together(self) -> None:
        try:
            check_functions(self, self.labels)
        except Disagreement as error:
            raise ValueError(f"System.from_functions: {error}") from None

    def _check_kinematics(self) -> None:
        """`T(q) v`: linear in `v`, the same at all times, for positions are moved along displacements `d` by `T(q) d`."""
        d = np.cos(np.arange(self.nv) + 1.0)
        move = self._at_guess(0.0, d)
        scale = {"rtol": 1e-10, "atol": 1e-12 * np.abs(move).max(initial=0.0)}
        self._require(not self._at_guess(0.0, 0.0 * d).any() and np.allclose(self._at_guess(0.0, -3.0 * d), -3.0 * move, **scale),
                      "kinematics must be linear in v")
        for t in _OTHER_TIMES:
            self._require(np.allclose(self._at_guess(t, d), move, **scale), "kinematics must not depend on the time; choose velocity "
                          f"coordinates with qdot = T(q) v, here it differs at t = 0 and t = {t:g}")

    def _at_guess(self, t: float, v: Numbers) -> Vector:
        assert self.user_kinematics is not None
        return np.asarray(self.user_kinematics(t, self.q0.copy(), v.copy()), dtype=float)

    def _check_mass(self) -> None:
        try:
            check_mass(np.asarray(self._mass(0.0, self.q0.copy()), dtype=float), " at the guess")
        except Disagreement as error:
            raise ValueError(f"System.from_functions: {error}") from None

    # the evaluations that the kernels ask for ----------------------------------------------------------------------------

    def phi(self, t: float, q: Numbers) -> Numbers:
        return np.asarray(self._phi(t, q))

    def phi_q(self, t: float, q: Numbers) -> Numbers:
        if self._phi_q is not None:
            return np.asarray(self._phi_q(t, q))
        if np.iscomplexobj(q):  # derivatives of this derivative: central differences of complex values keep both parts
            return self._along(lambda x: self.phi(t, x), q, np.eye(self.nv)).T
        return np.array([self.phi(t, q + 1j * _STEP * d).imag / _STEP for d in self._directions(t, q)]).T.reshape(self.nc, self.nv)

    def nu(self, t: float, q: Numbers) -> Numbers:
        if self._nu is not None:
            return np.asarray(self._nu(t, q))
        return -_slope(lambda s: self.phi(t + s, q), t)

    def gamma(self, t: float, q: Numbers, v: Numbers) -> Numbers:
        """`-(Phi_q v)' ` at zero acceleration: `-d^2/ds^2 Phi(t + s, q(s))` with `q' = T v`."""
        if self._gamma is not None:
            return np.asarray(self._gamma(t, q, v))

        def rate(s: float) -> Numbers:
            x = q + s * self.qdot(t, q, v)
            return self.phi_q(t + s, x) @ v - self.nu(t + s, x)

        return -_slope(rate, t, scale=1.0 + np.abs(v.real).max())

    def force(self, t: float, q: Numbers, v: Numbers, lam: Numbers) -> Numbers:
        value = np.asarray(self._force(t, q, v))
        return value if self._friction is None else value + np.asarray(self._friction(t, q, v, lam))

    def mass(self, t: float, q: Numbers) -> Numbers:
        return np.asarray(self._mass(t, q))

    def qdot(self, t: float, q: Numbers, v: Numbers) -> Numbers:
        return v if self.user_kinematics is None else np.asarray(self._kinematics(t, q, v))

    def retract(self, q: Numbers, d: Numbers) -> Numbers:
        if self.user_retract:
            return np.asarray(self.user_retract(q, d))
        return q + d if self.user_kinematics is None else self._carried(q, d)

    def _carried(self, q: Numbers, d: Numbers) -> Numbers:
        """Along `q' = T(q) d` by the implicit midpoint rule: it keeps what is quadratic, such as the norms of quaternions."""
        share = np.abs(self.qdot(0.0, q, d)).max() / (1.0 + np.abs(q).max())
        parts = int(np.ceil(min(share / _PART, _PARTS))) if np.isfinite(share) else 1
        for _ in range(parts):
            q = self._midpoint(q, d / parts)
        return q

    def _midpoint(self, q: Numbers, d: Numbers) -> Numbers:
        new, before = q + self.qdot(0.0, q, d), np.inf
        for _ in range(_MIDPOINT_ITERATIONS):
            old, new = new, q + self.qdot(0.0, 0.5 * (q + new), d)
            change = np.abs(new - old).max()
            if not 0.0 < change < before:
                break
            before = change
        return new

    def difference(self, q: Numbers, q0: Numbers) -> Numbers:
        """The `d` with `q0 (+) d = q`, by simplified Newton iterations with the matrix `T(q0)`."""
        T, d = np.array(self._directions(0.0, q0)).T, np.zeros(self.nv)
        for _ in range(_DIFFERENCE_ITERATIONS):
            step = np.linalg.lstsq(T, q - self.retract(q0, d), rcond=None)[0]
            d += step
            if np.abs(step).max() <= 1e-15 * (1.0 + np.abs(d).max()):
                break
        return d

    def total_energy(self, t: float, q: Vector, v: Vector) -> float:
        return float(self.user_energy(t, q, v)) if self.user_energy else float("nan")

    def _directions(self, t: float, q: Numbers) -> list[Numbers]:
        return [self.qdot(t, q, d) for d in np.eye(self.nv)]

    def _along(self, f: Callable[..., Any], q: Numbers, directions: Any) -> Numbers:
        h = _CUBE_ROOT * (1.0 + np.abs(q.real).max())
        moves = [self.qdot(0.0, q, d) for d in directions]
        return np.array([(f(q + h * m) - f(q - h * m)) / (2 * h) for m in moves])

    def call(self, what: int, t: float, q: Numbers, v: Numbers, lam: Numbers) -> Numbers:
        """Evaluation number `what`."""
        return np.asarray({
            lay.PHI: lambda: self.phi(t, q), lay.PHI_Q: lambda: self.phi_q(t, q), lay.NU: lambda: self.nu(t, q),
            lay.GAMMA: lambda: self.gamma(t, q, v), lay.FORCE: lambda: self.force(t, q, v, lam), lay.MASS: lambda: self.mass(t, q),
            lay.QDOT: lambda: self.qdot(t, q, v), lay.RETRACT: lambda: self.retract(q, v), lay.DIFFERENCE: lambda: self.difference(q, v),
        }[what]()).ravel()

    def evaluate(self, what: int, t: float, q: int, v: int, lam: int, out: int, is_complex: bool) -> None:
        """Entry of the kernels: addresses of the arguments and of the result."""
        n_in = self.nv if what in (lay.GAMMA, lay.FORCE, lay.QDOT, lay.RETRACT) else self.nq
        multipliers = view(lam, self.nc, is_complex).copy() if what == lay.FORCE else np.zeros(0)
        result = self.call(what, t, view(q, self.nq, is_complex).copy(), view(v, n_in, is_complex).copy(), multipliers)
        self._target(what, out, is_complex)[:] = result

    def spoil(self, what: int, out: int, is_complex: bool) -> None:
        """NaN in the place of the result."""
        self._target(what, out, is_complex)[:] = np.nan

    def _target(self, what: int, out: int, is_complex: bool) -> Numbers:
        size = {lay.PHI: self.nc, lay.NU: self.nc, lay.GAMMA: self.nc, lay.PHI_Q: self.nc * self.nv, lay.MASS: self.nv**2,
                lay.QDOT: self.nq, lay.RETRACT: self.nq}.get(what, self.nv)
        return view(out, size, is_complex)


def checked_limits(limits: Mapping[str, Limit] | None) -> dict[str, Limit]:
    """A user's limits as they are, or with the reason why they cannot be some."""
    found = {} if limits is None else dict(limits)
    for name, limit in found.items():
        if not (isinstance(name, str) and callable(limit)):
            raise ValueError(f"System.from_functions: limits must be functions by name, got {name!r}: {limit!r}")
    return found


def tables_from_functions(callbacks: Callbacks, **functions: Any) -> tuple[UserFunctions, Tables]:
    """The completed functions and the tables of their system: one dense mass block, dense `Phi_q`."""
    f = UserFunctions(**functions)
    nv, nc = f.nv, f.nc
    pattern = Pattern(np.arange(nc + 1) * nv, np.tile(np.arange(nv), nc), np.ones(nc * nv, dtype=bool))
    rows = np.arange(nc)
    pieces = np.zeros(nc, dtype=PIECE_T)
    pieces["row"], pieces["at"], pieces["n"], pieces["filled"] = rows, rows * nv, nv, TRANSLATION | ROTATION
    pairs = meetings(pieces["body"])
    first, env_ptr = envelope(rows, pieces["body"], pieces["row"][pairs])
    block = np.array([(0, nv, 0)], dtype=lay.BLOCK_T)
    sizes = {lay.KIND: lay.USER, lay.NB: 0, lay.NQ: f.nq, lay.NV: nv, lay.NC: nc, lay.NNZ: nc * nv, lay.NENV: int(env_ptr[-1]),
             lay.CONSTANT_MASS: 0, lay.DIAGONAL_MASS: int(nv == 1), lay.ADDRESS: callbacks.system(f),
             lay.IDENTITY_MAP: int(f.user_kinematics is None and f.user_retract is None),
             lay.COUPLED: int(functions["friction"] is not None)}
    tables = {"segment": segment_table(pieces), "block": block, "block_of": np.zeros(nv, np.int64), "rows": rows,
              "first": first, "env_ptr": env_ptr, "pair": pair_table(pieces, pairs, rows, first, env_ptr)}
    return f, Tables(lay.pack(sizes, tables), pattern, np.zeros(0, lay.BODY_T), rows)


def _analytic(function: Callable[..., Any], args: tuple[Vector, ...]) -> bool:
    """Whether complex arguments give the derivative of the function: the complex step against central differences.

    Tried at the initial guess and around it, with both signs of all arguments: complex powers of negative numbers, as some compilers
    make them, spoil the imaginary part.
    """
    rng = np.random.default_rng(0)
    others = [tuple(rng.choice([-1.0, 1.0], a.shape) * (np.abs(a) + 0.3 * rng.random(a.shape)) for a in args) for _ in range(4)]
    found = [_agrees(function, x) for x in (args, *others)]
    return True in found and False not in found


def _agrees(function: Callable[..., Any], args: tuple[Vector, ...]) -> bool | None:
    """Whether the complex step agrees with central differences at one point; `None` where the function has a kink or no value.

    Differences with several increments: a function that bends sharply agrees with those of a small one only.
    """
    direction = [np.cos(np.arange(len(a)) + 1.0) for a in args]
    found = []
    for h in _INCREMENTS:
        try:
            ends = [np.asarray(function(0.0, *[a + s * h * d for a, d in zip(args, direction)])) for s in (1, 0, -1)]
        except Exception:
            return None
        try:
            stepped = np.asarray(function(0.0, *[a + 1j * _STEP * d for a, d in zip(args, direction)])).imag / _STEP
        except Exception:  # a function that refuses complex numbers is lifted instead
            return False
        found.append(_equal(stepped, ends, h))
    known = [x for x in found if x is not None]
    return any(known) if known else None


def _equal(stepped: Numbers, ends: list[Numbers], h: float) -> bool | None:
    """Whether a complex step agrees with the difference of the function at three points; `None` where these lie on a kink."""
    central = (ends[0] - ends[2]) / (2 * h)
    rounding = 1e-13 * np.abs(ends[1]).max(initial=0.0)
    smooth = np.allclose(ends[0] - ends[1], ends[1] - ends[2], rtol=1e-3, atol=1e-3 * h + rounding)
    if not (smooth and np.isfinite(central).all()):
        return None
    scale = 1.0 + np.abs(central).max(initial=0.0)
    return stepped.shape == central.shape and bool(np.allclose(stepped, central, rtol=1e-5, atol=1e-6 * scale + 0.1 * rounding / h))


def _lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function at complex arguments by a central difference along their imaginary parts."""

    def lifted(t: float, *args: Numbers) -> Any:
        if not any(np.iscomplexobj(a) for a in args):
            return function(t, *args)
        real = [np.ascontiguousarray(a.real) for a in args]
        size = max(np.abs(a.imag).max(initial=0.0) for a in args)
        value = np.asarray(function(t, *real)) + 0j
        if size > 0.0:
            h = _CUBE_ROOT * (1.0 + max(np.abs(a.real[a.imag != 0.0]).max(initial=0.0) for a in args))
            ends = [np.asarray(function(t, *[x + s * h / size * a.imag for x, a in zip(real, args)])) for s in (1, -1)]
            value = value + 1j * size * (ends[0] - ends[1]) / (2 * h)
        return value

    return lifted


def _slope(f: Callable[..., Any], t: float, scale: float = 1.0) -> Numbers:
    """`f'(0)` by differences of fourth order."""
    h = 1e-3 * (1.0 + abs(t)) ** 0.25 / scale
    slope: Numbers = (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)
    return slope
