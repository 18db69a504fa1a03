"""Figures 13 to 17: three tethered satellites: path of the centre of mass, errors of the tether between the first two, and of energy.

Orbit, spin, step and time are those of the library, as those of the paper could not be found: a circular orbit of 7000 km, so coordinates
are rounded to 1e-9 m. Positions of satellites 1 km apart cannot satisfy `|d^2 - l^2|/l^2 = 0` better than to about 2e-12, whatever the
method; the paper has 1e-15. Errors of velocities and accelerations are below those of the paper, 1e-11 and 1e-13. A step loses less
energy than rounding, so PVAE-n, which compares with the step before, has nothing to do.

The circle is that of a single mass. Gravity on three is a little different: their centre leaves the circle by 0.1 m and comes back.
"""

import common
import common_errors as drawing
import numpy as np
from matplotlib.ticker import MultipleLocator

from mbdae.cli.scripts import output_folder
from mbdae.library.tethered_satellites import MU, ORBIT
from mbdae.pictures.curves import save
from mbdae.pictures.figures import COLOURS, GREY, new_figure, style

EXAMPLE, EARTH = common.SATELLITES, 6371.0  # km


def centre(s):
    """The centre of mass, in rows."""
    return s.q.reshape(len(s.q), 3, 3).mean(axis=1)


def orbital(s):
    """Distance of the centre of mass from that of the Earth less the radius of the orbit, and its distance from the plane of the orbit."""
    r = centre(s)
    return np.sqrt((r * r).sum(axis=1)) - ORBIT, r[:, 2]


def draw(s, path):
    """The orbit beside the Earth, and what is left of it after the circle has been taken away."""
    turn, r = np.linspace(0.0, 2.0 * np.pi, 361), 1e-3 * centre(s)
    with style():
        figure = new_figure(7.4, 3.6)
        left, right = figure.subplots(1, 2)
        left.fill(EARTH * np.cos(turn), EARTH * np.sin(turn), color="#E4E4E4", zorder=1)
        left.annotate("Earth", (0.0, 0.0), ha="center", va="center", color=GREY)
        left.plot(r[:, 0], r[:, 1], color=COLOURS[0], zorder=2)
        left.plot(*r[0, :2], "o", color=COLOURS[1], zorder=3)
        left.annotate("start", r[0, :2], (-6, 4), textcoords="offset points", ha="right")
        left.set(title="(a) centre of mass", xlabel="x  [km]", ylabel="y  [km]", aspect="equal")
        left.xaxis.set_major_locator(MultipleLocator(4000.0))
        left.yaxis.set_major_locator(MultipleLocator(4000.0))
        for values, name, colour in zip(orbital(s), ("radius less that of the circle", "height above the plane of the orbit"), COLOURS):
            right.plot(s.t, 1e3 * values, color=colour, label=name)
        right.set(title="(b) departure from the circle", xlabel="time  [s]", ylabel="departure  [mm]", xlim=(0.0, s.t[-1]))
        right.margins(y=0.25)
        right.legend(loc="upper left")
        figure.suptitle("Tethered satellites, R-K-PVAE-0", fontsize=10)
        save(figure, path)


def turns(s):
    """How often the run goes around the Earth."""
    return float(s.t[-1]) * np.sqrt(MU / ORBIT**3) / (2.0 * np.pi)


def main(output, **settings):
    """Run, draw, write; returns the line for the summary."""
    runs = drawing.figure(EXAMPLE, output, "figures14_to_17", **settings)
    s = runs["R-K-PVAE-0"]
    draw(s, output / "figure13.png")
    return f"{turns(s):.2f} orbits, radius within {np.abs(orbital(s)[0]).max():.2g} m; {drawing.told(EXAMPLE, runs)}"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
