"""What the system layer knows of a kind of force element: its kernels, its record, and what it depends on."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...model.base import Force
from ...typing import Excitation, Law
from ..elements.kind import Group
from ..layout import FORCE_T, ROTATION, TRANSLATION


class Numbers(Protocol):
    """Numbers and addresses for records, while the tables of a system are built."""

    mechanism: Any

    def body(self, name: str) -> int:
        """Number of a body; the ground comes after all others."""

    def motion(self, motion: Any, label: str) -> int:
        """Number of a function of time; `label` names it in messages."""

    def law(self, function: Law, label: str) -> int:
        """Address of a law `f(x, x', t)`."""

    def user_force(self, f: Any) -> int:
        """Address of the function of a `UserForce`."""

    def members(self, names: Iterable[str]) -> int:
        """Where the numbers of several bodies begin in the table of members."""


def both_groups(f: Any, mechanism: Any) -> tuple[list[Group], list[Group]]:
    """Acts on translations and rotations of its bodies, and depends on them."""
    groups = [(b, g) for b in f.body_names() for g in (TRANSLATION, ROTATION)]
    return groups, groups


def copy_fields(e: Any, f: Any) -> None:
    """Attributes of the model with the names of fields of the record."""
    for name in e.dtype.names:
        if isinstance(getattr(f, name, None), int | float | tuple):
            e[name] = getattr(f, name)


def default_record(e: Any, f: Any, numbers: Numbers) -> None:
    """`i` and `j` are the first and the last body that the element names; other fields are copied."""
    copy_fields(e, f)
    names = f.body_names()
    e["i"], e["j"] = numbers.body(names[0]), numbers.body(names[-1])


@dataclass(frozen=True, eq=False)
class ForceKind:
    """Kernels of a force element, and how an element of the model becomes the record that they get.

    The first parameter of a kernel is one record `e`; after it a kernel names what it needs of `t`, `q`, `X`, `motions` and `bodies`: the
    frames of the bodies, as placed, the functions of time, and the records of the bodies. Kernels are real or complex like `X`; they must
    be analytic.

    - `force(e, ..., Q)` adds the generalised forces, by `force_at(Q, bodies, X, b, s, F, T)` and `wrench(Q, bodies, b, F, T)`;
    - `energy(e, ...)` returns the potential, without `t` and `motions`; left out where there is none.

    Attributes
    ----------
    models : type or tuple of types
        Dataclasses derived from `Force`.
    force, energy : callable
    fields : tuple
        Fields of the record beside `i` and `j`, as for a NumPy dtype, floats or integers of 64 bits.
    fill : callable
        `fill(e, f, numbers)` writes the record of `f`, see `Numbers`; by default `i`, `j` and what has the names of fields.
    groups : callable
        `groups(f, mechanism)`: groups of coordinates that the force acts on, and those that it depends on.
    sees_velocities : bool
        Whether it depends on velocities.
    excitation : callable, optional
        `excitation(f)`: functions `u(t)` through which the derivatives of the force depend on time, as a list.
    """

    models: type[Force] | tuple[type[Force], ...]
    force: Callable[..., None]
    energy: Callable[..., Any] | None = None
    fields: tuple[Any, ...] = ()
    fill: Callable[[Any, Any, Any], None] = default_record
    groups: Callable[[Any, Any], tuple[list[Group], list[Group]]] = both_groups
    sees_velocities: bool = True
    excitation: Callable[[Any], list[Excitation]] | None = None
    dtype: Any = None

    def __post_init__(self) -> None:
        if self.dtype is None:
            object.__setattr__(self, "dtype", np.dtype([*self.fields, *FORCE_T.descr]))  # see `ConstraintKind`

    def kernels(self) -> dict[str, Callable[..., Any]]:
        """The kernels by name."""
        return {"force": self.force} | ({} if self.energy is None else {"energy": self.energy})

    def record(self, f: Force, numbers: Numbers) -> Any:
        """The record of one element."""
        e = np.zeros((), dtype=self.dtype)
        self.fill(e, f, numbers)
        return e
