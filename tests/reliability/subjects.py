"""The methods under test: each in its best form, with its usual step or tolerance."""

from dataclasses import dataclass, fields, replace
from functools import cache

import mbdae
from mbdae.registry import find

from ..benchmarks import interrupts

H, RTOL, ATOL = 1e-3, 1e-6, 1e-8
FIRST_ORDER = ("HalfImplicit", "FullyImplicit", "Projected:HalfImplicit")


@dataclass(frozen=True)
class Subject:
    """A method by its name."""

    name: str

    @property
    def method(self) -> mbdae.Method:
        """The method object."""
        return _method(self.name)

    @property
    def fixed(self) -> bool:
        """Whether its step size is fixed."""
        return self.method.step_size is not None

    def bound(self, rough: bool = False) -> float:
        """Relative error that counts as one: the tolerance, or for steps of a millisecond one that a hundred times is still small."""
        return (1e-4 if rough or self.name in FIRST_ORDER else 2e-5) if self.fixed else RTOL

    def solve(self, target, t_span, max_steps: int | None = None, **options) -> mbdae.Solution:
        """`mbdae.solve` by this method; with another limit of its steps where it has one."""
        method = self.method
        if max_steps is not None and any(f.name == "max_steps" for f in fields(method)):
            method = replace(method, max_steps=max_steps)
        return mbdae.solve(target, method, t_span, **{"rtol": RTOL, "atol": ATOL} | options)


@cache
def _method(name: str) -> mbdae.Method:
    return interrupts.method(name)


def subjects(installed: bool = True) -> list[Subject]:
    """All methods, by default those whose packages are installed."""
    return [Subject(name) for name in interrupts.names() if not installed or _installed(name)]


def _installed(name: str) -> bool:
    available = find(name.removeprefix("Projected:")).family.availability()
    return available is None or available.installed
