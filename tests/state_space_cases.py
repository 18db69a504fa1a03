"""What the tests of the state-space integrators share: methods, mechanisms, exact motions."""

from functools import cache

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.adapters.scipy import SolveIvp
from mbdae.studies import errors

from .helpers import thorough_but

METHODS = {c.__name__: c for c in (mbdae.TrapezoidalStateSpace, mbdae.TrapezoidalDescriptor, mbdae.SdirkDescriptor, mbdae.SdirkFirstOrder,
                                   mbdae.RosenbrockNystrom)}
TRAPEZOIDAL = ("TrapezoidalStateSpace", "TrapezoidalDescriptor")
ORDER_FOUR = ("SdirkDescriptor", "SdirkFirstOrder", "RosenbrockNystrom")
QUICK = ("RosenbrockNystrom", "SdirkDescriptor")  # tests of other methods are thorough
EVERY = pytest.mark.parametrize("method", thorough_but(QUICK, METHODS))
EVERY_OF_ORDER_FOUR = pytest.mark.parametrize("method", thorough_but(QUICK, ORDER_FOUR))
FORMS = ("partition", "tangent")
GROUND = "ground"


def order(name):
    """The order of a method."""
    return 2 if name in TRAPEZOIDAL else 4


def pushed(t):
    """A force that changes faster than the motion."""
    return 40.0 * np.sin(9.0 * t)


def driven_pendulum():
    """A pendulum on an arm whose angle is prescribed, pushed by a force that depends on time: explicit time on every level."""
    bodies = [mbdae.PlanarBody("arm", 2.0, 0.3, (0.5, 0.0), 0.0), mbdae.PlanarBody("rod", 1.0, 0.2, (1.0, -0.5), -np.pi / 2)]
    joints = [mbdae.PlanarRevolute("top", GROUND, "arm", s_j=(-0.5, 0.0)),
              mbdae.PlanarRevolute("knee", "arm", "rod", (0.5, 0.0), (-0.5, 0.0)),
              mbdae.PlanarAngle("motor", GROUND, "arm", mbdae.Harmonic(0.5, 4.0))]
    push = mbdae.PointForce("push", "rod", (pushed, 0.0, 0.0))
    return mbdae.Mechanism("driven pendulum", bodies, joints, forces=[push], gravity=(0.0, -9.81, 0.0))


def spring_wheel(stiffness=1e9, damping=0.0, start=1e-3):
    """A wheel on a torsional spring, `angle'' = -k angle - c angle'`: the mode of Dahlquist's equation, linear however far it swings."""
    wheel = mbdae.PlanarBody("wheel", 1.0, 1.0, (0.0, 0.0), start)
    spring = mbdae.RSDA("spring", GROUND, "wheel", k=stiffness, c=damping)
    return mbdae.Mechanism("spring wheel", [wheel], [mbdae.PlanarRevolute("axle", GROUND, "wheel")], forces=[spring])


def stiff_wheel(stiffness=1e9, start=1e-6):
    """A pendulum on the rim of a wheel that a stiff spring holds and that starts off its place: fast mode and slow motion."""
    wheel = mbdae.PlanarBody("wheel", 1.0, 1.0, (0.0, 0.0), start)
    rod = mbdae.PlanarBody("rod", 1.0, 0.2, (0.3 + 0.4, -0.3), np.arctan2(-0.3, 0.4))
    joints = [mbdae.PlanarRevolute("axle", GROUND, "wheel"), mbdae.PlanarRevolute("pin", "wheel", "rod", (0.3, 0.0), (-0.5, 0.0))]
    spring = mbdae.RSDA("spring", GROUND, "wheel", k=stiffness)
    return mbdae.Mechanism("stiff wheel", [wheel, rod], joints, forces=[spring], gravity=(0.0, -9.81, 0.0))


def pendulum():
    """The pendulum of the stiff wheel on a wheel that cannot turn."""
    rod = stiff_wheel().bodies[1]
    joint = mbdae.PlanarRevolute("pin", GROUND, "rod", (0.3, 0.0), (-0.5, 0.0))
    return mbdae.Mechanism("pendulum", [rod], [joint], gravity=(0.0, -9.81, 0.0))


MADE = {"pendulum": pendulum, "driven pendulum": driven_pendulum, "spring wheel": spring_wheel, "stiff wheel": stiff_wheel}


@cache
def system(name, **parameters):
    """A mechanism of this file or of the library."""
    return mbdae.System(MADE[name](**parameters)) if name in MADE else library.system(name, **parameters)


@cache
def problem(name, form="partition"):
    """Its state-space form."""
    return mbdae.StateSpace(system(name), form)


@cache
def exact(name, t_end, points=6):
    """The motion by DOP853 on the underlying ODE."""
    t = np.linspace(0.0, t_end, points)
    s = mbdae.solve(system(name), SolveIvp("DOP853"), (0.0, t_end), formulation="ode", rtol=1e-12, atol=1e-13, t_eval=t)
    assert s.success, s.message
    s.redundant = len(system(name).dependent) > 0
    return s


def run(name, method, t_end, form="partition", rtol=1e-6, atol=None, **options):
    """A run that must succeed."""
    s = mbdae.solve(problem(name, form), method, (0.0, t_end), rtol=rtol, atol=rtol if atol is None else atol, **options)
    assert s.success, s.message
    return s


def orders(name, method, steps, t_end, form="partition", **options):
    """Observed orders of `q`, `v`, `lam` with fixed steps, and the rows they are fitted to."""
    found = exact(name, t_end)
    rows = []
    for h in steps:
        s = run(name, METHODS[method](fixed_step=h, **options), t_end, form, rtol=1e-12, atol=1e-13, t_eval=found.t)
        rows.append((h, *_distance(s, found)))
    h, *blocks = np.array(rows).T
    return [float(np.polyfit(np.log(h), np.log(e), 1)[0]) for e in blocks], np.array(rows)


def _distance(s, found):
    d = errors(s, found)
    return d.q, d.v, d.lam
