"""Mechanisms as files: what cannot be written, and damaged files, which are read or refused but do nothing else."""

import json
import math
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

import mbdae
from mbdae.io import DescriptionError, load, save

from . import helpers
from .helpers import thorough_but
from .io_cases import ENDINGS, G, again, mechanism, tree_of, written
from .io_cases import loader as loader  # a fixture

# --- what cannot be written -------------------------------------------------------------------------------------------------------------


class OwnRod(mbdae.Rod):
    """A joint of a user's own."""


class OwnMotion(mbdae.Polynomial):
    """A motion of a user's own."""


UNWRITABLE = {
    "law": (lambda m: replace(m, forces=[mbdae.TSDA("s", "crank", "rod", law=helpers.stiffening)]),
            "forces[0].law: TSDA 's' has a Python function"),
    "user force": (lambda m: replace(m, forces=[*m.forces, mbdae.UserForce("u", ["rod"], helpers.drag)]),
                   "forces[3].function: UserForce 'u' has"),
    "driver": (lambda m: replace(m, drivers=[mbdae.PlanarAngleDriver("d", G, "disc", np.sin)]),
               "drivers[0].f: PlanarAngleDriver 'd' has"),
    "constraint": (lambda m: replace(m, joints=[m.joints[1], mbdae.CD("c", G, "rod", (1, 0, 0), f=np.sin)]),
                   "joints[1].f: CD 'c' has a Python function"),
    "component": (lambda m: replace(m, forces=[*m.forces, mbdae.PointForce("f", "rod", (0, np.sin, 0))]),
                  "forces[3].force[1]: PointForce 'f' has"),
    "own joint": (lambda m: replace(m, joints=[*m.joints, OwnRod("r", G, "rod")]),
                  "joints[2]: OwnRod 'r' has the type OwnRod, which files do not know"),
    "own motion": (lambda m: replace(m, drivers=[mbdae.PlanarAngleDriver("d", G, "disc", OwnMotion((1,)))]),
                   "drivers[0].f: .*type OwnMotion"),
    "surrogate": (lambda m: replace(m, bodies=[*m.bodies, mbdae.Particle("\ud800", 1)]), "bodies[4].name: .*half a surrogate pair"),
    "name": (lambda m: replace(m, name="\udfff"), "name: .*half a surrogate pair"),
    "system": (mbdae.System, "only a Mechanism can be saved, got System"),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("case", UNWRITABLE)
def test_unwritable(tmp_path, case, ending):
    path = written(tmp_path, "what was here", ending)
    change, message = UNWRITABLE[case]
    found = change(mechanism())
    with pytest.raises(DescriptionError) as caught:
        save(found, path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ") and all(part in text for part in message.split(".*")), text
    assert path.read_text() == "what was here"


def test_fields_of_other_kinds_are_written(tmp_path):
    """What the dataclasses let through comes out as the plain value it is equal to."""
    m = mechanism()
    odd = replace(m,
                  forces=[mbdae.Friction("rub", "B", np.float32(0.5), smooth=np.True_, normal=()),
                          mbdae.TSDA("s", np.str_("crank"), "rod", k=1)],
                  gravity=np.array([0, 0, 1]))
    assert again(odd, tmp_path, "yaml") == odd == again(odd, tmp_path, "json")


# --- random damage ----------------------------------------------------------------------------------------------------------------------

JUNK = (None, True, -1, 0, 1e308, 1e-308, math.nan, math.inf, 10**500, "", "x", "ground", "crank", "B", "\ud800", "1", [], {}, [1, 2, 3],
        [[1, 0, 0]] * 3, [None], [[[]]], {"type": "Polynomial", "coefficients": [1]}, {"type": "Rod"}, {"type": []}, [0, 0, 1],
        [1e200, 1e200, -1e200], [1, 2, 3, 4], ["a"] * 20)


def damage(rng, tree):
    """Replaces, drops, repeats or adds something somewhere, one to three times."""
    for _ in range(rng.integers(1, 4)):
        node, parents = tree, []
        while isinstance(node, list | dict) and len(node) and (not parents or rng.random() < 0.85):
            key = list(node)[rng.integers(len(node))] if isinstance(node, dict) else int(rng.integers(len(node)))
            parents.append((node, key))
            node = node[key]
        owner, key = parents[-1]
        kind = rng.integers(4)
        if kind == 0:
            owner[key] = deepcopy(JUNK[rng.integers(len(JUNK))])
        elif kind == 1:
            del owner[key]
        elif kind == 2 and isinstance(owner, list):
            owner.append(deepcopy(owner[key]))
        elif isinstance(owner, dict):
            owner[("name", "type", "f", "mass", "zzz", "j")[rng.integers(6)]] = deepcopy(JUNK[rng.integers(len(JUNK))])
        if not tree:
            break


def outcome(path):
    """Whether a file is read, and then comes back; nothing but a `DescriptionError` may happen otherwise."""
    try:
        found = load(path)
    except DescriptionError as error:
        assert str(error).startswith(f"{path}: ") and error.reason
        return False
    assert again(found, path.parent, path.suffix[1:]) == found
    return True


@pytest.mark.parametrize("ending", thorough_but(["json"], ENDINGS))
def test_damaged_trees(tmp_path, rng, ending):
    read = 0
    for _ in range(400):
        tree = tree_of(mechanism())
        damage(rng, tree)
        read += outcome(written(tmp_path, json.dumps(tree), ending))
    assert 10 < read < 200


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize("ending", thorough_but(["json"], ENDINGS))
def test_damaged_text(tmp_path, rng, ending):
    """Bytes changed, dropped, repeated, exchanged."""
    save(mechanism(), tmp_path / f"whole.{ending}")
    whole = (tmp_path / f"whole.{ending}").read_bytes()
    marks, read = b"{}[]:,#&*!|>'\"%@`-?\n\t \\\x00\xff0e.~<", 0
    for _ in range(400):
        text = bytearray(whole)
        for _ in range(rng.integers(1, 3)):
            a = int(rng.integers(len(text)))
            b = a + int(rng.integers(1, 20))
            kind = rng.integers(4)
            if kind == 0:
                text[a] = marks[rng.integers(len(marks))]
            elif kind == 1:
                del text[a:b]
            elif kind == 2:
                text[a:a] = text[a:b]
            else:
                text[a:b] = bytes(rng.permutation(list(text[a:b])).astype(np.uint8))
        read += outcome(written(tmp_path, bytes(text), ending))
    assert 2 < read < 200
