"""The catalogue of all entries."""

from ..system.system import System
from . import andrews, chain, double_pendulum, four_link, single_pendulum, slider_crank, slider_crank_free, stiff_double_pendulum

ENTRIES = (
    single_pendulum.ENTRY,
    double_pendulum.ENTRY,
    slider_crank.ENTRY,
    slider_crank_free.ENTRY,
    four_link.ENTRY,
    chain.ENTRY,
    stiff_double_pendulum.ENTRY,
    andrews.ENTRY,
)
_BY_NAME = {e.name: e for e in ENTRIES}


def names():
    """Names of all mechanisms, in order."""
    return tuple(_BY_NAME)


def entry(name):
    """The entry called `name`.

    Raises
    ------
    ValueError
        If there is none; the message lists those there are.
    """
    if name not in _BY_NAME:
        raise ValueError(f"there is no mechanism {name!r} in the library; there are {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def mechanism(name, **parameters):
    """The mechanism called `name`, built with the given parameters.

    Raises
    ------
    ValueError
        If a parameter is unknown or out of range.
    """
    built = _built(name, parameters)
    if isinstance(built, System):
        raise ValueError(f"{name!r} with these parameters is a system of equations, no mechanism of bodies and joints; "
                         "take library.system")
    return built


def system(name, **parameters):
    """The equations of the mechanism called `name`, in whatever coordinates.

    Raises
    ------
    ValueError
        If a parameter is unknown or out of range.
    """
    built = _built(name, parameters)
    return built if isinstance(built, System) else System(built)


def _built(name, parameters):
    e = entry(name)
    return e.build(**e.checked(parameters))
