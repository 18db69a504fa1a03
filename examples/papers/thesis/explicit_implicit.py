"""Explicit against implicit integration, the point of tables 24 and 25, on the stiff double pendulum in state-space form, two seconds.

The thesis drives a vehicle with stiff bushings over a bump: DEABM, explicit, takes the same 3600 s per second of motion at every tolerance,
as stability bounds its step, and the trapezoidal rule 42 to 312 s. Here every method gets the same equations `z'' = f(t, z, z')`, in one
process. DOP853 is the explicit code; it runs over a twentieth of a second only and its time is scaled. CVODE's Adams formulas are made for
equations that are not stiff too, though their corrector is solved by Newton's method, so that they fare better. LSODAR and LSODA change to
BDF formulas by themselves, CVODE with BDF formulas has them from the start.
"""

import common_motion as common
import numpy as np

import mbdae
from mbdae.cli.scripts import output_folder, show
from mbdae.registry import find
from mbdae.studies import write_csv

EXPLICIT = ("Cvode:Adams", "SolveIvp:DOP853")
STIFF = ("Assimulo:LSODAR", "SolveIvp:LSODA", "Cvode:BDF")
OWN = ("TrapezoidalStateSpace", "TrapezoidalDescriptor", "SdirkDescriptor", "SdirkFirstOrder", "RosenbrockNystrom")
# CPU seconds for one second of motion of the vehicle, k = -2 to -5
PUBLISHED = {"DEABM": (3618.0, 3641.0, 3667.0, 3663.0), "SspTrap": (42.0, 54.0, 122.0, 312.0)}
LIMIT = 0.05  # seconds of motion for explicit methods; their times are scaled to the whole


def available(names):
    """`(name, method)` of those whose packages are installed."""
    found = []
    for name in names:
        spec = find(name)
        state = spec.family.availability()
        options = {"local_error": 1.0} if name in OWN else {}  # as in the thesis
        found += [(name, spec.make(**options))] if state is None or state.installed else []
    return found


def row(name, method, k, t_end, repeats):
    """Steps, evaluations, CPU seconds of a run and its error at the end in tolerances."""
    runs = [mbdae.solve(common.system(), method, (0.0, t_end), formulation="partition", rtol=10.0**k, atol=10.0**k, t_eval=[t_end])
            for _ in range(repeats)]
    s = runs[0]
    known, c = common.reference(max(t_end, LIMIT)), s.statistics
    off = abs(s.q[-1, common.THETA] - known.angle(t_end)) if s.success else np.nan
    evaluations = None if c.residuals is None else c.residuals + (c.residuals_jacobian or 0)
    return {"method": name, "k": k, "t_end": t_end, "success": s.success, "steps": c.steps, "evaluations": evaluations,
            "seconds": min(r.statistics.cpu_seconds for r in runs), "error": float(off)}


def study(tolerances=common.TOLERANCES, t_end=common.T_END, limit=LIMIT, repeats=3):
    """Rows of all methods over tolerances."""
    cases = [(name, method, limit, repeats) for name, method in available(EXPLICIT)]
    cases += [(name, method, t_end, repeats) for name, method in available(STIFF + OWN)]
    return [row(name, method, k, span, n) for name, method, span, n in cases for k in tolerances]


def speedup(rows):
    """By exponent: CPU seconds per second of motion of the fastest explicit method over those of the fastest of ours."""
    def best(names, k):
        return min((r["seconds"] / r["t_end"] for r in rows if r["method"] in names and r["k"] == k and r["success"]), default=np.nan)

    return {k: best(EXPLICIT, k) / best(OWN, k) for k in dict.fromkeys(r["k"] for r in rows)}


def report(rows):
    """Print the table."""
    show([_cells(r) for r in rows], ("method", "k", "motion [s]", "steps", "evaluations", "cpu [ms/s of motion]", "error / 10^k"))
    told = "; ".join(f"{name} {', '.join(f'{x:.0f}' for x in times)}" for name, times in PUBLISHED.items())
    print(f"  published, vehicle [cpu s]: {told}")


def _cells(r):
    cost = (f"{1e3 * r['seconds'] / r['t_end']:.2f}", f"{r['error'] / 10.0 ** r['k']:.3g}") if r["success"] else ("failed", None)
    return r["method"], r["k"], f"{r['t_end']:g}", r["steps"], r["evaluations"], *cost


def main(output, **settings):
    """Run, print, write; returns the line for the summary."""
    rows = study(**settings)
    report(rows)
    write_csv(output / "explicit_implicit.csv", rows)
    return "explicit / implicit: " + ", ".join(f"{ratio:.0f} at 1e{k}" for k, ratio in speedup(rows).items())


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
