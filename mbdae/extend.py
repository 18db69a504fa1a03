"""What joints, primitive constraints and force elements of your own are made of.

- A joint derives from `Joint` (or `PlanarJoint`) and returns primitive constraints from `primitives(bodies)`; without this method Python
  refuses to make one.
- A primitive constraint derives from `Primitive`; `register(ConstraintKind(...))` gives its compiled kernels.
- A force element derives from `Force`; `register(ForceKind(...))` gives its compiled kernels. A `UserForce` needs less, and no class.

Elements are frozen dataclasses, kernels are functions that numba compiles: plain ones, or decorated with `compiled` or `numba.njit`.
They take one record `e` and what they name of the state, mostly the frames `X` of the bodies; the functions below are those that the
elements of mbdae are made of, and `mbdae/system/elements` and `mbdae/system/loads` are examples.

Registered kernels are called by address: the compiled code of mbdae stays as it is. Theirs is kept on disk beside the file that defines
them and made anew when anything in it has changed. `check(mechanism)` compares them with differences.
"""

from .check_kernels import check
from .compilation.compiled import compiled
from .model import checks
from .model.base import ORIGIN, Bodies, Driver, Force, Joint, PlanarJoint, Primitive
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
    "PlanarJoint",
    "Primitive",
    "add",
    "check",
    "checks",
    "compiled",
    "cross",
    "default_record",
    "distance",
    "dot",
    "first",
    "force_at",
    "omega",
    "point",
    "point_velocity",
    "put_i",
    "put_j",
    "register",
    "rotate",
    "scale",
    "second",
    "spin",
    "spin2",
    "sub",
    "unrotate",
    "value",
    "wrench",
]
