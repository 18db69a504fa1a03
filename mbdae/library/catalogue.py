"""The catalogue of all entries."""

from ..model.mechanism import Mechanism
from ..spelling import guess
from ..system.system import System
from . import (
    andrews,
    bricard,
    car_axis,
    chain,
    closed_loop_bars,
    double_pendulum,
    double_spherical_pendulum,
    fekete,
    flexible_slider_crank,
    flyball_governor,
    four_link,
    four_particles,
    heavy_top,
    hmmwv,
    iltis,
    ladder,
    n_four_bar,
    passenger_car,
    pendulum_chain,
    pendulum_particle,
    precessing_top,
    rail_carriage,
    random_tree,
    ring,
    single_pendulum,
    slider_crank,
    slider_crank_free,
    spatial_four_bar,
    stewart_platform,
    stiff_double_pendulum,
    stiff_pendulum,
    tethered_satellites,
    tree,
    truck,
    wheelset,
)
from .base import Entry, Parameter, Parameters

ENTRIES = (
    single_pendulum.ENTRY,
    pendulum_particle.ENTRY,
    double_pendulum.ENTRY,
    double_spherical_pendulum.ENTRY,
    stiff_pendulum.ENTRY,
    stiff_double_pendulum.ENTRY,
    pendulum_chain.ENTRY,
    slider_crank.ENTRY,
    slider_crank_free.ENTRY,
    flexible_slider_crank.ENTRY,
    four_link.ENTRY,
    n_four_bar.ENTRY,
    spatial_four_bar.ENTRY,
    bricard.ENTRY,
    andrews.ENTRY,
    flyball_governor.ENTRY,
    heavy_top.ENTRY,
    precessing_top.ENTRY,
    four_particles.ENTRY,
    closed_loop_bars.ENTRY,
    tethered_satellites.ENTRY,
    fekete.ENTRY,
    car_axis.ENTRY,
    truck.ENTRY,
    wheelset.ENTRY,
    rail_carriage.ENTRY,
    iltis.ENTRY,
    passenger_car.ENTRY,
    hmmwv.ENTRY,
    stewart_platform.ENTRY,
    chain.ENTRY,
    tree.ENTRY,
    random_tree.ENTRY,
    ring.ENTRY,
    ladder.ENTRY,
)
_BY_NAME = {e.name: e for e in ENTRIES}


def names() -> tuple[str, ...]:
    """Names of all mechanisms, in order."""
    return tuple(_BY_NAME)


def entry(name: str) -> Entry:
    """The entry called `name`.

    Raises
    ------
    ValueError
        If there is none; the message lists all names.
    """
    if not isinstance(name, str) or name not in _BY_NAME:
        raise ValueError(f"there is no mechanism {name!r} in the library{guess(name, _BY_NAME)}; there are {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def mechanism(name: str, **parameters: Parameter) -> Mechanism:
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


def system(name: str, **parameters: Parameter) -> System:
    """The equations of the mechanism called `name`, in any coordinates.

    Raises
    ------
    ValueError
        If a parameter is unknown or out of range.
    """
    built = _built(name, parameters)
    return built if isinstance(built, System) else System(built)


def _built(name: str, parameters: Parameters) -> Mechanism | System:
    e = entry(name)
    return e.build(**e.checked(parameters))
