"""Force elements: springs and dampers, prescribed loads, user forces, Coulomb friction in joints.

Gravity belongs to the `Mechanism`. Forces are global vectors, torques body-fixed ones unless `frame` says otherwise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..spelling import guess
from ..typing import Law, TimeFunction
from . import checks
from .base import ORIGIN, Force, check_points, is_planar
from .bodies import GROUND, Particle
from .joints import PlanarRevolute, PlanarTranslational, Revolute, Translational
from .motions import Function, Motion, as_motion

if TYPE_CHECKING:
    from .mechanism import Mechanism

FRAMES = ("global", "body")


@dataclass(frozen=True)
class TSDA(Force):
    """Translational spring-damper-actuator between two points at distance `l`.

    Tension `k (l - l0) + c l' + law(l, l', t)`, positive when it pulls the points together.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    s_i, s_j : sequence of 3 floats, optional
        Points of the bodies, from their centres of mass [m]; by default these.
    k, c : float
        Stiffness [N/m] and damping [N s/m].
    l0 : float
        Free length [m].
    law : callable, optional
        `law(l, l_dot, t) -> float` [N], plain Python or compiled with numba.

    Examples
    --------
    >>> import mbdae
    >>> mbdae.TSDA("spring", "ground", "rod", s_j=(0.5, 0, 0), k=100.0, c=2.0, l0=0.3).k
    100.0
    """

    i: str
    j: str
    s_i: tuple[float, ...] = ORIGIN
    s_j: tuple[float, ...] = ORIGIN
    k: float = 0.0
    c: float = 0.0
    l0: float = 0.0
    law: Law | None = None

    def check(self, owner: str) -> None:
        self.set_points(owner)
        for field in ("k", "c", "l0"):
            self.set(field, checks.nonnegative(getattr(self, field), owner, field))
        _check_law(self, owner)

    @property
    def time_dependent(self) -> bool:  # type: ignore[override]
        return self.law is not None

    def check_bodies(self, mechanism: "Mechanism") -> None:
        check_points(self, mechanism.bodies_by_name(), (("s_i", "i"), ("s_j", "j")))


@dataclass(frozen=True)
class RSDA(Force):
    """Rotational spring-damper-actuator about an axis common to two bodies, at the relative angle `theta` from i to j.

    Torque `k (theta - theta0) + c theta' + law(theta, theta', t)` on body i about the axis, its opposite on body j.
    Between planar bodies `theta = angle_j - angle_i` counts all turns. Between spatial bodies it is measured from `b_i` to
    `b_j` about `a_i` and `theta - theta0` is taken in (-pi, pi]; such a spring must not be wound up further.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    k, c : float
        Stiffness [N m/rad] and damping [N m s/rad].
    theta0 : float
        Free angle [rad].
    law : callable, optional
        `law(theta, theta_dot, t) -> float` [N m]; for spatial bodies `theta` lies in `theta0 + (-pi, pi]`.
    a_i, b_i, b_j : sequence of 3 floats, optional
        Unit axis and unit vectors perpendicular to it; required unless both bodies are planar.

    Examples
    --------
    >>> import mbdae
    >>> mbdae.RSDA("spring", "ground", "rod", k=5.0, a_i=(0, 0, 1), b_i=(1, 0, 0), b_j=(1, 0, 0)).k
    5.0
    """

    i: str
    j: str
    k: float = 0.0
    c: float = 0.0
    theta0: float = 0.0
    law: Law | None = None
    a_i: tuple[float, ...] | None = None
    b_i: tuple[float, ...] | None = None
    b_j: tuple[float, ...] | None = None

    def check(self, owner: str) -> None:
        for field in ("k", "c"):
            self.set(field, checks.nonnegative(getattr(self, field), owner, field))
        self.set("theta0", checks.number(self.theta0, owner, "theta0"))
        given = [f for f in ("a_i", "b_i", "b_j") if getattr(self, f) is not None]
        if given and len(given) < 3:
            raise ValueError(f"{owner}: give all of a_i, b_i, b_j for spatial bodies, or none for planar ones")
        for field in given:
            self.set(field, checks.unit(getattr(self, field), owner, field))
        if self.a_i is not None and self.b_i is not None and abs(np.dot(self.a_i, self.b_i)) > 1e-6:
            raise ValueError(f"{owner}: b_i must be perpendicular to the axis a_i")
        _check_law(self, owner)

    @property
    def time_dependent(self) -> bool:  # type: ignore[override]
        return self.law is not None

    def check_bodies(self, mechanism: "Mechanism") -> None:
        ends = (mechanism.body(self.i), mechanism.body(self.j))
        if any(isinstance(b, Particle) for b in ends):
            raise ValueError(f"{self.owner}: a particle has no orientation; connect rigid or planar bodies")
        if self.a_i is None and not is_planar(ends):
            raise ValueError(f"{self.owner}: give the axis a_i and the directions b_i, b_j for spatial bodies")


@dataclass(frozen=True)
class PointForce(Force):
    """Force on the point `s` of a body.

    Parameters
    ----------
    name, body : str
    force : sequence of 3 (float, Motion or callable of t), or callable of t returning 3 floats
        Components in the `frame` [N].
    s : sequence of 3 floats, optional
        The point, from the centre of mass [m].
    frame : {"global", "body"}

    Examples
    --------
    >>> import mbdae, math
    >>> push = mbdae.PointForce("push", "rod", (0.0, 0.0, lambda t: math.sin(t)), s=(0.5, 0, 0))
    >>> push.frame
    'global'
    """

    body: str
    force: tuple[Any, ...]  # three motions once it is made
    s: tuple[float, ...] = ORIGIN
    frame: str = "global"
    time_dependent = False

    def check(self, owner: str) -> None:
        self.set("s", checks.vector(self.s, 3, owner, "s"))
        self.set("force", _components(self.force, owner, "force"))
        _check_frame(self.frame, owner)

    def body_names(self) -> tuple[str, ...]:
        return (self.body,)

    def check_bodies(self, mechanism: "Mechanism") -> None:
        _refuse_ground(self)
        check_points(self, mechanism.bodies_by_name(), (("s", "body"),))


@dataclass(frozen=True)
class PointTorque(Force):
    """Torque on a body [N m]; parameters as for `PointForce`. On a planar body only the z-component acts.

    Parameters
    ----------
    name, body : str
    torque : sequence of 3 (float, Motion or callable of t), or callable of t returning 3 floats
        Components in the `frame` [N m].
    frame : {"body", "global"}

    Examples
    --------
    >>> import mbdae
    >>> mbdae.PointTorque("motor", "rod", (0.0, 0.0, 1.5)).frame
    'body'
    """

    body: str
    torque: tuple[Any, ...]  # three motions once it is made
    frame: str = "body"
    time_dependent = False

    def check(self, owner: str) -> None:
        self.set("torque", _components(self.torque, owner, "torque"))
        _check_frame(self.frame, owner)

    def body_names(self) -> tuple[str, ...]:
        return (self.body,)

    def check_bodies(self, mechanism: "Mechanism") -> None:
        _refuse_ground(self)
        if isinstance(mechanism.body(self.body), Particle):
            raise ValueError(f"{self.owner}: {self.body!r} is a particle and has no orientation")


@dataclass(frozen=True)
class UserForce(Force):
    """A user's function that sets forces and torques on the bodies it names, from their state and time.

    Parameters
    ----------
    name : str
    bodies : sequence of str
        The `k` bodies seen and acted on.
    function : callable
        `function(t, r, A, v, omega, F, T)` with `r, v` (k, 3) global, `A` (k, 3, 3), `omega` (k, 3) body-fixed; it fills
        `F` (k, 3) [N], global, at the centres of mass, and `T` (k, 3) [N m], body-fixed, both zero on entry.
        Plain Python, or compiled with `numba.njit` (then it costs no Python call).

    Examples
    --------
    >>> import mbdae
    >>> def drag(t, r, A, v, omega, F, T):
    ...     F[0] = -0.1 * v[0]
    >>> ball = mbdae.Particle("ball", 1.0, (0, 0, 1), (1, 0, 0))
    >>> flight = mbdae.Mechanism("flight", [ball], forces=[mbdae.UserForce("drag", ["ball"], drag)])
    >>> float(mbdae.solve(flight, mbdae.SolveIvp(), (0, 1)).v[-1, 0].round(4))
    0.9048
    """

    bodies: tuple[str, ...]
    function: Callable[..., object]

    def check(self, owner: str) -> None:
        names = (self.bodies,) if isinstance(self.bodies, str) else checks.entries(self.bodies, owner, "bodies", "names of bodies")
        if not names or not all(isinstance(n, str) for n in names):
            raise ValueError(f"{owner}: bodies must be names of bodies, got {self.bodies!r}")
        if len(set(names)) < len(names):
            raise ValueError(f"{owner}: bodies names a body twice: {names}")
        if not callable(self.function):
            raise ValueError(f"{owner}: function must be callable, got {self.function!r}")
        checks.takes(self.function, f"{owner}: function", ("t", "r", "A", "v", "omega", "F", "T"))
        self.set("bodies", names)

    def body_names(self) -> tuple[str, ...]:
        return self.bodies

    def check_bodies(self, mechanism: "Mechanism") -> None:
        _refuse_ground(self)


@dataclass(frozen=True)
class Friction(Force):
    """Coulomb friction in a translational or revolute joint, driven by the joint's own reaction force.

    Translational: force `mu N sign(v)` against the sliding velocity `v`, with the reaction `N` normal to the axis.
    Revolute: torque `mu radius N sign(w)` against the relative rate `w`, with the reaction `N` normal to the axis.
    The one-step integrators take `N` from the previous step; in the DAE forms it belongs to the unknown multipliers.

    Friction is proportional to the reactions, and changes them: `lam = g(lam)`, a fixed point. Where `g` is a contraction the accelerations
    are unique. Otherwise there may be several solutions, of which the one is taken that is connected with the motion without friction, or
    none: the joint jams, and the run ends with a message that names it. The one-step integrators need a contraction.

    Parameters
    ----------
    name : str
    joint : str
        Name of a `Translational`, `PlanarTranslational`, `Revolute` or `PlanarRevolute` joint.
    mu : float
        Coefficient of friction.
    radius : float, optional
        Radius of the pin of a revolute joint [m].
    v_s : float
        Transition velocity [m/s] (or rate [rad/s]): below it there is no friction (`smooth=False`, the law of Fang et al.), or
        `sign(v)` is replaced by `tanh(v/v_s)` (`smooth=True`, for solvers with error control).
    smooth : bool
        Which of the two.
    normal : sequence of str, optional
        Labels of the constraint rows of a translational joint whose multipliers make up `N`; by default both rows
        that carry normal forces.

    Examples
    --------
    >>> import mbdae
    >>> mbdae.Friction("rubbing", "rail", mu=0.2, v_s=1e-3, smooth=True).mu
    0.2
    """

    joint: str
    mu: float
    radius: float | None = None
    v_s: float = 1e-5
    smooth: bool = False
    normal: tuple[str, ...] | None = None
    time_dependent = False

    def check(self, owner: str) -> None:
        self.set("mu", checks.nonnegative(self.mu, owner, "mu"))
        self.set("v_s", checks.positive(self.v_s, owner, "v_s"))
        if self.radius is not None:
            self.set("radius", checks.positive(self.radius, owner, "radius"))
        if self.normal is not None:
            names = (self.normal,) if isinstance(self.normal, str) else checks.entries(self.normal, owner, "normal", "labels of rows")
            self.set("normal", names)

    def body_names(self) -> tuple[str, ...]:
        return ()  # they are those of the joint

    def check_bodies(self, mechanism: "Mechanism") -> None:
        joint = next((j for j in mechanism.joints if j.name == self.joint), None)
        if joint is None:
            raise ValueError(f"{self.owner}: there is no joint {self.joint!r}{guess(self.joint, [j.name for j in mechanism.joints])}")
        if not isinstance(joint, (Translational, PlanarTranslational, Revolute, PlanarRevolute)):
            raise ValueError(f"{self.owner}: friction needs a translational or revolute joint, "
                             f"{self.joint!r} is of type {type(joint).__name__}")
        if isinstance(joint, (Revolute, PlanarRevolute)) and self.radius is None:
            raise ValueError(f"{self.owner}: friction in a revolute joint needs the radius of its pin")
        if isinstance(joint, (Revolute, PlanarRevolute)) and self.normal:
            raise ValueError(f"{self.owner}: normal is for translational joints; {self.joint!r} is of type {type(joint).__name__}")


def _components(value: Any, owner: str, field: str) -> tuple[Motion, ...]:
    if callable(value):
        return tuple(Function(_component(value, k)) for k in range(3))
    components = checks.entries(value, owner, field, "three components or a function of time")
    if len(components) != 3:
        raise ValueError(f"{owner}: {field} must have 3 components, got {len(components)}")
    return tuple(as_motion(x, owner, f"{field}[{k}]") for k, x in enumerate(components))


def _component(function: Callable[[float], Sequence[float]], k: int) -> TimeFunction:
    return lambda t: function(t)[k]


def _check_frame(frame: str, owner: str) -> None:
    if frame not in FRAMES:
        raise ValueError(f"{owner}: frame must be one of {FRAMES}, got {frame!r}")


def _check_law(element: TSDA | RSDA, owner: str) -> None:
    if element.law is not None and not callable(element.law):
        raise ValueError(f"{owner}: law must be a function of three numbers, got {element.law!r}")


def _refuse_ground(force: Force) -> None:
    if GROUND in force.body_names():
        raise ValueError(f"{force.owner}: a force on the ground has no effect; name a body")
