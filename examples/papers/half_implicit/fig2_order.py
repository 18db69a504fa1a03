"""Figure 2: observed order of HI and FI on three mechanisms.

The paper plots, over steps from 1e-4 s to 4e-2 s, the error of (a) the height of bar 2 of the double pendulum, (b) the velocity of the
slider of the slider-crank, (c) the velocity of link 2 of the four-link mechanism over 8 s, and reads off slopes of one. Here the error is
the root mean square over all steps, as its text says, and the second row adds the errors of all positions and velocities (the largest
component, root mean square over the steps; angles in rad).

What differs, and what comes out:

- The plotting programs published with the paper compute something else: in (a) the root of the sum of squares over n, which adds half an
  order, in (b) and (c) the error at the last instant. The text of the paper is followed here.
- The exact double pendulum has bars with section, as the multibody model has. The paper takes slender bars, which move differently by
  4e-3 m (root mean square over 8 s, dotted line): below that its errors must level off.
- Positions of the driven mechanisms follow from the constraints, so they are exact to Newton's tolerance and have no order. Both methods
  then find the same velocities: the backward differences of these positions.
- The double pendulum amplifies errors. FI is in its asymptotic range only for steps up to 2e-4 s, HI up to 4e-3 s; slopes are fitted
  there.
- Released from rest, HI has velocities of order two: it moves the pendulum ahead by half a step, and at rest a shift in time is the only
  error of first order. Started in motion (last rows of the table, from 1 s to 3 s) it has order one in everything.
"""

from dataclasses import dataclass, replace

import common
import numpy as np

import mbdae
from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import GREY, new_figure, style
from mbdae.studies import errors, write_csv

STEPS = (1e-4, 2e-4, 4e-4, 1e-3, 2e-3, 4e-3, 1e-2, 2e-2, 4e-2)
# block and component of the plotted quantity, its label
MEASURES = {"double-pendulum": ("q", 9, "error of $z_2$  [m]"), "slider-crank": ("v", 12, r"error of $\dot x_3$  [m/s]"),
            "four-link": ("v", 8, r"error of $\dot z_2$  [m/s]")}
ASYMPTOTIC = {("double-pendulum", "HI"): 4e-3, ("double-pendulum", "FI"): 2e-4}  # largest step in the fit
DOTTED = (0, (1, 1.2))
PUBLISHED = 1.0  # slope, of all methods and mechanisms


@dataclass(frozen=True)
class Row:
    """Errors of one run: of the paper's quantity, of all positions, of all velocities."""

    mechanism: str
    method: str
    h: float
    measure: float
    q: float
    v: float


def run(mechanisms=tuple(MEASURES), steps=STEPS, t_span=(0.0, 8.0)):
    """The errors, a list of `Row`."""
    return [row for name in mechanisms for row in _errors(name, steps, t_span)]


def _errors(name, steps, t_span):
    target, finest, (t0, t_end) = common.system(name), min(steps), t_span
    times = finest * np.arange(round(t0 / finest), round(t_end / finest) + 1)
    exact = common.exact_motion(target, times)
    start = mbdae.assemble(target, times[0], exact.q[0], exact.v[0])
    block, component, _ = MEASURES[name]
    for method in common.METHODS:
        for h in steps:
            solution = common.run_method(target, method, h, common.tolerance(method, h), (times[0], t_end), start)
            coarse = replace(exact, **{k: getattr(exact, k)[::round(h / finest)] for k in ("t", "q", "v", "a", "lam")})
            difference = getattr(solution, block)[:, component] - getattr(coarse, block)[:, component]
            e = errors(solution, coarse)
            yield Row(name, method, h, float(np.sqrt(np.mean(difference**2))), e.q, e.v)


def slopes(table, largest=ASYMPTOTIC):
    """Fitted slopes by mechanism and method: those of the paper's quantity, of q (`None` if exact) and of v, and the largest step used."""
    found = {}
    for key in dict.fromkeys((r.mechanism, r.method) for r in table):
        rows = [r for r in table if (r.mechanism, r.method) == key and r.h <= largest.get(key, np.inf)]
        h = [r.h for r in rows]
        exact = max(r.q for r in rows) < 1e-9
        found[key] = {"measure": common.slope(h, [r.measure for r in rows]), "q": None if exact else common.slope(h, [r.q for r in rows]),
                      "v": common.slope(h, [r.v for r in rows]), "largest": max(h)}
    return found


def every_slope(table, moving):
    """`slopes` of the runs of the paper and of the double pendulum started in motion."""
    return slopes(table) | {(f"{name}, in motion", method): s for (name, method), s in slopes(moving, {}).items()}


def report(table, moving):
    """Print errors and slopes; `moving` belongs to the double pendulum started in motion."""
    show([(r.mechanism, r.method, f"{r.h:g}", f"{r.measure:.2e}", f"{r.q:.1e}", f"{r.v:.2e}") for r in table],
         ("mechanism", "method", "h [s]", "measure", "q", "v"))
    print(f"\n  fitted slopes (published: {PUBLISHED} in every case); a dash: exact to rounding and Newton's tolerance")
    fitted = every_slope(table, moving)
    blocks = ("measure", "q", "v")
    show([(*key, f"{s['largest']:g}", *(None if s[b] is None else f"{s[b]:.2f}" for b in blocks)) for key, s in fitted.items()],
         ("mechanism", "method", "steps up to", *blocks))


def draw(table, path):
    """The paper's errors above, those of all positions (full lines) and velocities (dotted) below."""
    names = list(dict.fromkeys(r.mechanism for r in table))
    with style():
        figure = new_figure(7.4, 5.1)
        figure.get_layout_engine().set(wspace=0.06, hspace=0.06)
        axes = figure.subplots(2, len(names), sharex=True, squeeze=False)
        for name, (above, below), tag in zip(names, axes.T, "abc"):
            rows = [r for r in table if r.mechanism == name]
            exact = max(r.q for r in rows) < 1e-9
            _draw(above, rows, {"measure": "-"})
            _draw(below, rows, ({} if exact else {"q": "-"}) | {"v": DOTTED})
            common.letter(above, f"({tag}) {common.TITLES[name]}")
            above.set_ylabel(MEASURES[name][2])
            below.set(xlabel="step $h$  [s]", ylabel="error of all components  [SI]")
            lines = [below.plot([], [], color=GREY, linestyle=line)[0] for line in ("none" if exact else "-", DOTTED)]
            below.legend(lines, ["$q$ exact" if exact else "$q$", "$v$"], loc="lower right", fontsize=8)
            if name == "double-pendulum":
                _slender(above, table)
        figure.legend(*above.get_legend_handles_labels(), loc="outside upper right", ncols=2)
        save(figure, path)


def _draw(axis, rows, blocks):
    for block, line in blocks.items():
        for method in common.METHODS:
            points = [(r.h, getattr(r, block)) for r in rows if r.method == method]
            # where both agree: a dot in an open square
            mark = common.SOLID if method == "HI" else {"markerfacecolor": "none", "markersize": 7.0, "zorder": 1.9}
            axis.plot(*zip(*points), label=method, **common.LOOK[method] | mark, linestyle=line)
    axis.set(xscale="log", yscale="log")
    h = [r.h for r in rows]
    lowest = min((r for r in rows if r.method == "HI"), key=lambda r: r.h)
    common.guide(axis, h, 0.3 * max(h) / min(h) * getattr(lowest, next(iter(blocks))), "" if len(blocks) > 1 else "slope 1")


def _slender(axis, table):
    """How far slender bars are from bars with section."""
    times = np.linspace(0.0, 8.0, 8001)
    z = [4.0 * np.sin(y[0]) + np.sin(y[1]) for y in (common.pendulum_angles(times), common.pendulum_angles(times, slender=True))]
    level = float(np.sqrt(np.mean((z[0] - z[1]) ** 2)))
    axis.axhline(level, color=GREY, linestyle=":", linewidth=1.0, zorder=1)
    axis.annotate("slender bars", (min(r.h for r in table), level), xytext=(0, 2), textcoords="offset points", color=GREY, fontsize=7.5)


def main(output):
    """Run, print, draw; returns the line for the summary."""
    table = run()
    moving = run(("double-pendulum",), tuple(h for h in STEPS if h < 2e-3), (1.0, 3.0))
    report(table, moving)
    draw(table, output / "fig2_order.png")
    write_csv(output / "fig2_order.csv", table)
    write_csv(output / "fig2_slopes.csv", [{"mechanism": name, "method": method, "published": PUBLISHED, **s}
                                           for (name, method), s in every_slope(table, moving).items()])
    found = [s["measure"] for s in slopes(table).values()]
    return f"slopes {min(found):.2f} to {max(found):.2f} (published 1.0)"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
