"""Verification of reference values by two solutions in extended precision."""

from collections.abc import Sequence

from ... import library
from ...library.base import Entry, Parameters, Reference
from ...typing import Progress, TimeProgress
from ..confirm import Confirmation, agreement, sizes, tables_of, times_of
from .routes import COARSE, Route, plans, solved


def confirm(entry: Entry, parameters: Parameters, t_max: float | None = None, progress: TimeProgress | None = None,
            coarse: bool = True) -> list[Confirmation]:
    """Compare the references of a mechanism with two solutions in extended precision, after `numbers.enable`.

    Parameters
    ----------
    entry : Entry
    parameters : dict
    t_max : float, optional
        Last time compared [s], by default twice the usual time span.
    progress : callable, optional
        `progress(t)`.
    coarse : bool
        Solve with a tolerance a hundred times as large, too.

    Returns
    -------
    list of Confirmation
        One per table of references for the first solution, then those for the second.
    """
    times, system = times_of(entry, parameters, t_max), library.system(entry.name, **parameters)
    first, second = plans(system)
    factors = (1.0, COARSE) if coarse else (1.0,)
    routes = [solved(entry, parameters, first, times, progress, factors)]
    routes.append(solved(entry, parameters, second, times, progress, factors, like=routes[0]))
    tables = tables_of(entry, parameters)
    return [_compared(entry, parameters, rows, times, routes, k) for k in range(len(routes)) for rows in tables]


def _compared(entry: Entry, parameters: Parameters, rows: list[Reference], times: list[float], routes: list[Route], k: int) -> Confirmation:
    """The table `rows` against route `k`, with what the two routes have in common."""
    route, first = routes[k], rows[0]
    met = [r for r in rows if r.t in times and r.t in route.values]
    scale = sizes(rows)
    found = agreement(scale, [(r.values, route.values[r.t]) for r in met])
    both = [(routes[0].values[r.t], routes[1].values[r.t]) for r in met if all(r.t in x.values for x in routes)]
    tolerances = [(x.coarse[r.t], x.values[r.t]) for x in routes for r in met if r.t in x.coarse and r.t in x.values]
    complete = len(met) == sum(r.t in times for r in rows)
    return Confirmation(entry.name, dict(parameters), first.label, first.kind, first.digits, len(met), len(rows),
                        max((r.t for r in met), default=0.0), found, route.title, "" if complete else route.message,
                        agreement(scale, both), agreement(scale, tolerances))


def confirm_all(names: Sequence[str], progress: Progress | None = None) -> list[Confirmation]:
    """`confirm` for all sets of parameters of some mechanisms, see `studies.confirm.confirm_all`."""
    work = [(library.entry(name), given) for name in names for given in ({}, *library.entry(name).variants)]
    work = [(e, given) for e, given in work if e.references_for(given)]
    found = []
    for k, (e, given) in enumerate(work):
        if progress is not None:
            progress(k, len(work), e.name)
        found += confirm(e, given)
    return found
