"""mbdae: constrained mechanisms as ready problems for ODE and DAE solvers, with integrators of its own beside them.

A `Mechanism` (bodies, joints, drivers, forces) becomes a `System` (its equations), a `Problem` (the form a solver wants) and, by `solve`
with any method, a `Solution`.
"""

from .assemble import assemble
from .contacts.gaps import SpherePlane, SphereSphere, UserGap
from .contacts.impact import Impact
from .contacts.sliding import SlidingLimit
from .contacts.stops import JointStop
from .driver.method import Method
from .integrators.bdf import Bdf
from .integrators.control.step_size import ELEMENTARY, H211B, PI, PI42, PREDICTIVE, StepSizeController
from .integrators.fully_implicit import FullyImplicit
from .integrators.gauss.methods import ProjectedGauss
from .integrators.half_implicit import HalfImplicit
from .integrators.projected import Projected
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
    "AngleDriver",
    "AssemblyError",
    "Bdf",
    "Coincident",
    "Constant",
    "CoordinateDriver",
    "Cylindrical",
    "D",
    "DescriptionError",
    "DistanceDriver",
    "Fixed",
    "Free",
    "Friction",
    "FullyImplicit",
    "Function",
    "Gear",
    "GeneralizedAlpha",
    "HalfImplicit",
    "Harmonic",
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
    "Revolute",
    "RevoluteCylindrical",
    "RigidBody",
    "Rod",
    "RosenbrockNystrom",
    "SdirkDescriptor",
    "SdirkFirstOrder",
    "SlidingLimit",
    "Solution",
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
