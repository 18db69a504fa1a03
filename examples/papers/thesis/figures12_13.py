"""Figures 12 and 13: angle and angular velocity of body 1 of the stiff double pendulum over two seconds.

The line is the reference, the dots are the steps of both methods at a tolerance of 1e-3. The rate swings between -10 and 7 rad/s, as the
thesis says. Its reference, ForSDIRK at 1e-8, takes 354 090 steps, steps of 6e-6 s on average for a motion that is smooth but for its first
milliseconds. The same method at 1e-8 takes far fewer here, in each choice of coordinates, so its step control must have been another.
"""

import common_motion as common
import numpy as np

from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import COLOURS, GREY, new_figure, style
from mbdae.studies import write_csv

LOOK = {"SDIRK": {"color": COLOURS[0], "marker": "o"}, "Rosenbrock, filtered": {"color": COLOURS[1], "marker": "s"}}
STEPS, REFERENCE_TOLERANCE = 354_090, 1e-8  # of the reference of the thesis
RATES = {"least rate [rad/s]": -10.0, "largest rate [rad/s]": 7.0}
PANELS = {"figure12": ("angle", "orientation of body 1", r"$\theta_1$ [rad]", lambda s: s.q[:, common.THETA]),
          "figure13": ("rate", "angular velocity of body 1", r"$\dot\theta_1$ [rad/s]", lambda s: s.v[:, common.THETA])}


def draw(known, runs, name, path, t_end):
    """One figure."""
    quantity, title, label, values = PANELS[name]
    with style():
        figure = new_figure(6.4, 3.4)
        axis, t = figure.subplots(), np.linspace(0.0, t_end, 2001)
        axis.plot(t, getattr(known, quantity)(t), color=GREY, linewidth=1.2, label="reference")
        for method, s in runs.items():
            axis.plot(s.t, values(s), linestyle="none", markersize=3.5, label=f"{method}, {s.statistics.steps} steps", **LOOK[method])
        axis.set(title=f"Stiff double pendulum: {title}", xlabel="time  [s]", ylabel=label)
        axis.margins(x=0.0)
        axis.legend()
        save(figure, path)


def reference_steps(tolerance, t_end):
    """Steps of ForSDIRK at the tolerance of the thesis' reference, by coordinates."""
    return {c: common.run(common.METHODS["SDIRK"], tolerance, t_end, c).statistics.steps for c in ("angles", "pivots", "tangent")}


def main(output, tolerance=1e-3, t_end=common.T_END, reference_tolerance=REFERENCE_TOLERANCE):
    """Run, draw, print, write; returns the line for the summary."""
    known = common.reference(t_end)
    runs = {name: common.run(common.METHODS[name], tolerance, t_end) for name in LOOK}
    for name in PANELS:
        draw(known, runs, name, output / f"{name}.png", t_end)
    rate = known.rate(np.linspace(0.0, t_end, 2001))
    numbers = [{"what": what, "ours": float(x), "published": there} for (what, there), x in zip(RATES.items(), (rate.min(), rate.max()))]
    numbers += [{"what": f"steps of ForSDIRK at {reference_tolerance:g}, {c}", "ours": n, "published": STEPS}
                for c, n in reference_steps(reference_tolerance, t_end).items()]
    show([(r["what"], f"{r['ours']:.6g}", f"{r['published']:g}") for r in numbers], ("", "ours", "published"))
    write_csv(output / "figures12_13.csv", numbers)
    return f"rate between {rate.min():.1f} and {rate.max():.1f} rad/s (published -10 and 7)"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
