"""Parsers of the commands that study many runs: `jacobian`, `scaling`, `matrix`, `study`."""

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .formatter import HelpFormatter
from .later import later
from .options import Commands, assignment, method, natural, parser_of_mechanism, positive, positives

if TYPE_CHECKING:
    from ..registry import MethodSpec

# study -----------------------------------------------------------------------------------------------------------------

STUDIES = {
    "work-precision": "errors, constraint violation and drift of energy against processor time",
    "order": "errors over the step, with fitted orders",
    "drift": "energy and constraint violation over long times",
    "tolerance": "error over tolerance: is it proportional?",
    "solvers": "every solver in every formulation: error in tolerances, refusals, failures",
    "profile": "the fastest method for an accuracy, in-house or established; profiles",
    "jacobian": "strategies for Jacobians: evaluations and processor time",
    "scaling": "growth of cost with the number of links",
}
_STUDY = """\
Carry out a study over any mechanisms, formulations, methods and tolerances. Writes one
table (.csv, .json with versions, machine, commit and settings, .parquet if pandas and
pyarrow are installed) and one figure. Results of cells are kept in the folder: after an
interrupt the same command goes on. A cell that fails is a row with its status.
"""
_STUDY_EPILOG = """\
studies:
""" + "\n".join(f"  {name:<15} {summary}" for name, summary in STUDIES.items()) + """

examples:
  mbdae study work-precision andrews,four-link --methods HalfImplicit,Ida:ggl
  mbdae study tolerance double-pendulum --methods RosenbrockNystrom,Bdf --rtol 1e-4,1e-8
  mbdae study order four-link --steps 8e-3,4e-3,2e-3
  mbdae study solvers andrews --formulations ggl,index1 --jobs 2
  mbdae study scaling chain --sizes 4,16,64
  mbdae study solvers andrews --executor dask --scheduler tcp://10.0.0.5:8786

The exit code is 0 if no cell has failed and no error exceeds a hundred tolerances.
"""


def study(commands: Commands) -> None:
    """The parser of `study`."""
    p = commands.add_parser("study", help="studies over many mechanisms, methods and settings", description=_STUDY, epilog=_STUDY_EPILOG,
                            allow_abbrev=False, formatter_class=HelpFormatter)
    p.add_argument("study", metavar="STUDY", choices=tuple(STUDIES), help=", ".join(STUDIES))
    p.add_argument("mechanisms", metavar="A,B", type=_names, nargs="?", default=(), help="names, see 'mbdae list', or files")
    p.add_argument("--methods", metavar="M,N", type=_names, default=(), help="names, see 'mbdae list'")
    p.add_argument("--formulations", metavar="F,G", type=_names, default=(), help="for methods that are named without one")
    p.add_argument("--rtol", metavar="R,S", type=positives, default=(), help="relative tolerances; atol is a hundredth")
    p.add_argument("--steps", metavar="H,K", type=positives, default=(), help="steps of methods with fixed step [s]")
    p.add_argument("--sizes", metavar="N,M", type=_sizes, default=(), help="numbers of links, of 'scaling'")
    p.add_argument("--set", metavar="NAME=VALUE", type=assignment, action="append", default=[], dest="parameters",
                   help="parameter of the mechanisms; may be repeated")
    p.add_argument("--coordinates", choices=("cartesian", "joint"), default="cartesian")
    p.add_argument("--t-end", metavar="T", type=positive, help="end of the time span, which begins at 0 [s]")
    p.add_argument("--repeats", metavar="N", type=natural, help="runs of which the least time is taken")
    p.add_argument("--passes", metavar="N", type=natural, default=1,
                   help="how often the whole study is carried out (1), for the least times; of 'work-precision' and 'profile'")
    p.add_argument("--limit", metavar="S", type=positive, default=60.0, help="time limit of a run in seconds (60)")
    p.add_argument("--jobs", metavar="N", type=natural, default=1, help="cells at once, each on a core (1); disturbs the timings")
    p.add_argument("--executor", choices=("local", "dask"), default="local")
    p.add_argument("--scheduler", metavar="ADDRESS", help="of an existing Dask cluster, such as tcp://10.0.0.5:8786")
    p.add_argument("--fresh", action="store_true", help="compute kept results again")
    p.add_argument("--output", metavar="DIR", help="folder for tables, figure and kept results (results/STUDY)")
    p.set_defaults(run=later("study"))


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(sorted({natural(part.strip()) for part in text.split(",")}))


# jacobian --------------------------------------------------------------------------------------------------------------

METHOD = "Ida:ggl"
RTOL, SHARE = 1e-4, 0.01  # of `jacobian`, of mbdae.studies.jacobian

_JACOBIAN = """\
Run one solver on one mechanism with several strategies for its Jacobian: numbers of
evaluations and updates, cost, and accuracy of the motion.
With --output the table is written to jacobian.csv and .json, with figures of the
pattern, the groups of columns, and the times of evaluation.
"""
_JACOBIAN_EPILOG = """\
strategies: source[:update], by default those that apply
  dense        difference quotients, one column at a time
  grouped      difference quotients by groups of columns, known entries excluded
  estimated    difference quotients by groups in an estimated pattern
  exact        complex step
  difference   the solver's own difference quotients
  :partitioned        F_y is reused while only the step size changes
  :extended           F_y is also corrected for the excitations of the mechanism

examples:
  mbdae jacobian andrews
  mbdae jacobian slider-crank --method Ida:gear --strategies grouped,exact
  mbdae jacobian pendulum-chain --set links=16 --set coordinates=classical \\
                 --method Odes:ddaspk:ggl --form explicit --output results/jacobian

The exit code is 1 if a strategy fails.
"""


def jacobian(commands: Commands) -> None:
    """The parser of `jacobian`."""
    p = commands.add_parser("jacobian", help="comparison of strategies for Jacobians", description=_JACOBIAN, epilog=_JACOBIAN_EPILOG,
                            parents=[parser_of_mechanism()], allow_abbrev=False, formatter_class=HelpFormatter)
    p.add_argument("--method", metavar="M", type=method, default=METHOD,
                   help=f"solver that takes a Jacobian, in GGL form if possible and not specified otherwise (default {METHOD})")
    p.add_argument("--form", choices=("residual", "explicit"), help="of GGL: with the mass matrix, or multiplied by its inverse "
                   "(default residual)")
    p.add_argument("--strategies", metavar="A,B", type=strategies, help="see below")
    p.add_argument("--rtol", metavar="R", type=positive, default=RTOL, help=f"relative tolerance (default {RTOL:g})")
    p.add_argument("--atol", metavar="A", type=positive, help=f"absolute tolerance (default {SHARE:g} of the relative one)")
    p.add_argument("--repeat", metavar="N", type=natural, default=3, help="runs of which the median time is taken (default 3)")
    p.add_argument("--limit", metavar="S", type=positive, default=60.0, help="time limit of a run in seconds (default 60)")
    p.add_argument("--output", metavar="DIR", help="folder for table and figures")
    p.add_argument("--no-figure", action="store_true", help="write the table only")
    p.set_defaults(run=later("jacobian"))


def strategies(text: str) -> tuple[str, ...]:
    """Names of strategies separated by commas, none twice."""
    from ..jacobians.strategy import SOURCES, as_strategy

    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in names:
        try:
            as_strategy(name)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{name!r} is no strategy; there are {', '.join(SOURCES)}, followed by :partitioned or "
                                             ":extended if wanted, and difference") from None
    return names


# scaling ---------------------------------------------------------------------------------------------------------------

SCALED = ("chain", "tree", "random-tree", "ring", "ladder", "n-four-bar")  # families, cases, sizes, limit of mbdae.studies.scaling
CASES = ("half-implicit", "half-implicit-joint", "explicit", "explicit-joint", "state-space", "state-space-joint", "sdirk-sparse",
         "sdirk-sparse-joint", "bdf")
SIZES = (1, 4, 16, 64, 256, 1024, 4096)
LIMIT_OF_ROW = 20.0

_SCALING = """\
Processor time of set-up and of one step, and memory, of chains, trees and closed loops
of growing numbers of links, in Cartesian and in joint coordinates, with fitted exponents.
With --output the table is written to scaling.csv and .json, with a figure.
"""
_SCALING_EPILOG = f"""\
families: {', '.join(SCALED)}
cases:    {', '.join(CASES)}

examples:
  mbdae scaling chain --sizes 4,16,64
  mbdae scaling chain,ring --cases half-implicit,explicit-joint --output results/scaling
"""


def scaling(commands: Commands) -> None:
    """The parser of `scaling`."""
    p = commands.add_parser("scaling", help="growth of cost with the number of links", description=_SCALING, epilog=_SCALING_EPILOG,
                            allow_abbrev=False, formatter_class=HelpFormatter)
    p.add_argument("families", metavar="FAMILIES", nargs="?", type=_some(SCALED, "family"), default=SCALED,
                   help="separated by commas (default all)")
    p.add_argument("--sizes", metavar="N,M", type=_sizes, default=SIZES, help="numbers of links, up to 4096 (default powers of four)")
    p.add_argument("--cases", metavar="A,B", type=_some(CASES, "case"), default=CASES, help="see below (default all)")
    p.add_argument("--repeat", metavar="N", type=natural, default=3, help="runs of which the least time is taken (default 3)")
    p.add_argument("--limit", metavar="S", type=positive, default=LIMIT_OF_ROW,
                   help=f"processor time of a row in seconds (default {LIMIT_OF_ROW:g})")
    p.add_argument("--output", metavar="DIR", help="folder for table and figure")
    p.set_defaults(run=later("scaling"))


def _some(known: Sequence[str], what: str) -> Callable[[str], tuple[str, ...]]:
    def parse(text: str) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
        for name in found:
            if name not in known:
                raise argparse.ArgumentTypeError(f"there is no {what} {name!r}; there are {', '.join(known)}")
        return found

    return parse


# matrix ----------------------------------------------------------------------------------------------------------------

MECHANISMS = ("single-pendulum", "double-pendulum", "slider-crank", "four-link", "andrews")  # of mbdae.studies.matrix, as the bound
MAX_ERROR = 100.0

_MATRIX = f"""\
Run every installed solver in every formulation on {len(MECHANISMS)} mechanisms and print the
final error in multiples of the tolerance. A supported combination must have an error
below {MAX_ERROR:g} tolerances; every other one must raise an error that names the reason,
as must state-space forms of a mechanism whose motion is prescribed.
"""
_MATRIX_EPILOG = """\
examples:
  mbdae matrix
  mbdae matrix --mechanisms andrews --methods Ida,Odes:ida,Assimulo:IDA
  mbdae matrix --mechanisms double-pendulum --methods RosenbrockNystrom,Cvode
  mbdae matrix --settings                     settings of all solvers, without a run
  mbdae matrix --settings --output docs/solvers.md

The exit code is 0 if every supported combination passes, 1 otherwise.
"""


def matrix(commands: Commands) -> None:
    """The parser of `matrix`."""
    p = commands.add_parser("matrix", help="every solver in every formulation", description=_MATRIX, epilog=_MATRIX_EPILOG,
                            allow_abbrev=False, formatter_class=HelpFormatter)
    p.add_argument("--mechanisms", metavar="A,B", type=_standard, default=MECHANISMS, help=f"some of {', '.join(MECHANISMS)}")
    p.add_argument("--methods", metavar="A,B", type=_solvers, help="solvers, see 'mbdae list'; by default all that are installed")
    p.add_argument("--rtol", metavar="R", type=positive, default=1e-6, help="relative tolerance; atol is a hundredth of it (1e-6)")
    p.add_argument("--settings", action="store_true", help="print the settings instead of running")
    p.add_argument("--output", metavar="FILE", help="write .csv or .json; with --settings .md")
    p.set_defaults(run=later("matrix"))


def _standard(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    unknown = [name for name in names if name not in MECHANISMS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not among {', '.join(MECHANISMS)}")
    return names


def _solvers(text: str) -> "list[MethodSpec]":
    """Solvers by name; a family with variants stands for all of them."""
    from ..registry import find
    from ..studies.matrix import solvers

    chosen: list[MethodSpec] = []
    for part in text.split(","):
        try:
            spec = find(part)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        if not spec.family.forms():
            raise argparse.ArgumentTypeError(f"{part.strip()!r} has a fixed step; the matrix compares methods with error control")
        same = [s for s in solvers(installed=False) if s.family is spec.family]
        chosen += same if ":" not in part else [s for s in same if s.variant == spec.variant]
    return list(dict.fromkeys(chosen))
