"""The animation on the page of a library mechanism: its usual motion, in a small file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..integrators.automatic.methods import Automatic
from ..library import system as library_system
from ..library.base import Entry
from ..pictures.animate import animate
from ..solve import solve
from .portrait import NoPicture

RTOL, ATOL = 1e-4, 1e-6
FRAMES_PER_SECOND, FRAMES = 8, 48  # of the file, and how many at most


def write_animation(entry: Entry, path: Path) -> int:
    """Write the animation of an entry as GIF; the number of its frames.

    Raises
    ------
    NoPicture
        If the simulation fails.
    """
    system = library_system(entry.name)
    speed = max(entry.film, entry.t_end * FRAMES_PER_SECOND / (FRAMES - 1))
    frames = round(entry.t_end / speed * FRAMES_PER_SECOND) + 1
    solution = solve(system, Automatic(), (0.0, entry.t_end), t_eval=np.linspace(0.0, entry.t_end, frames), rtol=RTOL, atol=ATOL)
    if not solution.success:
        raise NoPicture(f"{entry.name}: {solution.message}")
    return animate(solution, path, view=entry.view, fps=FRAMES_PER_SECOND, speed=speed, trail=speed, title=entry.title)
