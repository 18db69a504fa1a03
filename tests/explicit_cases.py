"""What the tests and benchmarks of the explicit methods share: mechanisms, exact motions, observed orders."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

import mbdae
from mbdae import library


class Case(NamedTuple):
    """A mechanism; for the orders 8 and 5 a time span [s] and numbers of steps, multiples of eight, in the asymptotic range."""

    make: Callable[[], mbdae.System]
    spans: dict[int, tuple[float, tuple[int, ...]]]


def damped_pendulum():
    """Two rods in space on dampers."""
    m = library.mechanism("double-spherical-pendulum")
    one, two = (b.name for b in m.bodies)
    dampers = [mbdae.TSDA("damper", "ground", one, (0.3, 0.2, 1.0), c=5.0), mbdae.TSDA("spring", one, two, k=30.0, c=2.0)]
    return mbdae.System(mbdae.Mechanism("damped pendulum", m.bodies, m.joints, forces=[*m.forces, *dampers], gravity=m.gravity))


def driven_pendulum():
    """A pendulum on an arm whose angle is prescribed."""
    bodies = [mbdae.PlanarBody("arm", 2.0, 0.3, (0.5, 0.0), 0.0), mbdae.PlanarBody("rod", 1.0, 0.2, (1.0, -0.5), -np.pi / 2)]
    joints = [mbdae.PlanarRevolute("top", "ground", "arm", s_j=(-0.5, 0.0)),
              mbdae.PlanarRevolute("knee", "arm", "rod", (0.5, 0.0), (-0.5, 0.0)),
              mbdae.PlanarAngle("motor", "ground", "arm", mbdae.Harmonic(0.5, 4.0))]
    return mbdae.System(mbdae.Mechanism("driven pendulum", bodies, joints, gravity=(0.0, -9.81, 0.0)))


def rubbing_slider(mu=0.2, v_s=3.0):
    """A rod of 1 kg pinned to a slider of 2 kg on a guide with smooth friction."""
    c, s = np.cos(1.0), np.sin(1.0)
    bodies = [mbdae.PlanarBody("slider", 2.0, 0.01, (0.0, 0.0), 0.0, (2.0, 0.0), 0.0),
              mbdae.PlanarBody("rod", 1.0, 0.1, (0.5 * c, 0.5 * s), 1.0, (2.0, 0.0), 0.0)]
    joints = [mbdae.PlanarTranslational("guide", "ground", "slider"), mbdae.PlanarRevolute("pin", "slider", "rod", (0.0, 0.0), (-0.5, 0.0))]
    friction = mbdae.Friction("rub", "guide", mu, v_s=v_s, smooth=True)
    return mbdae.System(mbdae.Mechanism("rubbing slider", bodies, joints, forces=[friction], gravity=(0.0, -9.81, 0.0)))


CASES = {
    "double-spherical-pendulum": Case(lambda: library.system("double-spherical-pendulum"),
                                      {8: (2.0, (48, 56, 64, 80, 96, 112)), 5: (1.0, (256, 320, 384, 512))}),
    "spatial-four-bar": Case(lambda: library.system("spatial-four-bar"),
                             {8: (2.0, (32, 40, 48, 56, 64, 80)), 5: (2.0, (192, 256, 320, 384))}),
    "driven pendulum": Case(driven_pendulum, {8: (2.0, (40, 48, 56, 64)), 5: (2.0, (256, 320, 384, 512))}),
    "bricard": Case(lambda: library.system("bricard"), {8: (5.0, (24, 32, 40, 48, 56)), 5: (3.0, (160, 192, 256, 320, 384, 512))}),
    "damped pendulum": Case(damped_pendulum, {8: (1.5, (32, 40, 48, 56, 64)), 5: (1.0, (256, 320, 384, 512))}),
    "rubbing slider": Case(rubbing_slider, {8: (1.5, (32, 40, 48, 56)), 5: (2.0, (512, 640, 768, 1024))}),
    "random-tree": Case(lambda: mbdae.System(library.mechanism("random-tree"), coordinates="joint"),
                        {8: (0.3, (56, 64, 80, 96)), 5: (0.3, (256, 320, 384, 512))}),
}


@cache
def system(name):
    return CASES[name].make()


@cache
def exact(name, t_end):
    """The motion at eighths of the time span by a method and code of its own: a Gauss method of order 8 with short steps, projected."""
    times = t_end * np.arange(1, 9) / 8
    found = mbdae.solve(system(name), mbdae.ProjectedGauss(h=t_end / 480, stages=4), (0.0, t_end), t_eval=times)
    assert found.success, found.message
    return found


def distances(name, t_end, method, **options):
    """Errors of `q`, `v`, `lam` relative to their size, root mean squares over the eighths of the time span; NaN without multipliers."""
    reference = exact(name, t_end)
    s = mbdae.solve(system(name), method, (0.0, t_end), t_eval=reference.t, **options)
    assert s.success, s.message
    pairs = [(getattr(s, x), getattr(reference, x)) for x in ("q", "v", "lam")]
    return [float(np.sqrt(np.mean((x - y) ** 2)) / np.sqrt(np.mean(y**2))) if y.size else np.nan for x, y in pairs]


def orders(name, order, method=None):
    """Observed orders of `q`, `v`, `lam` with steps of fixed size, by least squares, and the rows `(h, errors)` they are fitted to.

    `method(fixed_step)` is by default `DormandPrince` of this order.
    """
    t_end, numbers = CASES[name].spans[order]
    made = method or (lambda fixed_step: mbdae.DormandPrince(order, fixed_step=fixed_step))
    rows = np.array([(t_end / n, *distances(name, t_end, made(fixed_step=t_end / n))) for n in numbers])
    return [float(np.polyfit(np.log(rows[:, 0]), np.log(x), 1)[0]) for x in rows[:, 1:].T], rows
