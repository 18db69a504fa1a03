"""An interactive view in space as one HTML file, drawn by Plotly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..model.geometry import Picture
from ..results.solution import Solution
from ..results.tables import optional
from ..results.trajectory import DenseOutput
from ..typing import Matrix, Vector
from .canvas import DARK, body_colour, geometry_of, towards_front, towards_viewer, zigzag
from .figures import GREY
from .film import usual_view
from .viewpoint import MAX_TRAVEL_ANIMATED, Shape, followed, prefix

HEIGHT = 640  # of the view in a notebook [dots]
MARGIN = 0.05  # around what is shown, relative to its size
LEAST = 0.15  # extent of the box along each axis, relative to its longest edge
WIDTHS = {"bodies": 8.0, "rods": 3.0, "springs": 2.0}  # of lines
CAMERA = 1.5  # distance of the camera
SCREEN = np.array([2.6, 1.85])  # largest width and height of the box on the screen, in units of Plotly's scene
IN_PLANE = 0.85  # times these: room for the numbers below
MANY = 30  # joints, of which the marks are smaller
SPRING = 0.02  # half the width of springs, relative to the size of the scene


class View:
    """An interactive view as `solution.view()` returns it.

    Attributes
    ----------
    figure : plotly.graph_objects.Figure
        With a frame for each position.
    path : Path or None
        Its file, if it was written to one.
    """

    def __init__(self, figure: Any, path: Path | None = None) -> None:
        self.figure, self.path = figure, path

    def html(self) -> str:
        """A page that contains all it needs."""
        page: str = self.figure.to_html(include_plotlyjs=True, full_html=True, auto_play=False, default_height="100%", div_id="mbdae-view",
                                        config={"displaylogo": False, "responsive": True})
        return page.replace("<body>", '<body style="margin: 0; height: 100vh">', 1).replace("<div>", '<div style="height: 100%">', 1)

    def save(self, path: str | Path) -> None:
        """Write the page to a file that ends in `.html`."""
        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"a view must be written to a file that ends in .html, got {str(path)!r}")
        Path(path).write_text(self.html(), encoding="utf-8")
        self.path = Path(path)

    def __repr__(self) -> str:
        where = "shown in notebooks; view.save('run.html') writes it" if self.path is None else str(self.path)
        return f"<View, {len(self.figure.frames)} positions: {where}>"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html())}" style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'


def view(solution: Solution, path: str | Path | None = None, *, frames: int = 121, speed: float = 1.0, title: str | None = None) -> View:
    """See `Solution.view`."""
    plotly = optional("plotly.graph_objects", "view", "Solution.view")
    _check(solution, frames, speed)
    scene = _Scene(solution, frames)
    made = View(scene.figure(plotly, speed, solution.system.name if title is None else title))
    if path is not None:
        made.save(path)
    return made


def _check(solution: Solution, frames: int, speed: float) -> None:
    if len(solution.t) < 2:
        raise ValueError(f"Solution.view: there is nothing to show, the solution has {len(solution.t)} points")
    if not (isinstance(frames, int) and frames >= 2):
        raise ValueError(f"Solution.view: frames must be an integer of at least 2, got {frames!r}")
    if not (np.isfinite(speed) and speed > 0):
        raise ValueError(f"Solution.view: speed must be positive, got {speed!r}")


@dataclass(frozen=True)
class _Lines:
    """Points of several lines behind one another, NaN between them, and what each point shows under the pointer."""

    points: Matrix
    texts: list[str]
    owners: list[int]

    @classmethod
    def of(cls, lines: Sequence[Matrix], names: Sequence[str]) -> _Lines:
        gap = np.full((1, 3), np.nan)
        points = np.concatenate([np.zeros((0, 3)), *(np.concatenate([np.asarray(line), gap]) for line in lines)])
        owners = [k for k, line in enumerate(lines) for _ in range(len(line) + 1)]
        return cls(points, [names[k] for k in owners], owners)


class _Scene:
    """The positions of a solution at equidistant times, as the traces of a figure."""

    def __init__(self, solution: Solution, frames: int) -> None:
        first, last = float(solution.t[0]), float(solution.t[-1])
        self.solution = solution
        self.times = np.linspace(first, last, frames)
        dense = DenseOutput(solution.system, solution) if solution.sol is None else solution.sol
        self.q = dense(np.clip(self.times, min(first, last), max(first, last)))[0]
        self.shape: Shape = followed(geometry_of(solution.system), self.times, self.q, MAX_TRAVEL_ANIMATED)
        self.pictures = [self.shape.at(t, q) for t, q in zip(self.times, self.q)]
        self.limits = _limits(self.pictures)
        self.size = float((self.limits[:, 1] - self.limits[:, 0]).max())

    # traces --------------------------------------------------------------------------------------------------------------

    def parts(self, p: Picture) -> dict[str, _Lines]:
        """All that moves: bodies, rods, springs, and their points."""
        viewer = towards_viewer("3d", p.up)
        names = p.names or tuple(f"body {k + 1}" for k in range(len(p.bodies)))
        springs = [zigzag(ends, SPRING * self.size, viewer) for ends in p.springs]
        alone = [k for k, line in enumerate(p.bodies) if len(line) < 2]
        return {"bodies": _Lines.of(p.bodies, names), "rods": _Lines.of(p.rods, p.rod_names or ("rod",) * len(p.rods)),
                "springs": _Lines.of(springs, p.spring_names or ("spring",) * len(springs)),
                "points of mass": _dots([p.centres[k] for k in alone], [names[k] for k in alone], alone),
                "joints": _dots(p.joints, p.joint_names or ("joint",) * len(p.joints)),
                "ground": _dots(p.ground, [f"{name} (ground)" for name in p.ground_names] or ("ground",) * len(p.ground))}

    def figure(self, plotly: Any, speed: float, title: str) -> Any:
        """The figure with its frames."""
        shown = [name for name, lines in self.parts(self.pictures[0]).items() if len(lines.points)]
        paths = _paths(self.pictures)
        traces = [self._trace(plotly, name, self.parts(self.pictures[0])[name]) for name in shown]
        traces.append(plotly.Scatter3d(**_coordinates(paths.points), mode="lines", name="paths", hoverinfo="skip", visible="legendonly",
                                       line={"width": 2, "color": [body_colour(k) for k in paths.owners]}))
        frames = [plotly.Frame(name=str(k), traces=list(range(len(shown))), data=[_moved(plotly, self.parts(p)[name]) for name in shown])
                  for k, p in enumerate(self.pictures)]
        return plotly.Figure(traces, self._layout(speed, title), frames)

    def _trace(self, plotly: Any, name: str, lines: _Lines) -> Any:
        """One trace for all bodies, all rods, ..."""
        hover = {"text": lines.texts, "hovertemplate": "%{text}<extra></extra>"}
        if name in WIDTHS:
            colour = [body_colour(k) for k in lines.owners] if name == "bodies" else DARK
            return plotly.Scatter3d(**_coordinates(lines.points), mode="lines", name=name, line={"width": WIDTHS[name], "color": colour},
                                    connectgaps=False, **hover)
        marker = {"joints": {"size": 4 if len(lines.points) < MANY else 3, "color": "white", "line": {"width": 2, "color": DARK}},
                  "ground": {"size": 6, "color": GREY, "symbol": "diamond"},
                  "points of mass": {"size": 8, "color": [body_colour(k) for k in lines.owners]}}[name]
        return plotly.Scatter3d(**_coordinates(lines.points), mode="markers", name=name, marker=marker, **hover)

    # layout --------------------------------------------------------------------------------------------------------------

    def _layout(self, speed: float, title: str) -> dict[str, Any]:
        lengths = self.limits[:, 1] - self.limits[:, 0]
        before = prefix(self.shape)
        axes = {f"{c}axis": {"range": list(self.limits[k]), "title": {"text": f"{before}{c} [m]"}, "backgroundcolor": "#F7F7F7",
                             "gridcolor": "#DDDDDD", "zerolinecolor": "#CCCCCC", "nticks": 6} for k, c in enumerate("xyz")}
        up = self.pictures[0].up
        plane = usual_view(self.solution)
        for c in "" if plane == "3d" else "xyz":
            axes[f"{c}axis"] |= {"tickangle": 0} if c in plane else {"showticklabels": False, "title": {"text": ""}}
        up, eye = (up, towards_viewer("3d", up)) if plane == "3d" else (plane[1], towards_front(plane))
        ratio = lengths * (1.0 if plane == "3d" else IN_PLANE) * float((SCREEN / _seen(lengths, eye, np.eye(3)["xyz".index(up)])).min())
        camera = {"eye": dict(zip("xyz", (CAMERA * eye).tolist())), "up": {c: float(c == up) for c in "xyz"},
                  "projection": {"type": "orthographic"}}
        return {"title": {"text": title, "x": 0.02}, "template": "plotly_white", "margin": {"l": 0, "r": 0, "t": 40, "b": 0},
                "scene": axes | {"aspectmode": "manual", "aspectratio": dict(zip("xyz", ratio.tolist())), "camera": camera},
                "legend": {"x": 0.99, "xanchor": "right", "y": 0.98}, "uirevision": "kept", "sliders": [self._slider()],
                "updatemenus": [self._buttons(speed)], "hovermode": "closest"}

    def _slider(self) -> dict[str, Any]:
        steps = [{"label": f"{t:.3g}", "method": "animate",
                  "args": [[str(k)], {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}]}
                 for k, t in enumerate(self.times)]
        return {"steps": steps, "active": 0, "x": 0.17, "len": 0.8, "y": 0.0, "yanchor": "top", "pad": {"t": 0, "b": 6},
                "currentvalue": {"prefix": "t = ", "suffix": " s", "xanchor": "left"}, "transition": {"duration": 0}}

    def _buttons(self, speed: float) -> dict[str, Any]:
        interval = 1000.0 * abs(float(self.times[1] - self.times[0])) / speed
        play = {"frame": {"duration": interval, "redraw": True}, "fromcurrent": True, "transition": {"duration": 0}, "mode": "immediate"}
        pause = {"frame": {"duration": 0, "redraw": False}, "mode": "immediate"}
        buttons = [{"label": "Play", "method": "animate", "args": [None, play]},
                   {"label": "Pause", "method": "animate", "args": [[None], pause]}]
        return {"type": "buttons", "direction": "left", "buttons": buttons, "showactive": False, "x": 0.01, "y": 0.0, "xanchor": "left",
                "yanchor": "top", "pad": {"t": 14}}


def _seen(lengths: Vector, towards: Vector, up: Vector) -> Vector:
    """Width and height of a box with these edges, as it is seen from a direction."""
    right = np.cross(up, towards) / np.linalg.norm(np.cross(up, towards))
    return np.array([np.abs(right) @ lengths, np.abs(np.cross(towards, right)) @ lengths])


def _dots(points: Iterable[Vector], names: Sequence[str], owners: Sequence[int] = ()) -> _Lines:
    found = np.array([np.asarray(x) for x in points]).reshape(-1, 3)
    return _Lines(found, list(names), list(owners) or list(range(len(found))))


def _coordinates(points: Matrix) -> dict[str, Any]:
    """Single precision: enough for the eye, in half the space."""
    return dict(zip("xyz", points.T.astype(np.float32)))


def _moved(plotly: Any, lines: _Lines) -> Any:
    return plotly.Scatter3d(**_coordinates(lines.points))


def _paths(pictures: Sequence[Picture]) -> _Lines:
    """The paths of the centres of mass."""
    centres = np.array([p.centres for p in pictures])
    return _Lines.of(list(centres.transpose(1, 0, 2)), [""] * centres.shape[1])


def _limits(pictures: Sequence[Picture]) -> Matrix:
    """A box that contains all positions with a margin, shape (3, 2)."""
    points = np.concatenate([p.points for p in pictures])
    low, high = points.min(axis=0), points.max(axis=0)
    size = float((high - low).max()) or 1.0
    middle, half = 0.5 * (low + high), np.maximum(0.5 * (high - low), 0.5 * LEAST * size) + MARGIN * size
    return np.stack([middle - half, middle + half], axis=1)
