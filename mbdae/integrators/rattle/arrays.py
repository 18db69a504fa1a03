"""The arrays of an integration by `Rattle`."""

import numpy as np

from ...compilation.structure import Structure
from ...system.system import System
from ...typing import Matrix, Vector
from ..control.records import Run
from .broyden import Corrections, new_corrections
from .sums import Phase, RattleState


class Scratch(Structure):
    """Vectors of a step."""

    kicked: Phase  # positions at its start, velocities there after the impulses of forces and constraints
    guess: Phase  # of these velocities, with the first guess of the reactions
    moved: Phase  # positions at its end, velocities there before the impulses
    b: Vector  # a vector of the size of velocities
    z: Vector  # correction of the velocities
    image: Vector  # M z
    r: Vector  # residual of the constraints, correction of the multipliers
    s: Vector  # a vector of the size of the multipliers
    impulse: Vector  # of the constraints at the start of a part of a step, without that of the guess
    mass: Vector  # entries of the mass matrix at the start of the run
    positions: Corrections
    velocities: Corrections


class RattleRun(Run):
    """See `Run`."""

    scratch: Scratch
    weights: Vector  # parts of a step, see `composition`
    free: Matrix  # principal axes, see `free_body`
    sees_velocities: int  # 1 if forces depend on velocities
    inside: RattleState  # a state within a step
    paced: int  # 1 if the lengths of the steps follow a density
    pace: float  # density of the present step
    factored: int  # 1 if the KKT matrix of the present positions is factorised in `work`


def new_scratch(system: System) -> Scratch:
    """Vectors of these sizes."""
    of_velocities = {name: np.zeros(system.nv) for name in ("b", "z", "image")}
    of_constraints = {name: np.zeros(system.nc) for name in ("r", "s", "impulse")}
    phases = {name: new_phase(system) for name in ("kicked", "guess", "moved")}
    return Scratch(**phases, **of_velocities, **of_constraints, mass=mass_entries(system),
                   positions=new_corrections(system.nc), velocities=new_corrections(system.nv))


def new_phase(system: System) -> Phase:
    """Zeros of these sizes."""
    return Phase(q=np.zeros(system.nq), v=np.zeros(system.nv), q_rest=np.zeros(system.nq), v_rest=np.zeros(system.nv))


def mass_entries(system: System) -> Vector:
    """The mass matrix at the initial guess in the form of the workspace; empty where it is constant by construction."""
    if system.constant_mass:
        return np.zeros(0)
    q = system.initial_guess().q
    return np.ascontiguousarray(system.mass(0.0, q)).ravel()
