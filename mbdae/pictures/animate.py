"""Animations of a solution: GIF or MP4."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..results.solution import Solution
from ..results.trajectory import DenseOutput
from ..typing import Vector
from .canvas import Drawing, body_colour, checked_view, geometry_of, prepared_axes, put, put_title, scene, size_of_figure, top
from .figures import GREY, new_figure, style
from .viewpoint import MAX_TRAVEL_ANIMATED, followed, prefix

if TYPE_CHECKING:
    from matplotlib.animation import AbstractMovieWriter

ENDINGS = (".gif", ".mp4")
RESOLUTION = 100  # dots per inch


def animate(solution: Solution, path: str | Path, *, view: str = "xy", fps: int = 25, speed: float = 1.0, trail: float = 1.0,
            title: str | None = None, progress: Callable[[int, int], object] | None = None) -> int:
    """Write an animation of a solution, with frames at equal intervals of time.

    States between the stored points are taken from `solution.sol`, or else from cubic Hermite interpolation.

    Parameters
    ----------
    solution : Solution
        With at least two points, of a system that can be drawn.
    path : str or Path
        Ends in `.gif` (written by Pillow) or `.mp4` (written by ffmpeg).
    view : str
        Two of the letters x, y, z, the horizontal axis first; or `"3d"`.
    fps : int
        Frames per second; GIF stores hundredths of a second, and viewers slow down above 50.
    speed : float
        Seconds of motion per second of the animation.
    trail : float
        Seconds of motion shown as traces of the centres of mass.
    title : str, optional
        By default the name of the system.
    progress : callable, optional
        `progress(frame, frames)`.

    Returns
    -------
    int
        Number of frames.

    Raises
    ------
    ValueError
        If the suffix, the view, `fps` or `speed` is invalid, ffmpeg is missing, or the solution has fewer than two points.
    """
    path, view = Path(path), checked_view(view)
    _check(solution, path, fps, speed)
    first, last = solution.t[0], solution.t[-1]
    n = max(2, round(abs(last - first) / speed * fps) + 1)
    times = np.linspace(first, last, n)
    if path.suffix.lower() == ".mp4":
        ffmpeg()  # raises before anything is drawn
    frames = _Animation(solution, times, view, trail, title)
    with style():
        writer = _writer(path, fps)
        with writer.saving(frames.figure, str(path), dpi=RESOLUTION):
            for k in range(n):
                frames.show(k)
                writer.grab_frame()
                if progress is not None:
                    progress(k + 1, n)
    return n


def _check(solution: Solution, path: Path, fps: int, speed: float) -> None:
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"a film must end in .gif or .mp4, got {path.name!r}")
    for name, value in (("fps", fps), ("speed", speed)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive, got {value!r}")
    if len(solution.t) < 2:
        raise ValueError(f"there is nothing to show: the solution has {len(solution.t)} points")


def _writer(path: Path, fps: int) -> AbstractMovieWriter:
    """To be called inside `style()`, which restores Matplotlib's settings afterwards."""
    import matplotlib
    from matplotlib import animation

    if path.suffix.lower() == ".gif":
        return animation.PillowWriter(fps=fps)
    matplotlib.rcParams["animation.ffmpeg_path"] = ffmpeg()
    return animation.FFMpegWriter(fps=fps, codec="h264", extra_args=["-pix_fmt", "yuv420p", "-crf", "20"])


def ffmpeg() -> str:
    """Path of an ffmpeg program: that of the package imageio-ffmpeg, or one on the search path.

    Raises
    ------
    ValueError
        If there is none; the message names the command that installs one.
    """
    try:
        import imageio_ffmpeg

        return imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        found = shutil.which("ffmpeg")
    if found is None:
        raise ValueError("writing .mp4 needs ffmpeg: pip install 'mbdae[mp4]', or write a .gif")
    return found


class _Animation:
    """The figure of an animation and its artists."""

    def __init__(self, solution: Solution, times: Vector, view: str, trail: float, title: str | None) -> None:
        self.times, self.view = times, view
        geometry = geometry_of(solution.system)
        dense = DenseOutput(solution.system, solution) if solution.sol is None else solution.sol
        self.q = dense(np.clip(times, min(times[0], times[-1]), max(times[0], times[-1])))[0]
        geometry = followed(geometry, times, self.q, MAX_TRAVEL_ANIMATED)
        self.paths = np.array([geometry.at(t, q).centres for t, q in zip(times, self.q)])
        self.kept = max(1, round(abs(trail / (times[1] - times[0]))))
        limits, size = scene(geometry, times, self.q, view)
        with style():
            self.figure = new_figure(*_even(size_of_figure(limits, view)))
            axes = prepared_axes(self.figure, limits, view, geometry.at(times[0], self.q[0]).up, prefix(geometry))
            shape: list[list[float]] = [[]] * (3 if view == "3d" else 2)
            faint: dict[str, Any] = {"linewidth": 1.0, "alpha": 0.45, "zorder": 0}
            self.traces = [axes.plot(*shape, color=body_colour(k), **faint)[0] for k in range(self.paths.shape[1])]
            self.drawing = Drawing(solution.system, axes, view, size, geometry=geometry)
            put_title(axes, solution.system.name if title is None else title, view, loc="left")
            where: dict[str, Any] = {"transform": axes.transAxes, "ha": "right", "va": "top" if view == "3d" else "bottom", "color": GREY,
                                     "family": "DejaVu Sans Mono"}
            self.digits = _clock(times)
            self.clock = axes.text2D(1.0, top(axes), "", **where) if view == "3d" else axes.text(1.0, 1.015, "", **where)

    def show(self, k: int) -> None:
        """The k-th frame."""
        self.drawing.show(self.times[k], self.q[k])
        for body, trace in enumerate(self.traces):
            put(trace, self.paths[max(0, k - self.kept):k + 1, body], self.view)
        self.clock.set_text(f"t = {self.times[k]:{self.digits}} s")


def _clock(times: Vector) -> str:
    """Format of the clock, with as many decimals as distinguish successive frames."""
    decimals = max(0, math.ceil(-math.log10(abs(times[1] - times[0])) - 1e-9))
    return f"{len(f'{max(abs(times[0]), abs(times[-1])):.{decimals}f}')}.{decimals}f"


def _even(size: tuple[float, float]) -> tuple[float, float]:
    """Inches that make an even number of dots, as video encoders require."""
    width, height = (2 * round(x * RESOLUTION / 2) / RESOLUTION for x in size)
    return width, height
