"""A solution as a table of pandas or a data set of xarray, both optional packages."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from .names import Column, names_of
from .rows import COLUMNS

if TYPE_CHECKING:
    from .solution import Solution

BLOCKS = COLUMNS[1:]
WORDS = {"q": "positions", "v": "velocities", "a": "accelerations", "lam": "multipliers"}


def to_pandas(solution: Solution, blocks: str | Iterable[str] = BLOCKS, multi_index: bool = False) -> Any:
    """See `Solution.to_pandas`."""
    pandas = optional("pandas", "data", "Solution.to_pandas")
    wanted = _checked((blocks,) if isinstance(blocks, str) else tuple(blocks))
    names = names_of(solution.system)
    columns = [(block, c) for block in wanted for c in getattr(names, block)]
    rows = np.concatenate([np.zeros((len(solution.t), 0)), *(getattr(solution, block) for block in wanted)], axis=1)
    table = pandas.DataFrame(rows, index=pandas.Index(np.array(solution.t), name="t"))
    if multi_index:
        table.columns = pandas.MultiIndex.from_tuples([(b, c.owner, c.component, c.unit) for b, c in columns],
                                                      names=["block", "owner", "component", "unit"])
    else:
        table.columns = pandas.Index([c.name for _, c in columns])
    table.attrs = provenance(solution) | {"units": {"t": "s"} | {c.name: c.unit for _, c in columns}}
    return table


def _checked(blocks: tuple[str, ...]) -> tuple[str, ...]:
    for name in blocks:
        if name not in BLOCKS:
            raise ValueError(f"blocks must be of {', '.join(BLOCKS)}, got {name!r}")
    return blocks


def to_xarray(solution: Solution) -> Any:
    """See `Solution.to_xarray`."""
    xarray = optional("xarray", "data", "Solution.to_xarray")
    names = names_of(solution.system)
    axes = {"q": "q_name", "v": "v_name", "a": "v_name", "lam": "lam_name"}
    made = {block: (("t", axes[block]), np.array(getattr(solution, block)), _about(block, getattr(names, block))) for block in BLOCKS}
    labels: dict[str, Any] = {"t": ("t", np.array(solution.t), {"units": "s", "long_name": "time"})}
    for block in ("q", "v", "lam"):
        labels[f"{block}_name"] = (f"{block}_name", _texts(c.name for c in getattr(names, block)))
    for block in BLOCKS:
        labels[f"{block}_unit"] = (axes[block], _texts(c.unit for c in getattr(names, block)))
    return xarray.Dataset(made, labels, provenance(solution))


def _about(block: str, columns: tuple[Column, ...]) -> dict[str, str]:
    """Attributes of a variable: its unit if all components have the same one, otherwise where the units are."""
    units = {c.unit for c in columns}
    unit = units.pop() if len(units) == 1 else f"see {block}_unit" if units else ""
    return {"long_name": WORDS[block], "units": unit or "1"}


def _texts(texts: Iterable[str]) -> Any:
    return np.array(list(texts), dtype=str)


def provenance(solution: Solution) -> dict[str, str | int | float]:
    """Where the numbers come from: mechanism, method, status, version, work counters."""
    s = solution
    known = {f"statistics_{name}": x for name, x in s.statistics.as_dict().items() if x is not None}
    return {"mechanism": s.system.name, "coordinates": type(s.system).__name__, "method": s.method, "formulation": s.formulation,
            "status": s.status.name, "message": s.message, "mbdae": s.package} | known


def optional(package: str, extra: str, who: str) -> Any:
    """An optional package.

    Raises
    ------
    ImportError
        It is not installed; the message names the command that installs it.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(f"{who} needs the package {package}: pip install 'mbdae[{extra}]'") from error
