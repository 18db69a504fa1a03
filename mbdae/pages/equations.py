"""Index of the equations of the five papers in the code, from citations such as `[Fang, eqs. (4)-(12)]`."""

import bisect
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_NUMBER = r"\([A-Z\d][\d.]*[a-d]?\)"
_LIST = re.compile(rf"\beqs?\.\s+({_NUMBER}(?:(?:-|,\s+|,?\s+and\s+|,?\s+or\s+){_NUMBER})*)")
_PART = re.compile(rf"({_NUMBER})(?:-({_NUMBER}))?")
_LINE_BREAK = re.compile(r"\n[ ]*(?:#[ ])?")


@dataclass(frozen=True)
class Paper:
    """A paper, and the last number in each of its series of equations.

    Attributes
    ----------
    title : str
    series : dict
        Chapter, the part of a number before the point, or `""`, and the last number.
    absent : dict
        Reason -> ranges `((first, last), ...)` of equations that are not implemented.
    """

    title: str
    series: dict[str, int]
    absent: dict[str, tuple[tuple[str, str], ...]]


PAPERS = {
    "Fang": Paper("Fang, Kissel, Zhang, Negrut: half-implicit integration of index-3 equations (2022)", {"": 14}, {}),
    "Arnold": Paper("Arnold, Fuchs, Führer: efficient corrector iteration (2006)", {"": 26}, {}),
    "Wei": Paper("Wei, Deng, Li, Wang: projected Runge-Kutta methods (2016)", {"": 30}, {}),
    "Bustos": Paper("Fernández de Bustos, Uriarte, Urkullu, García-Marina: null-space integrator (2021)", {"": 58}, {}),
    "Negrut": Paper("Negrut: implicit integration of DAEs of multibody dynamics (thesis, 1998)",
                    {"2": 29, "3": 157, "4": 91, "5": 6, "A": 13, "B": 35},
                    {"parallel factorisation in joint coordinates": (("3.156", "3.157"),)}),
}


@dataclass(frozen=True, order=True)
class Citation:
    """An equation that a line of code cites."""

    paper: str
    equation: str
    file: str
    line: int


def citations() -> list[Citation]:
    """All citations of equations in the package, ranges expanded, those of `(11a)` as of `(11)`.

    An equation without a source belongs to that cited last in the same file, or else to the first.

    Raises
    ------
    ValueError
        If a cited number does not exist in the paper, or the source is missing.
    """
    found = set()
    for file in _files():
        found |= set(_of_text(file.read_text(encoding="utf-8"), file.relative_to(_PACKAGE.parent).as_posix()))
    return sorted(found, key=lambda c: (list(PAPERS).index(c.paper), _key(c.equation), c.file, c.line))


def _files() -> list[Path]:
    """The files of the package and, in a checkout, those of the adapters in their folder of their own."""
    beside = _PACKAGE.parent / "adapters"
    return [f for folder in (_PACKAGE, beside) if folder.is_dir() for f in sorted(folder.rglob("*.py")) if f != Path(__file__)]


def _of_text(text: str, file: str) -> Iterator[Citation]:
    ends = [m.end() for m in re.finditer("\n", text)]
    sources = [(m.start(), m[1]) for m in re.finditer(rf"\b({'|'.join(PAPERS)}),?\s+(?:eq|section|after|table|fig|algorithm)", text)]
    for found in _LIST.finditer(text):
        if not sources:
            raise ValueError(f"{file}: {found[0]!r} without a source")
        at = bisect.bisect_right([start for start, _ in sources], found.start())
        paper = sources[max(at - 1, 0)][1]
        for part in _PART.finditer(found[1]):
            line = bisect.bisect_right(ends, found.start(1) + part.start()) + 1
            for equation in _range(paper, part[1], part[2] or part[1], file):
                yield Citation(paper, equation, file, line)


def _range(paper: str, first: str, last: str, file: str) -> list[str]:
    ends = [re.sub(r"[()a-d]", "", x) for x in (first, last)]
    every = numbers(paper)
    for x in ends:
        if x not in every:
            raise ValueError(f"{file}: [{paper}] has no equation ({x})")
    return every[every.index(ends[0]):every.index(ends[1]) + 1]


@cache
def numbers(paper: str) -> list[str]:
    """The numbers of all equations of a paper."""
    return [f"{prefix}.{k}" if prefix else str(k) for prefix, last in PAPERS[paper].series.items() for k in range(1, last + 1)]


def _key(equation: str) -> tuple[str, int]:
    prefix, _, number = equation.rpartition(".")
    return prefix, int(number)


def missing(paper: str, equation: str) -> str:
    """Entry of the index for an equation that no line cites."""
    every = numbers(paper)
    for reason, ranges in PAPERS[paper].absent.items():
        if any(every.index(first) <= every.index(equation) <= every.index(last) for first, last in ranges):
            return f"not implemented: {reason}"
    return "not cited"


def where(equation: str) -> list[tuple[str, str, list[Citation]]]:
    """`(paper, number, citations)` of all equations of that number: `"3.66"`, `"Fang 12"`.

    Raises
    ------
    ValueError
        If no paper has an equation of this number.
    """
    name, _, number = equation.strip().rpartition(" ")
    number = re.sub(r"[()a-d]", "", number)
    papers = [p for p in PAPERS if number in numbers(p) and p.lower().startswith(name.lower())]
    if not papers:
        raise ValueError(f"no equation {equation!r}; give a number such as 3.66, or a paper with it: {', '.join(PAPERS)}")
    every = citations()
    return [(p, number, [c for c in every if (c.paper, c.equation) == (p, number)]) for p in papers]


def equations_page() -> str:
    """The index as Markdown."""
    lines = ["# Where the equations are", "",
             "Each equation of the papers with the lines whose docstring or comment cites it; made by `mbdae equations --output "
             "docs/equations.md`. What is not cited is a definition, a step of a derivation, or part of a method that is not implemented."]
    places = defaultdict(list)
    for c in citations():
        places[c.paper, c.equation].append(f"[{c.file}:{c.line}](../{c.file}#L{c.line})")
    for name, paper in PAPERS.items():
        cited = sum((name, n) in places for n in numbers(name))
        lines += ["", f"## {name}", "", f"{paper.title}: {cited} of {len(numbers(name))} equations are cited.", "",
                  "| equation | where |", "|---|---|"]
        lines += [f"| ({n}) | {', '.join(places[name, n]) or missing(name, n)} |" for n in numbers(name)]
    return "\n".join(lines) + "\n"
