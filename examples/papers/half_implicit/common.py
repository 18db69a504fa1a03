"""What the scripts of this folder share: methods, published settings, exact motions, tables and pictures.

The paper: L. Fang, A. Kissel, R. Zhang, D. Negrut, "On the use of half-implicit numerical integration in multibody dynamics", J. Comput.
Nonlinear Dynam. 18 (2023) 014501. HI is its half-implicit, FI its fully implicit method.
"""

import time

import numpy as np
from scipy.integrate import solve_ivp

import mbdae
from mbdae import library
from mbdae.pictures.figures import COLOURS, GREY
from mbdae.studies import ReferenceSolution, kinematic_reference, write_csv

OUTPUT = "results/papers/half_implicit"  # default of --output
METHODS = {"HI": mbdae.HalfImplicit, "FI": mbdae.FullyImplicit}
LOOK = {"HI": {"color": COLOURS[0], "marker": "o", "markersize": 5.0}, "FI": {"color": COLOURS[1], "marker": "s", "markersize": 4.6}}
TITLES = {"double-pendulum": "double pendulum", "slider-crank": "slider-crank", "four-link": "four-link mechanism"}
HOLLOW = {"markerfacecolor": "white", "linestyle": (0, (4, 1.6))}  # what is published
SOLID = {"markeredgecolor": "white", "markeredgewidth": 0.6}  # what is computed here

# mechanism, method -> step [s], tolerance, Newton iterations per step, CPU seconds; 8 s of motion (figures 4 to 6)
PUBLISHED = {
    ("double-pendulum", "HI"): ((1e-4, 1e-7, 1.00, 47.61), (1e-3, 1e-7, 2.05, 6.51), (1e-2, 1e-7, 3.68, 0.927)),
    ("double-pendulum", "FI"): ((1e-4, 1e-5, 2.82, 105.5), (1e-3, 1e-6, 4.02, 14.32), (1e-2, 1e-7, 6.48, 2.185)),
    ("slider-crank", "HI"): ((1e-4, 1e-9, 2.00, 99.35), (1e-3, 1e-10, 3.13, 12.51), (1e-2, 1e-10, 5.59, 1.819)),
    ("slider-crank", "FI"): ((1e-4, 1e-3, 2.93, 143.1), (1e-3, 1e-7, 4.86, 25.14), (1e-2, 1e-7, 7.27, 3.822)),
    ("four-link", "HI"): ((1e-4, 1e-7, 2.00, 93.32), (1e-3, 1e-9, 3.60, 13.56), (1e-2, 1e-10, 6.86, 2.139)),
    ("four-link", "FI"): ((1e-4, 1e-2, 3.00, 128.5), (1e-3, 1e-5, 4.65, 21.70), (1e-2, 1e-7, 8.14, 3.902)),
}
# Newton iterations per step of the slider-crank by the archived programs (https://github.com/uwsbel/sbel-reproducibility, folder
# 2022/HalfImplicit_JCND) at the printed settings, by step: run apart from these scripts. "HI, mended" has the sign of the gyroscopic term
# mended, see gyroscopic_sign.py.
ARCHIVED = {"HI": {1e-4: 1.978, 1e-3: 3.135, 1e-2: 5.588}, "HI, mended": {1e-4: 1.003, 1e-3: 3.001, 1e-2: 5.468},
            "FI": {1e-4: 2.00, 1e-3: 4.00, 1e-2: 6.46}}


def system(name, **parameters):
    """The equations of a mechanism of the library."""
    return mbdae.System(library.mechanism(name, **parameters))


def tolerance(method, h):
    """Tolerance of Newton's method in the order analysis and the energy plot: that of FI is meant for `Phi/h^2`."""
    return 1e-10 if method == "HI" else 1e-10 / h**2


def run_method(target, method, h, tol, t_span, state=None, **options):
    """The solution by one of the two methods.

    Raises
    ------
    RuntimeError
        If the run fails.
    """
    solution = mbdae.solve(target, METHODS[method](h=h, tol=tol), t_span, state=state, **options)
    if not solution.success:
        raise RuntimeError(f"{solution.system.name}, {method}, h = {h:g}: {solution.message}")
    return solution


def timed(target, settings, t_span, repeats):
    """Run each `(method, h, tol)`, in turn and several times; returns `(iterations per step, CPU seconds of the fastest run)` of each."""
    start, seconds, iterations = mbdae.assemble(target, t_span[0]), [np.inf] * len(settings), [None] * len(settings)
    run_method(target, *settings[0], (t_span[0], t_span[0] + settings[0][1]), start)  # compiles, if it must
    for _ in range(repeats):
        for k, setting in enumerate(settings):
            begin = time.process_time()
            solution = run_method(target, *setting, t_span, start)
            seconds[k] = min(seconds[k], time.process_time() - begin)
            iterations[k] = solution.statistics.iterations_per_step
    return list(zip(iterations, seconds))


# --- exact motions -----------------------------------------------------------------------------------------------------------------------


def exact_motion(target, times):
    """The double pendulum by its two angles, a driven mechanism by kinematic analysis."""
    if target.name == "double-pendulum":
        return pendulum_motion(target, times)
    return kinematic_reference(target, times, mbdae.assemble(target, times[0]))


def pendulum_rates(slender=False, length=(4.0, 2.0), width=0.05, density=7800.0, g=9.81):
    """Right-hand side `y' = f(t, y)` of the double pendulum, `y = (x1, x2, x1', x2')`, angles from the y-axis towards the z-axis.

    With the moments `a = m1 L1^2/4 + J1 + m2 L1^2`, `b = m2 L2^2/4 + J2`, `c = m2 L1 L2/2` the kinetic energy is
    `(a x1'^2 + b x2'^2)/2 + c x1' x2' cos(x1 - x2)`, the potential `g (m1/2 + m2) L1 sin x1 + g m2 L2/2 sin x2`; Lagrange's equations
    follow. `J = m (L^2 + w^2)/12`, or `m L^2/12` for slender bars.
    """
    L1, L2 = length
    m1, m2 = density * width**2 * L1, density * width**2 * L2
    J1, J2 = (m * (L**2 + (0.0 if slender else width**2)) / 12.0 for m, L in ((m1, L1), (m2, L2)))
    a, b, c = m1 * L1**2 / 4.0 + J1 + m2 * L1**2, m2 * L2**2 / 4.0 + J2, m2 * L1 * L2 / 2.0

    def rates(t, y):
        x1, x2, w1, w2 = y
        k, s = c * np.cos(x1 - x2), c * np.sin(x1 - x2)
        p1 = -s * w2**2 - g * (m1 / 2.0 + m2) * L1 * np.cos(x1)
        p2 = s * w1**2 - g * m2 * L2 / 2.0 * np.cos(x2)
        d = a * b - k * k
        return np.array([w1, w2, (b * p1 - k * p2) / d, (a * p2 - k * p1) / d])

    return rates


def pendulum_angles(times, slender=False):
    """Angles and rates of the double pendulum released at t = 0, shape (4, n)."""
    start = (0.0, -0.5 * np.pi, 0.0, 0.0)
    span = (0.0, max(times[-1], 1e-3))
    return solve_ivp(pendulum_rates(slender), span, start, method="DOP853", rtol=1e-13, atol=1e-13, t_eval=times).y


def pendulum_motion(target, times):
    """The motion of `pendulum_angles` in the coordinates of the multibody model."""
    angles = pendulum_angles(times)
    q, v = pendulum_coordinates(angles)
    forces = [target.solve_kkt(t, x, target.force(t, x, w), target.gamma(t, x, w)) for t, x, w in zip(times, q, v)]
    a, lam = (np.array([f[k] for f in forces]) for k in (0, 1))
    return ReferenceSolution(np.asarray(times), q, v, a, lam, "two angles, DOP853")


def pendulum_coordinates(y):
    """Positions (n, 14) and velocities (n, 12) of both bars from their angles and rates (4, n)."""
    x1, x2, w1, w2 = y
    q, v = np.zeros((len(x1), 14)), np.zeros((len(x1), 12))
    elbow, d_elbow = np.array([4.0 * np.cos(x1), 4.0 * np.sin(x1)]), np.array([-4.0 * np.sin(x1), 4.0 * np.cos(x1)]) * w1
    q[:, 1:3], v[:, 1:3] = 0.5 * elbow.T, 0.5 * d_elbow.T
    q[:, 8:10] = (elbow + [np.cos(x2), np.sin(x2)]).T
    v[:, 7:9] = (d_elbow + np.array([-np.sin(x2), np.cos(x2)]) * w2).T
    for k, x, w in ((0, x1, w1), (1, x2, w2)):
        # a turn by x about the global x-axis after the one that lays the body axes x, y, z along y, z, x
        c, s = 0.5 * np.cos(0.5 * x), 0.5 * np.sin(0.5 * x)
        q[:, 7 * k + 3:7 * k + 7] = np.column_stack([c - s, c + s, c - s, c + s])
        v[:, 6 * k + 5] = w
    return q, v


# --- tables and pictures -----------------------------------------------------------------------------------------------------------------


def present(table, report, draw, summary, path, rows=None):
    """Print rows by `report(table)`, draw them by `draw(table, path)`, write `rows`, or the table itself, as CSV beside the picture.

    Returns the line for the summary, `summary(table)`.
    """
    report(table)
    draw(table, path)
    write_csv(path.with_suffix(".csv"), table if rows is None else rows)
    return summary(table)


def slope(h, errors):
    """Slope of `log(error)` over `log(h)` by least squares."""
    return float(np.polyfit(np.log(h), np.log(errors), 1)[0])


def guide(axis, h, level, text="slope 1"):
    """A dashed line of slope one that ends at `level` where the steps are largest."""
    h = np.array([min(h), max(h)])
    line = level * h / h[-1]
    axis.plot(h, line, color=GREY, linestyle=(0, (2, 2)), linewidth=1.0, zorder=1)
    axis.annotate(text, np.sqrt([h.prod(), line.prod()]), xytext=(6, -2), textcoords="offset points", va="top", color=GREY, fontsize=7.5)


def letter(axis, text):
    """Title of one panel, at its left."""
    axis.set_title(text, loc="left", color="#222222", fontsize=9)
