"""Verification of the reference values of the library by two independent numerical solutions.

The first is that of the underlying ODE by an explicit Runge-Kutta method (an implicit one for stiff forces), with projections onto the
constraints. The second is that of Gear's form by a collocation method for DAEs, by a multistep method if that fails, or by one in index 2.
A mechanism with two sets of coordinates is verified in both.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import library
from ..adapters.dae import SolveDae
from ..adapters.scipy import SolveIvp
from ..adapters.sundae import Ida
from ..library.base import Entry, Observables, Parameters, Reference
from ..solve import solve
from ..system.assembly import AssemblyError, State
from ..system.system import System
from ..typing import Progress, TimeProgress

SEGMENTS = 50  # of the usual time span, with a projection after each of them
MAX_DIGITS = 16.0
MAX_TIME_SPANS = 2.0  # usual time spans up to which references are compared
MAX_STEPS = 20_000  # of an explicit method between two projections: at a singular position its steps become arbitrarily small


@dataclass(frozen=True)
class Route:
    """A method, a form, and tolerances; `atol` is relative to the size of the coordinates."""

    title: str
    method: SolveIvp | SolveDae | Ida
    formulation: str
    rtol: float
    atol: float
    project: bool


EXPLICIT = Route("DOP853, underlying ODE", SolveIvp("DOP853", max_steps=MAX_STEPS), "ode", 1e-12, 1e-14, True)
IMPLICIT = Route("Radau, underlying ODE", SolveIvp("Radau"), "ode", 1e-11, 1e-13, True)
COLLOCATION = Route("Radau IIA of order 13, Gear", SolveDae("Radau7"), "gear", 1e-11, 1e-13, False)
MULTISTEP = Route("IDA, Gear", Ida(), "gear", 1e-11, 1e-13, False)
VELOCITIES, FINER = (Route("IDA, index 2", Ida(), "index2", rtol, rtol / 100.0, False) for rtol in (1e-10, 1e-11))
CREDIBLE, LESS = 7.0, 0.5  # digits that a second solution must reproduce if the first one does, and how many fewer it may have


@dataclass(frozen=True)
class Confirmation:
    """One table of reference values, and the number of digits to which one method reproduces it.

    Attributes
    ----------
    mechanism : str
    parameters : dict
    label, kind : str
    digits : int
        Reliable digits according to the library.
    instants : int
        Number of times compared, of `listed`; fewer than those up to `t_max` if the method failed before.
    last : float
        The last time compared [s].
    found : float or None
        Digits of the least accurate value, relative to the largest value of the quantity in the table; `None` if no time was reached.
    route, message : str
    between, tolerances : float or None
        In extended precision: digits to which the two methods agree with each other, and each of them with itself at another tolerance.
    """

    mechanism: str
    parameters: Parameters
    label: str
    kind: str
    digits: int
    instants: int
    listed: int
    last: float
    found: float | None
    route: str
    message: str = ""
    between: float | None = None
    tolerances: float | None = None


def confirm(entry: Entry, parameters: Parameters, t_max: float | None = None,
            progress: TimeProgress | None = None) -> list[Confirmation]:
    """Compare the references of a mechanism with two numerical solutions.

    The second is by the first method that succeeds and reproduces what the first solution does, or else by the last one: at one in thirty
    tolerances near 1e-11 rounding makes IDA's steps tiny and its errors large. Parameters and result as for `compare`.
    """
    first = compare(entry, parameters, IMPLICIT if entry.stiff else EXPLICIT, t_max, progress)
    for route in (r for r in (COLLOCATION, MULTISTEP, VELOCITIES, FINER) if r.method.availability().installed):
        second = compare(entry, parameters, route, t_max, progress)
        found = [(a.found, b.found) for a, b in zip(first, second) if a.found is not None and b.found is not None]
        if not any(c.message for c in second) and all(b > min(a, CREDIBLE) - LESS for a, b in found):
            break
    return first + second


def compare(entry: Entry, parameters: Parameters, route: Route, t_max: float | None = None,
            progress: TimeProgress | None = None) -> list[Confirmation]:
    """Compare the references of a mechanism with the solution by one method.

    Parameters
    ----------
    entry : Entry
    parameters : dict
    route : Route
    t_max : float, optional
        Last time compared [s], by default twice the usual time span.
    progress : callable, optional
        `progress(t)`.

    Returns
    -------
    list of Confirmation
        One per table of references.
    """
    found = _solved(entry, parameters, route, times_of(entry, parameters, t_max), progress)
    return [_compared(entry, parameters, rows, found) for rows in tables_of(entry, parameters)]


def tables_of(entry: Entry, parameters: Parameters) -> list[list[Reference]]:
    """The references of a mechanism by tables, of values of the same names."""
    tables: dict[tuple[str, str, tuple[str, ...]], list[Reference]] = {}
    for r in entry.references_for(parameters):
        tables.setdefault((r.label, r.kind, tuple(r.values)), []).append(r)
    return list(tables.values())


def times_of(entry: Entry, parameters: Parameters, t_max: float | None) -> list[float]:
    """The times of the references up to `t_max`, see `compare`."""
    t_max = MAX_TIME_SPANS * entry.t_end if t_max is None else t_max
    return sorted({r.t for r in entry.references_for(parameters) if r.t <= t_max * (1.0 + 1e-12)})


@dataclass(frozen=True)
class Solved:
    """What a route has found: observables by time, the times that were wanted, and why it has ended before the last of them."""

    title: str
    times: list[float]
    values: dict[float, Observables]
    message: str


def sizes(rows: list[Reference]) -> Observables:
    """The largest value of each quantity in a table."""
    return {name: max(abs(r.values[name]) for r in rows) for name in rows[0].values}


def agreement(scale: Observables, pairs: Sequence[tuple[Observables, Observables]]) -> float | None:
    """Digits to which pairs of observables agree, at most 16, relative to `scale`, whose names are compared; `None` without pairs."""
    if not pairs:
        return None
    worst = max(abs(a[n] - b[n]) / (size or 1.0) for a, b in pairs for n, size in scale.items())
    return float(min(MAX_DIGITS, -np.log10(max(worst, 10.0**-MAX_DIGITS))))


def _solved(entry: Entry, parameters: Parameters, route: Route, times: list[float], progress: TimeProgress | None) -> Solved:
    """The observables by a route at the times reached."""
    system = library.system(entry.name, **parameters)
    states, message = _states(entry, system, times, route, progress)
    values = {t: entry.observe(system, t, x.q, x.v, x.a, x.lam) for t, x in states.items()}
    return Solved(route.title, times, values, message)


def _states(entry: Entry, system: System, times: list[float], route: Route,
            progress: TimeProgress | None) -> tuple[dict[float, State], str]:
    """States at the times reached, and the message if the method fails."""
    size = entry.size or float(np.clip(np.abs(system.start.q).max(), 1e-2, 1e8))
    longest = entry.t_end / SEGMENTS
    options: dict[str, Any] = {"formulation": route.formulation, "rtol": route.rtol, "atol": route.atol * size}
    found, state = {0.0: system.start}, system.start
    legs = [] if route.project else [[t for t in times if t > 0.0]]
    if route.project:
        for a, b in zip([0.0, *times], times):
            legs += [[t] for t in np.linspace(a, b, max(1, int(np.ceil((b - a) / longest))) + 1)[1:]] if b > a else []
    for leg in legs:
        if not leg:
            continue
        try:
            s = solve(system, route.method, (state.t, leg[-1]), state=state, t_eval=leg, progress=progress, **options)
        except (AssemblyError, FloatingPointError) as e:
            return found, str(e)
        for k, t in enumerate(s.t):
            state = State(float(t), s.q[k], s.v[k], s.a[k], s.lam[k])
            found[float(t)] = state
        if not s.success:
            return found, s.message
    return found, ""


def _compared(entry: Entry, parameters: Parameters, rows: list[Reference], found: Solved) -> Confirmation:
    """The table `rows` against a solution."""
    met = [r for r in rows if r.t in found.times and r.t in found.values]
    complete = len(met) == sum(r.t in found.times for r in rows)
    digits = agreement(sizes(rows), [(r.values, found.values[r.t]) for r in met]) if any(r.t > 0.0 or complete for r in met) else None
    return Confirmation(entry.name, dict(parameters), rows[0].label, rows[0].kind, rows[0].digits, len(met), len(rows),
                        max((r.t for r in met), default=0.0), digits, found.title, "" if complete else found.message)


def confirm_all(names: Sequence[str], progress: Progress | None = None) -> list[Confirmation]:
    """`confirm` for all sets of parameters of some mechanisms.

    Parameters
    ----------
    names : sequence of str
    progress : callable, optional
        `progress(done, total, text)`.

    Returns
    -------
    list of Confirmation
    """
    work = [(library.entry(name), given) for name in names for given in ({}, *library.entry(name).variants)]
    work = [(e, given) for e, given in work if e.references_for(given)]
    found = []
    for k, (e, given) in enumerate(work):
        if progress is not None:
            progress(k, len(work), e.name)
        found += confirm(e, given)
    return found


def confirmation_page(found: list[Confirmation], before: str = "") -> str:
    """The report on all references as Markdown; rows of a report `before` are kept for sets of parameters that are not in `found`."""
    rows = _keyed(line for line in before.splitlines() if line.startswith("| ["))
    new = _keyed(_row(*both) for both in _by_table(found))
    confirmed = {key[:2] for key in new}
    kept = {key: new.get(key, line) for key, line in rows.items() if key in new or key[:2] not in confirmed}
    order = {name: k for k, name in enumerate(library.names())}
    lines = sorted((kept | new).items(), key=lambda item: order.get(item[0][0], len(order)))
    return "\n".join([_HEAD, _TITLES, "|" + _TITLES.count(" | ") * "---|" + "---|", *(line for _, line in lines)]) + "\n" + _NOTES


def _by_table(found: Sequence[Confirmation]) -> list[list[Confirmation]]:
    """The two solutions of each table; of tables with the same name, number of instants and digits all first ones come first."""
    alike: dict[tuple[Any, ...], list[Confirmation]] = {}
    for c in found:
        alike.setdefault((c.mechanism, tuple(c.parameters.items()), c.label, c.kind, c.listed, c.digits), []).append(c)
    return [both[k::max(len(both) // 2, 1)] for both in alike.values() for k in range(max(len(both) // 2, 1))]


def _keyed(lines: Iterable[str]) -> dict[tuple[Any, ...], str]:
    """Lines by their keys and, for those of the same key, their numbers."""
    met: Counter[tuple[Any, ...]] = Counter()
    found = {}
    for line in lines:
        key = _key(line)
        met[key] += 1
        found[(*key, met[key])] = line
    return found


def _row(first: Confirmation, *others: Confirmation) -> str:
    """The line of one table of references."""
    name = first.mechanism
    methods = " | ".join(_cell(c, first) for c in (first, others[0] if others else first))
    values = ", ".join(f"{k}={v}" for k, v in first.parameters.items())
    digits = " | ".join("-" if x is None else f"{x:.1f}" for x in (first.between, first.tolerances))
    return (f"| [{name}](mechanisms/{name}.md) | {values} | {first.label} | {first.kind} | {first.instants} of {first.listed} "
            f"| {first.last:g} | {first.digits} | {methods} | {digits} |")


def _key(line: str) -> tuple[str, ...]:
    """Mechanism, parameters, values, kind, number of instants and digits of a line."""
    cells = [x.strip() for x in line.strip().strip("|").split(" | ")]
    return cells[0].split("]")[0].lstrip("["), cells[1], cells[2], cells[3], cells[4].split(" of ")[-1], cells[6]


def _cell(c: Confirmation, first: Confirmation) -> str:
    """Method and digits, and the last time if the method has failed."""
    digits = "-" if c.found is None else f"{c.found:.1f}"
    return f"{c.route}: {digits}" + ("" if c.last == first.last and not c.message else f" (ends after {c.last:g} s)")


_TITLES = ("| mechanism | parameters | values | kind | instants | to t [s] | digits | first method | second method | between them "
           "| tolerances |")
_HEAD = """# Verification of the reference values

Each line is one table of reference values of the library. *digits* is the number of reliable digits according to the library; the columns
of the two methods contain the digits to which they reproduce the least accurate value of the table, relative to the largest value of that
quantity. Values at more than twice the usual time span are not compared.

Solutions in extended precision (64 bits of mantissa, `numpy.longdouble`) are by the package's kernels, which run as plain Python on such
numbers; the equations of the stages are solved by compiled kernels in double precision before. *First*: the underlying ODE in the
coordinates of the mechanism, by Radau IIA of order 15, without any projection. *Second*: collocation of Gauss of order 20, for bodies and
joints in joint coordinates, whose kinematics and mass matrix are other code; elsewhere projected onto the constraints at the times of the
values. What rounding takes from the unknowns at the end of a step, and from the arguments of the slopes, is made up for (compensated
summation; Jacobians times the lost parts), so that rounding errors of large coordinates do not enter small differences of them; lines of
mechanisms other than `pendulum-chain`, `flexible-slider-crank`, `tethered-satellites` and `truck` with the pneumatic element are from
before that. *between them* has the digits to which the two agree with each other, *tolerances* those to which both agree with themselves
at a tolerance a hundred times as large, if that was computed. Parameters and initial values are numbers in double precision that are
taken as exact, except that the initial state is projected onto the constraints in extended precision. Published values are as accurate
as their source; 16 is the most that double precision can show, for the stored values are numbers in double precision.

The other lines are solutions in double precision: DOP853 on the underlying ODE (Radau for stiff forces) with projections, and a method for
DAEs on the form of Gear, or in index 2 where that fails or does not reproduce what DOP853 does.

Generated by `mbdae confirm --precise --output docs/references.md` (hours; with names of mechanisms only their lines are renewed) and, for
lines in double precision, `mbdae confirm NAME --output docs/references.md`.
"""
_NOTES = """
## Limits

- Where *between them* is empty, nothing has been computed in extended precision yet: two methods in double precision confirm fewer
  digits than the library gives. Kernels run as plain Python in extended precision, mostly one evaluation a stage. Both solutions with both
  tolerances take 10 to 40 s of processor time for trees, rings and ladders of eight bodies over 2 s, a minute for `four-particles`,
  three for `spatial-four-bar` over 5 s, six for the 200 s of `pendulum-chain` in angles; in Cartesian coordinates thirteen with one
  tolerance, which is all that has been computed there.
- Forces with kinks: the creep forces of `wheelset` and `rail-carriage` where they reach the limit of friction, tyres and shock absorbers
  of `iltis`, wheels of `hmmwv` that touch the half cylinder or lift off, the loads of `closed-loop-bars` at 0.5 s and 1 s, friction
  of `slider-crank`. At a kink the step in extended precision is cut until the tolerance is met, by ten to twenty rejected steps
  (tests/test_precise.py, for kinks in time). The lines of the vehicles and of `wheelset` are still in double precision: a second of
  motion takes minutes to an hour.
- `wheelset` amplifies errors by a factor of a thousand to ten thousand between 0.5 s and 2 s, while the hunting grows, and passes 384 kinks
  in 10 s, many of them in pairs within 1e-4 s, between which the creep force leaves its limit for less than a step. A method that does not
  stop at them misses some, with errors of up to 2e-8 rad/s in the spin, whatever its tolerance. Stopped at all of them, `DormandPrince` of
  order 8 on the underlying ODE and `RadauIIA` on GGL at 1e-12 agree to 11.3 digits at 0.2 s, 10.6 at 0.5 s, 9.0 at 1 s, and 7.5 to 7.9 from
  2 s on; `DormandPrince` at 1e-11 and 1e-12 to 11.8, 11.6, 10.0, and 7.7 to 8.7. So double precision confirms 7 digits of the later values.
- The stored values of `wheelset` are from two programs of their own in 113-bit arithmetic that locate every kink to rounding: collocation
  of Gauss of order 20 on the underlying ODE, in steps of 3e-4 s and 2e-4 s that agree to 16.5 digits, and extrapolation of order 20 in x,
  z, theta and chi, with y and phi from the constraints, with errors per step of 1e-18 and 1e-20 that agree to 14.5 digits. The two agree
  to 16.4 digits, and find the same 384 kinks. Not counted are touches of at most 1e-8 s, where the square of the force as it would be
  without limit falls below that of the limit by less than 1e-12 of it. All start from x, z and theta as given; the constraints then change
  y by 9e-18 m and phi by 5e-17. Data rounded to double precision change y by 1e-17 m, a unit of its 12th digit, and other values in the
  14th or 15th. The least correction relative to the size of each coordinate, from which other values in extended precision start, would
  change x by 1.2e-14 m, and with it the motion by up to 8e-11 of its size.
- `rail-carriage` and `iltis`, too, depend on where steps meet kinks. The methods of the columns step over them, and show their own errors.
  The stored values, except those of the settling, are from runs that stop at every kink, located to 1e-11 s, and start anew behind it;
  their digits are the agreement of such runs by `DormandPrince` of order 8 on the underlying ODE and `RadauIIA` on GGL.
- `rail-carriage` passes 72 kinks in 15 s: creep forces reach or leave their limit 16 times, and the seven bodies pass the eight ends of the
  ramps of the track; bump stops are not met. `DormandPrince` at 1e-12 and `RadauIIA` of order 13 at 1e-13 agree to 11.5 digits, `RadauIIA`
  of orders 9 and 13 to 12.3. Displacements are small beside the way of 150 m, so that absolute tolerances must be, too: with 1e-15
  `RadauIIA` of order 13 at 1e-12 has 12.3 digits, with 1.5e-12 it has 8.8.
- `iltis`, ramp steer: two zeros of the slip and the corners of the ramp; `DormandPrince` at 1e-12 and 1e-13 and `RadauIIA` at 1e-12 agree
  to 11.5 digits. Anti-phase bump, 209 kinks, half of them in shock absorbers: `DormandPrince` at 1e-13 and `RadauIIA` at 1e-12 agree to
  11.0, with `DormandPrince` at 1e-12 to 10.5; `RadauIIA` of order 9 at 5e-13 agrees with these to 10.7 up to 1 s in steps of at most
  2e-4 s, but in steps of its own to 9.0 only.
- `iltis`, settling, passes no kink: `DormandPrince` and `RadauIIA` at 1e-12 agree to 11.3 digits; forces of the shock absorbers see the
  rounding of velocities. The stored values are means of 24 runs in Cartesian and 24 in joint coordinates, with steps of at most 1e-4 to
  3e-4 s: the means of either agree to 12.1 digits, single runs scatter by a unit of the 12th.
- `iltis`, bump, 229 kinks, left and right at once: up to 0.5 s runs from kink to kink agree to 12 digits. Six kinks between 0.76 s and
  0.81 s are zeros of the friction coefficient of the Calspan formula, which is negative at tyre loads beyond 26.5 kN; 4e-6 s to 15e-6 s
  before and after each the slip reaches its limit. Here laws are continued smoothly across each kink until the method has stopped there.
  `DormandPrince` in joint coordinates at 2e-12 and `RadauIIA` at 1e-12 agree to 11.4 digits; the stored values are their means.
  `DormandPrince` in Cartesian coordinates at 1e-13, in steps of at most 5e-4 s and 2e-4 s, agrees with these to 10.9 or more, the two of
  them to 10.6; rounding errors grow between 0.75 s and 1 s. `RadauIIA` needs steps of 1e-6 s near the zeros of the friction and of 4e-6 s
  where tyres touch or leave the road, as there its error is as large as its estimates: with 5e-5 s it agrees to 9.9 at 1e-12, and to 7.7 at
  3e-13. Initial velocities changed by 1e-13 m/s change the values by 1e-13 at 0.5 s, 2e-12 at 0.75 s, and 1.6e-11 from 1.5 s to 2 s.
- `hmmwv` with a driven rack: the wheels meet the road at eight events up to 0.05 s, in pairs of left and right. From event to event
  `DormandPrince` at 1e-13, in steps of its own and of 2e-4 s at most, and `RadauIIA` at 1e-12, of variable order and of order 13, agree to
  10.8 digits or more. `RadauIIA` of order 9 at 3e-13 and of variable order at 1e-13 have 9.6 and 9.4 at 0.1 s, shortly after the last
  event, and more digits later.
- `hmmwv`, stiff model, 32 events in pairs of left and right: `DormandPrince` at 1e-11, 480 000 steps, and `RadauIIA` of variable order at
  1e-12 agree to 10.2 digits, at times other than 0.6 s and 0.8 s to 11.1. Up to 1 s `DormandPrince` at 1e-12 agrees with that at 1e-11 to
  11.3, up to 2 s `RadauIIA` of order 13 with that of variable order to 10.2. The earlier values, by a Rosenbrock method, were right to
  9.1 digits. The methods of the columns step over these kinks.
- `passenger-car`: bushings of 9e6 N/m see the rounding errors of positions, 1.4e-14 m at 100 m; so DOP853 in Cartesian and in joint
  coordinates agrees in the tension of the tie rod to 9.2 digits only. The model does not depend on the place on the road. The stored values
  are from runs whose origin follows the car, every 0.05 s by multiples of 1/8 m, with `DormandPrince` of order 8 in steps of 1e-4 s and
  5e-5 s, in Cartesian and in joint coordinates: the four agree to 11.9 digits, in the acceleration to 11.2, in the tension to 10.8, and
  with one of order 5 in steps of 2e-5 s as well. IDA at 1e-10 has 6.9.
- `n-four-bar` passes singular positions, at which the solutions in double precision end.
- `pendulum-chain`: its small angles, 1e-3 to 4e-5, are differences of positions of 12 m. In double precision that leaves 4 to 9 digits.
  In extended precision the two methods in Cartesian coordinates agree to 13.5 digits (0.05 Hz) and 12.0 digits (0.05 rad/s), and with 16
  links to 14.7; with rounding errors of every step and every argument, and with entries of `Phi_q` below 1e-15 that
  kernels in joint coordinates set to zero, it had been 11.9, 9.8 and 12.1 digits after 10 s.
- The stored values of `pendulum-chain` are from extrapolation in 113-bit arithmetic. Two programs of their own in 113-bit arithmetic
  confirm them up to 200 s. One is extrapolation of order 28 in the angles, with their dense mass matrix. The other is collocation of Gauss
  of order 20 in the Cartesian coordinates of the masses, with the forces of the rods from a tridiagonal system, without projections; it
  keeps the lengths of the rods to 1e-28. In steps of 0.1 s and 0.05 s the first agrees with itself to 21.1 digits, the second to 17.2. In
  steps of 0.05 s the two agree to 23.2 digits. By them the stored values with 16 links are right to 14.4 digits at 10 s, 12.9 at 50 s, 12.6
  at 100 s and 12.8 at 200 s (0.05 rad/s: 14.3, 12.9, 12.6, 12.8), those with 12 links to 13.5 or more. So the 12.7 digits of the columns
  with 16 links are those of the stored values. Data as decimal fractions, instead of numbers in double precision, change the motion by up
  to 6e-15 of its size with 16 links and by 1.8e-14 with 12.
- Tethers of `tethered-satellites`, 1 km, are differences of coordinates of 7000 km. With 64 bits of mantissa the two methods agree to
  14.6 digits at 1000 s, to 12.5 at 5000 s and to 11.6 at 10000 s: rounding of relative velocities, 1e-15 m/s, lengthens the tethers by
  1e-11 m in that time, and a spin through 100 rad depends on the square of the length. Projected a hundred times both agree to 12.9
  digits. The stored values are from extrapolation in 113-bit arithmetic. A program of its own, by collocation of Gauss of order 20 in
  113-bit arithmetic, in steps of 5 s and of 10 s that agree to 25 digits, reproduces them to 16 digits from exact initial values, and to
  13.7 from those in double precision, projected, from which the two methods start.
- Small quantities can have fewer digits than large ones, as tolerances are relative to the largest position and to the largest velocity.
  Elastic coordinates of `flexible-slider-crank`, 1e-5 beside angles of 15 rad, have had 10.6 digits for another reason: projections of
  minimum energy made errors of their rates, 1e-4 m/s, of the drift of a rate of 60 rad/s, 2e-15 rad/s. With corrections relative to the
  size of each coordinate they agree to 15.8 digits.
- Initial values in double precision satisfy the constraints to 1e-16 only. Where a motion amplifies that, the digits depend on which
  values are corrected: those as given are kept as far as possible, zeros and small numbers exactly. So two sets of coordinates of one
  mechanism can agree to fewer digits than the two methods in each of them.
- Values of `andrews`, `truck` and others are from equations of their own in 113-bit arithmetic. The two methods agree better with each
  other than with them: `andrews` in Cartesian, joint and classical coordinates to 14.3 digits or more, with the stored values to 13.5. Data
  that are decimal fractions there, and rounded to double precision here, are the likely reason.
"""
