"""One step of the state-space methods: stages, end and error estimates are those of the tableaus, the error is their weighted norm."""

from types import SimpleNamespace

import numpy as np
import pytest

import mbdae
from mbdae.integrators.control.records import new_output
from mbdae.integrators.state_space.rosenbrock_tableau import ROSENBROCK_NYSTROM_4
from mbdae.integrators.state_space.stepper import ChartedStepper

from .helpers import central, stiffening

METHODS = {name: getattr(mbdae, name) for name in ("RosenbrockNystrom", "SdirkDescriptor", "SdirkFirstOrder", "TrapezoidalStateSpace",
                                                   "TrapezoidalDescriptor")}
STEP, RTOL, ATOL = 0.02, 1e-2, 2e-2


@pytest.fixture(scope="module")
def system():
    """Two particles and the ground on springs and dampers: no constraints, forces that depend on all."""
    bodies = [mbdae.Particle("a", 1.0, (0.3, 0.1, -0.2), (0.5, -1.0, 0.3)), mbdae.Particle("b", 2.0, (-0.8, 0.9, 0.5), (-0.2, 0.4, 0.8))]
    forces = [mbdae.TSDA("ab", "a", "b", k=40.0, c=3.0, l0=0.4, law=stiffening), mbdae.TSDA("ga", "ground", "a", (1, 0, 0), k=60.0, c=1.0),
              mbdae.TSDA("gb", "ground", "b", (0, 2, 1), k=20.0, c=5.0, l0=1.0)]
    return mbdae.System(mbdae.Mechanism("free", bodies, forces=forces, gravity=(0, 0, -9.81)))


def stepped(system, name):
    """The arrays of a run before and after one step, and the motion as a function."""
    method = METHODS[name](filter=False, first_step=STEP, **({} if name == "RosenbrockNystrom" else {"newton_tol": 1e-9, "max_iter": 30}))
    problem = mbdae.StateSpace(system, "partition")
    stepper = ChartedStepper(method, problem, mbdae.assemble(system), 1.0, RTOL, np.asarray(ATOL))
    stepper.begin()
    run, P = stepper.run, stepper.chart.P
    z, zd = run.start.z.copy(), run.start.zd.copy()
    stepper.loops.march(run, new_output(stepper.begins, 2), 1, np.zeros(1, dtype=np.uint8))
    assert (run.clock.steps, run.clock.t) == (1, STEP)

    def f(t, y, yd):
        return P @ np.linalg.solve(system.mass(t, P.T @ y), system.force(t, P.T @ y, P.T @ yd))

    J1, J2 = central(lambda d: f(0.0, z + d, zd), 6, 1e-5), central(lambda d: f(0.0, z, zd + d), 6, 1e-5)
    f_t = (f(1e-5, z, zd) - f(-1e-5, z, zd)) / 2e-5
    return SimpleNamespace(run=run, P=P, z=z, zd=zd, f=f, J1=J1, J2=J2, f_t=f_t, tableau=method.tableau)


def close(found, expected, tolerance=1e-8):
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * (1e-4 + np.abs(expected).max()))


def norm(s, last=None):
    """The root mean square of errors in all positions and velocities, relative to the tolerances at the start and the last stage."""
    z, zd = last or (s.run.end.z, s.run.end.zd)
    scale = ATOL + RTOL * np.maximum(np.abs([s.z, s.zd]), np.abs([z, zd]))
    return lambda error: np.sqrt(np.mean((np.array([error.z, error.zd]) / scale) ** 2))


@pytest.mark.parametrize("name", ["SdirkDescriptor", "SdirkFirstOrder"])
def test_sdirk(system, name):
    s, h = stepped(system, name), STEP
    m, run = s.tableau, s.run
    x = run.stages.X if name == "SdirkDescriptor" else np.linalg.solve(h * m.A, run.stages.Xd)
    Y, Yd = s.z + h * np.outer(m.c, s.zd) + h**2 * m.AA @ x, s.zd + h * m.A @ x
    close(x, [s.f(c * h, y, yd) for c, y, yd in zip(m.c, Y, Yd)], 1e-6)
    for found, expected in ((run.end.z, Y[-1]), (run.end.zd, Yd[-1]), (run.error.zd, h * m.error @ x)):
        close(found, expected)
    if name == "SdirkDescriptor":
        close(run.error.z, h**2 * m.error_A @ x)
    else:
        close(run.error.z, h * m.error @ Yd, 1e-6)
    # what the beginning of the step has of it: gamma h (I - gamma h J)^-1 (w0' - u')
    missing = np.concatenate([s.zd - m.begin @ Yd, s.f(0.0, s.z, s.zd) - m.begin @ x])
    J = np.block([[np.zeros((6, 6)), np.eye(6)], [s.J1, s.J2]])
    defect = m.gamma * h * np.linalg.solve(np.eye(12) - m.gamma * h * J, missing)
    close(np.concatenate([run.defect.z, run.defect.zd]), defect, 1e-5)
    assert run.clock.past_error == pytest.approx(max(map(norm(s), (run.error, run.defect))), rel=1e-9)
    # one solution an iteration, and those of the derivatives at the start and of the defect
    assert run.counts.solves == run.counts.newton_iterations + 2


def test_rosenbrock(system):
    s, h, m = stepped(system, "RosenbrockNystrom"), STEP, ROSENBROCK_NYSTROM_4
    S, u = np.eye(6) - h * m.e * s.J2 - (h * m.e) ** 2 * s.J1, np.zeros((4, 6))
    for i in range(4):  # the fourth stage is the third one
        last = s.z + h * m.a_sum[i] * s.zd + h * m.t[i] @ u, s.zd + m.w[i] @ u
        f = s.f(h * m.a_sum[i], *last)
        u[i] = np.linalg.solve(S, m.e * (h * f + h**2 * m.e_sum[i] * (s.f_t + s.J1 @ s.zd) + m.c[i] @ u + h**2 * s.J1 @ (m.d[i] @ u)))
    run = s.run
    for found, expected in ((run.end.z, s.z + h * s.zd + h * m.p @ u), (run.end.zd, s.zd + m.s @ u), (run.error.z, h * m.p_error @ u),
                            (run.error.zd, m.s_error @ u)):
        close(found, expected, 1e-6)
    assert run.clock.past_error == pytest.approx(norm(s, last)(run.error), rel=1e-6)


@pytest.mark.parametrize("name", ["TrapezoidalStateSpace", "TrapezoidalDescriptor"])
def test_trapezoidal(system, name):
    """The error is the difference to backward Euler with the same end."""
    s, h = stepped(system, name), STEP
    before, after = s.f(0.0, s.z, s.zd), s.f(h, s.run.end.z, s.run.end.zd)
    close(s.run.end.zd, s.zd + 0.5 * h * (before + after), 1e-7)
    close(s.run.end.z, s.z + h * s.zd + 0.25 * h**2 * (before + after), 1e-7)
    close(s.run.error.zd, s.run.end.zd - (s.zd + h * after), 1e-6)
    close(s.run.error.z, s.run.end.z - (s.z + h * s.run.end.zd), 1e-6)
    assert s.run.clock.past_error == pytest.approx(norm(s)(s.run.error), rel=1e-9)


@pytest.mark.parametrize("name", ["SdirkDescriptor", "SdirkFirstOrder"])
def test_stages_of_a_uniform_motion_are_guessed(name):
    """One iteration for each of the five."""
    bodies = [mbdae.Particle("a", 1.0, (0.3, 0.1, -0.2), (0.5, -1.0, 0.3)), mbdae.Particle("b", 2.0, (-0.8, 0.9, 0.5), (-0.2, 0.4, 0.8))]
    s = stepped(mbdae.System(mbdae.Mechanism("uniform", bodies)), name)
    close(s.run.end.z, s.z + STEP * s.zd)
    assert s.run.counts.newton_iterations == len(s.tableau.c) == 5
