"""Motion by drivers, which errors in the directions of the degrees of freedom do not show: output between steps, and steps over turns."""

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.adapters.scipy import SolveIvp

TIMES = np.linspace(0.0, 2.0, 101)
STRUCTURAL = {"HHT": mbdae.HHT(), "NullSpaceHHT": mbdae.NullSpaceHHT(), "Newmark": mbdae.Newmark(h=None),
              "NullSpaceNewmark": mbdae.NullSpaceNewmark(h=None), "GeneralizedAlpha": mbdae.GeneralizedAlpha(h=None),
              "NullSpaceGeneralizedAlpha": mbdae.NullSpaceGeneralizedAlpha(h=None)}
CHARTED = {"RosenbrockNystrom": mbdae.RosenbrockNystrom(), "SdirkDescriptor": mbdae.SdirkDescriptor(),
           "SdirkFirstOrder": mbdae.SdirkFirstOrder(), "TrapezoidalStateSpace": mbdae.TrapezoidalStateSpace(),
           "TrapezoidalDescriptor": mbdae.TrapezoidalDescriptor()}
EXTERNAL = {"CVODE": mbdae.Cvode, "DOP853": lambda **more: SolveIvp("DOP853", **more), "LSODA": lambda **more: SolveIvp("LSODA", **more),
            "RK23": lambda **more: SolveIvp("RK23", **more)}


def crank_and_pendulum(length=None):
    """The driven slider-crank, a turn a second, and beside it a pendulum of 40 m that hangs at rest, or one of a length that swings."""
    crank = library.mechanism("slider-crank")
    place = (0.0, 0.0, -40.0) if length is None else (0.6 * length, 0.0, -0.8 * length)
    bob = mbdae.RigidBody("bob", 1.0, (0.1, 0.1, 0.1), place)
    hang = mbdae.Spherical("hang", "ground", "bob", s_j=tuple(-x for x in place))
    return mbdae.System(mbdae.Mechanism("both", [*crank.bodies, bob], [*crank.joints, hang], drivers=crank.drivers, forces=crank.forces,
                                        gravity=crank.gravity))


@pytest.fixture(scope="module")
def exact():
    systems = {"driven": library.system("slider-crank"), "both": crank_and_pendulum()}
    tight = {"rtol": 1e-11, "atol": 1e-13}
    return {name: (s, mbdae.solve(s, mbdae.DormandPrince(), (0.0, 2.0), t_eval=TIMES, **tight)) for name, s in systems.items()}


def errors(run, known, tol):
    """Of positions and velocities, in tolerances of the bodies of the crank."""
    q, v = slice(0, 21), slice(0, 18)
    return [np.abs(x[:, at] - y[:, at]).max() / (tol * np.abs(y[:, at]).max()) for x, y, at in ((run.q, known.q, q), (run.v, known.v, v))]


@pytest.mark.parametrize("case", ("driven", "both"))
@pytest.mark.parametrize("name", ["HHT", "NullSpaceHHT", *(pytest.param(n, marks=pytest.mark.thorough) for n in list(STRUCTURAL)[2:])])
def test_output_of_structural_methods_between_steps(name, case, exact):
    """Projections leave no error at the steps: their size is that which the interpolation allows."""
    system, known = exact[case]
    for tol in (1e-4, 1e-6):
        run = mbdae.solve(system, STRUCTURAL[name], (0.0, 2.0), t_eval=TIMES, rtol=tol, atol=0.01 * tol)
        assert run.success and max(errors(run, known, tol)) < 30.0
        assert run.statistics.steps < 500


@pytest.mark.parametrize("name", ["RosenbrockNystrom", *(pytest.param(n, marks=pytest.mark.thorough) for n in list(CHARTED)[1:])])
def test_state_space_methods_do_not_step_over_turns(name, exact):
    """The pendulum at rest would allow steps of any length, in which the crank turns onto another branch."""
    system, known = exact["both"]
    run = mbdae.solve(system, CHARTED[name], (0.0, 2.0), t_eval=TIMES, rtol=1e-6, atol=1e-8)
    assert run.success and max(errors(run, known, 1e-6)) < 0.1
    dense = mbdae.solve(system, CHARTED[name], (0.0, 2.0), rtol=1e-6, atol=1e-8, dense_output=True)
    assert dense.success and np.abs(np.array([dense.sol(t)[0] for t in TIMES]) - known.q).max() < 1e-5


def test_coarse_output_is_no_long_step():
    """The steps of the solver count, not the times of output."""
    system = crank_and_pendulum(40.0 / 100.0)
    run = mbdae.solve(system, mbdae.Cvode(), (0.0, 2.0), t_eval=[0.0, 2.0], formulation="partition", rtol=1e-6, atol=1e-8)
    assert run.success and len(run.t) == 2


@pytest.mark.parametrize("form", ("partition", "tangent"))
@pytest.mark.parametrize("name", EXTERNAL)
def test_solvers_that_step_over_turns_do_not_succeed(name, form, exact):
    system, known = exact["both"]
    run = mbdae.solve(system, EXTERNAL[name](), (0.0, 2.0), formulation=form, rtol=1e-6, atol=1e-8)
    assert not run.success and "too long for the motion by drivers" in run.message and run.t[-1] < 1.5
    right = mbdae.solve(system, mbdae.DormandPrince(), (0.0, 2.0), t_eval=run.t, rtol=1e-11, atol=1e-13)
    assert np.abs(run.q - right.q).max() < 1e-8
    within = mbdae.solve(system, EXTERNAL[name](), (0.0, 2.0), t_eval=TIMES, formulation=form, rtol=1e-6, atol=1e-8)
    assert not within.success and np.abs(within.q - known.q[:len(within.t)]).max() < 1e-8
    short = mbdae.solve(system, EXTERNAL[name](max_step=0.05), (0.0, 2.0), t_eval=TIMES, formulation=form, rtol=1e-6, atol=1e-8)
    assert short.success and max(errors(short, known, 1e-6)) < 1.0
