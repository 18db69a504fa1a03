"""`mbdae`: the parser, the dispatch to the commands, and what becomes of errors."""

import argparse
import atexit
import gc
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from .. import __version__
from ..room import with_room
from ..spelling import guess
from .formatter import HelpFormatter
from .parsers import PARSERS
from .refusal import Refusal

FAILED, REFUSED, INTERRUPTED = 1, 2, 130
MANY_OBJECTS = 10_000  # new ones between two garbage collections; with Python's 700 imports and figures take a sixth longer

# what the list of commands says of each; their parsers are in `parsers`
COMMANDS = {
    "compare": "integrators and solvers side by side",
    "solve": "one run: summary, files, figure",
    "animate": "an animation as GIF or MP4",
    "list": "mechanisms, methods, formulations, solvers",
    "show": "properties of a mechanism",
    "confirm": "verification of the reference values",
    "jacobian": "comparison of strategies for Jacobians",
    "stability": "natural frequencies and largest stable steps",
    "scaling": "growth of cost with the number of links",
    "study": "studies over many mechanisms, methods and settings",
    "matrix": "every solver in every formulation",
    "pages": "a page and a picture for every mechanism",
    "equations": "index of the equations of the papers in the code",
    "warm": "compile beforehand",
    "doctor": "installed solvers, and how to install the others",
}

_EPILOG = """\
examples:
  mbdae list
  mbdae show andrews
  mbdae compare slider-crank
  mbdae solve chain --plot
  mbdae solve chain --output run.npz
  mbdae solve mine.yaml --t-end 5 --output run.npz
  mbdae animate four-link
  mbdae jacobian andrews
  mbdae stability stiff-pendulum
  mbdae study tolerance andrews

'mbdae COMMAND --help' describes each of them.
"""


class Parser(argparse.ArgumentParser):
    """A parser with error messages of one line; that of `mbdae` knows those of its commands."""

    commands: "argparse._SubParsersAction[Parser]"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._negative_number_matcher = re.compile(r"-(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$", re.IGNORECASE)  # also -1e-3 is no option

    def error(self, message: str) -> NoReturn:
        raise Refusal(f"{message} (see '{self.prog} --help')")


def parser(chosen: Iterable[str] = tuple(COMMANDS)) -> Parser:
    """The parser; of commands that are not chosen it has the names only, and does not import them."""
    top = Parser(prog="mbdae", description="Constrained mechanisms for ODE and DAE solvers.", epilog=_EPILOG, allow_abbrev=False,
                 formatter_class=HelpFormatter)
    top.add_argument("--version", action="version", version=f"mbdae {__version__}")
    top.add_argument("--traceback", action="store_true", help="show the traceback of an error")
    top.commands = commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for name, text in COMMANDS.items():
        if name in chosen:
            PARSERS[name](commands)
        else:
            commands.add_parser(name, help=text)
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
    if argv is None:  # the process is that of the command
        argv = sys.argv[1:]
        gc.set_threshold(MANY_OBJECTS)
        atexit.register(gc.freeze)  # at its end no collection looks at all that was imported
    try:
        return _run(argv)
    except SystemExit as e:  # --help, --version
        return e.code if isinstance(e.code, int) else int(e.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except ArithmeticError as e:
        return _reported(e, FAILED, argv)
    except RuntimeError as e:
        if type(e).__name__ != "ReferenceFailed":  # not imported here, as studies take long to load
            raise
        return _reported(e, FAILED, argv)
    except (ValueError, OSError) as e:
        return _reported(e, REFUSED, argv)


@with_room
def _run(argv: Sequence[str]) -> int:
    chosen = [word for word in argv if not word.startswith("-")][:1]
    _check_command(chosen)
    top = parser(chosen)
    arguments, unknown = top.parse_known_args(argv)
    if unknown:
        raise _unknown(top, arguments.command, unknown)
    if arguments.command is None:
        top.print_help()
        return 0
    code: int = arguments.run(arguments)
    return code


def _check_command(chosen: Sequence[str]) -> None:
    """Refuse a first word that is no command."""
    for name in chosen:
        if name not in COMMANDS:
            known = ", ".join(COMMANDS)
            raise Refusal(f"argument COMMAND: invalid choice: {name!r}{guess(name, COMMANDS)}; there are {known} (see 'mbdae --help')")


def _unknown(top: Parser, command: str | None, words: Sequence[str]) -> Refusal:
    """What is said of words that no option takes."""
    of_command = top.commands.choices[command] if command else top
    options = [name for action in of_command._actions for name in action.option_strings]
    word = words[0].partition("=")[0]
    suggestion = guess(word, options) if word.startswith("-") else ""
    return Refusal(f"unrecognized arguments: {' '.join(words)}{suggestion} (see '{of_command.prog} --help')")


def _reported(error: Exception, code: int, argv: Sequence[str]) -> int:
    if "--traceback" in argv:
        raise error
    is_file = isinstance(error, OSError) and error.filename is not None
    message = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and is_file else error
    print("mbdae: " + " ".join(str(message).split()), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
