"""Mechanisms with contacts, and the bouncing double pendulum in minimal coordinates: an independent script with SciPy."""

import numpy as np
from scipy.integrate import solve_ivp

import mbdae

G, INERTIA, WALL = 9.81, 1.0 / 12.0, 1.4
ANGLES = (-1.0217455 + 0.05, -0.49887325 + 0.05)  # near the equilibrium with the tip at the wall


def two_rods(angles=ANGLES, coordinates="cartesian"):
    """Two rods of 1 kg and 1 m, the upper one on a pin."""
    u1, u2 = (0.5 * np.array([np.cos(a), np.sin(a)]) for a in angles)
    bodies = [mbdae.PlanarBody("upper", 1.0, INERTIA, tuple(u1), angles[0]),
              mbdae.PlanarBody("lower", 1.0, INERTIA, tuple(2 * u1 + u2), angles[1])]
    joints = [mbdae.PlanarRevolute("support", "ground", "upper", s_j=(-0.5, 0)),
              mbdae.PlanarRevolute("elbow", "upper", "lower", s_i=(0.5, 0), s_j=(-0.5, 0))]
    return mbdae.System(mbdae.Mechanism("bouncing pendulum", bodies, joints, gravity=(0, -G, 0)), coordinates=coordinates)


def wall(restitution, **options):
    """The tip hits a wall at `x = WALL`."""
    return mbdae.Impact("wall", mbdae.SpherePlane("lower", "ground", n_j=(1, 0), s_i=(0.5, 0), s_j=(WALL, 0)), restitution, **options)


def mass(angles):
    """Mass matrix of the two angles."""
    c = 0.5 * np.cos(angles[0] - angles[1])
    return np.array([[INERTIA + 1.25, c], [c, INERTIA + 0.25]])


def _rates(t, y):
    (a, b), (u, w) = y[:2], y[2:]
    s = 0.5 * np.sin(a - b)
    force = np.array([-s * w * w - 1.5 * G * np.cos(a), s * u * u - 0.5 * G * np.cos(b)])
    return np.concatenate([y[2:], np.linalg.solve(mass(y[:2]), force)])


def _gap(t, y):
    return np.cos(y[0]) + np.cos(y[1]) - WALL


_gap.direction, _gap.terminal = -1, True


def minimal_impacts(restitution, n):
    """Times of the first `n` impacts, DOP853 in two angles at rounding."""
    y, t, times = np.array([*ANGLES, 0.0, 0.0]), 0.0, []
    for _ in range(n):
        run = solve_ivp(_rates, (t, t + 10.0), y, "DOP853", rtol=3e-14, atol=1e-14, events=_gap)
        t, y = run.t_events[0][0], run.y_events[0][0].copy()
        row = -np.sin(y[:2])
        x = np.linalg.solve(mass(y[:2]), row)
        y[2:] -= (1.0 + restitution) * (row @ y[2:]) / (row @ x) * x
        times.append(t)
    return np.array(times)


def violation(system, jumps):
    """The largest `|Phi|` and `|Phi_q v - nu|` after the changes."""
    states = [jump.after for jump in jumps]
    return max(max(np.abs(system.phi(s.t, s.q)).max(initial=0.0),
                   np.abs(system.phi_q(s.t, s.q) @ s.v - system.nu(s.t, s.q)).max(initial=0.0)) for s in states)


def ball(height=1.0, speed=0.0):
    """A particle of 2 kg above the ground."""
    return mbdae.System(mbdae.Mechanism("ball", [mbdae.Particle("ball", 2.0, (0.3, 0, height), (0.5, 0, speed))], gravity=(0, 0, -G)))


def floor(restitution, **options):
    """The ball falls on the ground."""
    return mbdae.Impact("floor", mbdae.SpherePlane("ball", "ground"), restitution, **options)


def ball_impacts(restitution, n, height=1.0):
    """Exact times of the impacts of a ball that is released at rest."""
    first = np.sqrt(2.0 * height / G)
    return first + 2.0 * first * np.cumsum(np.concatenate([[0.0], restitution ** np.arange(1, n)]))


def row_of_balls(n, gap=0.0):
    """Balls of 1 kg in a row, the first of which moves towards the others with 1 m/s."""
    return mbdae.System(mbdae.Mechanism("cradle", [mbdae.Particle(f"b{k}", 1.0, (k * (0.1 + gap), 0, 0), (float(k == 0), 0, 0))
                                                   for k in range(n)]))


def collisions(n, restitution=1.0, **options):
    """The impacts between neighbours of this row."""
    return [mbdae.Impact(f"c{k}", mbdae.SphereSphere(f"b{k}", f"b{k + 1}", 0.05, 0.05), restitution, **options) for k in range(n - 1)]
