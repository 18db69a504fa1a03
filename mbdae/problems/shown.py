"""What a problem shows of itself in few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..summary import Summary, plural

if TYPE_CHECKING:
    from .base import Problem


def summary_of(problem: Problem) -> Summary:
    """Form, unknowns, equations, and what solvers do not control."""
    p = problem
    sizes = (", ".join(f"{name} {s.stop - s.start}" for name, s in blocks.items()) for blocks in (p.blocks, p.equations))
    excluded = [name for name in p.excluded_blocks if name in p.blocks]
    indices = ", ".join(str(k) for k in np.unique(p.index[p.algebraic]))
    return Summary(f"{type(p).__name__} of {p.system.name!r}: {p.n} unknowns, {p.m} equations",
                   (("form", f"{p.formulation!r}, {p.title}"), *zip(("unknowns", "equations"), sizes),
                    ("algebraic", f"{plural(int(p.algebraic.sum()), 'unknown')} of index {indices}" if indices else ""),
                    ("excluded", f"{', '.join(excluded)}, from the error test" if excluded else "")))
