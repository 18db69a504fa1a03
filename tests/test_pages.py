"""Pages and pictures of the mechanisms: they can be made, they are current, and what they say is right."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import mbdae
from mbdae import library
from mbdae.cli.main import main
from mbdae.library import Entry
from mbdae.pages import facts, pages, portrait
from mbdae.pages.animation import write_animation
from mbdae.system import c_functions, c_system

from .helpers import case

DOCS = Path(__file__).parents[1] / "docs" / "mechanisms"
RENEW = "run: mbdae pages"
LARGEST = 60_000  # bytes of a picture
ANIMATED = [name for name in library.names() if library.entry(name).animated]


def entry_of(mechanism, **more):
    """An entry for a mechanism of a test."""
    given = {"title": "Test", "summary": "A test.", "source": "none", "parameters": {}, "t_end": 1.0, "step": 1e-3,
             "observe": lambda system, t, q, v, a, lam: {"energy": system.energy(t, q, v)}}
    return Entry(name=mechanism.name, build=lambda: mechanism, **(given | more))


# --- what lies in docs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [case(name) for name in library.names()])
def test_every_page_is_current(name):
    assert pages.page(library.entry(name)) == (DOCS / f"{name}.md").read_text(encoding="utf-8"), RENEW


@pytest.mark.thorough
def test_the_index_is_current_and_complete():
    text = pages.index()
    assert text == (DOCS / pages.INDEX).read_text(encoding="utf-8"), RENEW
    assert re.findall(r"\]\((.*?)\.md\)", text) == list(library.names())
    assert {p.stem for p in DOCS.iterdir()} == {*library.names(), "README"}


@pytest.mark.parametrize("name", library.names())
def test_every_picture_shows_something_and_is_small(name):
    path = DOCS / f"{name}.png"
    assert path.stat().st_size < LARGEST
    with Image.open(path) as image:
        assert image.format == "PNG" and min(image.size) > 200
        assert len(image.convert("RGB").getcolors(1 << 24)) > 20


@pytest.mark.parametrize("name", ANIMATED)
def test_animations_move_and_are_small(name):
    path = DOCS / f"{name}.gif"
    assert path.stat().st_size < 10 * LARGEST and f"]({name}.gif)" in (DOCS / f"{name}.md").read_text(encoding="utf-8")
    with Image.open(path) as image:
        assert image.format == "GIF" and min(image.size) > 200 and image.n_frames > 30
        frames = []
        for k in (0, image.n_frames // 2):
            image.seek(k)
            frames.append(np.asarray(image.convert("RGB")).copy())
    assert (frames[0] != frames[1]).any(axis=2).sum() > 500


def test_an_animation_is_written_for_a_short_motion(tmp_path):
    entry = replace(library.entry("double-pendulum"), t_end=0.5)
    assert write_animation(entry, tmp_path / "a.gif") == 5
    with Image.open(tmp_path / "a.gif") as image:
        assert image.n_frames > 1


@pytest.mark.parametrize("name", library.names())
def test_every_section_is_there(name):
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    headings = ["Size", "Topology", "Parameters and outputs", "Difficulty", "References", "Description", "Usage"]
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == headings
    assert text.startswith(f"# {library.entry(name).title}\n") and f"]({name}.png)" in text
    for row in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):  # all lines of a table have the same number of cells
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in row.splitlines()}) == 1


def test_the_lines_of_a_page_run():
    python = pages.sections(library.entry("slider-crank"))[-1].blocks[0].text.replace("(0.0, 8)", "(0.0, 0.02)")
    space = {}
    exec(python, space)
    assert space["solution"].success and space["solution"].t[-1] == 0.02


# --- facts -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in library.names() if library.entry(n).sizes])
def test_stated_sizes_are_right(name):
    found = facts.examined(library.entry(name))
    bodies = found.mechanism and len(found.mechanism.bodies)
    assert facts.first_counts(library.entry(name)) == (bodies, found.nq, found.nv, found.nc)


@pytest.mark.parametrize(("name", "parameters"), [("chain", {"links": 2}), ("bricard", {}), ("slider-crank", {"mu": 0.2})])
def test_sizes_are_those_of_the_problems(name, parameters):
    found, system = facts.sizes(facts.examined(library.entry(name), parameters)), library.system(name, **parameters)
    ggl, start = mbdae.GGL(system), mbdae.assemble(system)
    assert (found.bodies, found.nq, found.nv, found.nc) == (len(system.mechanism.bodies), system.nq, system.nv, system.nc)
    assert parameters or facts.first_counts(library.entry(name)) == (found.bodies, found.nq, found.nv, found.nc)
    assert (found.index3, found.ggl, found.nonzeros) == (mbdae.Index3(system).n, ggl.n, ggl.pattern.nnz)
    assert found.state_space == (mbdae.StateSpace(system).n if found.freedom else None)
    assert found.groups == len(set(ggl.groups)) and found.redundant == start.redundant and found.constant_mass
    assert found.freedom == system.nv - np.linalg.matrix_rank(system.phi_q(0.0, start.q).toarray())


def test_systems_of_equations_have_no_bodies():
    system = facts.examined(library.entry("wheelset"))
    found = facts.sizes(system)
    assert system.mechanism is None and found.bodies is None and found.freedom == found.nv - found.nc
    assert not found.constant_mass
    assert "without bodies" in (DOCS / "wheelset.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_a_look_compiles_nothing_and_sees_the_same():
    def wrapped():
        return c_functions._force.cache_info().misses, c_system._system.cache_info().misses

    for name, given in (("car-axis", {"coordinates": "classical"}), ("tethered-satellites", {})):
        before = wrapped()
        looked = facts.examined(library.entry(name), given)
        assert wrapped() == before
        real = library.system(name, **given)
        q, v = real.initial_guess()
        np.testing.assert_allclose(looked.force(0.1, q, v), real.force(0.1, q, v), rtol=1e-12)
        if name == "car-axis":
            assert not looked._functions.compiled and real._functions.compiled
    with pytest.raises(ValueError, match="links must be an integer"):
        facts.examined(library.entry("chain"), {"links": 0})
    before = wrapped()
    facts.examined(library.entry("wheelset"))
    assert wrapped() == before


@pytest.mark.parametrize(("name", "parameters", "expected"), [
    ("chain", {}, 0), ("andrews", {}, 3), ("four-link", {}, 1), ("slider-crank", {}, 1), ("bricard", {}, 1), ("ladder", {"loops": 3}, 3),
    ("ring", {"support": "free"}, 1), ("truck", {}, 0), ("n-four-bar", {"windows": 3}, 3)])
def test_loops(name, parameters, expected):
    assert facts.loops(library.mechanism(name, **parameters)) == expected


def test_elements_name_what_they_act_on():
    found = facts.elements(library.mechanism("slider-crank", mu=0.3))
    assert ("A", "Revolute", "ground - crank") in found and any(kind == "Friction" and on.startswith("joint ") for _, kind, on in found)
    assert ("motor", "PointTorque", "K1") in facts.elements(library.mechanism("andrews"))


def test_every_form_of_a_mechanism_can_be_made():
    found = facts.forms(facts.examined(library.entry("andrews")))
    assert [f.name for f in found] == list(mbdae.problems.FORMULATIONS) and not any(f.reason for f in found)
    assert {f.name: f.unknowns for f in found}["ggl"] == 82


def test_a_form_that_is_open_at_the_start_is_told(monkeypatch):
    system = facts.examined(library.entry("single-pendulum"))
    monkeypatch.setattr(mbdae.GGL, "residual", lambda self, t, y, yd: np.ones(self.n))
    monkeypatch.setattr(mbdae.Gear, "pack", lambda self, state: (_ for _ in ()).throw(ValueError("no\nstart")))
    reasons = {f.name: f.reason for f in facts.forms(system)}
    assert "residual 1.0e+00" in reasons["ggl"] and reasons["gear"] == "no start" and reasons["index1"] == ""


def test_explicit_methods_and_fixed_steps_are_no_choice_for_stiff_forces():
    unsuitable = {m.name: m.unsuitable for m in facts.applicability()}
    gauss = {f"ProjectedGauss:{name}" for name in ("PVA", "none", "P", "V", "PV", "PVAE-n", "PVAE-0", "1", "2", "3", "4", "position",
                                                "ggl-stages")}
    others = {"HalfImplicit", "FullyImplicit", "Rattle:2", "Rattle:4", "Rattle:6", "Rattle:8", "Spark:6", "Spark:2", "Spark:4", "Spark:8",
              "Spark:lobatto"}
    assert {name for name, why in unsuitable.items() if why == "fixed step"} == others | gauss
    assert {name for name, why in unsuitable.items() if why == "conditionally stable"} == {
        "Newmark:linear-acceleration", "Newmark:fox-goodwin", "NullSpaceNewmark:linear-acceleration", "NullSpaceNewmark:fox-goodwin",
        "NullSpaceNewmark:central-differences"}
    assert {name for name, why in unsuitable.items() if why == "explicit"} == {
        "Adams", "DormandPrince:8", "DormandPrince:5", "HalfExplicit:PHEM56", "HalfExplicit:HEM5",
        "SolveIvp:DOP853", "SolveIvp:RK45", "SolveIvp:RK23", "Odes:dop853", "Odes:dopri5",
        "Assimulo:Dopri5", "Assimulo:RungeKutta34"}


# --- pages and portraits -------------------------------------------------------------------------------------------------------


def test_long_topologies_are_summed_up():
    n = pages.MAX_ROWS + 1
    bodies = [mbdae.Particle(f"p{k}", 1.0, (1.0 + k, 0, 0)) for k in range(n)]
    rods = [mbdae.Rod(f"rod {k}", "ground", f"p{k}", length=1.0 + k) for k in range(n)]
    text = pages.page(entry_of(mbdae.Mechanism("many", bodies, rods)))
    assert f"| Particle | {n} |" in text and f"| Rod | {n} |" in text and "| p1 |" not in text
    assert "There are no reference values." in text and "There are no parameters." in text


def test_cells_of_a_table_cannot_break_it():
    text = pages.markdown(pages.Table(("a", "b"), [("x|y", "2*3*4 <b>")], ("b",), ("a",)))
    assert text == "| a | b |\n| --- | ---: |\n| `x|y` | 2\\*3\\*4 &lt;b> |"


@pytest.mark.thorough
def test_pages_are_written_with_their_pictures(tmp_path):
    seen = []
    written = pages.write_pages(tmp_path / "new", ["single-pendulum"], progress=lambda *x: seen.append(x))
    assert [p.name for p in written] == ["single-pendulum.md", "single-pendulum.png", "README.md"] and all(p.exists() for p in written)
    assert seen == [(0, 1, "single-pendulum")]


@pytest.mark.thorough
def test_a_portrait_shows_a_stretch_in_which_something_moves():
    for name, whole in (("single-pendulum", False), ("stiff-pendulum", True)):
        shown = portrait.stretch(library.entry(name), library.system(name))
        assert (shown.solution.t[-1] == library.entry(name).t_end) == whole
        assert len(shown.chosen) > 2 and shown.chosen[0] == 0 and (np.diff(shown.chosen) > 0).all()
        assert (shown.magnify > 1.0) == whole


def test_a_mechanism_at_rest_has_a_portrait():
    block = mbdae.Mechanism("block", [mbdae.Particle("mass", 1.0, (0.0, 1.0, 0.0))])
    shown = portrait.stretch(entry_of(block), mbdae.System(block))
    assert shown.magnify == 1.0 and shown.chosen[0] == 0


def test_what_cannot_be_moved_is_told():
    m = mbdae.Mechanism("bomb", [mbdae.Particle("mass", 1.0)], forces=[mbdae.UserForce("bomb", ("mass",), _exploding)])
    with pytest.raises(portrait.NoPicture, match="bomb: no solution"):
        portrait.stretch(entry_of(m), mbdae.System(m))


def _exploding(t, r, A, v, omega, F, T):
    F[0] = (0.0 if t == 0.0 else np.nan, 0.0, 0.0)


# --- commands --------------------------------------------------------------------------------------------------------------------


def test_pages_command(capsys, tmp_path):
    assert main(["pages", "chain", "andrews", "--no-pictures", "--output", str(tmp_path)]) == 0
    assert f"written: {tmp_path}, 3 files" in capsys.readouterr().out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["README.md", "andrews.md", "chain.md"]
    assert (tmp_path / "chain.md").read_bytes() == (DOCS / "chain.md").read_bytes()


@pytest.mark.parametrize("name", ["andrews", "wheelset"])
def test_show_tells_what_the_page_tells(capsys, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["show", name]) == 0
    told, entry = capsys.readouterr().out, library.entry(name)
    assert entry.title in told and entry.summary in told and entry.references[0].label in told
    assert all(section.heading in told for section in pages.sections(entry)) and f"mbdae solve {name}" in told


def test_show_takes_parameters(capsys):
    assert main(["show", "chain", "--set", "links=3"]) == 0
    told = capsys.readouterr().out
    assert "links=3" in told and "link 3" in told and "link 4" not in told and 'mbdae.problem("chain", "ode", links=3)' in told
    assert "mass [kg]" in told


@pytest.mark.parametrize("argv, words", [
    ("pages foo", "there is no mechanism 'foo'"),
    ("pages chain --output {tmp}/file/folder", "cannot make the folder"),
    ("show", "required: MECHANISM"),
    ("show foo", "there is no mechanism 'foo'"),
    ("show chain --set a=1", "no parameter 'a'; it has links"),
    ("show chain --set links=0", "links must be an integer"),
])
def test_refusals(capsys, tmp_path, argv, words):
    (tmp_path / "file").write_text("")
    assert main(argv.format(tmp=tmp_path).split()) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1 and words in told.err
