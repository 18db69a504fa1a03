"""Mechanisms as files: what the tests share."""

import numpy as np
import pytest
import yaml

import mbdae
from mbdae.io import DescriptionError, load, save, syntax, write

from . import helpers

G, ENDINGS = helpers.GROUND, ("json", "yaml")
LOADERS = [yaml.SafeLoader] + ([yaml.CSafeLoader] if hasattr(yaml, "CSafeLoader") else [])
tree_of = write.describe  # the plain data of a mechanism


@pytest.fixture(params=LOADERS, ids=lambda loader: loader.__name__)
def loader(request, monkeypatch):
    """Both parsers of PyYAML in turn, the compiled and the plain one."""
    monkeypatch.setattr(syntax, "LOADER", request.param)


def written(tmp_path, text, ending="yaml"):
    """A file with this text or these bytes."""
    path = tmp_path / f"m.{ending}"
    path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    return path


def refusal(path, **options):
    """The error of a file that must be refused; its message begins with the file."""
    with pytest.raises(DescriptionError) as caught:
        load(path, **options)
    assert str(caught.value).startswith(f"{path}: ") and caught.value.file == str(path)
    return caught.value


def again(mechanism, tmp_path, ending):
    """The mechanism written and read."""
    save(mechanism, tmp_path / f"again.{ending}")
    return load(tmp_path / f"again.{ending}")


def mechanism():
    """A small mechanism with an element of each section."""
    bodies = [mbdae.RigidBody("crank", 1.0, (1, 2, 2)), mbdae.RigidBody("rod", 1.0, (1, 2, 2)), mbdae.Particle("ball", 1.0),
              mbdae.PlanarBody("disc", 1.0, 1.0)]
    joints = [mbdae.Revolute("A", G, "crank"), mbdae.Translational("B", "crank", "rod")]
    drivers = [mbdae.AngleDriver("motor", G, "crank", mbdae.Polynomial((0, 1)), (0, 0, 1), (1, 0, 0), (1, 0, 0))]
    forces = [mbdae.TSDA("spring", "crank", "rod", k=1.0), mbdae.PointForce("push", "rod", (1, 2, mbdae.Harmonic(1, 2))),
              mbdae.Friction("rub", "B", 0.1)]
    return mbdae.Mechanism("small", bodies, joints, drivers, forces, gravity=(0, 0, -9.81))


def motion(rng):
    """A random motion, or a number."""
    return (rng.normal(), mbdae.Constant(rng.normal()), mbdae.Polynomial(rng.normal(size=rng.integers(1, 9))),
            mbdae.Harmonic(*rng.normal(size=rng.integers(2, 5))))[rng.integers(4)]


def across(rng, a):
    """A random unit vector perpendicular to `a`."""
    b = np.cross(a, rng.normal(size=3))
    return b / np.linalg.norm(b)


def random_mechanism(seed):
    """Every type once, with random data, optional fields here and there."""
    rng = np.random.default_rng(seed)
    unit, m = lambda: helpers.unit(rng), mbdae

    def r(n=3):
        return rng.normal(size=n) * 10.0 ** rng.integers(-12, 12)

    def some(**fields):
        return {key: value for key, value in fields.items() if rng.random() < 0.6}

    def turning():
        a = unit()
        return a, across(rng, a), unit()

    bodies = [
        m.Particle("p", rng.uniform(1, 2), **some(position=r(), velocity=r())),
        m.PlanarBody("d", rng.uniform(1, 2), rng.uniform(1, 2),
                     **some(position=r(2), angle=rng.normal(), velocity=r(2), omega=rng.normal())),
        m.PlanarBody("e", 1.0, 1.0),
        m.RigidBody("a", 1.0, rng.uniform(1, 2, size=3), **some(orientation=helpers.quaternion(rng), velocity=r(), omega=r())),
        m.RigidBody("b", 1.0, helpers.inertia(rng), any_inertia=True, **some(position=r(), orientation=helpers.quaternion(rng))),
    ]
    joints = [
        *(cls(cls.__name__, "a", "b", **some(s_i=r(), s_j=r())) for cls in (m.Spherical, m.Fixed, m.Free, m.Coincident)),
        *(cls(cls.__name__, G, "b", **some(s_i=r(), s_j=r(), a_i=unit(), a_j=unit()))
          for cls in (m.Revolute, m.Universal, m.Cylindrical, m.RevoluteCylindrical)),
        m.Rod("Rod", "p", "b", s_j=r(), **some(length=rng.uniform(1, 2))),
        m.PlanarRevolute("PlanarRevolute", "d", "e", **some(s_i=r(2), s_j=r(2))),
        m.PlanarTranslational("PlanarTranslational", G, "e", **some(s_i=r(2), a_i=across(rng, (0, 0, 1))[:2])),
        m.PlanarCoincident("PlanarCoincident", G, "d", **some(s_i=r(), s_j=r())),
        m.PlanarAngle("PlanarAngle", "d", "e", **some(f=motion(rng))),
        m.Translational("Translational", "a", "b", **some(s_i=r()), b_i=(0.6, 0.8, 0.0), b_j=across(rng, (0, 0, 1))),
    ]
    drivers = [
        m.AngleDriver("AngleDriver", "a", "b", motion(rng), *turning()),
        m.PlanarAngleDriver("PlanarAngleDriver", "d", "e", motion(rng)),
        m.DistanceDriver("DistanceDriver", "p", "b", rng.uniform(1, 2), **some(s_j=r())),
        m.CoordinateDriver("CoordinateDriver", G, "b", motion(rng), unit(), **some(s_i=r(), s_j=r())),
        m.DP1("DP1", "a", "b", r(), r(), **some(f=motion(rng))),
        m.DP2("DP2", "a", "b", r(), **some(s_i=r(), s_j=r(), f=motion(rng))),
        m.D("D", "a", "b", r(), r(), rng.uniform(1, 2)),
        m.CD("CD", "a", "b", r(), **some(s_i=r(), s_j=r(), f=motion(rng))),
        m.Turn("Turn", "a", "b", r(), r(), r(), motion(rng)),
    ]
    a, b, c = turning()
    forces = [
        m.TSDA("TSDA", "a", "d", **some(s_i=r(), s_j=r(), k=rng.uniform(), c=rng.uniform(), l0=rng.uniform())),
        m.RSDA("RSDA", "a", "b", a_i=a, b_i=b, b_j=c, **some(k=rng.uniform(), c=rng.uniform(), theta0=rng.normal())),
        m.PointForce("PointForce", "a", [motion(rng) for _ in range(3)], **some(s=r(), frame="body")),
        m.PointTorque("PointTorque", "a", [motion(rng) for _ in range(3)], **some(frame="global")),
        m.Friction("Friction", "Translational", rng.uniform(), **some(v_s=rng.uniform(0.1, 1), smooth=True, normal=["Translational.db"])),
        m.Friction("pin", "Revolute", rng.uniform(), rng.uniform(), **some(smooth=True)),
    ]
    return m.Mechanism(f"random {seed}", bodies, joints, drivers, forces, **some(gravity=r()))
