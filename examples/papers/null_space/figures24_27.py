"""Figures 24 to 27: Andrews' mechanism by Fox and Goodwin's method in null-space coordinates: the crank pin F, frequencies, large steps.

With steps of 2e-6 s the paper is off by 2.28e-6 from the reference of the IFToMM benchmark; here F is compared with the 50 values of the
library, and so is the angle of the crank. Steps of 5e-4, 6e-4 and even 1e-3 s are stable.

The paper has 4503.477 rad/s as the largest frequency and concludes that steps up to 5.44e-4 s are stable; that 6e-4 s and 1e-3 s are so too
it explains by frequencies that vary. That number is the largest frequency of the bodies with the constraints left out, of `M^-1 K` with the
multipliers in `K`: 4503 rad/s, at 0.0443 s. The reduced system, which section 5 names as the one to be looked at, reaches 1147 rad/s only,
so that steps up to 2.1e-3 s may be expected to be stable. Figure 25 shows both; zero means that nothing vibrates.
"""

from dataclasses import dataclass

import common
import numpy as np

from mbdae import library
from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import COLOURS, GREY, new_figure, style
from mbdae.studies import observe, write_csv
from mbdae.studies.stability import largest_frequencies, stable_steps

T_END = 0.05
SMALL, LARGE = 2e-6, {26: 5e-4, 27: 6e-4}
MORE = (1e-3,)
PUBLISHED = {"error": 2.28e-6, "frequency": 4503.477, "step": 5.44e-4}
OTHERS = {"trapezoidal rule, MBSLab, 1e-6 s": 8.2e-6, "Runge-Kutta-Fehlberg, OpenSim": 3.75e-7}
RULES = {common.TRAPEZOIDAL: "fails", (0.2507, 0.5001): "works"}  # of the classical method, (beta, gamma), and what the paper says of them
DISPLACEMENT = 1e-7  # of a central difference
CLASSICAL_TOL = 1e-7  # of Newton's method: Phi / h^2 is rounding below that


@dataclass(frozen=True)
class Row:
    """A run: largest errors of F [m] and of the angle of the crank [rad] at the times of the reference, largest multiplier [N]."""

    method: str
    h: float
    success: bool
    t_end: float
    error_pin: float
    error_crank: float
    multiplier: float
    published: str | None = None
    here: str | None = None
    published_error: float | None = None


def target():
    """The mechanism with the start of the benchmark."""
    return common.system("andrews", start="iftomm")


def references(t_end=T_END):
    """`(times, angle of the crank and F, shape (n, 3))`."""
    entry = library.entry("andrews")
    rows = [r for r in entry.references_for({"start": "iftomm"}) if r.t <= t_end * (1.0 + 1e-12)]
    return np.array([r.t for r in rows]), np.array([[r.values[name] for name in ("beta", "F_x", "F_y")] for r in rows])


def outputs(s):
    """Angle of the crank and F along a run, shape (n, 3)."""
    found = observe(library.entry("andrews"), s)
    return np.column_stack([found[name] for name in ("beta", "F_x", "F_y")])


def run(method, t_end=T_END):
    """A run whose output has the times of the reference in it."""
    return common.run(target(), method, (0.0, t_end), t_eval=references(t_end)[0])


def row(name, h, s, t_end=T_END, published=None, published_error=None):
    """The `Row` of a run."""
    off = np.abs(outputs(s) - references(t_end)[1][:len(s.t)])
    return Row(name, h, s.success, float(s.t[-1]), float(off[:, 1:].max(initial=0.0)), float(off[:, 0].max(initial=0.0)),
               float(np.abs(s.lam).max(initial=0.0)), published, "works" if s.success else "fails", published_error)


def study(t_end=T_END, small=SMALL):
    """Rows of all steps in null-space coordinates, and of the classical method with the small one."""
    table = [row("null space, Fox-Goodwin", h, run(common.null_space(h), t_end), t_end, "works",
                 PUBLISHED["error"] if h == small else None) for h in (small, *LARGE.values(), *MORE)]
    for rule, published in RULES.items():
        s = run(common.classical(small, rule, tol=CLASSICAL_TOL), t_end)
        table.append(row(f"classical, ({rule[0]:g}, {rule[1]:g})", small, s, t_end, published))
    return table


def free_frequencies(system, s):
    """Largest frequency of `M^-1 K` without constraints at each time, `K` the derivative of `Phi_q^T lam - Q` by positions [rad/s]."""
    found = np.zeros(len(s.t))
    for k, (t, q, v, lam) in enumerate(zip(s.t, s.q, s.v, s.lam)):
        K = np.column_stack([_central(system, t, q, v, lam, shift) for shift in DISPLACEMENT * np.eye(system.nv)])
        squares = np.linalg.eigvals(np.linalg.solve(_dense(system.mass(t, q)), K))
        found[k] = np.sqrt(max(squares.real.max(), 0.0))
    return found


def _central(system, t, q, v, lam, shift):
    ahead, behind = (system.phi_q(t, x).T @ lam - system.force(t, x, v) for x in (q + shift, q - shift))
    return (ahead - behind) / (2.0 * DISPLACEMENT)


def _dense(matrix):
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def frequencies(t_end=T_END, small=SMALL, every=10):
    """`(t, reduced, free)` along the run with the small step."""
    s = common.finished(target(), common.null_space(small), (0.0, t_end), every=every)
    t, reduced = largest_frequencies(target(), s)
    return t, reduced, free_frequencies(target(), s)


def report(table, omega):
    """Print rows and frequencies."""
    show([(r.method, f"{r.h:g}", "ends" if r.success else f"fails at {r.t_end:.3g} s", f"{r.error_pin:.2e}", f"{r.error_crank:.2e}",
           f"{r.multiplier:.4g}") for r in table],
         ("method", "step [s]", "here", "error of F [m]", "of the crank [rad]", "largest multiplier"))
    print(f"  published error {PUBLISHED['error']:.2e}; " + ", ".join(f"{name} {value:.2e}" for name, value in OTHERS.items()))
    limit = common.null_space(1.0).formula.limit()
    for name, published, values in (("without constraints", f"{PUBLISHED['frequency']}", omega[2]), ("reduced system", "-", omega[1])):
        print(f"  largest frequency, {name}: {values.max():.3f} rad/s (published {published}), "
              f"Fox-Goodwin up to {stable_steps(values.max(), limit):.3e} s")


def draw_pin(s, exact, title, path):
    """Figures 24, 26 and 27: coordinates of F; the accurate run behind one with large steps."""
    with style():
        figure = new_figure(6.4, 3.1)
        axis = figure.add_subplot()
        pin, large = outputs(s), s is not exact
        for k, name in enumerate("xy"):
            if large:
                axis.plot(1e3 * exact.t, 1e3 * outputs(exact)[:, k + 1], color=COLOURS[k], linewidth=2.6, alpha=0.3)
            look = {"marker": "o", "markersize": 3.0, "linewidth": 0.8} if large else {"linewidth": 1.3}
            axis.plot(1e3 * s.t, 1e3 * pin[:, k + 1], color=COLOURS[k], label=f"{name} of F", **look)
        if large:
            axis.plot([], [], color=GREY, linewidth=2.6, alpha=0.4, label="accurate")
        else:
            times, values = references(s.t[-1])
            axis.plot(1e3 * times, 1e3 * values[:, 1:], "o", color=common.DARK, markersize=3.0, markerfacecolor="none", markeredgewidth=0.8)
            axis.plot([], [], "o", color=common.DARK, markersize=3.0, markerfacecolor="none", markeredgewidth=0.8, label="reference")
        common.letter(axis, title)
        axis.set(xlabel="time  [ms]", ylabel="coordinates of F  [mm]", xlim=(0.0, 1e3 * exact.t[-1]))
        figure.legend(loc="outside lower center", ncols=3)
        save(figure, path)


def draw_frequencies(omega, path):
    """Figure 25."""
    t, reduced, free = omega
    with style():
        figure = new_figure(6.4, 3.1)
        axis = figure.add_subplot()
        axis.plot(1e3 * t, free, color=COLOURS[1], linewidth=1.1, label="bodies without constraints")
        axis.plot(1e3 * t, reduced, color=COLOURS[0], linewidth=1.1, label="reduced system")
        axis.axhline(PUBLISHED["frequency"], color=GREY, linestyle=(0, (4, 2)), linewidth=1.1, label="largest one published")
        axis.set(xlabel="time  [ms]", ylabel="largest natural frequency  [rad/s]", xlim=(0.0, 1e3 * t[-1]), ylim=(0.0, None))
        figure.legend(loc="outside lower center", ncols=3)
        save(figure, path)


def main(output, t_end=T_END, small=SMALL, every=10):
    """Run, print, draw; returns the line for the summary."""
    table, omega = study(t_end, small), frequencies(t_end, small, every)
    report(table, omega)
    exact = common.finished(target(), common.null_space(small), (0.0, t_end), every=every)
    draw_pin(exact, exact, f"Fox-Goodwin, null-space coordinates, step {1e6 * small:g} µs", output / "figure24.png")
    draw_frequencies(omega, output / "figure25.png")
    for number, h in LARGE.items():
        s = common.run(target(), common.null_space(h), (0.0, t_end))
        draw_pin(s, exact, f"Fox-Goodwin, null-space coordinates, step {1e6 * h:g} µs", output / f"figure{number}.png")
    write_csv(output / "figures24_27.csv", table)
    limit = common.null_space(1.0).formula.limit()
    write_csv(output / "figure25.csv", [
        {"of": name, "largest": float(x.max()), "published": published, "limit": float(stable_steps(x.max(), limit)),
         "published_limit": step}
        for name, x, published, step in (("bodies without constraints", omega[2], PUBLISHED["frequency"], PUBLISHED["step"]),
                                         ("reduced system", omega[1], None, None))])
    return f"error {table[0].error_crank:.2e} (published {PUBLISHED['error']:.2e}); largest frequency {omega[2].max():.1f} rad/s " \
           f"(published {PUBLISHED['frequency']:.1f}), of the reduced system {omega[1].max():.1f} rad/s"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
