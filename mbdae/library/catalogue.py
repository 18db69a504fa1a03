"""The catalogue of all entries."""

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
    e = entry(name)
    unknown = sorted(set(parameters) - set(e.parameters))
    if unknown:
        known = ", ".join(e.parameters) or "none"
        raise ValueError(f"{name!r} has no parameter {unknown[0]!r}; it has {known}")
    return e.build(**{**e.parameters, **parameters})
