"""Parsers of the commands: their help and refusals do not wait for numerical code to be imported."""

import argparse
from collections.abc import Callable, Mapping

from . import parsers_of_studies as studies
from .formatter import HelpFormatter
from .later import later
from .options import Commands, assignment, method, methods, natural, parser_of_mechanism, positive, positives

ENDINGS = (".npz", ".csv", ".json")  # of the file of a run
PICTURES = (".png", ".pdf", ".svg")
POINTS = 501  # of natural frequencies
LIMIT, LIMIT_OF_ALL = 30.0, 5.0  # of `compare`


# compare ---------------------------------------------------------------------------------------------------------------

_COMPARE = """\
Run integrators and solvers on one mechanism over several steps or tolerances.
Measures errors against a reference, constraint residuals, drift of energy, and
cost; prints a table and writes work_precision.png, .csv and .json. With --all the
study of profiles over the whole library (hours; see 'mbdae study').
"""
_COMPARE_EPILOG = """\
methods:
  HalfImplicit FullyImplicit          fixed step, over --steps
  Ida:gear Ida:ggl Ida:index1 ...     error control, over --rtol; atol = rtol/100
  Cvode:BDF SolveIvp:DOP853 SolveIvp:Radau ...        see 'mbdae list'
  RosenbrockNystrom SdirkFirstOrder:tangent ...       on state-space form
  Cvode:Adams:partition SolveIvp:LSODA:partition ...  other solvers on this form

examples:
  mbdae compare slider-crank
  mbdae compare slider-crank --set mu=0.2 --output results/friction --no-figure
  mbdae compare my-mechanism.yaml --t-end 5
  mbdae compare double-pendulum --methods HalfImplicit,Ida:ggl --steps 1e-2,1e-3 \\
                                --rtol 1e-6 --t-end 4
  mbdae compare stiff-double-pendulum --t-end 0.5 --methods \\
                RosenbrockNystrom,SolveIvp:Radau:partition
  mbdae compare --all --output results/profile

The exit code is 0 if at least one run succeeded, 1 if none did, 2 for invalid
arguments.
"""


def _compare(commands: Commands) -> None:
    """The parser of `compare`."""
    p = commands.add_parser("compare", help="integrators and solvers side by side", description=_COMPARE, epilog=_COMPARE_EPILOG,
                            parents=[parser_of_mechanism(optional=True)], allow_abbrev=False, formatter_class=HelpFormatter)
    p.add_argument("--all", action="store_true", help="all mechanisms of the library; goes on after an interrupt")
    p.add_argument("--methods", metavar="M,M,...", type=methods, help="the default depends on the mechanism")
    p.add_argument("--steps", metavar="H,H,...", type=positives, help="steps of the methods with fixed step [s]")
    p.add_argument("--rtol", metavar="R,R,...", type=positives, help="relative tolerances of the methods with error control")
    p.add_argument("--repeats", metavar="N", type=natural,
                   help="runs of which the least time is taken (default: until two agree to 3 %%, at most 5; with --all 3)")
    p.add_argument("--limit", metavar="S", type=positive,
                   help=f"time limit of a run in seconds (default {LIMIT:g}, with --all {LIMIT_OF_ALL:g})")
    p.add_argument("--output", metavar="DIR", help="folder for figure and tables (default results/MECHANISM)")
    p.add_argument("--no-figure", action="store_true", help="write the tables only")
    p.set_defaults(run=later("compare"))


# solve -----------------------------------------------------------------------------------------------------------------

_SOLVE_EPILOG = """\
Without --output and --plot a summary is shown. The file holds time, positions,
velocities, accelerations, multipliers, energy, constraint residuals and the
natural outputs of the mechanism. With a .csv file a .json file is written that
contains versions, machine and parameters. An .npz file is one of
mbdae.Solution.load; --resume continues its run to another end. The figure has
coordinates, energy, constraint violation and reactions.

examples:
  mbdae solve andrews --plot                             writes andrews.png
  mbdae solve slider-crank --output run.npz --plot run.png
  mbdae solve chain --set links=8 --h 5e-4 --points 301 --output chain.csv
  mbdae solve double-pendulum --method Ida:ggl --rtol 1e-8 --output pendulum.json
  mbdae solve flyball-governor --method RosenbrockNystrom --output governor.npz
  mbdae solve my-mechanism.yaml --t-end 5 --h 1e-3 --output run.npz
"""


def _solve(commands: Commands) -> None:
    """The parser of `solve`."""
    p = commands.add_parser("solve", help="one run: summary, files, figure",
                            description="Run one method on a mechanism; show a summary, write the motion to a file, draw it.",
                            epilog=_SOLVE_EPILOG, parents=[parser_of_mechanism()], allow_abbrev=False,
                            formatter_class=HelpFormatter)
    _add_method_options(p)
    p.add_argument("--points", metavar="N", type=natural, help="output times, evenly spread; by default the steps of the method")
    p.add_argument("--output", metavar="FILE", help=f"ends in {', '.join(ENDINGS)}; by default nothing is written")
    p.add_argument("--resume", metavar="FILE", help="an .npz file of an earlier run or checkpoint with the same options, which goes on")
    p.add_argument("--checkpoint", metavar="FILE", help="an .npz file to which the run is written every minute, for --resume after a crash")
    p.add_argument("--plot", metavar="FILE", nargs="?", const="", help="figure of the motion with names and units, ends in "
                   f"{', '.join(PICTURES)} (default MECHANISM.png)")
    p.set_defaults(run=later("solve"))


def _add_method_options(p: argparse.ArgumentParser) -> None:
    """Options for the method and its accuracy."""
    p.add_argument("--method", metavar="M", type=method, help="e.g. Automatic, Ida:ggl, Cvode:Adams:partition; see 'mbdae list' "
                   "(default Automatic, which chooses it; HalfImplicit with --h)")
    p.add_argument("--formulation", metavar="F", help="formulation of the equations; default: the preferred one of the solver")
    p.add_argument("--h", metavar="H", type=positive, help="step of a method with fixed step [s]")
    p.add_argument("--rtol", metavar="R", type=positive, help="relative tolerance of a method with error control (default 1e-6)")
    p.add_argument("--atol", metavar="A", type=positive, help="absolute tolerance (default rtol/100)")


# animate ---------------------------------------------------------------------------------------------------------------

_ANIMATE_EPILOG = """\
examples:
  mbdae animate slider-crank
  mbdae animate four-link --view 3d --t-end 2 --fps 30 --output four-link.gif
  mbdae animate chain --set links=12 --speed 0.5 --output chain.mp4
  mbdae animate my-mechanism.yaml --t-end 5

MP4 needs ffmpeg: pip install 'mbdae[mp4]'.
"""


def _animate(commands: Commands) -> None:
    """The parser of `animate`."""
    p = commands.add_parser("animate", help="an animation as GIF or MP4", description="Simulate a mechanism and animate its motion.",
                            epilog=_ANIMATE_EPILOG, parents=[parser_of_mechanism()], allow_abbrev=False,
                            formatter_class=HelpFormatter)
    _add_method_options(p)
    p.add_argument("--output", metavar="FILE", help="ends in .gif or .mp4 (default MECHANISM.gif)")
    p.add_argument("--fps", metavar="N", type=natural, default=25, help="frames per second (default 25)")
    p.add_argument("--speed", metavar="X", type=positive, help="seconds of motion per second of animation (default: by mechanism)")
    p.add_argument("--view", metavar="V", help="two axes like yz, the horizontal one first, or 3d (default: by mechanism)")
    p.set_defaults(run=later("animate"))


# list ------------------------------------------------------------------------------------------------------------------

_LIST_EPILOG = """\
examples:
  mbdae list
  mbdae list --long     with summaries, parameters, and applicable forms and methods
"""


def _list(commands: Commands) -> None:
    """The parser of `list`."""
    p = commands.add_parser("list", help="mechanisms, methods, formulations, solvers", epilog=_LIST_EPILOG,
                            description="List mechanisms, methods, formulations, solvers.",
                            allow_abbrev=False, formatter_class=HelpFormatter)
    p.add_argument("--long", action="store_true", help="with summaries, parameters, and applicable forms and methods")
    p.set_defaults(run=later("listing"))


# show ------------------------------------------------------------------------------------------------------------------

_SHOW_EPILOG = """\
examples:
  mbdae show andrews
  mbdae show chain --set links=8
  mbdae show my-mechanism.yaml

docs/mechanisms has the same for every mechanism, with pictures.
"""


def _show(commands: Commands) -> None:
    """The parser of `show`."""
    p = commands.add_parser("show", help="properties of a mechanism", description="Sizes, topology, parameters, outputs, references "
                            "and description of a mechanism.", epilog=_SHOW_EPILOG, allow_abbrev=False,
                            formatter_class=HelpFormatter)
    p.add_argument("mechanism", metavar="MECHANISM", help="name of a mechanism, see 'mbdae list', or a file, see docs/file-format.md")
    p.add_argument("--set", metavar="NAME=VALUE", type=assignment, action="append", default=[], dest="parameters",
                   help="parameter of the mechanism, e.g. --set links=8; may be repeated")
    p.set_defaults(run=later("show"))


# confirm ---------------------------------------------------------------------------------------------------------------

_CONFIRM = """\
Compare the reference values of the library with two numerical solutions: by a
Runge-Kutta method on the underlying ODE, and by a method for DAEs. With
--precise both are computed in extended precision, by collocation at the nodes
of Radau and of Gauss, the latter in joint coordinates where there are some.
"""
_CONFIRM_EPILOG = """\
examples:
  mbdae confirm andrews car-axis
  mbdae confirm --precise heavy-top              to 16 digits
  mbdae confirm --output docs/references.md      all of them (some minutes; with --precise many hours)

Lines of other mechanisms in the file stay as they are.

The exit code is 1 if both methods fail for one of the tables.
"""


def _confirm(commands: Commands) -> None:
    """The parser of `confirm`."""
    p = commands.add_parser("confirm", help="verification of the reference values", description=_CONFIRM, epilog=_CONFIRM_EPILOG,
                            allow_abbrev=False, formatter_class=HelpFormatter)
    p.add_argument("mechanisms", metavar="MECHANISM", nargs="*", help="names, see 'mbdae list'; by default all")
    p.add_argument("--precise", action="store_true", help="in extended precision; kernels are not compiled")
    p.add_argument("--output", metavar="FILE", help="write the report as .md, or renew its lines")
    p.set_defaults(run=later("confirm"))


# stability -------------------------------------------------------------------------------------------------------------

_STABILITY = """\
Run one method on a mechanism and print the largest natural frequency along the run,
and the largest stable steps of Newmark's methods in independent coordinates.
"""
_STABILITY_EPILOG = """\
examples:
  mbdae stability stiff-pendulum
  mbdae stability andrews --t-end 0.05 --method RosenbrockNystrom --plot andrews.png
"""


def _stability(commands: Commands) -> None:
    """The parser of `stability`."""
    p = commands.add_parser("stability", help="natural frequencies and largest stable steps", description=_STABILITY,
                            epilog=_STABILITY_EPILOG, parents=[parser_of_mechanism()], allow_abbrev=False,
                            formatter_class=HelpFormatter)
    _add_method_options(p)
    p.add_argument("--points", metavar="N", type=natural, default=POINTS, help=f"number of equidistant times (default {POINTS})")
    p.add_argument("--plot", metavar="FILE", help=f"figure, ends in {', '.join(PICTURES)}")
    p.set_defaults(run=later("stability"))


# pages -----------------------------------------------------------------------------------------------------------------

_PAGES_EPILOG = """\
examples:
  mbdae pages                                  all of them, and the index
  mbdae pages andrews chain --output pages
  mbdae pages --no-pictures                    the text only
"""


def _pages(commands: Commands) -> None:
    """The parser of `pages`."""
    p = commands.add_parser("pages", help="a page and a picture for every mechanism", description="Write the properties of mechanisms as "
                            "Markdown, with an index, and their pictures.", epilog=_PAGES_EPILOG, allow_abbrev=False,
                            formatter_class=HelpFormatter)
    p.add_argument("names", metavar="NAME", nargs="*", help="mechanisms, see 'mbdae list'; by default all")
    p.add_argument("--output", metavar="DIR", default="docs/mechanisms", help="folder (default docs/mechanisms)")
    p.add_argument("--no-pictures", action="store_true", help="write the text only")
    p.set_defaults(run=later("pages"))


# equations -------------------------------------------------------------------------------------------------------------

_EQUATIONS_EPILOG = """\
examples:
  mbdae equations 3.66                           of every paper that has one of this number
  mbdae equations "Fang 12"
  mbdae equations --output docs/equations.md     the index of all
"""


def _equations(commands: Commands) -> None:
    """The parser of `equations`."""
    p = commands.add_parser("equations", help="index of the equations of the papers in the code",
                            description="Find the lines that cite an equation of one of the papers.", epilog=_EQUATIONS_EPILOG,
                            allow_abbrev=False, formatter_class=HelpFormatter)
    p.add_argument("equations", metavar="EQUATION", nargs="*", help="a number, alone or after the paper: Fang, Arnold, Wei, Bustos, Negrut")
    p.add_argument("--output", metavar="FILE", help="write the index of all equations as .md")
    p.set_defaults(run=later("equations"))


# warm ------------------------------------------------------------------------------------------------------------------

_WARM = """\
Compile the kernels of all methods, or of some, into the cache on the disk: the first run of
each does not wait then. It takes some minutes, once for each version of mbdae, NumPy and numba.
"""
_WARM_EPILOG = """\
examples:
  mbdae warm
  mbdae warm HalfImplicit,RosenbrockNystrom,Ida
"""


def _warm(commands: Commands) -> None:
    """The parser of `warm`."""
    p = commands.add_parser("warm", help="compile beforehand", description=_WARM, epilog=_WARM_EPILOG, allow_abbrev=False,
                            formatter_class=HelpFormatter)
    p.add_argument("methods", metavar="METHODS", nargs="?", type=methods,
                   help="separated by commas (default: all methods of mbdae and all solvers found)")
    p.add_argument("--all", action="store_true", help="in all formulations, not only in the usual one of each method")
    p.add_argument("--jobs", metavar="N", type=natural, help="number of processes (default one for each core)")
    p.set_defaults(run=later("warm"))


# doctor ----------------------------------------------------------------------------------------------------------------

_DOCTOR_EPILOG = """\
In a checkout of mbdae, 'make setup-all' installs all of them, 'make setup-all SOLVERS=wheels' those that need no compiler.
The exit code is 0 even if solvers are missing: each of them is optional.
"""


def _doctor(commands: Commands) -> None:
    """The parser of `doctor`."""
    p = commands.add_parser("doctor", help="installed solvers, and how to install the others", description="List all solvers.",
                            epilog=_DOCTOR_EPILOG, allow_abbrev=False, formatter_class=HelpFormatter)
    p.set_defaults(run=later("doctor"))


PARSERS: Mapping[str, Callable[[Commands], None]] = {
    "compare": _compare,
    "solve": _solve,
    "animate": _animate,
    "list": _list,
    "show": _show,
    "confirm": _confirm,
    "jacobian": studies.jacobian,
    "scaling": studies.scaling,
    "matrix": studies.matrix,
    "stability": _stability,
    "study": studies.study,
    "pages": _pages,
    "equations": _equations,
    "warm": _warm,
    "doctor": _doctor,
}
