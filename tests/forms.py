"""What every mechanism must satisfy in every formulation: checks that tests apply to all entries of the library."""

import numpy as np

import mbdae
from mbdae.system import layout as lay

FORMS = {c.formulation: c for c in (mbdae.Index3, mbdae.GGL, mbdae.Gear, mbdae.Index2, mbdae.Index1, mbdae.Overdetermined)}
STEP = 1e-30


def open_levels(system, x):
    """What is left open of `Phi`, `Phi_q v - nu`, `Phi_q a - gamma` and the equations of motion, relative to the size of their terms."""
    G, t = system.phi_q(x.t, x.q), x.t
    Q, Ma = system.force(t, x.q, x.v, x.lam), system.mass_times(t, x.q, x.a)
    levels = {"position": (system.phi(t, x.q), x.q), "velocity": (G @ x.v - system.nu(t, x.q), x.v),
              "acceleration": (G @ x.a - system.gamma(t, x.q, x.v), x.a),
              "motion": (Ma + G.T @ x.lam - Q, np.concatenate([Ma, Q]))}
    return {name: np.abs(r).max(initial=0.0) / (1.0 + np.abs(terms).max()) for name, (r, terms) in levels.items()}


def displaced(system, q, rng, share=0.05):
    """Positions off by `share` of the spread of the centres of mass, and by as many radians."""
    d = rng.uniform(-1.0, 1.0, system.nv) * share
    size = np.abs(q).max() or 1.0
    if system.mechanism is None:
        return system.retract(q, d * size)
    rotation = np.zeros(system.nv, dtype=bool)
    places = [(b["kind"], b["q"], b["v"]) for b in system._bodies]
    for kind, _, v in places:
        rotation[v + 2:v + 3] |= kind == lay.PLANAR
        rotation[v + 3:v + 6] |= kind == lay.RIGID
    points = np.array([[*q[at:at + 2], q[at + 2] if kind != lay.PLANAR else 0.0] for kind, at, _ in places])
    size = np.abs(points - points.mean(axis=0)).max() or np.abs(points).max() or 1.0
    return system.retract(q, np.where(rotation, d, d * size))


def random_state(system, rng, share=0.05):
    """A consistent state near the start, with random velocities."""
    guess, v = system.initial_guess()
    return mbdae.assemble(system, 0.0, displaced(system, guess, rng, share), v + rng.normal(size=system.nv) * (1.0 + np.abs(v).max()))


def random_point(problem, x, rng):
    """`(y, yd)` of a form at a consistent state, all other unknowns and all derivatives random."""
    y, yd = problem.pack(x)
    for name, block in problem.blocks.items():
        if name not in ("q", "v", "lam"):
            y[block] = rng.normal(size=block.stop - block.start)
    return y, yd + rng.normal(size=problem.n) * (1.0 + np.abs(yd))


def by_complex_step(problem, t, y, yd, c):
    """`F_y + c F_yd`, dense, one column at a time."""
    work, out, columns = problem.system.workspace(complex), np.empty(problem.m, complex), []
    for e in np.eye(problem.n):
        problem.kernel(t, y + 1j * STEP * e, yd + 1j * STEP * c * e, out, problem.model, work, *problem.parameters)
        columns.append(out.imag / STEP)
    return np.array(columns).T


def by_differences(problem, t, y, yd, c):
    """`F_y + c F_yd`, dense, by central differences of fourth order, and an estimate of their error.

    The null space of redundant equations is that at `y` in all of them, as in exact Jacobians.
    """
    problem.follow(t, y)

    def residual(z, zd):
        out = np.empty(problem.m)
        problem.kernel(t, z, zd, out, *problem.arguments)
        return out

    h = 1e-4 * (1.0 + np.abs(y))
    columns, doubt = [], []
    for k in range(problem.n):
        e = np.zeros(problem.n)
        e[k] = h[k]
        f = [residual(y + s * e, yd + s * c * e) for s in (-2, -1, 1, 2)]
        near, far = (f[2] - f[1]) / (2 * h[k]), (f[3] - f[0]) / (4 * h[k])
        columns.append((4 * near - far) / 3)
        doubt.append(np.abs(near - far) * 1e-2 + 1e-14 * np.abs(f).max() / h[k])
    return np.array(columns).T, np.array(doubt).T
