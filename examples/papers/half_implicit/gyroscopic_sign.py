"""Figures 5 and 6, iterations of HI: our method with the slips of the published program in the guess of Newton's method.

The published program (https://github.com/uwsbel/sbel-reproducibility, folder 2022/HalfImplicit_JCND) starts Newton's method from positions
that it extrapolates with the accelerations of the step before. The angular ones it computes as `J^-1 (tau + omega x J omega)`, with the
angular velocity at the end of the step, where Euler's equations have `J^-1 (tau - omega x J omega)` with that at its beginning. In the
four-link mechanism it has, besides, 100 for the axial entry of `J^-1` of link 2, whose moment of inertia is 0.1 in its mass matrix; ours is
0.01. Here `mbdae.HalfImplicit` gets the same guess. The motion remains the same: only the guess differs.

The archived program gives the printed counts on the slider-crank, and ours with the sign mended (`common.ARCHIVED`, run apart from this).
"""

from dataclasses import dataclass

import common
import numpy as np

import mbdae
from mbdae.cli.scripts import output_folder, show
from mbdae.compilation.compiled import compiled
from mbdae.integrators.control.loop import loops, shortened, step_from
from mbdae.integrators.half_implicit import Scratch, _first, _solve_or_balance
from mbdae.integrators.one_step import accept, balance, between, retry
from mbdae.studies import write_csv
from mbdae.system import kernels
from mbdae.system.codes import GOOD
from mbdae.system.vectors import put
from mbdae.typing import Vector

AXIAL = 0.1  # kg m^2, of link 2 in the mass matrix of the published program
CASES = {"slider-crank": "sign", "four-link": "sign and moment of inertia"}


class SlippedScratch(Scratch):
    """Vectors of a step, and principal moments of inertia of the bodies: of the mass matrix, and of the matrix to divide by."""

    J: Vector
    divisor: Vector


@compiled
def _slip(old, new, J, divisor):
    """Angular accelerations of the guess as in the published program: `divisor^-1 (J a + omega x J omega + omega1 x J omega1)`."""
    for body in range(J.shape[0] // 3):
        k, n = 3 * body, 6 * body + 3
        for i in range(3):
            j, m = (i + 1) % 3, (i + 2) % 3
            term = 0.0
            for v in (old.v, new.v):
                term += v[n + j] * J[k + m] * v[n + m] - v[n + m] * J[k + j] * v[n + j]
            new.a[n + i] = (J[k + i] * new.a[n + i] + term) / divisor[k + i]


@compiled
def _attempt(t, h, end, run):
    """A step of `HalfImplicit` with that guess for the next one."""
    clock, start, new, d = run.clock, run.start, run.end, run.scratch.d
    if clock.steps == 0:
        status = _first(t, h, run)
        if status != GOOD:
            return status, 0.0
    else:
        put(start.a, new.a)
        put(start.lam, new.lam)
    for k in range(d.shape[0]):
        new.v[k] = start.v[k] + h * new.a[k]
        d[k] = h * new.v[k]
    kernels.retract(start.q, d, run.model, new.q)
    if shortened(h, clock):
        return balance(end, new, run), 0.0
    _slip(start, new, run.scratch.J, run.scratch.divisor)
    following = step_from(end, clock.steps + 1, clock).h if end != clock.t_end else h
    return _solve_or_balance(end, following, new, run), 0.0


@dataclass(frozen=True)
class SlippedHalfImplicit(mbdae.HalfImplicit):
    """`HalfImplicit` with the guess of the published program."""

    loops = loops(_attempt, retry, accept, between)

    def scratch(self, system):
        """See `OneStep`."""
        J = np.concatenate([np.diag(np.reshape(body.inertia, (3, 3))) for body in system.mechanism.bodies])
        divisor = J.copy()
        if system.name == "four-link":
            J = J.copy()
            J[4] = AXIAL
        plain = super().scratch(system)
        return SlippedScratch(**{name: getattr(plain, name) for name in ("b", "d", "e", "r", "q1", "lam0")}, J=J, divisor=divisor)


@dataclass(frozen=True)
class Row:
    """Iterations per step of HI at the published settings: with the slips and without, printed, and of the archived programs."""

    mechanism: str
    slip: str
    h: float
    tol: float
    slipped: float
    published: float
    archived: float | None
    ours: float
    archived_mended: float | None
    difference: float


def run(mechanisms=tuple(CASES), t_end=8.0):
    """A `Row` for each published setting."""
    return [_row(name, *setting[:3], t_end) for name in mechanisms for setting in common.PUBLISHED[name, "HI"]]


def _row(name, h, tol, published, t_end):
    target = common.system(name)
    ours, slipped = (mbdae.solve(target, method(h=h, tol=tol), (0.0, t_end)) for method in (mbdae.HalfImplicit, SlippedHalfImplicit))
    if not (ours.success and slipped.success):
        raise RuntimeError(f"{name}, h = {h:g}: {ours.message} {slipped.message}")
    known = common.ARCHIVED if name == "slider-crank" else {}
    archived, mended = (known.get(key, {}).get(h) for key in ("HI", "HI, mended"))
    return Row(name, CASES[name], h, tol, slipped.statistics.iterations_per_step, published, archived, ours.statistics.iterations_per_step,
               mended, float(np.abs(ours.q - slipped.q).max()))


def report(table):
    """Print the rows."""
    show([(r.mechanism, f"{r.h:g}", r.slip, *(None if x is None else f"{x:.3f}" for x in
           (r.slipped, r.published, r.archived, r.ours, r.archived_mended)), f"{r.difference:.0e}") for r in table],
         ("mechanism", "h [s]", "slips", "ours with them", "printed", "archived", "ours", "archived, sign mended", "positions differ by"))


def main(output, **settings):
    """Run, print, write; returns the line for the summary."""
    table = run(**settings)
    report(table)
    write_csv(output / "gyroscopic_sign.csv", table)
    return "HI with the slips: " + ", ".join(f"{r.slipped:.2f} (printed {r.published:.2f})" for r in table)


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
