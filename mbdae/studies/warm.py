"""Compilation of all kernels beforehand: short runs of each method, with what runs usually ask for, fill the cache on the disk."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numba.core import event

from .. import library
from ..driver.method import Method
from ..registry import FAMILIES, find
from ..room import with_room
from ..solve import solve
from ..system.assembly import AssemblyError
from ..system.out_of_line import addresses
from ..system.system import System
from ..typing import Vector
from .grid.target import Target, start_of, system_of
from .work_precision import WARM_UP_SHARE

FIRST = "HalfImplicit"  # with the kernels of systems, which all methods share
STEP = 1e-3  # [s]
PATIENCE = 300  # seconds for which a process waits for something to do
MEMORY = 2 * 1024**3  # bytes by which a process may grow before it is replaced; the compiler needs more than the 3e8 allowed by default
# free bodies, redundant constraints, tables with tyres and bushings, springs, laws and column groups of loops, particles, many bodies
MECHANISMS = ("double-pendulum", "bricard", "iltis", "andrews", "closed-loop-bars", "four-particles", "chain")


class Warmed(NamedTuple):
    """What was compiled for a method.

    Attributes
    ----------
    method : str
    functions : int
        Number of functions, 0 if all were in the cache.
    seconds : float
        Processor time.
    """

    method: str
    functions: int
    seconds: float


class _Counter(event.Listener):  # type: ignore[misc]  # numba has no types
    def __init__(self) -> None:
        self.count = 0

    def on_start(self, event: event.Event) -> None:
        self.count += 1

    def on_end(self, event: event.Event) -> None:
        """Nothing to do."""


def installed(forms: bool = False) -> tuple[str, ...]:
    """The default variants of all methods of mbdae, and of the solvers found on this machine; with `forms` in all formulations."""
    found = []
    for family in FAMILIES:
        available = family.availability()
        if available is None or available.installed:
            spec = find(family.name)
            found.append(spec.name)
            if forms and spec.formulation is None:
                found += [f"{spec.name}:{form}" for form in family.forms(spec.variant)]
    return tuple(found)


def warm(names: Sequence[str], jobs: int = -1) -> Iterator[Warmed]:
    """Compile what the methods need, those that share much in one process; the first method before all others.

    Parameters
    ----------
    names : sequence of str
        As in `mbdae.registry.find`.
    jobs : int
        Number of processes, -1 for one for each core.
    """
    import joblib

    yield warmed(FIRST)
    groups: dict[str, list[str]] = {}
    for name in names:
        if name != FIRST:
            groups.setdefault(find(name).family.module, []).append(name)
    pool = joblib.Parallel(n_jobs=jobs, backend="loky", batch_size=1, return_as="generator_unordered")
    for group in pool(joblib.delayed(_all)(group) for group in sorted(groups.values(), key=len, reverse=True)):
        yield from group


def _all(names: Sequence[str]) -> list[Warmed]:
    return [warmed(name) for name in names]


def warm_on(target: Target, runs: Sequence[tuple[str, float]], jobs: int = -1) -> Iterator[str]:
    """Compile what methods need on one mechanism, several at a time; the kernels of the mechanism should be compiled before.

    Parameters
    ----------
    target : Target
    runs : sequence of (str, float)
        Names of methods as in `mbdae.registry.find`, and a step [s] or relative tolerance for each.
    jobs : int
        Number of processes, -1 for one for each core.

    Yields
    ------
    str
        The name of a method that is ready.
    """
    pool = _pool(jobs)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")  # others take its place
            for done in as_completed([pool.submit(_each, target, group) for group in _together(runs)]):
                yield from done.result()
    finally:
        stop()


def _together(runs: Sequence[tuple[str, float]]) -> list[list[tuple[str, float]]]:
    """The runs by the modules of their methods: what methods of a module share would be compiled by two processes at the same time."""
    groups: dict[str, list[tuple[str, float]]] = {}
    for name, setting in runs:
        groups.setdefault(find(name).family.module, []).append((name, setting))
    return list(groups.values())


def start(jobs: int = -1) -> None:
    """Start the processes of `warm_on`, to be ready when it is called.

    One of them compiles the evaluations of a system for complex steps, while this process compiles those for real numbers.
    """
    from joblib import cpu_count

    if (cpu_count() if jobs < 0 else jobs) > 1:
        _pool(jobs).submit(_complex_evaluations)


def stop() -> None:
    """End the processes of `warm_on`, whatever they are doing."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor(reuse=True).shutdown(wait=False, kill_workers=True)


def _pool(jobs: int) -> Any:
    """The processes, the same ones at each call; they import the package when they start, which the first task makes them do."""
    from joblib import cpu_count
    from joblib.externals.loky import get_reusable_executor

    return get_reusable_executor(cpu_count() if jobs < 0 else jobs, timeout=PATIENCE, initializer=_prepare)


def _prepare() -> None:
    """Let this process grow: what would replace it imports and loads everything again; collecting garbage takes a tenth of the time."""
    from joblib.externals.loky import process_executor

    gc.disable()
    process_executor._MAX_MEMORY_LEAK_SIZE = MEMORY  # no option


@with_room
def _complex_evaluations() -> None:
    addresses(True)


@with_room
def _each(target: Target, runs: Sequence[tuple[str, float]]) -> list[str]:
    return [_short(target, name, setting) for name, setting in runs]


def _short(target: Target, name: str, setting: float) -> str:
    """Short runs of a method, at its own steps and with output at given times; what fails here fails again where it is asked for."""
    spec, system, start = find(name), system_of(target), start_of(target)
    end = start.t + WARM_UP_SHARE * target.t_end
    with suppress(ArithmeticError, AssemblyError, ValueError):
        method = spec.make(h=setting) if spec.control == "h" else spec.make()
        rtol = 1e-6 if spec.control == "h" else setting
        for t_eval in (None, np.linspace(start.t, end, 3)):
            solve(system, method, (start.t, end), formulation=spec.formulation, state=start, rtol=rtol, atol=rtol / 100, t_eval=t_eval)
    return name


@with_room
def warmed(name: str) -> Warmed:
    """Compile what a method needs."""
    spec, counter, begin = find(name), _Counter(), time.process_time()
    method = spec.make(h=STEP) if spec.control == "h" else spec.make()
    with event.install_listener("numba:compile", counter):
        for system in _systems():
            with suppress(ValueError):  # a method need not take all systems
                _run(method, spec.formulation, system)
    return Warmed(name, counter.count, time.process_time() - begin)


def _systems() -> Iterator[System]:
    for name in MECHANISMS:
        yield library.system(name)
    yield System(library.mechanism("double-pendulum"), coordinates="joint")


def _run(method: Method, formulation: str | None, system: System) -> None:
    """A few steps: plain, with output at given times, with events and dense output."""
    end = 4.0 * STEP
    solve(system, method, (0.0, end), formulation=formulation)
    solve(system, method, (0.0, end), formulation=formulation, t_eval=np.linspace(0.0, end, 3))
    found = solve(system, method, (0.0, end), formulation=formulation, events=_never, dense_output=True)
    if found.success and found.sol is not None:
        found.sol(0.5 * end)


def _never(t: float, q: Vector, v: Vector) -> float:
    return 1.0
