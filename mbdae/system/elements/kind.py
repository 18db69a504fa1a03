"""What the system layer knows of a kind of primitive constraint: its kernels, its record, and what its equations depend on."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...model.base import Primitive
from ...model.bodies import GROUND
from ...typing import Excitation
from ..layout import ELEMENT_T, ROTATION, TRANSLATION

Group = tuple[str, int]
Mask = tuple[tuple[bool, ...], tuple[bool, ...]]  # of a translation and a rotation


def arguments(kernel: Callable[..., Any]) -> list[str]:
    """Names of the parameters of a kernel after the record."""
    return list(inspect.signature(getattr(kernel, "py_func", kernel)).parameters)[1:]


def everything(p: Primitive, end: str, k: int) -> Mask:
    """Nothing is known to be zero."""
    return (True,) * 3, (True,) * 3


def groups(p: Primitive) -> list[Group]:
    """Translation and rotation of both bodies."""
    return [(e, g) for e in (p.i, p.j) if e != GROUND for g in (TRANSLATION, ROTATION)]


def rotations(p: Primitive) -> list[Group]:
    """Rotation of both bodies."""
    return [(e, ROTATION) for e in (p.i, p.j) if e != GROUND]


def all_couplings(p: Primitive) -> list[tuple[Group, Group]]:
    """Everything may depend on everything."""
    return [(a, b) for a in groups(p) for b in groups(p)]


def couplings_of_rotations(p: Primitive) -> list[tuple[Group, Group]]:
    """Only rotations enter."""
    return [(a, b) for a in rotations(p) for b in rotations(p)]


def couplings_of_offsets(p: Any) -> list[tuple[Group, Group]]:
    """Linear in translations; the gradient by the rotation of a body depends on this rotation if the point is off its centre."""
    offsets = [e for e, s in ((p.i, p.s_i), (p.j, p.s_j)) if e != GROUND and any(s)]
    return [((e, ROTATION), (e, ROTATION)) for e in offsets]


@dataclass(frozen=True, eq=False)
class ConstraintKind:
    """Kernels of a primitive constraint, and how an element of the model becomes the record that they get.

    The first parameter of a kernel is one record `e`, the last one where it writes; between them it names what it needs of `t`, `q`, `X`
    and `motions`: the frames of the bodies, as placed, and the functions of time. Kernels are real or complex like `X` and must be
    analytic. With `row = e["row"]`, the first equation:

    - `phi(e, ..., out)` writes `Phi` to `out[row]` and the following ones;
    - `phi_q(e, ..., G)` writes `Phi_q` into the fixed pattern, by `put_i(G, e, k, g, h)` and `put_j(G, e, k, g, h)` for equation `k`,
      with the gradients `g` by the translation and `h` by the body-fixed rotation: `delta Phi = g . delta r + h . delta theta`,
      where `delta(A s) = A (delta theta x s)`;
    - `gamma(e, ..., out)` writes `gamma`, the right-hand side of `Phi_q a = gamma`;
    - `nu(e, ..., out)` writes `nu = -Phi_t`; left out where `Phi` does not depend on time.

    Of built-in kinds only `phi` may name `q`. `value(motions, e["motion"], t)` is the motion `f(t)` of the element.

    Attributes
    ----------
    model : type
        Dataclass derived from `Primitive`.
    phi, phi_q, gamma, nu : callable
    fields : tuple
        Fields of the record beside those of `layout.ELEMENT_T`, as for a NumPy dtype, floats or integers of 64 bits. Attributes of
        the model with the names of fields are copied.
    fill : callable, optional
        `fill(e, p, bodies)` sets what else the record of `p` needs; `bodies` are the records of the bodies.
    nonzero : callable, optional
        `nonzero(p, end, k)` with `end` "i" or "j": which of the three components of `g` and of `h` can be different from zero in equation
        `k`.
    couplings : callable, optional
        `couplings(p)`: pairs `(a, b)` of groups `(body, TRANSLATION or ROTATION)` such that the gradient by `a` depends on `b`.
    excitation : callable, optional
        `excitation(p)`: functions `u(t)` through which `Phi_q` depends on time, as a list.
    """

    model: type[Primitive]
    phi: Callable[..., None]
    phi_q: Callable[..., None]
    gamma: Callable[..., None]
    nu: Callable[..., None] | None = None
    fields: tuple[Any, ...] = ()
    fill: Callable[[Any, Any, Any], None] | None = None
    nonzero: Callable[[Any, str, int], Mask] = everything
    couplings: Callable[[Any], list[tuple[Group, Group]]] = all_couplings
    excitation: Callable[[Any], list[Excitation]] | None = None
    dtype: np.dtype[np.void] = field(init=False)

    def __post_init__(self) -> None:
        # own fields come first: numba takes a record that only has more at its end for a subtype, with a warning
        object.__setattr__(self, "dtype", np.dtype([*self.fields, *ELEMENT_T.descr]) if self.fields else ELEMENT_T)

    def kernels(self) -> dict[str, Callable[..., None]]:
        """The kernels by name."""
        found = {"phi": self.phi, "phi_q": self.phi_q, "gamma": self.gamma, "nu": self.nu}
        return {name: kernel for name, kernel in found.items() if kernel is not None}

    def time_dependent(self, p: Primitive) -> bool:
        """Whether the equations depend on time other than by a motion."""
        return self.nu is not None and not hasattr(p, "f")
