"""Names and units of the components of `q`, `v`, `a` and `lam`: of bodies, joints and constraint equations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..model.bodies import PlanarBody, RigidBody
from ..spelling import guess
from ..system.tree.layout import BALL, SLIDE
from ..system.tree.system import TreeSystem

if TYPE_CHECKING:
    from ..model.bodies import Body
    from ..system.system import System
    from ..system.tree.joints import Step, Steps


class Column(NamedTuple):
    """A component: its name, such as `rod.x`, its unit (empty for pure numbers and where it is not known), and to what it belongs."""

    name: str
    unit: str
    owner: str
    component: str


class Names(NamedTuple):
    """The components of `q`, `v`, `a`, `lam`, in their order."""

    q: tuple[Column, ...]
    v: tuple[Column, ...]
    a: tuple[Column, ...]
    lam: tuple[Column, ...]


_POSITION, _VELOCITY, _ACCELERATION = ("m", "rad", ""), ("m/s", "rad/s"), ("m/s^2", "rad/s^2")  # of a length, an angle, a quaternion
_PLACES = ("x", "y", "z")
_QUATERNION = ("e0", "e1", "e2", "e3")


def names_of(system: System) -> Names:
    """The names of all components of a system.

    Bodies: `rod.x`, `rod.e0`; `rod.vx`, `rod.omega_x`; `rod.ax`, `rod.alpha_x`. Joint coordinates: `pin.angle`, `slider.s`, and their rates
    `pin.omega`, `slider.v`. Multipliers: `lam[pin.x]`. Systems of functions: `q[0]`.
    """
    if system.mechanism is None:
        blocks = [_numbered(x, n) for x, n in (("q", system.nq), ("v", system.nv), ("a", system.nv))]
    elif isinstance(system, TreeSystem):
        blocks = _joined(_of_steps(b.joint or b.body, b.steps) for b in system.tree.branches)
    else:
        blocks = _joined(_of_body(b) for b in system.mechanism.bodies)
    q, v, a = blocks
    return Names(q, v, a, _multipliers(system))


def _numbered(block: str, n: int) -> tuple[Column, ...]:
    return tuple(Column(f"{block}[{k}]", "", "", f"{block}[{k}]") for k in range(n))


def _joined(parts: Iterable[Sequence[Sequence[Column]]]) -> list[tuple[Column, ...]]:
    """The three blocks of all owners, one behind the other."""
    return [tuple(c for of_owner in block for c in of_owner) for block in zip(*parts)]


def _columns(owner: str, components: Iterable[tuple[str, str]]) -> list[Column]:
    return [Column(f"{owner}.{name}", unit, owner, name) for name, unit in components]


def _of_body(body: Body) -> list[list[Column]]:
    """Cartesian coordinates: centre of mass, and orientation or angle."""
    n = 2 if isinstance(body, PlanarBody) else 3
    position, velocity, acceleration = ([(before + x, units[0]) for x in _PLACES[:n]]
                                        for before, units in (("", _POSITION), ("v", _VELOCITY), ("a", _ACCELERATION)))
    if isinstance(body, PlanarBody):
        turning: tuple[list[tuple[str, str]], ...] = ([("angle", "rad")], [("omega", "rad/s")], [("alpha", "rad/s^2")])
    else:
        turning = _ball() if isinstance(body, RigidBody) else ([], [], [])
    return [_columns(body.name, [*moved, *turned]) for moved, turned in zip((position, velocity, acceleration), turning)]


def _ball() -> tuple[list[tuple[str, str]], ...]:
    """A quaternion and the angular velocity."""
    return ([(e, "") for e in _QUATERNION], [(f"omega_{x}", "rad/s") for x in _PLACES], [(f"alpha_{x}", "rad/s^2") for x in _PLACES])


def _of_steps(owner: str, steps: Steps) -> list[list[Column]]:
    """Joint coordinates: lengths along axes, angles about axes, quaternions."""
    free = [s for s in steps.steps if not s.prescribed]
    blocks: list[list[tuple[str, str]]] = [[], [], []]
    for step in free:
        same = [s for s in free if s.kind == step.kind]
        for block, found in zip(blocks, _ball() if step.kind == BALL else _single(step, same)):
            block += found
    return [_columns(owner, block) for block in blocks]


def _single(step: Step, same: list[Step]) -> list[list[tuple[str, str]]]:
    """A length or an angle; numbered, or named by its axis, where the joint has several."""
    kind = 0 if step.kind == SLIDE else 1
    units = (_POSITION[kind], _VELOCITY[kind], _ACCELERATION[kind])
    k = next(n for n, s in enumerate(same) if s is step)
    if kind == 0 and len(same) > 1 and sorted(np.abs(step.axis)) == [0.0, 0.0, 1.0]:
        axis = _PLACES[int(np.abs(step.axis).argmax())]
        names = (axis, f"v{axis}", f"a{axis}")
    else:
        number = str(k + 1) if len(same) > 1 else ""
        names = tuple(x + number for x in (("s", "v", "a") if kind == 0 else ("angle", "omega", "alpha")))  # type: ignore[assignment]
    return [[(name, unit)] for name, unit in zip(names, units)]


def _multipliers(system: System) -> tuple[Column, ...]:
    """One for each constraint equation, which belongs to a joint or driver."""
    m = system.constrained
    if m is None:
        return tuple(Column(f"lam[{label}]", "", label, label) for label in system.labels)
    table = m.bodies_by_name()
    owners = [(e.name, p.multiplier_unit) for e in m.constraints for p in e.primitives(table) for _ in p.labels()]
    return tuple(Column(f"lam[{label}]", unit, owner, label) for label, (owner, unit) in zip(system.labels, owners, strict=True))


def chosen(columns: Sequence[Column], names: str | Iterable[str], what: str) -> list[int]:
    """Numbers of the columns with these names: their own, those of their bodies, joints or drivers, or those of components.

    Raises
    ------
    ValueError
        If there is none of a name.
    """
    found: list[int] = []
    for name in [names] if isinstance(names, str) else names:
        here = [k for k, c in enumerate(columns) if name in (c.name, c.owner, c.component)]
        if not here:
            known = list(dict.fromkeys(c.owner or c.name for c in columns))
            meant = guess(name, [*known, *(c.name for c in columns)])
            raise ValueError(f"{what}: there is no {name!r}{meant}; there are {', '.join(known) or 'none'}")
        found += [k for k in here if k not in found]
    return found
