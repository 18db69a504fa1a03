"""The look of methods in figures: one fixed colour and marker for each, whatever else is in a figure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from ..registry import FAMILIES, FORM_TITLES
from .figures import COLOURS, MARKERS

PALETTE = (*COLOURS, "#6A3D9A", "#117733", "#7F7F7F", "#882255")
# those that often stand together get colours of their own
FIRST = ("HalfImplicit", "SolveIvp:DOP853", "ProjectedGauss:3", "NullSpaceGeneralizedAlpha", "RosenbrockNystrom", "Bdf", "Ida", "Radau13",
         "Cvode:Adams", "NullSpaceHHT", "DormandPrince:8", "Rattle:4", "SolveIvp:Radau", "FullyImplicit", "Cvode:BDF")
FILLS = {"index3": "full", "ggl": "full", "gear": "none", "index2": "top", "index1": "bottom", "mass": "left", "overdetermined": "right",
         "ode": "full", "partition": "full", "tangent": "none"}
WITH_VARIANTS = frozenset(family.name for family in FAMILIES if family.variants)
IN_HOUSE, ESTABLISHED = "-", (0, (4, 1.6))


@cache
def _labels() -> dict[str, tuple[int, bool]]:
    """Label of a method without its form -> its number and whether it is one of mbdae."""
    known: dict[str, tuple[str, bool]] = {}
    for family in FAMILIES:
        for variant in family.variants or (None,):
            label = " ".join(x for x in (family.title, family.variants.get(variant or "", "")) if x)
            known[f"{family.name}:{variant}" if variant else family.name] = label, not family.module.startswith("mbdae.adapters")
        known.setdefault(family.name, (family.title, not family.module.startswith("mbdae.adapters")))
    # families of which only variants are drawn come last
    order = [name for name in FIRST if name in known] + sorted((x for x in known if x not in FIRST), key=lambda x: x in WITH_VARIANTS)
    numbers: dict[str, tuple[int, bool]] = {}
    for name in order:
        numbers.setdefault(known[name][0], (len(numbers), known[name][1]))
    return numbers


def _known(label: str) -> str | None:
    """The longest label of a method with which this one begins."""
    fits = [name for name in _labels() if label == name or label.startswith(f"{name} ")]
    return max(fits, key=len, default=None)


def _fill(label: str, known: str) -> str:
    """How markers are filled: by the form of the equations."""
    rest = label[len(known):].strip()
    form = next((key for key, title in FORM_TITLES.items() if rest.endswith(title)), "index3")
    return FILLS[form]


def looks(labels: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour, marker and line of each label, for `Axes.plot`: solid lines for methods of mbdae, dashed ones for established solvers.

    Labels that are not those of methods by name get the next free looks.
    """
    found: dict[str, dict[str, Any]] = {}
    free = len(_labels())
    for label in dict.fromkeys(labels):
        known = _known(label)
        if known is None:
            found[label], free = _look(free, True, "full"), free + 1
        else:
            found[label] = _look(*_labels()[known], _fill(label, known))
    return found


def _look(k: int, own: bool, fill: str) -> dict[str, Any]:
    colour = PALETTE[k % len(PALETTE)]
    marker, size = list(MARKERS.items())[(k + k // len(PALETTE)) % len(MARKERS)]
    edge: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.5}
    if fill != "full":
        edge = {"markeredgewidth": 0.9, "markerfacecoloralt": "white"}
    return {"color": colour, "marker": marker, "markersize": size, "fillstyle": fill, "linestyle": IN_HOUSE if own else ESTABLISHED} | edge
