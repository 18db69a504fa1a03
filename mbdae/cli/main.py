"""`mbdae`: the parser, the dispatch to the commands, and what becomes of errors."""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from .. import __version__
from ..studies.reference import ReferenceFailed
from . import animate, compare, confirm, doctor, equations, jacobian, listing, matrix, pages, scaling, show, solve, stability
from .console import print_error
from .options import Refusal

FAILED, REFUSED, INTERRUPTED = 1, 2, 130

_EPILOG = """\
examples:
  mbdae list                          mechanisms, methods, formulations, solvers
  mbdae show andrews                  all that is known of a mechanism
  mbdae compare slider-crank          integrators and solvers side by side: accuracy against cost
  mbdae solve chain --output run.npz  one run to a file
  mbdae animate four-link             an animation
  mbdae jacobian andrews              strategies for Jacobians: evaluations, updates, cost
  mbdae stability stiff-pendulum      natural frequencies and largest stable steps
  mbdae scaling chain                 growth of cost with the number of links
  mbdae confirm andrews               verification of reference values
  mbdae matrix                        every solver in every formulation
  mbdae doctor                        installed solvers, and how to install the others

'mbdae COMMAND --help' describes each of them.
"""


class Parser(argparse.ArgumentParser):
    """A parser with error messages of one line."""

    def error(self, message: str) -> NoReturn:
        raise Refusal(f"{message} (see '{self.prog} --help')")


def parser() -> Parser:
    """The parser of all commands."""
    top = Parser(prog="mbdae", description="Constrained mechanisms for ODE and DAE solvers.", epilog=_EPILOG, allow_abbrev=False,
                 formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--version", action="version", version=f"mbdae {__version__}")
    top.add_argument("--traceback", action="store_true", help="show the traceback of an error")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for module in (compare, solve, animate, listing, show, confirm, jacobian, stability, scaling, matrix, pages, equations, doctor):
        module.add_parser(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : list of str, optional
        By default the arguments of the process.

    Returns
    -------
    int
        0 for success, 1 for a numerical failure, 2 for invalid input, 130 if interrupted.
    """
    argv = sys.argv[1:] if argv is None else argv
    try:
        return _run(argv)
    except SystemExit as e:  # --help, --version
        return e.code if isinstance(e.code, int) else int(e.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (ReferenceFailed, ArithmeticError) as e:
        return _reported(e, FAILED, argv)
    except (ValueError, OSError) as e:
        return _reported(e, REFUSED, argv)


def _run(argv: Sequence[str]) -> int:
    top = parser()
    arguments = top.parse_args(argv)
    if arguments.command is None:
        top.print_help()
        return 0
    code: int = arguments.run(arguments)
    return code


def _reported(error: Exception, code: int, argv: Sequence[str]) -> int:
    if "--traceback" in argv:
        raise error
    is_file = isinstance(error, OSError) and error.filename is not None
    print_error(f"cannot write {error.filename}: {error.strerror}" if isinstance(error, OSError) and is_file else error)
    return code


if __name__ == "__main__":
    sys.exit(main())
