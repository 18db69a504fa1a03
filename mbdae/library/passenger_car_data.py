"""Data of the passenger car: masses, points, bushings. All of it is chosen, see `passenger_car`.

Points are those of the left side in the design position [m]: x forward from the centre of mass of the chassis, y to the left, z up from the
road. Inertias are about the centre of mass, in axes of the chassis [kg m^2]. A bushing is stiff in three directions [N/m] and against
three rotations [N m/rad], along x, y and z.
"""

from typing import NamedTuple, TypeAlias

Point: TypeAlias = tuple[float, float, float]


class Part(NamedTuple):
    """A rigid body."""

    mass: float
    inertia: Point
    centre: Point


class Mount(NamedTuple):
    """A bushing: what carries it, where, and how stiff it is."""

    base: str
    place: Point
    kind: str


class Rubber(NamedTuple):
    """Stiffness along and about the axes, and the damping relative to it [s]."""

    k: Point
    k_r: Point
    damping: float = 2e-4


BUSHINGS = {
    "arm": Rubber((1.5e6, 8e6, 8e6), (60.0, 250.0, 250.0)),
    "link": Rubber((2e6, 9e6, 9e6), (80.0, 200.0, 200.0)),
    "subframe": Rubber((4e6, 4e6, 5e6), (800.0, 800.0, 800.0)),
    "engine": Rubber((1.8e5, 1.5e5, 2.8e5), (50.0, 50.0, 50.0), 3e-3),
    "torque rod": Rubber((2.5e5, 2e4, 2e4), (10.0, 10.0, 10.0), 3e-3),
    "top mount": Rubber((1.5e6, 1.5e6, 2e6), (30.0, 30.0, 60.0)),
    "bar": Rubber((2e6, 1e6, 2e6), (40.0, 5.0, 40.0)),
}

CHASSIS = Part(1120.0, (420.0, 1750.0, 1900.0), (0.0, 0.0, 0.55))
MIDDLE = {
    "powertrain": (Part(205.0, (9.0, 16.0, 17.0), (1.22, 0.0, 0.52)),
                   (Mount("chassis", (1.25, 0.46, 0.62), "engine"), Mount("chassis", (1.25, -0.46, 0.62), "engine"),
                    Mount("front subframe", (0.98, 0.0, 0.30), "torque rod"))),
    "front subframe": (Part(26.0, (1.7, 0.9, 2.4), (1.20, 0.0, 0.26)),
                       tuple(Mount("chassis", (x, s * y, 0.26), "subframe") for x, y in ((1.42, 0.44), (0.96, 0.40)) for s in (1.0, -1.0))),
    "rear subframe": (Part(32.0, (2.2, 1.3, 3.0), (-1.50, 0.0, 0.31)),
                      tuple(Mount("chassis", (x, s * y, 0.32), "subframe")
                            for x, y in ((-1.28, 0.50), (-1.74, 0.46)) for s in (1.0, -1.0))),
}


class Arm(NamedTuple):
    """An arm or a link: its bushings, and the ball on the upright."""

    part: Part
    mounts: tuple[Mount, ...]
    ball: Point


class Strut(NamedTuple):
    """Spring and damper: a tube on a ball of an arm, and a rod that slides in it, in a mount on the chassis."""

    arm: str
    foot: Point
    top: Point
    stiffness: float  # N/m
    damping: float  # N s/m
    tube: tuple[float, float]  # mass [kg], its distance from the foot relative to the length
    rod: tuple[float, float]


class Bar(NamedTuple):
    """An anti-roll bar: two halves that turn against each other about y, a drop link on each."""

    part: Part  # one half
    base: str
    axis: Point  # its middle
    mount: Point
    end: Point
    arm: str  # that the drop link ends on
    foot: Point
    stiffness: float  # N m/rad


class Axle(NamedTuple):
    """Half of an axle."""

    upright: Part
    wheel: Part
    arms: dict[str, Arm]
    strut: Strut
    bar: Bar


def _link(mass: float, base: str, inner: Point, ball: Point, kind: str = "link") -> Arm:
    """A straight rod of 30 mm from its bushing to its ball."""
    d = [b - a for a, b in zip(inner, ball)]
    length2 = sum(x * x for x in d)
    x, y, z = (mass * ((length2 - c * c) / 12.0 + 1.1e-4 * (1.0 + c * c / length2)) for c in d)
    a, b, c = (0.5 * (p + q) for p, q in zip(inner, ball))
    return Arm(Part(mass, (x, y, z), (a, b, c)), (Mount(base, inner, kind),), ball)


def _between(a: Point, b: Point, share: float) -> Point:
    x, y, z = (p + share * (q - p) for p, q in zip(a, b))
    return x, y, z


_INNER, _OUTER = (-1.60, 0.28, 0.22), (-1.56, 0.71, 0.20)
AXLES = {
    "front": Axle(
        upright=Part(14.0, (0.16, 0.18, 0.11), (1.24, 0.70, 0.33)),
        wheel=Part(22.0, (0.70, 1.25, 0.70), (1.25, 0.78, 0.31)),
        arms={"lower arm": Arm(Part(7.0, (0.11, 0.08, 0.18), (1.17, 0.56, 0.21)),
                               (Mount("front subframe", (1.28, 0.36, 0.22), "arm"), Mount("front subframe", (0.96, 0.38, 0.225), "arm")),
                               (1.245, 0.735, 0.20)),
              "upper arm": Arm(Part(2.4, (0.012, 0.014, 0.024), (1.222, 0.59, 0.555)),
                               (Mount("chassis", (1.33, 0.50, 0.56), "arm"), Mount("chassis", (1.13, 0.50, 0.55), "arm")),
                               (1.215, 0.69, 0.55))},
        strut=Strut("lower arm", (1.245, 0.62, 0.215), (1.205, 0.54, 0.76), 38e3, 2600.0, (3.2, 0.25), (1.8, 0.72)),
        bar=Bar(Part(2.6, (0.09, 0.04, 0.12), (0.97, 0.33, 0.36)), "front subframe", (0.88, 0.0, 0.36), (0.88, 0.32, 0.36),
                (1.14, 0.56, 0.36), "lower arm", (1.15, 0.57, 0.215), 900.0)),
    "rear": Axle(
        upright=Part(13.0, (0.15, 0.17, 0.10), (-1.50, 0.70, 0.32)),
        wheel=Part(21.0, (0.68, 1.20, 0.68), (-1.50, 0.78, 0.31)),
        arms={"lower link": _link(4.5, "rear subframe", _INNER, _OUTER),
              "tension link": _link(1.8, "rear subframe", (-1.22, 0.42, 0.25), (-1.46, 0.70, 0.205)),
              "front upper link": _link(1.2, "rear subframe", (-1.36, 0.43, 0.48), (-1.46, 0.68, 0.485)),
              "rear upper link": _link(1.2, "rear subframe", (-1.63, 0.40, 0.485), (-1.55, 0.68, 0.495)),
              "toe link": _link(1.2, "rear subframe", (-1.73, 0.33, 0.30), (-1.70, 0.71, 0.285))},
        strut=Strut("lower link", _between(_INNER, _OUTER, 0.7), (-1.55, 0.53, 0.72), 42e3, 2400.0, (3.0, 0.25), (1.7, 0.72)),
        bar=Bar(Part(2.0, (0.07, 0.03, 0.09), (-1.80, 0.31, 0.35)), "rear subframe", (-1.88, 0.0, 0.35), (-1.88, 0.30, 0.35),
                (-1.59, 0.52, 0.35), "lower link", _between(_INNER, _OUTER, 0.55), 350.0)),
}
RACK, TIE = (1.11, 0.34, 0.245), (1.11, 0.705, 0.235)  # ends of a tie rod on rack and upright
