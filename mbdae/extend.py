"""What joints, primitive constraints, force elements and integrators of your own are made of.

- A joint derives from `Joint` (or `PlanarJoint`) and returns primitive constraints from `primitives(bodies)`; without this method Python
  refuses to make one.
- A primitive constraint derives from `Primitive`; `register(ConstraintKind(...))` gives its compiled kernels.
- A force element derives from `Force`; `register(ForceKind(...))` gives its compiled kernels. A `UserForce` needs less, and no class.
- An SDIRK method derives from `SdirkMethod` and has a `tableau`, made by `sdirk(name, A, b_hat)`.
- Any other method derives from `Method`; in an adapter to a solver `SolverCallbacks` hands a problem's functions over, counted and
  guarded, and `Run` takes the steps in.

Elements are frozen dataclasses, kernels are functions that numba compiles: plain ones, or decorated with `compiled` or `numba.njit`.
They take one record `e` and what they name of the state, mostly the frames `X` of the bodies; the functions below are those that the
elements of mbdae are made of, and `mbdae/system/elements` and `mbdae/system/loads` are examples.

Registered kernels are called by address: the compiled code of mbdae stays as it is. Theirs is kept on disk beside the file that defines
them and made anew when anything in it has changed. `check(mechanism)` compares them with differences.
"""

from .check_kernels import check
from .compilation.compiled import compiled
from .driver.callbacks import SolverCallbacks, SolverFailure
from .driver.method import Method
from .driver.run import Run
from .driver.support import Settings, explicit_support, implicit_support
from .integrators.state_space.methods import SdirkMethod
from .integrators.state_space.sdirk_tableau import sdirk
from .model import checks
from .model.base import ORIGIN, Bodies, Driver, Force, Joint, PlanarJoint, Primitive
from .results.statistics import Statistics
from .results.status import Status
from .results.trajectory import Trajectory
from .stopwatch import Stopwatch
from .system.elements.common import distance, first, put_i, put_j, second, value
from .system.elements.kind import ConstraintKind
from .system.extra import register
from .system.frames import omega, point, point_velocity, rotate, spin, spin2, unrotate
from .system.layout import ROTATION, TRANSLATION
from .system.loads.common import force_at, wrench
from .system.loads.kind import ForceKind, default_record
from .system.vec3 import add, cross, dot, scale, sub

__all__ = [
    "ORIGIN",
    "ROTATION",
    "TRANSLATION",
    "Bodies",
    "ConstraintKind",
    "Driver",
    "Force",
    "ForceKind",
    "Joint",
    "Method",
    "PlanarJoint",
    "Primitive",
    "Run",
    "SdirkMethod",
    "Settings",
    "SolverCallbacks",
    "SolverFailure",
    "Statistics",
    "Status",
    "Stopwatch",
    "Trajectory",
    "add",
    "check",
    "checks",
    "compiled",
    "cross",
    "default_record",
    "distance",
    "dot",
    "explicit_support",
    "first",
    "force_at",
    "implicit_support",
    "omega",
    "point",
    "point_velocity",
    "put_i",
    "put_j",
    "register",
    "rotate",
    "scale",
    "sdirk",
    "second",
    "spin",
    "spin2",
    "sub",
    "unrotate",
    "value",
    "wrench",
]
