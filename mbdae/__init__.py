"""mbdae: constrained mechanisms as ready problems for ODE and DAE solvers, with integrators of its own beside them.

A `Mechanism` (bodies, joints, drivers, forces) becomes a `System` (its equations), a `Problem` (the form a solver wants) and, by `solve`
with any method, a `Solution`. Names are imported when they are used first.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapters.assimulo import Assimulo
    from .adapters.dae import SolveDae
    from .adapters.odes import Odes
    from .adapters.radau13 import Radau13
    from .adapters.scipy import SolveIvp
    from .adapters.sundae import Cvode, Ida
    from .assemble import assemble
    from .contacts.gaps import SpherePlane, SphereSphere, UserGap
    from .contacts.impact import Impact
    from .contacts.sliding import SlidingLimit
    from .contacts.stops import JointStop
    from .driver.method import Method
    from .integrators.adams.methods import Adams
    from .integrators.automatic.methods import Automatic
    from .integrators.bdf import Bdf
    from .integrators.control.step_size import CAUTIOUS, ELEMENTARY, H211B, PI, PI42, PREDICTIVE, StepSizeController
    from .integrators.explicit.methods import DormandPrince, HalfExplicit
    from .integrators.fully_implicit import FullyImplicit
    from .integrators.gauss.methods import ProjectedGauss
    from .integrators.half_implicit import HalfImplicit
    from .integrators.projected import Projected
    from .integrators.radau.methods import RadauIIA
    from .integrators.rattle.methods import Rattle
    from .integrators.sdirk_sparse.methods import SdirkSparse
    from .integrators.spark.methods import Spark
    from .integrators.state_space.methods import (
        RosenbrockNystrom,
        SdirkDescriptor,
        SdirkFirstOrder,
        TrapezoidalDescriptor,
        TrapezoidalStateSpace,
    )
    from .integrators.structural.formula import CENTRAL_DIFFERENCES, FOX_GOODWIN, LINEAR_ACCELERATION, TRAPEZOIDAL
    from .integrators.structural.methods import (
        HHT,
        GeneralizedAlpha,
        Newmark,
        NullSpaceGeneralizedAlpha,
        NullSpaceHHT,
        NullSpaceNewmark,
    )
    from .io import DescriptionError, load, save
    from .jacobians.strategy import JacobianStrategy
    from .library.problem import problem
    from .model.bodies import GROUND, Particle, PlanarBody, RigidBody
    from .model.drivers import AngleDriver, CoordinateDriver, DistanceDriver, PlanarAngleDriver
    from .model.forces import RSDA, TSDA, Friction, PointForce, PointTorque, UserForce
    from .model.joints import (
        Cylindrical,
        Fixed,
        Free,
        PlanarRevolute,
        PlanarTranslational,
        Revolute,
        RevoluteCylindrical,
        Rod,
        Spherical,
        Translational,
        Universal,
    )
    from .model.mechanism import Mechanism
    from .model.motions import Constant, Function, Harmonic, Polynomial
    from .model.primitives import CD, DP1, DP2, Coincident, D, PlanarAngle, PlanarCoincident, Turn
    from .problems import GGL, Gear, Index1, Index2, Index3, MassMatrix, Overdetermined, StateSpace, UnderlyingODE
    from .results.jumps import Jump
    from .results.output import Output
    from .results.solution import Solution
    from .results.statistics import Statistics
    from .results.status import Status
    from .solve import solve
    from .symbolic import from_sympy
    from .system.assembly import AssemblyError, State
    from .system.system import System
    from .system.tree.system import TreeSystem

__version__ = "0.1.0"

__all__ = [
    "CAUTIOUS",
    "CD",
    "CENTRAL_DIFFERENCES",
    "DP1",
    "DP2",
    "ELEMENTARY",
    "FOX_GOODWIN",
    "GGL",
    "GROUND",
    "H211B",
    "HHT",
    "LINEAR_ACCELERATION",
    "PI",
    "PI42",
    "PREDICTIVE",
    "RSDA",
    "TRAPEZOIDAL",
    "TSDA",
    "Adams",
    "AngleDriver",
    "AssemblyError",
    "Assimulo",
    "Automatic",
    "Bdf",
    "Coincident",
    "Constant",
    "CoordinateDriver",
    "Cvode",
    "Cylindrical",
    "D",
    "DescriptionError",
    "DistanceDriver",
    "DormandPrince",
    "Fixed",
    "Free",
    "Friction",
    "FullyImplicit",
    "Function",
    "Gear",
    "GeneralizedAlpha",
    "HalfExplicit",
    "HalfImplicit",
    "Harmonic",
    "Ida",
    "Impact",
    "Index1",
    "Index2",
    "Index3",
    "JacobianStrategy",
    "JointStop",
    "Jump",
    "MassMatrix",
    "Mechanism",
    "Method",
    "Newmark",
    "NullSpaceGeneralizedAlpha",
    "NullSpaceHHT",
    "NullSpaceNewmark",
    "Odes",
    "Output",
    "Overdetermined",
    "Particle",
    "PlanarAngle",
    "PlanarAngleDriver",
    "PlanarBody",
    "PlanarCoincident",
    "PlanarRevolute",
    "PlanarTranslational",
    "PointForce",
    "PointTorque",
    "Polynomial",
    "Projected",
    "ProjectedGauss",
    "Radau13",
    "RadauIIA",
    "Rattle",
    "Revolute",
    "RevoluteCylindrical",
    "RigidBody",
    "Rod",
    "RosenbrockNystrom",
    "SdirkDescriptor",
    "SdirkFirstOrder",
    "SdirkSparse",
    "SlidingLimit",
    "Solution",
    "SolveDae",
    "SolveIvp",
    "Spark",
    "SpherePlane",
    "SphereSphere",
    "Spherical",
    "State",
    "StateSpace",
    "Statistics",
    "Status",
    "StepSizeController",
    "System",
    "Translational",
    "TrapezoidalDescriptor",
    "TrapezoidalStateSpace",
    "TreeSystem",
    "Turn",
    "UnderlyingODE",
    "Universal",
    "UserForce",
    "UserGap",
    "assemble",
    "from_sympy",
    "load",
    "problem",
    "save",
    "solve",
]

# modules by which names are defined
_HOMES = {
    ".adapters.assimulo": "Assimulo",
    ".adapters.dae": "SolveDae",
    ".adapters.odes": "Odes",
    ".adapters.radau13": "Radau13",
    ".adapters.scipy": "SolveIvp",
    ".adapters.sundae": "Cvode Ida",
    ".assemble": "assemble",
    ".contacts.gaps": "SpherePlane SphereSphere UserGap",
    ".contacts.impact": "Impact",
    ".contacts.sliding": "SlidingLimit",
    ".contacts.stops": "JointStop",
    ".driver.method": "Method",
    ".integrators.adams.methods": "Adams",
    ".integrators.automatic.methods": "Automatic",
    ".integrators.bdf": "Bdf",
    ".integrators.control.step_size": "CAUTIOUS ELEMENTARY H211B PI PI42 PREDICTIVE StepSizeController",
    ".integrators.explicit.methods": "DormandPrince HalfExplicit",
    ".integrators.fully_implicit": "FullyImplicit",
    ".integrators.gauss.methods": "ProjectedGauss",
    ".integrators.half_implicit": "HalfImplicit",
    ".integrators.projected": "Projected",
    ".integrators.radau.methods": "RadauIIA",
    ".integrators.rattle.methods": "Rattle",
    ".integrators.sdirk_sparse.methods": "SdirkSparse",
    ".integrators.spark.methods": "Spark",
    ".integrators.state_space.methods": "RosenbrockNystrom SdirkDescriptor SdirkFirstOrder TrapezoidalDescriptor TrapezoidalStateSpace",
    ".integrators.structural.formula": "CENTRAL_DIFFERENCES FOX_GOODWIN LINEAR_ACCELERATION TRAPEZOIDAL",
    ".integrators.structural.methods": "HHT GeneralizedAlpha Newmark NullSpaceGeneralizedAlpha NullSpaceHHT NullSpaceNewmark",
    ".io": "DescriptionError load save",
    ".jacobians.strategy": "JacobianStrategy",
    ".library.problem": "problem",
    ".model.bodies": "GROUND Particle PlanarBody RigidBody",
    ".model.drivers": "AngleDriver CoordinateDriver DistanceDriver PlanarAngleDriver",
    ".model.forces": "RSDA TSDA Friction PointForce PointTorque UserForce",
    ".model.joints": "Cylindrical Fixed Free PlanarRevolute PlanarTranslational Revolute RevoluteCylindrical Rod Spherical "
                     "Translational Universal",
    ".model.mechanism": "Mechanism",
    ".model.motions": "Constant Function Harmonic Polynomial",
    ".model.primitives": "CD DP1 DP2 Coincident D PlanarAngle PlanarCoincident Turn",
    ".problems": "GGL Gear Index1 Index2 Index3 MassMatrix Overdetermined StateSpace UnderlyingODE",
    ".results.jumps": "Jump",
    ".results.output": "Output",
    ".results.solution": "Solution",
    ".results.statistics": "Statistics",
    ".results.status": "Status",
    ".solve": "solve",
    ".symbolic": "from_sympy",
    ".system.assembly": "AssemblyError State",
    ".system.system": "System",
    ".system.tree.system": "TreeSystem",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}
_PACKAGES = ("adapters", "extend", "jacobians", "library", "studies", "typing")  # of interest to users


class _Package(ModuleType):
    """Modules with the name of a function, as `mbdae.solve`, do not replace it when they are imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and name in _HOME:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


if not TYPE_CHECKING:  # else any name would be known to mypy

    def __getattr__(name: str) -> Any:
        """A name or module, imported now."""
        if name in _HOME:
            value = getattr(import_module(_HOME[name], __name__), name)
            globals()[name] = value
            return value
        if not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        from .spelling import guess  # when it is needed, as all names

        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{guess(name, __dir__())}")


def __dir__() -> list[str]:
    """The public names."""
    return sorted([*__all__, *_PACKAGES, "__version__"])
