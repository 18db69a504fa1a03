"""Commands whose modules are imported when they run."""

import argparse
from collections.abc import Callable
from importlib import import_module


def later(module: str) -> Callable[[argparse.Namespace], int]:
    """The command, of which the module is imported when it runs."""

    def run(arguments: argparse.Namespace) -> int:
        code: int = import_module(f"{__package__}.{module}").run(arguments)
        return code

    return run
