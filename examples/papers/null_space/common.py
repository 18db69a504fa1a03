"""What the scripts of this folder share: methods, runs and whether they are stable, panels.

The paper: I. Fernandez de Bustos, H. Uriarte, G. Urkullu, V. Garcia-Marina (2021), on Newmark's method in null-space coordinates. It calls
`alpha` what is `gamma` here.

What it leaves open, and what is done here:

- How long the stiff pendulum moves is in its figures only: 130 s here, two periods of the torque, and 240 s in figures 8 to 10.
- The data of its double pendulum are those of Gavrea, Negrut and Potra (2005), which are not public. `stiff-double-pendulum` of the
  library stands for it: two bars with spring-dampers in both joints too, started at rest off the free position of the stiff one, so that
  the motion begins with accelerations of 3e5 rad/s^2.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

import mbdae
from mbdae import library
from mbdae.pictures.curves import save
from mbdae.pictures.figures import COLOURS, GREY, new_figure, style

OUTPUT = "results/papers/null_space"  # default of --output
DARK = "#222222"
TRAPEZOIDAL, FOX_GOODWIN, CENTRAL = mbdae.TRAPEZOIDAL, mbdae.FOX_GOODWIN, mbdae.CENTRAL_DIFFERENCES
GROWN = 2.0  # times the largest value of the exact motion: more is instability, for the paper's stable runs stay below 1.4
DENSE = 130  # steps up to which each one gets a mark
ROOM = 12.0  # times the exact motion that a panel shows of an unstable one


@cache
def system(name, **parameters):
    """The equations of a mechanism of the library."""
    return library.system(name, **parameters)


def null_space(h, rule=FOX_GOODWIN, **options):
    """Newmark's method in null-space coordinates with `rule = (beta, gamma)`; without constraints Newmark's method as it is."""
    return mbdae.NullSpaceNewmark(h=h, beta=rule[0], gamma=rule[1], **options)


def classical(h, rule=TRAPEZOIDAL, **options):
    """Newmark's method with multipliers for the constraints on positions."""
    return mbdae.Newmark(h=h, beta=rule[0], gamma=rule[1], **options)


def run(target, method, t_span, **options):
    """The solution, be it complete or not."""
    return mbdae.solve(target, method, t_span, **options)


def finished(target, method, t_span, **options):
    """The solution of a run that must not fail.

    Raises
    ------
    RuntimeError
        If it does.
    """
    solution = mbdae.solve(target, method, t_span, **options)
    if not solution.success:
        raise RuntimeError(f"{solution.system.name}, {method.label}: {solution.message}")
    return solution


# --- motions and whether they are stable -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Motion:
    """One quantity along a run, beside the exact one as `exact = (t, values)`."""

    title: str
    t: np.ndarray
    values: np.ndarray
    exact: tuple
    success: bool
    message: str

    @property
    def largest(self):
        """Largest modulus."""
        return float(np.abs(self.values).max())

    @property
    def bound(self):
        """Largest modulus of the exact motion."""
        return float(np.abs(self.exact[1]).max())

    @property
    def error(self):
        """Largest distance from the exact motion."""
        return float(np.abs(self.values - np.interp(self.t, *self.exact)).max())

    @property
    def verdict(self):
        """`stable`, `unstable` for a motion that has grown, or `fails` for one that ends without having grown."""
        if self.largest > GROWN * self.bound:
            return "unstable"
        return "stable" if self.success else "fails"


# --- pictures ----------------------------------------------------------------------------------------------------------------------------


def draw_motions(motions, path, title, label, columns=2):
    """One panel per motion, the exact one behind it in grey; what grows beyond `ROOM` times that is cut."""
    rows = -(-len(motions) // columns)
    with style():
        figure = new_figure(7.4, 1.75 * rows + 0.75)
        figure.suptitle(title, fontsize=9.5, color=DARK)
        axes = figure.subplots(rows, columns, sharex=True, squeeze=False)
        for k, (axis, motion) in enumerate(zip(axes.flat, motions)):
            draw_motion(axis, motion)
            letter(axis, f"({chr(97 + k)}) {motion.title}: {_told(motion)}")
        for axis in axes[-1]:
            axis.set_xlabel("time  [s]")
        for line in axes:
            line[0].set_ylabel(label)
        axes[0, 0].set_xlim(0.0, min(motions[0].exact[0][-1], 1.6 * max(m.t[-1] for m in motions)))
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        save(figure, path)


def draw_motion(axis, motion):
    """The exact motion in grey, this one in colour, the end of a run that has failed."""
    axis.plot(*motion.exact, color=GREY, linewidth=2.6, alpha=0.45, label="exact")
    marks = {"marker": "o", "markersize": 3.2} if len(motion.t) <= DENSE else {}
    axis.plot(motion.t, motion.values, color=COLOURS[0], linewidth=0.9, label="this method", **marks)
    if not motion.success:
        axis.axvline(motion.t[-1], color=COLOURS[1], linestyle=(0, (3, 2)), linewidth=1.1)
    largest = 1.12 * min(max(motion.largest, motion.bound), ROOM * motion.bound)
    axis.set_ylim(-largest, largest)


def _told(motion):
    return motion.verdict + ("" if motion.success else f", ends at {motion.t[-1]:.4g} s")


def letter(axis, text):
    """Title of one panel, at its left."""
    axis.set_title(text, loc="left", color=DARK, fontsize=8.5)
