"""Names of user functions in messages, and the notes that are added to their exceptions."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..model.base import Driver, Primitive
from ..model.forces import RSDA, TSDA, PointForce, PointTorque, UserForce
from ..model.motions import Motion
from . import layout as lay

ORDERS = {"f": "", "df": "the rate of ", "d2f": "the second derivative of "}  # of a motion's functions


def user_force(f: UserForce) -> str:
    """`the user force 'wind' on 'rod'`."""
    return f"the user force {f.name!r} on {', '.join(map(repr, f.bodies))}"


def law(f: TSDA | RSDA) -> str:
    """`the law of TSDA 'spring' between 'ground' and 'rod'`."""
    return f"the law of {type(f).__name__} {f.name!r} between {f.i!r} and {f.j!r}"


def load(f: PointForce | PointTorque, k: int) -> str:
    """`component 1 of PointForce 'push' on 'rod'`; `k` counts from 0."""
    return f"component {k} of {type(f).__name__} {f.name!r} on {f.body!r}"


def components(f: PointForce | PointTorque) -> tuple[Motion, ...]:
    """The motions of a point force or torque."""
    return f.force if isinstance(f, PointForce) else f.torque


def motion(c: Driver | Primitive) -> str:
    """`the motion of driver 'motor' between 'ground' and 'rod'`, of a driver or a constraint."""
    return f"the motion of {'driver' if isinstance(c, Driver) else 'constraint'} {c.name!r} between {c.i!r} and {c.j!r}"


def evaluation(what: float, given: dict[str, Any]) -> str:
    """A function of `System.from_functions`, or what is derived from others where it is not given; `what` as in `layout`."""
    name = lay.EVALUATIONS[int(what)]
    if name == "force" and given.get("friction") is not None:
        return "the user function 'force' or 'friction'"
    return f"the user function {name!r}" if given.get(name, 0) is not None else f"{name!r}, which follows from other user functions,"


def add_note(error: BaseException, label: str, t: float) -> None:
    """The exception of a user's function says which one it was, and when."""
    text = f"in {label} at t = {t:.9g}"
    if label and isinstance(error, Exception) and text not in getattr(error, "__notes__", ()):
        with suppress(Exception):  # an exception that cannot be changed
            error.add_note(text)


@contextmanager
def noted(label: str, t: float) -> Iterator[None]:
    """Exceptions in the body get a note."""
    try:
        yield
    except Exception as error:
        add_note(error, label, t)
        raise
