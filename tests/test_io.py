"""Mechanisms as files: exact round trips, layout, YAML as a user expects it, the examples, the page that describes the format."""

import json
import math
import pickle
import re
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

import mbdae
from mbdae import library
from mbdae.io import DescriptionError, description, load, save, syntax
from mbdae.model.base import Primitive

from . import helpers
from .io_cases import ENDINGS, G, again, mechanism, random_mechanism, refusal, tree_of, written
from .io_cases import loader as loader  # a fixture

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/file-format.md").read_text()
BODIES, JOINTS, DRIVERS, FORCES = (tuple(description.types_of(s)) for s in description.SECTIONS)


def elements(mechanism):
    """All elements in full."""
    return repr([getattr(mechanism, name) for name in ("bodies", "joints", "drivers", "forces", "gravity")])


# --- round trips ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_type_comes_back_to_the_last_bit(tmp_path, ending):
    for seed in range(12):
        mechanism = random_mechanism(seed)
        found = again(mechanism, tmp_path, ending)
        assert found == mechanism and elements(found) == elements(mechanism)  # `repr` tells -0.0 from 0.0
        assert found.primitives == mechanism.primitives


def test_random_mechanisms_have_every_type():
    m = random_mechanism(0)
    assert {type(e).__name__ for e in m.bodies} == set(BODIES)
    assert {type(e).__name__ for e in m.constraints} == set(JOINTS) | set(DRIVERS)
    assert {type(e).__name__ for e in m.forces} == set(FORCES)


def test_every_element_of_the_package_is_known():
    """What `mbdae` exports as an element is either a type of the format or known to need a function."""
    exported = (getattr(mbdae, name) for name in mbdae.__all__)
    classes = [c for c in exported if getattr(c, "__module__", "").startswith("mbdae.model.") and c is not G]
    known = {*BODIES, *JOINTS, *DRIVERS, *FORCES, *description.motion_types(), *description.undescribable()}
    assert {c.__name__ for c in classes} - {"Mechanism"} == known
    assert description.undescribable() == {"UserForce": "function", "Function": "f"}


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", library.names())
def test_the_library_comes_back(tmp_path, name, ending):
    for parameters in ({}, *library.entry(name).variants):
        if isinstance(library.entry(name).build(**library.entry(name).parameters | parameters), mbdae.Mechanism):
            mechanism = library.mechanism(name, **parameters)
            try:
                found = again(mechanism, tmp_path, ending)
            except DescriptionError as error:
                assert "Python function" in str(error) or "GuidedRod" in str(error)  # which has kernels of its own
                assert any(word in elements(mechanism) for word in ("Function(", "<function", "Dispatcher"))
            else:
                assert found == mechanism


def test_unit_vectors_and_quaternions_come_back_to_the_last_bit(tmp_path, rng):
    """Normalising twice changes the last bit of some four in a hundred of them."""
    bodies = [mbdae.RigidBody(str(k), 1.0, (1, 1, 1), orientation=helpers.quaternion(rng)) for k in range(300)]
    joints = [mbdae.Revolute(b.name, G, b.name, a_i=helpers.unit(rng), a_j=helpers.unit(rng)) for b in bodies]
    m = mbdae.Mechanism("turned", bodies, joints)
    assert again(m, tmp_path, "json") == again(m, tmp_path, "yaml") == m


FLOATS = (5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.1, 1 / 3, 1e22, 1e23, 1e16, 1e-5, 123456789.12345679, -0.0,
          2.0**53 + 2, math.pi)


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize("ending", ENDINGS)
def test_floats_come_back_to_the_last_bit(tmp_path, rng, ending):
    values = [*FLOATS, *np.frombuffer(rng.bytes(8 * 300))]
    positions = [(x, -x, 0.0) for x in values if np.isfinite(x)]
    m = mbdae.Mechanism("floats", [mbdae.Particle(str(k), 1.0, x) for k, x in enumerate(positions)])
    assert elements(again(m, tmp_path, ending)) == elements(m)


NAMES = ("yes", "No", "on", "y", "null", "~", "true", "1", "1e-3", "1:30", "010", "0x1F", ".inf", "2024-01-31", "<<", "=", "?", "-", "---",
         "...", " a", "a ", "a  b", "a: b", "a:", "a #b", "#", "- x", "{x}", "[", "]", "a, b", "'", '"', "it's", "\\", "\\u0041", "%d", "@",
         "`", "&a", "*a", "!t", "|", ">", "\ta", "a\tb", "a\nb", "a\r\nb", "\x00", "\x07", "\x1b[0m", "\x7f", "a\x85b", "a\xa0", "\xad",
         "a\u2028b", "\ufeff", "\ufffe", "é", "e\u0301", "kurbel_ß", "クランク", "😀", "\U0010ffff", "\U000e0001", "link 1", "a.b-c/d",
         "x" * 3000)


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize("ending", ENDINGS)
def test_names_of_any_characters(tmp_path, rng, ending):
    wild = ["".join(chr(c) for c in rng.integers(1, 0xd800, size=5)) + "!" for _ in range(100)]
    names = [*NAMES, *wild]
    assert len(set(names)) == len(names)
    bodies = [mbdae.Particle(n, 1.0) for n in names]
    joints = [mbdae.CD(n, G, n, (0, 0, 1)) for n in names]
    m = mbdae.Mechanism("\n".join(names), bodies, joints, forces=[mbdae.PointForce(n, n, (0, 0, 1)) for n in names])
    assert again(m, tmp_path, ending) == m


def test_other_readers_of_yaml_see_the_same(tmp_path):
    """Written YAML means the same by the rules of YAML 1.1: texts they take for something else are quoted, all numbers have a point."""
    particles = [mbdae.Particle(n, 1e-5, (1e16, 1e-300, -2e22)) for n in NAMES]
    for m in (random_mechanism(1), mbdae.Mechanism("names", particles), *map(library.mechanism, ("andrews", "four-link"))):
        save(m, tmp_path / "m.json"), save(m, tmp_path / "m.yaml")
        assert yaml.safe_load((tmp_path / "m.yaml").read_bytes()) == json.loads((tmp_path / "m.json").read_bytes())


LAID_OUT = """format: mbdae-mechanism
version: 1
name: laid out
gravity: [0.0, 0.0, -9.81]
bodies:
  - {type: Particle, name: "1", mass: 1.0e-05}
  - type: RigidBody
    name: b
    mass: 1.0
    inertia: [[0.3333333333333333, 0.1111111111111111, 0.0], [0.1111111111111111, 0.3333333333333333, 0.0], [0.0, 0.0, 0.3333333333333333]]
joints:
  - {type: Rod, name: rod, i: ground, j: "1", length: 2.0}
"""


def test_layout(tmp_path):
    """One element per line; one that is too long has one field per line; defaults are left out."""
    third, ninth = 1 / 3, 1 / 9
    bodies = [mbdae.Particle("1", 1e-5), mbdae.RigidBody("b", 1, [[third, ninth, 0], [ninth, third, 0], [0, 0, third]])]
    m = mbdae.Mechanism("laid out", bodies, [mbdae.Rod("rod", G, "1", length=2)], gravity=(0, 0, -9.81))
    save(m, tmp_path / "m.yaml")
    assert (tmp_path / "m.yaml").read_bytes().decode() == LAID_OUT
    save(m, tmp_path / "m.json")
    lines = (tmp_path / "m.json").read_text().splitlines()
    assert lines[:4] == ["{", '  "format": "mbdae-mechanism",', '  "version": 1,', '  "name": "laid out",']
    assert '    {"type": "Rod", "name": "rod", "i": "ground", "j": "1", "length": 2.0}' in lines
    for seed in range(3):
        for ending in ENDINGS:
            again(random_mechanism(seed), tmp_path, ending)
            assert max(map(len, (tmp_path / f"again.{ending}").read_text().splitlines())) <= 140


# --- YAML as a user expects it ----------------------------------------------------------------------------------------------------------

PLAIN = {"1": 1.0, "-3": -3.0, "+2": 2.0, "1e-3": 1e-3, "1E5": 1e5, "1.": 1.0, ".5": 0.5, "-.5e+2": -50.0, "010": 10.0, "0o17": 15.0,
         "0x1F": 31.0, "0x" + "f" * 300: math.inf, "1e999": math.inf, "-.inf": -math.inf, "1:30": "1:30", "1_000": "1_000", "1,5": "1,5",
         "0b11": "0b11", "2024-01-31": "2024-01-31", "yes": "yes", "no": "no", "on": "on", "Off": "Off", "y": "y", "nan": "nan", "1e": "1e",
         "e3": "e3", "<<": "<<", "=": "=", "١": "١", "true": True, "False": False, "TRUE": True, "tRue": "tRue", "null": None, "~": None,
         "": None, "'1'": "1", '"true"': "true", "''": ""}


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize("text", PLAIN)
def test_scalars_of_yaml(text):
    found = syntax.parse(f"a: {text}", ".yaml")["a"]
    assert found == PLAIN[text] and type(found) is type(PLAIN[text])


@pytest.mark.usefixtures("loader")
def test_yaml_by_hand(tmp_path):
    """Block and flow style, comments, CRLF, a byte order mark, empty sections, matrices, integers for floats."""
    text = """\
%YAML 1.2
---
version: 1   # any order
format: mbdae-mechanism
name: by hand
gravity:
- 0
- -9.81
- 0
bodies:
- name: on
  type: RigidBody
  mass: 1e-3
  inertia: [[2, 0.5, 0], [0.5, 2, 0],
            [0, 0, 1]]
  orientation:
    - [0, -1, 0]
    - [1, 0, 0]
    - [0, 0, 1]
  velocity: null
- {type: Particle, name: "1", mass: 010, position: [1., .5, -0]}
joints:
  - {type: Spherical, name: no, i: ground, j: on}
drivers:
  - {type: CoordinateDriver, name: d, i: ground, j: "1", c: [0, 0, 1], f: {type: Harmonic, amplitude: 1, omega: 2}}
forces:
...
"""
    expected = mbdae.Mechanism("by hand", [
        mbdae.RigidBody("on", 1e-3, [[2, 0.5, 0], [0.5, 2, 0], [0, 0, 1]], orientation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
        mbdae.Particle("1", 10.0, (1.0, 0.5, 0.0)),
    ], [mbdae.Spherical("no", G, "on")], [mbdae.CoordinateDriver("d", G, "1", mbdae.Harmonic(1, 2), (0, 0, 1))], gravity=(0, -9.81, 0))
    assert load(written(tmp_path, text)) == expected
    assert load(written(tmp_path, b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(), "YML")) == expected


def test_constants_may_be_spelled_out(tmp_path):
    tree = tree_of(mechanism())
    tree["drivers"][0]["f"] = {"type": "Constant", "value": 2}
    found = load(written(tmp_path, json.dumps(tree), "json"))
    assert found.drivers[0].f == mbdae.Constant(2.0)


# --- examples, the page, speed ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "dof"), [("four-bar.yaml", 0), ("pendulum.json", 1)])
def test_examples_load_and_assemble(name, dof):
    m = load(ROOT / "examples" / name)
    assert m.name == Path(name).stem and m.dof == dof
    system = mbdae.System(m)
    assert np.abs(system.phi(0.0, system.initial_guess()[0])).max() < 1e-15
    state = mbdae.assemble(system)
    assert np.abs(system.phi(0.0, state.q)).max() < 1e-15


def test_the_page_has_the_tables():
    assert PAGE.endswith("\n" + description.tables())


def test_the_page_has_the_example():
    assert re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1] == (ROOT / "examples/four-bar.yaml").read_text()


@pytest.mark.skipif(not hasattr(yaml, "CSafeLoader"), reason="the plain parser words its errors differently")
def test_the_page_has_the_errors(tmp_path):
    text = (ROOT / "examples/four-bar.yaml").read_text()
    changes = (("rocker, mass: 1,", "rocker, mass: 1 kg,"), ("s_j: [-0.1", "s_k: [-0.1"), ("j: coupler, s_i", "j: copler, s_i"),
               ("0.25, 0], s_j", "0.25, 0]; s_j"))
    for (old, new), line in zip(changes, re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)[1].splitlines(), strict=True):
        error = refusal(written(tmp_path, text.replace(old, new, 1)))
        assert f"four-bar.yaml: {error.place}: {error.reason}" == line


def test_sizes_on_the_page_are_those_of_the_dataclasses(tmp_path):
    """A vector of the stated number of components is taken, one more or less is not."""
    counted = 0
    for section in description.SECTIONS:
        for k, element in enumerate(tree_of(random_mechanism(0))[section]):
            cls = description.types_of(section)[element["type"]]
            for field in description.fields_of(cls).values():
                if field.name in element and field.kind in (description.VECTOR, description.MOTIONS):
                    n = len(element[field.name])
                    assert description.size(cls, field).startswith(f"{n} ")
                    tree = tree_of(random_mechanism(0))
                    tree[section][k][field.name] = [*element[field.name], 0.0]
                    assert f"{section}[{k}]" in refusal(written(tmp_path, json.dumps(tree), "json")).place
                    counted += 1
    assert counted > 30


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_thousand_bodies_load_in_two_seconds(tmp_path, ending):
    """Found: 0.35 s (JSON), 0.6 s (YAML with the compiled parser, 3 s with the plain one), of which 0.25 s are the model's own."""
    m = library.mechanism("chain", links=1000)
    save(m, tmp_path / f"m.{ending}")
    start = time.process_time()
    found = load(tmp_path / f"m.{ending}")
    seconds = time.process_time() - start
    assert found == m
    assert seconds < (2.0 if ending == "json" or hasattr(yaml, "CSafeLoader") else 20.0)


def test_errors_survive_pickling():
    error = DescriptionError("reason", "bodies[0]", "m.yaml")
    error.file = "n.yaml"
    found = pickle.loads(pickle.dumps(error))
    assert str(found) == "n.yaml: bodies[0]: reason" and isinstance(found, ValueError)


def test_primitives_are_joints_and_drivers():
    primitives = {cls.__name__ for cls in description.types_of("joints").values() if issubclass(cls, Primitive)}
    assert primitives == set(JOINTS) & set(DRIVERS) and len(primitives) == 8


@pytest.mark.parametrize("ending", ENDINGS)
def test_free_components_of_velocities_come_back(tmp_path, ending):
    bodies = [mbdae.Particle("p", 1.0, velocity=(1.0, None, 2.5)), mbdae.PlanarBody("b", 1.0, 1.0, velocity=(None, 3.0)),
              mbdae.RigidBody("r", 1.0, (1, 1, 2.5), omega=(None, None, 2.0), any_inertia=True)]
    path = tmp_path / f"free.{ending}"
    save(mbdae.Mechanism("free", bodies), path)
    assert load(path).bodies == tuple(bodies)
    assert "null" in path.read_text() and "any_inertia" in path.read_text()
