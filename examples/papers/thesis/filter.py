"""The filter of eq. (5.6) in the Rosenbrock method: errors and steps with and without it, on the mechanisms of the library.

`RosenbrockNystrom(filter=True)` multiplies its error estimate by `(I - gamma h J)^-1`, `filter=False` controls the steps by the estimate
itself, as the code ForRosen of the thesis does. Both run at `rtol = atol = 10^k`, in the coordinates of mbdae and in those of the thesis
(`pivots="unscaled"`); these differ only where there are bodies in the plane. An error is the largest over ten times of the norm (4.7) of
the difference from a reference in positions and velocities, relative to the tolerance (4.6). It is global: a motion that amplifies errors
amplifies those of both. The reference is `SdirkFirstOrder` at 1e-10, and its own error is estimated by `SdirkDescriptor` at 1e-9.

Beside the mechanisms of the library there is `follower`, the problem of Prothero and Robinson: a wheel that a stiff spring and damper bind
to an arm with prescribed angle. Its solution is smooth, and the error estimate is that of a stiff component.
"""

import sys
from dataclasses import asdict, dataclass, replace
from functools import cache

import common
import numpy as np

import mbdae
from mbdae import library
from mbdae.cli.scripts import output_folder, show
from mbdae.studies import write_csv
from mbdae.system.assembly import State

REFERENCES = ((mbdae.SdirkFirstOrder(), 1e-10), (mbdae.SdirkDescriptor(), 1e-9))  # the second one for the error of the first
TOLERANCES = (-3, -4, -5, -6, -7)  # exponents k
SPAN = 2.0  # s, at most, of a motion
SPANS = {"stiff-pendulum": 20.0, "pendulum-chain": 20.0, "n-four-bar": 0.5, "closed-loop-bars": 5.0, "bricard": 5.0, "fekete": 20.0,
         "tethered-satellites": 500.0, "truck": 5.0, "iltis": 1.0, "passenger-car": 1.0, "hmmwv": 1.0, "hmmwv, stiff": 1.0,
         "random-tree": 0.5, "ring": 1.0}
REASON = 100  # characters of a failure that are printed
POINTS = 10  # times at which errors are measured
DOUBT = 0.1  # error of a reference, relative to the tolerance or the errors that are measured, above which a line is left out
VARIANTS = {"hmmwv, stiff": ("hmmwv", {"model": "stiff"})}
STIFFNESS, DAMPING = 1e8, 1e4  # of the follower, N m and N m s
SWING, FREQUENCY = 0.5, 4.0  # of the arm it follows, rad and rad/s


@dataclass(frozen=True)
class Line:
    """Runs at one tolerance: without and with the filter, errors relative to the tolerance and accepted steps; NaN if a run fails."""

    mechanism: str
    pivots: str
    k: int
    plain: float = np.nan
    filtered: float = np.nan
    steps_plain: int = 0
    steps_filtered: int = 0
    doubt: float = np.nan  # error of the reference, relative to the tolerance
    reason: str = ""  # of a failure

    @property
    def counts(self):
        """Whether it belongs to the summary."""
        return bool(np.isfinite(self.plain + self.filtered) and self.doubt <= DOUBT * max(1.0, min(self.plain, self.filtered)))


def follower():
    """A wheel bound to a prescribed angle by a stiff spring and damper, with the velocity of the arm from the start."""
    bodies = [mbdae.PlanarBody("arm", 1.0, 0.1), mbdae.PlanarBody("wheel", 1.0, 1.0, omega=SWING * FREQUENCY)]
    joints = [mbdae.PlanarRevolute("pivot", "ground", "arm"), mbdae.PlanarRevolute("axle", "ground", "wheel"),
              mbdae.PlanarAngle("motor", "ground", "arm", mbdae.Harmonic(SWING, FREQUENCY))]
    return mbdae.Mechanism("follower", bodies, joints, forces=[mbdae.RSDA("spring", "arm", "wheel", k=STIFFNESS, c=DAMPING)])


@cache
def system(name):
    """A mechanism by its name here."""
    if name == "follower":
        return mbdae.System(follower())
    name, parameters = VARIANTS.get(name, (name, {}))
    return library.system(name, **parameters)


def mechanisms():
    """Names of all mechanisms with a degree of freedom, variants and the follower."""
    return tuple(n for n in (*library.names(), *VARIANTS, "follower") if system(n).freedom > 0)


def choices(s):
    """Rules for the independent coordinates that differ for a system."""
    return ("angles", "unscaled") if len(s.angles) and not s.of_functions else ("angles",)


def _span(name):
    known = library.entry(VARIANTS.get(name, (name,))[0]).t_end if name != "follower" else SPAN
    return min(known, SPANS.get(name, SPAN))


def _run(problem, method, tolerance, times):
    return mbdae.solve(problem, method, (0.0, times[-1]), rtol=tolerance, atol=tolerance, t_eval=times)


@dataclass(frozen=True)
class Reference:
    """Positions and velocities at the times of output, and the reason why there are none."""

    q: np.ndarray
    v: np.ndarray
    reason: str = ""


def _reference(s, method, tolerance, times):
    """A `Reference` by runs from one time to the next: dense output has errors of its own where forces are stiff."""
    state, problem, rows = s.start, mbdae.StateSpace(s), []
    for t in times:
        r = mbdae.solve(problem, method, (state.t, t), state=state, rtol=tolerance, atol=tolerance)
        if not r.success:
            return Reference(np.zeros(0), np.zeros(0), r.message)
        state = State(float(t), r.q[-1], r.v[-1], r.a[-1], r.lam[-1])
        rows.append(state)
    return Reference(np.array([x.q for x in rows]), np.array([x.v for x in rows]))


def distance(x, known, tolerance):
    """Largest over the times of the norm (4.7) of the difference between two runs, relative to the tolerance (4.6)."""
    a, b = (np.hstack([s.q, s.v]) for s in (x, known))
    return float(np.sqrt(np.mean(((a - b) / (tolerance * (1.0 + np.abs(b)))) ** 2, axis=1)).max())


def lines(name, tolerances=TOLERANCES, share=1.0):
    """`Line` by rule for the coordinates and tolerance."""
    s, found = system(name), []
    times = np.linspace(0.0, share * _span(name), POINTS + 1)[1:]
    known, other = (_reference(s, method, tolerance, times) for method, tolerance in REFERENCES)
    for pivots in choices(s):
        problem = mbdae.StateSpace(s, pivots=pivots)
        for k in tolerances:
            line = Line(name, pivots, k)
            if known.reason or other.reason:
                found.append(replace(line, reason=f"reference: {known.reason or other.reason}"))
                continue
            runs = [_run(problem, mbdae.RosenbrockNystrom(filter=which, local_error=1.0), 10.0**k, times) for which in (False, True)]
            error = [distance(r, known, 10.0**k) if r.success else np.nan for r in runs]
            steps = [r.statistics.steps for r in runs]
            found.append(replace(line, plain=error[0], filtered=error[1], steps_plain=steps[0], steps_filtered=steps[1],
                                 doubt=distance(other, known, 10.0**k), reason="; ".join(r.message for r in runs if not r.success)))
    return found


def study(names=None, **settings):
    """`Line` of all mechanisms; the name of each is printed on the error stream as it begins."""
    found = []
    for name in names or mechanisms():
        print(f"  {name}", file=sys.stderr, flush=True)
        found += lines(name, **settings)
    return found


# --- tables ------------------------------------------------------------------------------------------------------------------------------


def report(table):
    """Print errors and steps of every mechanism."""
    tolerances = tuple(dict.fromkeys(x.k for x in table))
    head = ["mechanism", *(h for k in tolerances for h in (f"1e{k} plain", "filtered", "steps", "filtered"))]
    for pivots in dict.fromkeys(x.pivots for x in table):
        print(f"\n  pivots: {pivots}; errors / tolerance and steps")
        mine = {(x.mechanism, x.k): x for x in table if x.pivots == pivots}
        show([[name, *(cell for k in tolerances for cell in _cells(mine[name, k]))] for name in dict.fromkeys(n for n, _ in mine)], head)
    out = [x for x in table if not x.counts]
    for name in dict.fromkeys(x.mechanism for x in out):
        mine = [x for x in out if x.mechanism == name]
        reason = mine[0].reason or f"the reference is good to {mine[0].doubt:.2g} tolerances of 1e{mine[0].k} only"
        print(f"  left out: {name}, {', '.join(dict.fromkeys(f'1e{x.k}' for x in mine))}: {reason[:REASON]}")


def _cells(x):
    return [f"{e:.2g}" if np.isfinite(e) else None for e in (x.plain, x.filtered)] + [x.steps_plain or None, x.steps_filtered or None]


@dataclass(frozen=True)
class Summary:
    """Over the mechanisms that count: medians and maxima of errors, those above ten tolerances, ratios of errors and of steps."""

    pivots: str
    k: int
    mechanisms: int
    median_plain: float
    median_filtered: float
    largest_plain: float
    largest_filtered: float
    worst_plain: str
    worst_filtered: str
    above_ten_plain: int
    above_ten_filtered: int
    ratio: float  # of the errors, with the filter over without: median, largest, and where
    largest_ratio: float
    worst_ratio: str
    doubled: int  # mechanisms whose error the filter more than doubles, or more than halves
    halved: int
    steps: float  # with the filter over without: geometric mean, least, and where
    least_steps: float
    best_steps: str


def summaries(table):
    """`Summary` by rule for the coordinates and tolerance; `"unscaled"` has the mechanisms in the plane only."""
    found = []
    for pivots, k in dict.fromkeys((x.pivots, x.k) for x in table):
        some = [x for x in table if (x.pivots, x.k) == (pivots, k) and x.counts]
        if not some:
            continue
        plain, filtered = (np.array([getattr(x, name) for x in some]) for name in ("plain", "filtered"))
        ratio, steps = filtered / plain, np.array([x.steps_filtered / x.steps_plain for x in some])
        *worst, worst_ratio, best = [some[int(np.argmax(e))].mechanism for e in (plain, filtered, ratio, -steps)]
        found.append(Summary(pivots, k, len(some), *(float(np.median(e)) for e in (plain, filtered)),
                             *(float(e.max()) for e in (plain, filtered)), *worst, *(int((e > 10.0).sum()) for e in (plain, filtered)),
                             float(np.median(ratio)), float(ratio.max()), worst_ratio, int((ratio > 2.0).sum()), int((ratio < 0.5).sum()),
                             float(np.exp(np.log(steps).mean())), float(steps.min()), best))
    return found


def compare(table):
    """Print the summaries."""
    print("\n  errors / tolerance over the mechanisms")
    head = ("pivots", "tolerance", "mechanisms", "median", "filtered", "largest", "filtered", "> 10", "filtered", "error ratio", "largest",
            "doubled", "halved", "steps ratio", "least")
    show([_summary_cells(x) for x in summaries(table)], head)


def _summary_cells(x):
    return (x.pivots, f"1e{x.k}", x.mechanisms, f"{x.median_plain:.2g}", f"{x.median_filtered:.2g}",
            f"{x.largest_plain:.3g} {x.worst_plain}", f"{x.largest_filtered:.3g} {x.worst_filtered}", x.above_ten_plain,
            x.above_ten_filtered, f"{x.ratio:.2f}", f"{x.largest_ratio:.3g} {x.worst_ratio}", x.doubled, x.halved,
            f"{x.steps:.2f}", f"{x.least_steps:.2f} {x.best_steps}")


def main(output, **settings):
    """Run, print, write; returns the line for the summary."""
    table = study(**settings)
    report(table)
    compare(table)
    write_csv(output / "filter.csv", [asdict(x) for x in table])
    return "largest error / tolerance, filtered (not): " + ", ".join(
        f"{x.pivots} 1e{x.k} {x.largest_filtered:.2g} ({x.largest_plain:.2g})" for x in summaries(table))


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
