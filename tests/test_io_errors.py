"""Mechanisms as files: whatever is wrong is refused with file, place, reason and remedy."""

import json
import math
import re

import pytest

from mbdae.io import DescriptionError, load, save

from .io_cases import ENDINGS, G, mechanism, refusal, tree_of, written
from .io_cases import loader as loader  # a fixture

# --- what is refused --------------------------------------------------------------------------------------------------------------------


def put(*path_and_value):
    """A change of the plain data: the value at the end of a path."""
    *path, key, value = path_and_value

    def change(tree):
        for step in path:
            tree = tree[step]
        tree[key] = value
    return change


def drop(*path):
    def change(tree):
        for step in path[:-1]:
            tree = tree[step]
        del tree[path[-1]]
    return change


def add(section, **element):
    return lambda tree: tree[section].append(element)


B0, MOTOR = ("bodies", 0), ("drivers", 0)
REFUSED = {
    "format missing": (drop("format"), "format", "must be mbdae-mechanism, got nothing"),
    "format wrong": (put("format", "urdf"), "format", "got the text 'urdf'"),
    "version missing": (drop("version"), "version", "must be 1"),
    "version newer": (put("version", 2), "version", "must be 1, the version that this release reads, got the number 2"),
    "version true": (put("version", True), "version", "must be 1.*got true"),
    "name missing": (drop("name"), "", "field 'name' is missing; a mechanism needs format, version, name, bodies"),
    "name empty": (put("name", " "), "", "non-empty"),
    "name a number": (put("name", 3), "name", "must be a text, got the number 3; put it in quotes"),
    "bodies missing": (drop("bodies"), "", "'bodies' is missing"),
    "no bodies": (put("bodies", []), "", "at least one body"),
    "bodies null": (put("bodies", None), "bodies", r"must be a list of objects, got nothing \(null\)"),
    "bodies an object": (put("bodies", {}), "bodies", "must be a list of objects, got an object"),
    "body a text": (put("bodies", 1, "rod"), "bodies[1]", "must be an object with a type"),
    "unknown section": (put("bodys", []), "", r"unknown field 'bodys' \(did you mean 'bodies'\?\).*format, version, name, gravity, bod"),
    "gravity short": (put("gravity", [0, 1]), "gravity", "must have 3 components, got 2"),
    "gravity null": (put("gravity", None), "gravity", "must be a list of 3 numbers, got nothing"),
    "gravity too large": (put("gravity", 1, 10**400), "gravity[1]", "finite number, got inf"),
    "type missing": (drop(*B0, "type"), "bodies[0]", "'type' is missing; known types are Particle, PlanarBody, RigidBody"),
    "type unknown": (put(*B0, "type", "Rigidbody"), "bodies[0].type", r"unknown type 'Rigidbody' \(did you mean 'RigidBody'\?\).*Particle"),
    "type of another section": (put(*B0, "type", "TSDA"), "bodies[0].type", "'TSDA'; it belongs to the forces"),
    "type a list": (put(*B0, "type", []), "bodies[0].type", "must be a text, got an empty list"),
    "type private": (put("joints", 0, "type", "_Joint"), "joints[0].type", "unknown type"),
    "type a user force": (put("forces", 0, "type", "UserForce"), "forces[0].type", "Python function.*add it after loading"),
    "field unknown": (put(*B0, "mas", 1), "bodies[0]", r"unknown field 'mas' \(did you mean 'mass'\?\).*a RigidBody has type, name, mass"),
    "field of internals": (put("_primitives", []), "", "unknown field '_primitives'"),
    "field missing": (drop(*B0, "mass"), "bodies[0]", "field 'mass' is missing; a RigidBody needs type, name, mass, inertia"),
    "law": (put("forces", 0, "law", "k*x"), "forces[0].law", "Python function"),
    "number a text": (put(*B0, "mass", "1.0"), "bodies[0].mass", "must be a number, got the text '1.0'; write it without quotes"),
    "number with a unit": (put(*B0, "mass", "1 kg"), "bodies[0].mass", "got the text '1 kg'$"),
    "number a bool": (put(*B0, "mass", True), "bodies[0].mass", "must be a number, got true"),
    "number null": (put(*B0, "mass", None), "bodies[0].mass", "must be a number, got nothing"),
    "number NaN": (put(*B0, "mass", math.nan), "bodies[0].mass", "finite number, got nan|text 'NaN'"),
    "number infinite": (put(*B0, "mass", -math.inf), "bodies[0].mass", "finite number, got -inf|text '-Infinity'"),
    "number a list": (put(*B0, "mass", [1]), "bodies[0].mass", "must be a number, got a list of 1"),
    "number negative": (put(*B0, "mass", -1), "bodies[0].mass", "rigid body 'crank': mass must be positive, got -1"),
    "vector a number": (put(*B0, "position", 1), "bodies[0].position", "must be a list of 3 numbers, got the number 1"),
    "vector a text": (put(*B0, "position", "123"), "bodies[0].position", "must be a list of 3 numbers, got the text '123'"),
    "vector short": (put(*B0, "position", [1, 2]), "bodies[0].position", "rigid body 'crank': position must have 3 components, got 2"),
    "vector nested": (put(*B0, "position", [1, [2], 3]), "bodies[0].position[1]", "must be a number, got a list of 1"),
    "vector with a text": (put(*B0, "position", [1, 2, "3"]), "bodies[0].position[2]", "must be a number, got the text '3'"),
    "vector null": (put(*B0, "position", None), "bodies[0].position", "must be a list"),
    "planar vector long": (put("bodies", 3, "position", [1, 2, 3]), "bodies[3].position", "must have 2 components, got 3"),
    "inertia flat": (put(*B0, "inertia", [1, 0, 0, 0, 1, 0, 0, 0, 1]), "bodies[0].inertia", "3 numbers or 3 rows of 3, got a list of 9"),
    "inertia ragged": (put(*B0, "inertia", [[1, 0, 0], [0, 1], [0, 0, 1]]), "bodies[0].inertia[1]", "row of 3 numbers, got a list of 2"),
    "inertia mixed": (put(*B0, "inertia", [[1, 0, 0], 1, [0, 0, 1]]), "bodies[0].inertia[1]", "row of 3 numbers, got the number 1"),
    "inertia asymmetrical": (put(*B0, "inertia", [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), "bodies[0].inertia", "must be symmetric"),
    "inertia negative": (put(*B0, "inertia", [1, 1, -1]), "bodies[0].inertia", "positive definite"),
    "orientation long": (put(*B0, "orientation", [2, 0, 0, 0]), "bodies[0]", "quaternion must have length 1"),
    "orientation a reflection": (put(*B0, "orientation", [[1, 0, 0], [0, 1, 0], [0, 0, -1]]), "bodies[0]", "must be a rotation"),
    "orientation of three": (put(*B0, "orientation", [1, 0, 0]), "bodies[0].orientation", "got shape"),
    "axis not of length one": (put("joints", 0, "a_i", [0, 0, 2]), "joints[0].a_i", "Revolute 'A': a_i must be a unit vector"),
    "axes not perpendicular": (put(*MOTOR, "b_i", [0, 0, 1]), "drivers[0].b_i", "perpendicular"),
    "switch a number": (put("forces", 2, "smooth", 1), "forces[2].smooth", "must be true or false, got the number 1"),
    "switch a text": (put("forces", 2, "smooth", "yes"), "forces[2].smooth", "must be true or false, got the text 'yes'"),
    "word unknown": (put("forces", 1, "frame", "local"), "forces[1].frame", "frame must be one of"),
    "texts a text": (put("forces", 2, "normal", "B.db"), "forces[2].normal", "must be a list of texts, got the text 'B.db'"),
    "texts numbers": (put("forces", 2, "normal", [1]), "forces[2].normal[0]", "must be a text, got the number 1"),
    "texts unknown": (put("forces", 2, "normal", ["B.dx"]), "forces[2].normal", "B.db, B.dc"),
    "motion a text": (put(*MOTOR, "f", "2*t"), "drivers[0].f", "must be a number or a motion such as {type: Polynomial"),
    "motion a list": (put(*MOTOR, "f", [0, 1]), "drivers[0].f", "must be a number or a motion"),
    "motion unknown": (put(*MOTOR, "f", "type", "Harmonics"), "drivers[0].f.type",
                       "did you mean 'Harmonic'.*Constant, Polynomial, Harmonic"),
    "motion a function": (put(*MOTOR, "f", "type", "Function"), "drivers[0].f.type", "Python function"),
    "motion too long": (put(*MOTOR, "f", "coefficients", [1] * 9), "drivers[0].f.coefficients|drivers[0].f",
                        "1 to 8 coefficients are possible"),
    "motion without number": (put("forces", 1, "force", 2, {"type": "Harmonic", "amplitude": 1}), "forces[1].force[2]",
                              "'omega' is missing"),
    "motions too few": (put("forces", 1, "force", [1, 2]), "forces[1].force", "must have 3 components"),
    "motion in a vector": (put(*B0, "inertia", 0, {"type": "Constant", "value": 1}), "bodies[0].inertia[0]",
                           "must be a number, got an object"),
    "name of a body twice": (put("bodies", 1, "name", "crank"), "bodies[1].name", r"'crank' appears twice, first in bodies\[0\]"),
    "name of a force twice": (put("forces", 1, "name", "spring"), "forces[1].name", "appears twice"),
    "name of the ground": (put("bodies", 2, "name", G), "bodies[2]", "kept for the fixed frame"),
    "body unknown": (put("joints", 0, "j", "crnk"), "joints[0].j", r"there is no body 'crnk' \(did you mean 'crank'\?\)"),
    "body far off": (put(*MOTOR, "i", "x"), "drivers[0].i", "there is no body 'x'; there are ground, crank, rod, ball, disc"),
    "body of a force unknown": (put("forces", 1, "body", "x"), "forces[1].body", "there is no body 'x'"),
    "joint unknown": (put("forces", 2, "joint", "C"), "forces[2].joint", "there is no joint 'C'; there are A, B"),
    "joint of the wrong type": (put("forces", 2, "joint", "motor"), "forces[2].joint", "there is no joint 'motor'"),
    "both ends on one body": (put("joints", 1, "j", "crank"), "joints[1]", "Translational 'B': both ends are on 'crank'"),
    "both ends of a force": (put("forces", 0, "j", "crank"), "forces[0]", "both ends are on 'crank'"),
    "force on the ground": (put("forces", 1, "body", G), "forces[1]", "has no effect"),
    "particle in a joint": (put("joints", 0, "j", "ball"), "joints[0]", "'ball' is a particle and has no orientation"),
    "point of a particle": (add("joints", type="Rod", name="R", i=G, j="ball", s_j=[1, 0, 0]), "joints[2]", "s_j must be zero"),
    "planar and spatial": (add("joints", type="PlanarRevolute", name="R", i="disc", j="rod"), "joints[2]", "a planar joint, but"),
    "equations of the same name": (add("joints", type="CD", name="A.x", i=G, j="ball", c=[1, 0, 0]), "",
                                   "two constraint equations are called 'A.x'"),
    "rod too long": (add("joints", type="Rod", name="R", i=G, j="ball", length=1e200), "joints[2]", "the square of length must be finite"),
    "half a surrogate pair": (put("bodies", 2, "name", "\ud800"), "bodies[2].name", "surrogate|no valid YAML"),
    "long text": (put(*B0, "mass", "x" * 10**5), "bodies[0].mass", r"got the text 'x{57}\.\.\.'$"),
    "many bodies": (lambda t: [add("bodies", type="Particle", name=f"p{k}", mass=1)(t) for k in range(50)] + [put(*MOTOR, "i", "?")(t)],
                    "drivers[0].i", r"there are ground, crank, .*, p6, \.\.\.$"),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path, case, ending):
    change, place, reason = REFUSED[case]
    tree = tree_of(mechanism())
    change(tree)
    error = refusal(written(tmp_path, json.dumps(tree), ending))
    if not error.reason.startswith("no valid YAML"):
        assert error.place in place.split("|")
    assert re.search(reason, str(error)), str(error)
    assert len(str(error)) < 600


def test_refused_without_change(tmp_path):
    """The changes above are what the refusals are about."""
    assert load(written(tmp_path, json.dumps(tree_of(mechanism())), "json")) == mechanism()


JSON_HEAD = '"format": "mbdae-mechanism", "version": 1, "name": "m"'
HEAD = "format: mbdae-mechanism\nversion: 1\nname: m\n"
BODY = "bodies:\n  - {type: Particle, name: p, mass: 1}\n"
SYNTAX_YAML = {
    "empty": ("", "", "the file is empty"),
    "blanks": (" \n\n", "", "the file is empty"),
    "comment only": ("# nothing\n", "", "the file is empty"),
    "byte order mark only": ("\ufeff", "", "the file is empty"),
    "null": ("null\n", "", "must hold an object with the keys format, version, name.*got nothing"),
    "a list": ("- 1\n", "", "must hold an object.*got a list of 1"),
    "a text": ("hello\n", "", "must hold an object.*got the text 'hello'"),
    "bracket open": (HEAD + "gravity: [0, 0", "line 4|line 5", "no valid YAML"),
    "tabulator": (HEAD + "\tbodies: 1\n", "line 4", "no valid YAML"),
    "control character": (HEAD + "x: a\x07b\n", "line 4, column 5", r"U\+0007 is not allowed"),
    "zero byte": ("\0", "line 1, column 1", r"U\+0000"),
    "colon twice": (HEAD + "a: b: c\n", "line 4, column 5|line 4, column 4", "no valid YAML"),
    "text with a colon": (HEAD + "bodies:\n  - {type: Particle, name: p: left, mass: 1}\n", "line 5, column 28|line 5, column 29",
                          "contains ': '.*needs quotes"),
    "no blank after the dash": (HEAD + "bodies:\n  -{type: Particle, name: p, mass: 1}\n", None, "followed by a space"),
    "key twice": (HEAD + "bodies:\n  - {type: Particle, name: p, mass: 1, mass: 2}\n", "bodies[0]", "'mass' appears twice"),
    "key twice on top": (HEAD + BODY + BODY, "", "'bodies' appears twice"),
    "key twice in a motion": (
        HEAD + "bodies: []\nforces: [{type: PointForce, name: f, body: p, force: [{value: 1, type: Constant, value: 1}]}]",
        "forces[0].force[0]", "'value' appears twice"),
    "alias": (HEAD + "gravity: &g [0, 0, 1]\nbodies: *g\n", "line 4, column 10", "anchors .* aliases"),
    "cycle": (HEAD + "bodies: &b [*b]\n", "line 4, column 9", "anchors"),
    "unknown alias": (HEAD + "bodies: *b\n", "line 4, column 9", "anchors"),
    "anchor on a key": (HEAD + "&b bodies: 1\n", "line 4, column 1", "plain name of a field"),
    "merge": (HEAD + BODY + "<<: {gravity: [0, 0, 1]}\n", "", "unknown field '<<'"),
    "many laughs": ("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", "line 1, column 4", "anchors"),
    "python object": (HEAD + "bodies: !!python/object/apply:os.system ['touch run']\n", "line 4, column 9", "tags are not allowed"),
    "standard tag": (HEAD + BODY + "gravity: !!seq [0, 0, 1]\n", "line 6, column 10", "tags are not allowed"),
    "own tag": (HEAD + "bodies: !x 1\n", "line 4, column 9", "tags are not allowed"),
    "unspecific tag": ("! {a: 1}\n", "line 1, column 1", "tags are not allowed"),
    "key a list": ("? [a, b]\n: 1\n", "line 1, column 3", "plain name of a field"),
    "key with a tag": ("!!str format: 1\n", "line 1, column 1", "plain name of a field"),
    "two documents": (HEAD + BODY + "---\n" + HEAD, "line 6, column 1", "second document"),
    "too deep": ("a: " + "[" * 200, "line 1, column 35", "nested too deeply"),
    "too deep by dashes": ("- " * 100000, "line 1", "nested too deeply"),
    "too deep by objects": ("{a: " * 100000, "line 1", "nested too deeply"),
    "bad escape": ('name: "\\U99999999"\n', None, "no valid YAML"),
    "bad version": ("%YAML 9.9\n---\na: 1\n", "line 1", "no valid YAML"),
}


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize("case", SYNTAX_YAML)
def test_syntax_of_yaml(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    text, place, reason = SYNTAX_YAML[case]
    error = refusal(written(tmp_path, text))
    assert place is None or (error.place.startswith(tuple(place.split("|"))) and bool(place) == bool(error.place)), error
    assert re.search(reason, error.reason, re.DOTALL), error
    assert [f.name for f in tmp_path.iterdir()] == ["m.yaml"]


SYNTAX_JSON = {
    "empty": ("", "", "the file is empty"),
    "null": ("null", "", "must hold an object"),
    "number": ("1", "", "got the number 1"),
    "bracket open": ('{\n  "format": [', "line 2, column 14", "no valid JSON: Expecting value"),
    "comma at the end": ('{"a": 1,\n}', "line 2, column 1|line 1, column 8", "no valid JSON"),
    "comment": ("// x\n{}", "line 1, column 1", "no valid JSON"),
    "single quotes": ("{'a': 1}", "line 1, column 2", "no valid JSON"),
    "more behind": ("{}\n{}", "line 2, column 1", "no valid JSON: Extra data"),
    "control character": ('{"a": "\x01"}', "line 1, column 8", "control character"),
    "key twice": ('{' + JSON_HEAD + ', "bodies": [], "bodies": []}', "", "'bodies' appears twice"),
    "key twice in a body": ('{' + JSON_HEAD + ', "bodies": [{"type": "Particle", "name": "p", "name": "p"}]}',
                            "bodies[0]", "'name' appears twice"),
    "too deep": ("[" * 10**6, "", "nested too deeply"),
    "too deep by objects": ('{"a": ' * 10**5, "", "nested too deeply"),
    "huge integer": ('{"format": "mbdae-mechanism", "version": ' + "9" * 10**5 + "}", "version", "got the number inf"),
}


@pytest.mark.parametrize("case", SYNTAX_JSON)
def test_syntax_of_json(tmp_path, case):
    text, place, reason = SYNTAX_JSON[case]
    error = refusal(written(tmp_path, text, "json"))
    assert error.place in place.split("|")
    assert re.search(reason, error.reason), error


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_that_are_no_text(tmp_path, ending):
    assert "not text in UTF-8 (byte 0xff at position 0)" in refusal(written(tmp_path, "a".encode("utf-16"), ending)).reason
    assert "not text in UTF-8 (byte 0xe9 at position 1)" in refusal(written(tmp_path, "né: 1".encode("latin-1"), ending)).reason
    assert "not text in UTF-8" in refusal(written(tmp_path, b"\x89PNG\r\n\x1a\n\0\0", ending)).reason
    assert "byte 0xed" in refusal(written(tmp_path, "a: \ud800", ending)).reason
    folder = tmp_path / f"folder.{ending}"
    folder.mkdir()
    assert "folder" in refusal(folder).reason
    with pytest.raises(FileNotFoundError):
        load(tmp_path / f"missing.{ending}")


def test_endings(tmp_path):
    for name in ("m.txt", "m", "m.yaml.bak", ".json"):
        assert "must end in .json, .yaml or .yml" in refusal(tmp_path / name).reason
        with pytest.raises(DescriptionError, match=rf"{re.escape(name)}: .*must end in \.json"):
            save(mechanism(), tmp_path / name)
    for name in ("a.JSON", "b.Yaml", "c.yml"):
        save(mechanism(), str(tmp_path / name))
        assert load(str(tmp_path / name)) == mechanism()


def test_size(tmp_path):
    path = tmp_path / "m.json"
    save(mechanism(), path)
    size = path.stat().st_size
    assert load(path, max_bytes=size) == mechanism()
    assert f"more than {size - 1} bytes; if it is meant to be so large, raise max_bytes" in refusal(path, max_bytes=size - 1).reason
    for wrong in (0, -1, 1.5, None, "1"):
        assert "max_bytes must be a positive integer" in refusal(path, max_bytes=wrong).reason
    assert "more than 16777216 bytes" in refusal(written(tmp_path, b" " * (16 * 2**20 + 1))).reason
