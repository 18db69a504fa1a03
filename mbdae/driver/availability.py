"""Whether the package behind an adapter is installed, and how to install it."""

import contextlib
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Availability:
    """Whether the package behind an adapter is installed.

    Attributes
    ----------
    package : str
    version : str or None
        `None` if it is missing.
    remedy : str
        Command that installs it beside mbdae.
    fault : str
        Why a package that is there cannot be imported; empty if it can.
    checkout : str
        The command in a checkout of mbdae; by default the same.
    """

    package: str
    version: str | None
    remedy: str
    fault: str = ""
    checkout: str = ""

    @property
    def installed(self) -> bool:
        """Whether it can be used."""
        return self.version is not None and not self.fault


def installed(package: str, module: str, remedy: str, checkout: str = "", distributions: Sequence[str] = ()) -> Availability:
    """Whether a package can be imported.

    Parameters
    ----------
    package : str
        Its name.
    module : str
        What is imported: it proves that the compiled parts are there.
    remedy, checkout : str
        See `Availability`.
    distributions : sequence of str
        Names under which it is distributed, if not its own.
    """
    try:
        found = find_spec(module.partition(".")[0])
    except ValueError:  # a module without a specification has been put into `sys.modules`
        found = None
    if found is None:
        return Availability(package, None, remedy, checkout=checkout)
    fault = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the compiler about the package's own source, which users may have made errors
            import_module(module)
    except Exception as error:  # a package built against other libraries may raise anything
        fault = f"{type(error).__name__}: {error}"
    return Availability(package, _version(module, distributions or (package,)), remedy, fault, checkout)


def from_extra(package: str, module: str, extra: str, distributions: Sequence[str] = ()) -> Availability:
    """`installed` for a package that an extra of mbdae brings as a wheel."""
    return installed(package, module, f"pip install 'mbdae[{extra}]'", f"pip install -e '.[{extra}]'", distributions)


def postpone(name: str) -> None:
    """Let a module be loaded not when it is imported, but when it is first used: for packages that import more than they use.

    Parameters
    ----------
    name : str
        A module that is installed; nothing is done if it has been imported.
    """
    if name not in sys.modules and (spec := find_spec(name)) is not None:
        sys.modules[name] = module = _Postponed(name)
        module.__spec__ = spec


class _Postponed(ModuleType):
    """In the place of a module until one of its names is asked for; `importlib.util.LazyLoader` loads it at the next `import`."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        self.__dict__.update(import_module(self.__name__).__dict__)
        if name not in self.__dict__:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        return self.__dict__[name]


def _version(module: str, distributions: Iterable[str]) -> str:
    """The version of the first installed distribution, or that of the module; `"unknown"` if there is none."""
    for name in distributions:
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    top = sys.modules.get(module.partition(".")[0])
    return str(getattr(top, "__version__", "unknown"))
