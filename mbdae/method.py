"""The contract of everything that can integrate: in-house integrators and adapters to foreign solvers alike.

A method is a small frozen configuration object with

- `label`: how it is called in tables and legends;
- `formulations`: the names of the problem forms it takes, the best first; empty if it works on the `System` itself;
- `integrate(problem, state, t_end, *, rtol, atol, t_eval, every, progress) -> Trajectory`: run from a consistent `State` to `t_end`.

`integrate` stores the states at `t_eval`, or at every so-manieth of its own steps and the last one if that is `None`. It lets exceptions of
user functions and `KeyboardInterrupt` through, reports every other failure in `Trajectory.status` and `message` with what was computed so
far, and counts its work in `Statistics`. An adapter adds

- `package`: what must be installed, and `availability()`: whether it is, in which version, and the command that installs it.

`mbdae.solve` does the rest: it makes the system, the problem, the consistent start, and the `Solution`.
"""

from dataclasses import dataclass
from typing import Protocol


class Method(Protocol):
    """See the module."""

    label: str
    formulations: tuple

    def integrate(self, problem, state, t_end, *, rtol, atol, t_eval, every, progress): ...


@dataclass(frozen=True)
class Availability:
    """Whether the package behind an adapter is installed.

    Attributes
    ----------
    package : str
    version : str or None
        `None` if it is missing.
    remedy : str
        Command that installs it.
    """

    package: str
    version: str | None
    remedy: str

    @property
    def installed(self):
        return self.version is not None
