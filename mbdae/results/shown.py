"""What a `Solution` can be turned into: figures, animations, a view in space, and tables of other packages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..summary import Summarised

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..pictures.film import Film
    from ..pictures.view import View
    from .solution import Solution


class Shown(Summarised):
    """The part of `Solution` that shows it; packages for drawing are imported by the methods that need them."""

    def plot(self, what: str | Iterable[str] = "overview", *, bodies: str | Iterable[str] | None = None,
             names: str | Iterable[str] | None = None, title: str | None = None) -> Figure:
        """Draw quantities over time, with names and units.

        Parameters
        ----------
        what : str or sequence of str
            `"coordinates"`, `"velocities"`, `"accelerations"`, `"energy"`, `"constraints"` (their violation on the position and velocity
            level), `"reactions"`; one of them with a panel for each unit, several with one panel each. The default, `"overview"`, is
            four panels.
        bodies : str or sequence of str, optional
            Bodies whose Cartesian coordinates, velocities and accelerations are drawn, also where the coordinates are those of joints.
        names : str or sequence of str, optional
            Names of components (`"rod.x"`, `"lam[pin.x]"`), or of joints and bodies for all of their components. By default the six that
            vary most are drawn, and of joints the six with the largest forces or torques.
        title : str, optional
            By default the name of the system and the method.

        Returns
        -------
        matplotlib.figure.Figure
            It is shown in notebooks; `figure.savefig("run.png")` writes it.

        Raises
        ------
        ValueError
            There is no such quantity, body or component, or the solution has no points.

        Examples
        --------
        >>> solution.plot()  # doctest: +SKIP
        >>> solution.plot("velocities", bodies=["crank"])  # doctest: +SKIP
        >>> solution.plot("reactions", names="pin").savefig("pin.pdf")  # doctest: +SKIP
        """
        from ..pictures.overview import plot

        return plot(cast("Solution", self), what, bodies=bodies, names=names, title=title)

    def animate(self, path: str | Path | None = None, *, view: str | None = None, fps: int = 25, speed: float = 1.0,
                trail: float = 1.0, title: str | None = None) -> Film:
        """Make an animation: a GIF or MP4 file, or without a path one that notebooks show.

        Parameters
        ----------
        path : str or Path, optional
            Ends in `.gif`, or in `.mp4`, which needs ffmpeg: `pip install 'mbdae[mp4]'`.
        view : str, optional
            Two of the letters x, y, z, the horizontal axis first, or `"3d"`; by default the plane of the motion, or else `"3d"`.
        fps, speed, trail, title
            See `mbdae.pictures.animate.animate`.

        Returns
        -------
        Film
            With `path`, and `frames`, their number; `film.save(path)` copies it.

        Raises
        ------
        ValueError
            If the ending, the view, `fps` or `speed` is invalid, ffmpeg is missing, or the solution has fewer than two points.

        Examples
        --------
        >>> solution.animate("run.gif", speed=0.5)  # doctest: +SKIP
        """
        from ..pictures.film import film

        return film(cast("Solution", self), path, view=view, fps=fps, speed=speed, trail=trail, title=title)

    def view(self, path: str | Path | None = None, *, frames: int = 121, speed: float = 1.0, title: str | None = None) -> View:
        """Make an interactive view in space, with a slider for the time, which a browser or a notebook shows without a network.

        It can be turned, moved and enlarged; names appear under the pointer. Needs Plotly: `pip install 'mbdae[view]'`.

        Parameters
        ----------
        path : str or Path, optional
            An HTML file that contains all it needs, about 5 MB.
        frames : int
            Largest number of positions, equidistant in time.
        speed : float
            Seconds of motion per second at which it plays.
        title : str, optional
            By default the name of the system.

        Returns
        -------
        View
            Shown in notebooks; `view.save(path)` writes it, `view.figure` is the Plotly figure.

        Raises
        ------
        ImportError
            Plotly is not installed.
        ValueError
            The system has no picture, the solution has fewer than two points, or `frames` or `speed` is not positive.

        Examples
        --------
        >>> solution.view("run.html")  # doctest: +SKIP
        """
        from ..pictures.view import view

        return view(cast("Solution", self), path, frames=frames, speed=speed, title=title)

    def to_pandas(self, blocks: str | Iterable[str] = ("q", "v", "a", "lam"), *, multi_index: bool = False) -> Any:
        """A table of pandas with one row per time. Needs pandas: `pip install 'mbdae[data]'`.

        Parameters
        ----------
        blocks : str or sequence of str
            Of `"q"`, `"v"`, `"a"`, `"lam"`.
        multi_index : bool
            Name the columns by (block, body or joint, component, unit) instead of `rod.x`, `rod.vx`, `rod.ax`, `lam[pin.x]`.

        Returns
        -------
        pandas.DataFrame
            The index is `t`; `attrs` has the units by column and where the numbers come from.

        Raises
        ------
        ImportError
            pandas is not installed.

        Examples
        --------
        >>> solution.to_pandas()["rod.x"].plot()  # doctest: +SKIP
        """
        from .tables import to_pandas

        return to_pandas(cast("Solution", self), blocks, multi_index)

    def to_xarray(self) -> Any:
        """A data set of xarray with the variables q, v, a, lam. Needs xarray: `pip install 'mbdae[data]'`.

        Returns
        -------
        xarray.Dataset
            Dimensions `t`, `q_name`, `v_name`, `lam_name` with the names of the components as labels, their units as the coordinates
            `q_unit`, `v_unit`, `a_unit`, `lam_unit`. `attrs` has where the numbers come from. It can be written as netCDF.

        Raises
        ------
        ImportError
            xarray is not installed.

        Examples
        --------
        >>> solution.to_xarray().q.sel(q_name="rod.x")  # doctest: +SKIP
        """
        from .tables import to_xarray

        return to_xarray(cast("Solution", self))
