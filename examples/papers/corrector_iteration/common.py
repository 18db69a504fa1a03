"""What the scripts of this folder share: published tables, the chain of pendulums, solvers, runs at tolerances nearby, printed tables.

The paper: M. Arnold, A. Fuchs, C. Fuehrer, "Efficient corrector iteration for DAE time integration in multibody dynamics", Comput. Methods
Appl. Mech. Engrg. 195 (2006) 6958-6973. Its solver is DASSL; DASPK is DASSL's successor with the same control of steps and Jacobians, IDA
is DASPK in C. "sparse" of the paper is "estimated" here: groups of columns in a pattern that is estimated and grows.
"""

from dataclasses import dataclass, fields
from statistics import median

import mbdae
from mbdae import library
from mbdae.cli import scripts
from mbdae.registry import find
from mbdae.studies import reference
from mbdae.studies.jacobian import JacobianRow, Motion, jacobian_study, output_times
from mbdae.studies.kinematics import ReferenceSolution

OUTPUT = "results/papers/corrector_iteration"  # default of --output
SOLVERS = ("Odes:ddaspk:ggl", "Ida:ggl", "Bdf:ggl")
FREQUENCIES = ("0.05 Hz", "0.05 rad/s")  # two readings of the paper's "0.05 Hz"
NEARBY = tuple(1.02**k for k in range(-7, 8))  # factors on the tolerances


@dataclass(frozen=True)
class Published:
    """One line of a table of the paper; `None` for what it does not tell."""

    strategy: str
    cpu: float | None
    jacobians: int
    percent: float | None
    updates: int | None = None
    evaluations: int | None = None
    evaluations_corrector: int | None = None


TABLE_1 = {  # train carriage, rtol = atol = 1e-4, 15 s
    "explicit": (Published("dense", 18.86, 84, 100.0, None, 9739, 2179), Published("estimated", 14.78, 103, 78.4, None, 7178, 2166),
                 Published("dense:partitioned", 11.03, 25, 58.5, None, 4759, 2509),
                 Published("estimated:partitioned", 10.59, 43, 56.2, None, 4605, 2288)),
    "residual": (Published("dense", 18.59, 92, 100.0, None, 10473, 2193), Published("estimated", 13.55, 100, 72.9, None, 6992, 2152),
                 Published("dense:partitioned", 10.33, 24, 55.6, None, 4739, 2386),
                 Published("estimated:partitioned", 9.63, 40, 51.8, None, 4415, 2226)),
}
TABLE_2 = {  # chain of pendulums by the number of rods, rtol = 1e-4, atol = 1e-6, 200 s; those of 16 rods are told below figure 7
    12: (Published("dense", 5.69, 59, 100.0, 0), Published("estimated", 5.24, 72, 92.1, 0),
         Published("dense:extended", 4.68, 9, 82.2, 27), Published("estimated:extended", 5.09, 10, 89.5, 59)),
    14: (Published("dense", 9.03, 96, 100.0, 0), Published("estimated", 6.76, 70, 74.9, 0),
         Published("dense:extended", 6.78, 12, 75.1, 62), Published("estimated:extended", 6.16, 8, 68.2, 16)),
    16: (Published("dense", None, 43, None), Published("dense:extended", None, 6, None)),
}
TABLE_3 = (  # passenger car, rtol = 1e-4, atol = 1e-5, 5 s
    Published("dense", 296.86, 2229, 100.0), Published("estimated", 309.44, 2303, 103.3), Published("dense:partitioned", 141.28, 660, 29.6),
    Published("dense:extended", 145.75, 668, 30.0), Published("estimated:partitioned", 79.66, 410, 18.4),
    Published("estimated:extended", 59.45, 317, 14.2))


@dataclass(frozen=True)
class Line:
    """One strategy at the published tolerances, its runs at tolerances nearby, and what the paper has for it."""

    row: JacobianRow
    nearby: tuple
    published: Published | None

    def middle(self, name):
        """Median of a quantity over the runs nearby; `None` if it is not known."""
        found = [getattr(r, name) for r in self.nearby if getattr(r, name) is not None]
        return median(found) if found else None

    def span(self, name):
        """Least and largest of a quantity over the runs nearby."""
        found = [getattr(r, name) for r in self.nearby if getattr(r, name) is not None]
        return (min(found), max(found)) if found else None


def solvers():
    """The solvers that are installed, as `MethodSpec`."""
    found = []
    for name in SOLVERS:
        try:
            spec = find(name)
        except ValueError:
            continue
        available = spec.family.availability()
        found += [spec] if available is None or available.installed else []
    return found


def method(spec):
    """The method of a `MethodSpec`, with DASSL's test of the error of a step."""
    return spec.make(**({"local_error": 1.0} if spec.family.name == "Bdf" else {}))


def chosen(some):
    """`MethodSpec` of solvers given by name or as such; those that are installed for `None`."""
    return solvers() if some is None else [find(s) if isinstance(s, str) else s for s in some]


def chain(links, frequency):
    """The chain of pendulums in its angles, an ODE in the explicit form of GGL."""
    return mbdae.GGL(library.system("pendulum-chain", links=links, frequency=frequency, coordinates="classical"), "explicit")


def exact_motion(problem, t_end):
    """What errors are measured with."""
    return Motion(reference(problem.system, problem.system.start, output_times((0.0, t_end))))


def motion_by_ida(system, t_end):
    """The same by IDA with rtol = atol = 1e-9, for vehicles: explicit methods of high order are limited by their stability."""
    s = mbdae.solve(mbdae.GGL(system), find("Ida:ggl").make(), (0.0, t_end), t_eval=output_times((0.0, t_end)), rtol=1e-9, atol=1e-9)
    return Motion(ReferenceSolution(s.t, s.q, s.v, s.a, s.lam, "IDA, index 2, rtol = 1e-9", False))


def compare(problem, solver, t_end, strategies, published=(), rtol=1e-4, atol=1e-6, repeats=5, nearby=NEARBY, reference_values=None):
    """Strategies of any problem beside published lines.

    Parameters
    ----------
    problem : Problem
    solver : method object
        With a field `jacobian`.
    t_end : float
    strategies : sequence of str
    published : sequence of Published
    rtol, atol : float
    repeats : int
        Runs of which the median time is taken.
    nearby : sequence of float
        Factors on both tolerances for the runs that show how much counts and errors scatter.
    reference_values : Motion, optional
        By default one against a reference motion.

    Returns
    -------
    list of Line
    """
    reference_values = exact_motion(problem, t_end) if reference_values is None else reference_values
    run = {"method": solver, "t_span": (0.0, t_end), "strategies": strategies, "reference_values": reference_values}
    rows = jacobian_study(problem, **run, rtol=rtol, atol=atol, repeats=repeats).rows
    around = [jacobian_study(problem, **run, rtol=f * rtol, atol=f * atol, repeats=0).rows for f in nearby]
    known = {p.strategy: p for p in published}
    return [Line(row, tuple(rows[k] for rows in around), known.get(row.strategy)) for k, row in enumerate(rows)]


def table1(system, solver, t_end=15.0, rtol=1e-4, atol=1e-4, **options):
    """Lines of table 1 for any system: both forms of GGL, dense and sparse, plain and partitioned; a dictionary by form."""
    return {form: compare(mbdae.GGL(system, form), solver, t_end, [p.strategy for p in lines], lines, rtol, atol, **options)
            for form, lines in TABLE_1.items()}


def table3(system, solver, t_end=5.0, rtol=1e-4, atol=1e-5, **options):
    """Lines of table 3 for any system with excitations: the explicit form of GGL, plain, partitioned and extended."""
    return compare(mbdae.GGL(system, "explicit"), solver, t_end, [p.strategy for p in TABLE_3], TABLE_3, rtol, atol, **options)


# --- printed ---------------------------------------------------------------------------------------------------------------------------

_HEAD = ("strategy", "cpu [s]", "publ.", "percent", "publ.", "#Je", "nearby", "publ.", "#updates", "nearby", "publ.", "#fc", "publ.",
         "#fcw", "publ.", "error end", "nearby", "late", "nearby")


def show(lines):
    """Print a table: what was found, the median and the range of the runs nearby, what is published; columns without numbers left out."""
    cells = [_cells(line) for line in lines]
    keep = [k for k in range(len(_HEAD)) if any(row[k] is not None for row in cells)]
    scripts.show([[row[k] for k in keep] for row in cells], [_HEAD[k] for k in keep])


def _cells(line):
    r, p = line.row, line.published
    if not r.success:
        return [r.strategy, r.status] + [None] * (len(_HEAD) - 2)

    def theirs(name):
        return _text(getattr(p, name, None))

    return [r.strategy, _text(r.cpu, ".3f"), theirs("cpu"), _text(r.percent, ".1f"), theirs("percent"),
            _text(r.jacobians), _around(line, "jacobians"), theirs("jacobians"),
            _text(r.updates), _around(line, "updates"), theirs("updates"), _text(r.evaluations), theirs("evaluations"),
            _text(r.evaluations_corrector), theirs("evaluations_corrector"),
            _text(r.error_end, ".0f"), _around(line, "error_end"), _text(r.error_late, ".0f"), _around(line, "error_late")]


def _text(x, form="g"):
    return None if x is None else f"{x:{form}}"


def _around(line, name):
    if line.span(name) is None:
        return None
    low, high = line.span(name)
    return f"{line.middle(name):.0f} ({low:.0f}-{high:.0f})"


def as_rows(lines, **more):
    """Lines as plain dictionaries, for files."""
    return [{**more, **{f.name: getattr(line.row, f.name) for f in fields(line.row)},
             **{f"{end}_{name}": (line.span(name) or (None, None))[k]
                for name in ("jacobians", "updates") for k, end in enumerate(("least", "largest"))},
             **{f"nearby_{name}": line.middle(name) for name in ("jacobians", "updates", "evaluations", "error_end", "error_late")},
             **{f"published_{f.name}": getattr(line.published, f.name, None) for f in fields(Published)[1:]}} for line in lines]
