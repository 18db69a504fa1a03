"""The command line, run in this process."""

import csv
import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import mbdae
from mbdae import library
from mbdae.cli import compare, listing
from mbdae.cli import parsers_of_studies as stated
from mbdae.cli import warm as warming
from mbdae.cli.console import COMPILING
from mbdae.cli.main import COMMANDS, main
from mbdae.cli.options import build
from mbdae.driver.availability import Availability
from mbdae.library.base import NON_STIFF, STIFF
from mbdae.pages.facts import Applicability, Form
from mbdae.registry import FAMILIES, Family, find
from mbdae.studies import WorkPrecisionRow, jacobian, scaling
from mbdae.studies.matrix import MAX_ERROR, SPANS

FOUR_BAR = str(Path(__file__).parents[1] / "examples" / "four-bar.yaml")


def refused(capsys, argv, code=2):
    """The one line with which a request is refused."""
    assert main(argv) == code
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1 and told.err.startswith("mbdae: ") and "Traceback" not in told.err
    return told.err


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# --- help and lists --------------------------------------------------------------------------------------------------------


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mbdae {mbdae.__version__}\n"


@pytest.mark.parametrize("argv", [[], ["--help"], *([c, "--help"] for c in ("compare", "solve", "animate", "list", "show", "pages",
                                                                            "jacobian"))])
def test_help_has_examples_and_fits_a_terminal(capsys, argv):
    assert main(argv) == 0
    text = capsys.readouterr().out
    assert "examples:" in text and "mbdae " in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_parsers_state_the_choices_of_the_studies():
    """They are written twice, so that help need not import the studies."""
    assert (tuple(scaling.FAMILIES), tuple(scaling.CASES)) == (stated.SCALED, stated.CASES)
    assert (stated.SIZES, stated.LIMIT_OF_ROW) == (scaling.SIZES, scaling.LIMIT)
    assert (tuple(SPANS), MAX_ERROR) == (stated.MECHANISMS, stated.MAX_ERROR)
    assert (jacobian.RTOL, pytest.approx(jacobian.ATOL / jacobian.RTOL)) == (stated.RTOL, stated.SHARE)


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_wrapped_to_the_terminal(capsys, monkeypatch, command, width):
    monkeypatch.setenv("COLUMNS", str(width))
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= width
    monkeypatch.setenv("COLUMNS", "200")
    main([command, "--help"])
    assert text.replace("\\\n", "").split() == capsys.readouterr().out.replace("\\\n", "").split()  # nothing is lost


def test_list(capsys):
    assert main(["list"]) == 0
    short = capsys.readouterr().out
    assert all(name in short for name in (*library.names(), *(f.name for f in FAMILIES), *mbdae.problems.FORMULATIONS))
    row = next(line for line in short.splitlines() if " chain " in line)
    assert row.split()[-4:] == ["4", "28", "24", "12"]
    row = next(line for line in short.splitlines() if " wheelset " in line)
    assert row.split()[-4:] == ["-", "6", "6", "2"]


def test_a_narrow_list_has_whole_names(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["list"]) == 0
    told = capsys.readouterr().out
    assert "…" not in told and all(len(line.rstrip()) <= 60 for line in told.splitlines())
    for name in ("SdirkFirstOrder:partition", "TrapezoidalStateSpace:tangent", "NullSpaceGeneralizedAlpha"):
        assert name in told


def test_units_in_titles_are_no_markup(capsys, monkeypatch):
    monkeypatch.setattr(warming, "warm", lambda names, jobs: [])
    assert main(["warm", "HalfImplicit"]) == 0
    assert "processor time [s]" in capsys.readouterr().out


def test_a_narrow_matrix_has_parts(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["matrix", "--mechanisms", "single-pendulum", "--methods", "SolveIvp:DOP853"]) == 0
    told = capsys.readouterr().out
    assert "…" not in told and "overdetermined" in told and "tangent" in told and told.count("solver ") >= 2


def test_list_is_quick_for_it_assembles_nothing(capsys, monkeypatch):
    """Of systems of functions it would compile them, for a minute."""
    monkeypatch.setattr("mbdae.system.system.System.__init__", None)
    assert main(["list"]) == 0
    assert " flexible-slider-crank " in capsys.readouterr().out


@pytest.mark.thorough
def test_list_long_tells_what_applies_to_which_mechanism(capsys):
    assert main(["list", "--long"]) == 0
    told = capsys.readouterr().out
    for name, numbers in (("spatial-four-bar", ["3", "21", "18", "20", "3", "1"]), ("wheelset", ["-", "6", "6", "2", "0", "4"])):
        assert next(line for line in told.splitlines() if f" {name} " in line).split()[-6:] == numbers
    assert library.entry("chain").summary in told and "all forms, unknowns: 24 partition, tangent; 52 ode; 64 index3" in told
    names = "chain", "stiff-double-pendulum", "four-link"
    blocks = {name: told.split(f"\n{name}: ")[1].split("    source:")[0] for name in names}
    assert "methods: all\n" in blocks["chain"]
    assert "not partition, tangent: four-link has no degree of freedom: its motion is prescribed" in blocks["four-link"]
    assert "RosenbrockNystrom (takes none of its forms)" in blocks["four-link"]
    block = " ".join(blocks["stiff-double-pendulum"].split())
    assert "HalfImplicit, FullyImplicit, ProjectedGauss:PVA, ProjectedGauss:none, " in block
    assert "ProjectedGauss:position, ProjectedGauss:ggl-stages, Rattle:2, " in block and "Spark:lobatto (fixed step, but" in block
    assert "DOP853" in blocks["stiff-double-pendulum"]
    table = " ".join(told.split("forms taken by the methods")[1].split())
    assert "needs as many equations as unknowns" in table and "no: explicit" in table and "ready" in table


def test_list_long_names_forms_that_a_mechanism_lacks():
    forms = [Form("ggl", "GGL", 10), Form("ode", "ODE", reason="no start"), Form("mass", "mass", reason="no start")]
    assert listing._forms(forms) == ["forms, unknowns: 10 ggl", "not ode, mass: no start"]
    methods = [Applicability("A", ("ode",), {}, "", "explicit"), Applicability("B", ("ggl",), {}, "", "")]
    assert listing._suitable(methods, False, forms) == "all but A (takes none of its forms)"


def test_list_tells_how_to_get_what_is_missing(capsys, monkeypatch):
    monkeypatch.setattr(Family, "availability", lambda self: Availability("some-package", None, "pip install some-package"))
    assert main(["list"]) == 0
    assert "missing: pip install some-package" in capsys.readouterr().out


# --- compare -----------------------------------------------------------------------------------------------------------------


def test_compare(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    out = tmp_path / "results" / "here"
    assert main(["compare", "slider-crank", "--methods", "HalfImplicit,FullyImplicit,Ida:ggl,SolveIvp:DOP853", "--steps", "1e-2,2e-3",
                 "--rtol", "1e-5", "--t-end", "0.2", "--repeats", "1", "--output", str(out)]) == 0
    told = capsys.readouterr()
    assert all(word in told.out for word in ("HalfImplicit", "FullyImplicit", "IDA GGL", "SciPy DOP853 ODE", "err lam", "Phi'", "evals"))
    table = told.out.split("err:")[0].splitlines()[1:]
    assert max(len(line.rstrip()) for line in table) <= 100 and not any("…" in line for line in table)
    rows = read_csv(out / "work_precision.csv")
    assert list(rows[0]) == [f.name for f in fields(WorkPrecisionRow)]
    assert [(r["method"], r["setting"]) for r in rows] == [("HalfImplicit", "0.01"), ("HalfImplicit", "0.002"), ("FullyImplicit", "0.01"),
                                                           ("FullyImplicit", "0.002"), ("IDA GGL", "1e-05"), ("SciPy DOP853 ODE", "1e-05")]
    assert all(r["status"] == "SUCCESS" and 0.0 < float(r["error_v"]) < 0.3 and r["energy_drift"] == "" for r in rows)
    about = json.loads((out / "work_precision.json").read_text(encoding="utf-8"))
    assert len(about["rows"]) == 6 and about["parameters"]["reference"] == "kinematic analysis" and about["versions"]["numba"]
    with Image.open(out / "work_precision.png") as image:
        assert image.format == "PNG" and len(image.convert("RGB").getcolors(1 << 24)) > 50


def test_compare_without_figure_shows_the_energy(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "chain", "--set", "links=2", "--methods", "HalfImplicit", "--steps", "1e-2", "--t-end", "0.1", "--repeats", "1",
                 "--no-figure"]) == 0
    assert "energy" in capsys.readouterr().out
    assert sorted(p.name for p in (tmp_path / "results" / "chain").iterdir()) == ["work_precision.csv", "work_precision.json"]


def test_compare_shows_failed_runs_and_fails_if_none_succeeds(capsys, tmp_path):
    argv = ["compare", "stiff-double-pendulum", "--methods", "HalfImplicit", "--steps", "1e-2", "--t-end", "0.05", "--repeats", "1",
            "--no-figure", "--output", str(tmp_path)]
    assert main(argv) == 1
    told = capsys.readouterr()
    assert "failed" in told.out and "NEWTON_FAILED" in told.out and told.err.endswith("mbdae: no run succeeded\n")
    assert read_csv(tmp_path / "work_precision.csv")[0]["error_q"] == ""


@pytest.mark.parametrize("name", library.names())
def test_usual_comparisons_name_methods_there_are_with_steps_in_order(name):
    usual = library.entry(name).usual_comparison
    assert len({find(method) for method in usual.methods}) == len(usual.methods) > 3
    assert sorted(usual.steps, reverse=True) == list(usual.steps) and min(usual.steps) > 0.0


def test_usual_comparisons_follow_from_the_entry_unless_it_has_its_own():
    plain, stiff, own = (library.entry(name) for name in ("chain", "flyball-governor", "stiff-double-pendulum"))
    assert plain.usual_comparison.methods == NON_STIFF.methods and plain.usual_comparison.steps == (4e-3, 2e-3, 1e-3)
    assert stiff.usual_comparison.methods == STIFF.methods
    assert own.usual_comparison == own.comparison and own.comparison.steps == (1.6e-5, 8e-6)


# --- solve and animate -------------------------------------------------------------------------------------------------------


def test_solve_to_npz_with_a_figure(capsys, tmp_path):
    path, figure = tmp_path / "run.npz", tmp_path / "run.png"
    assert main(["solve", "slider-crank", "--set", "mu=0.2", "--h", "2e-3", "--t-end", "0.1", "--output", str(path),
                 "--plot", str(figure)]) == 0
    assert f"written: {path}, {figure}" in capsys.readouterr().out
    with np.load(path) as found:
        assert found["t"].shape == (51,) and found["q"].shape == (51, 21) and found["lam"].shape == (51, 18)
        assert found["slider_x"].shape == (51,) and found["constraint_residuals"][:, 0].max() < 1e-10
        about = json.loads(str(found["metadata"]))
    assert about["parameters"]["set"] == {"mu": 0.2} and about["parameters"]["h"] == 2e-3 and about["status"] == "SUCCESS"
    with Image.open(figure) as image:
        assert image.format == "PNG"


def test_solve_without_a_file_shows_a_summary(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["solve", "slider-crank", "--h", "2e-3", "--t-end", "0.1"]) == 0
    text = capsys.readouterr().out
    assert "SUCCESS, 51 points" in text and "t = 0.1 s" in text and "slider_x" in text and not list(tmp_path.iterdir())
    assert main(["solve", "slider-crank", "--h", "2e-3", "--t-end", "0.1", "--plot"]) == 0
    assert "written: slider-crank.png" in capsys.readouterr().out
    with Image.open(tmp_path / "slider-crank.png") as image:
        assert image.format == "PNG"


def test_columns_of_joint_coordinates_are_named_by_joints():
    from mbdae.cli.solve import columns

    found = columns(mbdae.System(library.mechanism("double-pendulum"), coordinates="joint"))
    assert [len(x) for x in found.values()] == [5, 4, 4, 2] and found["v"][0].startswith("support.")


def test_solve_to_csv_and_json(tmp_path):
    common = ["solve", "chain", "--set", "links=2", "--method", "Ida", "--formulation", "ggl", "--rtol", "1e-6", "--t-end", "0.2",
              "--points", "5", "--output"]
    assert main([*common, str(tmp_path / "run.csv")]) == 0
    assert main([*common, str(tmp_path / "other.json")]) == 0
    rows = read_csv(tmp_path / "run.csv")
    other = json.loads((tmp_path / "other.json").read_text(encoding="utf-8"))
    assert [float(r["t"]) for r in rows] == pytest.approx([0.0, 0.05, 0.1, 0.15, 0.2]) and other["t"] == [float(r["t"]) for r in rows]
    for block in ("q", "v", "a", "lam"):
        table = [[float(r[name]) for name in other["columns"][block]] for r in rows]
        assert table == pytest.approx(np.array(other[block]))
    assert float(rows[0]["link 2.omega_x"]) == -4.0 and "link 2.alpha_x" in rows[0] and "z2" in rows[0]
    beside = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert beside["parameters"]["formulation"] == "ggl" and beside["statistics"]["steps"] > 5


def test_solve_keeps_what_was_computed_before_a_failure(capsys, tmp_path):
    path = tmp_path / "run.npz"
    assert main(["solve", "stiff-double-pendulum", "--method", "HalfImplicit", "--h", "1e-3", "--output", str(path)]) == 1
    assert capsys.readouterr().err.startswith("mbdae: HalfImplicit(h=0.001) failed: ")
    with np.load(path) as found:
        assert 0 < len(found["t"]) < 100


@pytest.mark.thorough
def test_solve_thins_very_many_steps(tmp_path):
    path = tmp_path / "run.npz"
    assert main(["solve", "single-pendulum", "--h", "5e-6", "--t-end", "0.1", "--output", str(path)]) == 0
    with np.load(path) as found:
        assert len(found["t"]) == 10_001 and found["t"][-1] == pytest.approx(0.1)


def test_animate(capsys, tmp_path):
    path = tmp_path / "film.gif"
    assert main(["animate", "four-link", "--t-end", "0.4", "--fps", "10", "--output", str(path)]) == 0
    assert "5 frames" in capsys.readouterr().out
    with Image.open(path) as image:
        assert image.format == "GIF" and image.n_frames == 5


def test_animate_takes_the_speed_that_suits_the_mechanism(capsys, tmp_path, monkeypatch):
    seen = {}
    monkeypatch.setattr("mbdae.cli.animate.animate", lambda solution, path, **options: seen.update(options))
    assert main(["animate", "andrews", "--t-end", "0.01", "--fps", "10", "--output", str(tmp_path / "a.gif")]) == 0
    assert (seen["speed"], seen["trail"]) == (0.005, 0.005) and "21 frames" in capsys.readouterr().out
    assert main(["animate", "andrews", "--t-end", "0.01", "--fps", "10", "--speed", "0.01", "--output", str(tmp_path / "a.gif")]) == 0
    assert seen["speed"] == 0.01


# --- equations without bodies, and files -----------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_equations_without_bodies_can_be_solved_drawn_and_compared(capsys, tmp_path):
    common = ["--t-end", "0.02", "--output"]
    assert main(["solve", "wheelset", "--method", "Ida:ggl", "--points", "3", *common, str(tmp_path / "run.csv")]) == 0
    row = read_csv(tmp_path / "run.csv")[-1]
    assert float(row["t"]) == 0.02 and {"q[0]", "q[5]", "v[5]", "a[5]", "lam[left contact]", "psi_L"} <= set(row) and "q[6]" not in row
    assert main(["animate", "wheelset", "--method", "Ida:ggl", "--fps", "5", "--speed", "0.02", *common, str(tmp_path / "run.gif")]) == 0
    assert main(["compare", "wheelset", "--methods", "Ida:ggl", "--rtol", "1e-4", "--repeats", "1", "--no-figure", *common,
                 str(tmp_path)]) == 0
    assert "s   nq = 6, nv = 6, nc = 2" in capsys.readouterr().out


def test_a_file_can_be_solved(tmp_path):
    assert main(["solve", FOUR_BAR, "--points", "3", "--output", str(tmp_path / "run.npz"), "--plot", str(tmp_path / "run.png")]) == 0
    with np.load(tmp_path / "run.npz") as found:
        assert found["t"].tolist() == [0.0, 0.5, 1.0] and found["q"].shape == (3, 9)
        assert found["crank.x"] == pytest.approx(found["q"][:, 0]) and found["output_energy"] == pytest.approx(found["energy"])
        assert json.loads(str(found["metadata"]))["parameters"]["mechanism"] == "four-bar"


def test_a_file_can_be_animated_and_compared(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["animate", FOUR_BAR, "--t-end", "0.2", "--h", "1e-2", "--fps", "10"]) == 0
    assert (tmp_path / "four-bar.gif").exists()
    assert main(["compare", FOUR_BAR, "--t-end", "0.1", "--methods", "HalfImplicit", "--steps", "1e-2", "--repeats", "1",
                 "--no-figure"]) == 0
    assert "3 bodies, nq = 9" in capsys.readouterr().out and (tmp_path / "results" / "four-bar").is_dir()


@pytest.mark.parametrize("width", [60, 80])
def test_a_file_can_be_shown(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["show", FOUR_BAR]) == 0
    told = capsys.readouterr().out
    for words in ("four-bar", "non-zeros", "mass matrix", "coupler", "PlanarAngleDriver", "mbdae.load("):
        assert words in told
    assert "There are no parameters" not in told
    assert all(len(line.rstrip()) <= width for line in told.splitlines() if FOUR_BAR not in line)


@pytest.mark.parametrize("width", [60, 80])
def test_tables_of_runs_fit_a_narrow_terminal_and_have_whole_numbers(capsys, tmp_path, monkeypatch, width):
    """Of the columns without room it is said where they are; the notes are those of the columns shown."""
    monkeypatch.setenv("COLUMNS", str(width))
    common = ["--methods", "HalfImplicit,RosenbrockNystrom", "--steps", "1e-2", "--rtol", "1e-4", "--t-end", "0.1", "--repeats", "1"]
    assert main(["compare", "double-pendulum", *common, "--no-figure", "--output", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "…" not in told and "Newton, call ms; they are in" in " ".join(told.split()) and "evals:" not in told
    assert main(["study", "work-precision", "double-pendulum", *common, "--output", str(tmp_path)]) == 0
    study = capsys.readouterr().out
    assert "…" not in study and "err q: root mean square" in " ".join(study.split())
    for line in (told + study).splitlines():
        assert len(line.rstrip()) <= width or "written" in line


def test_a_study_says_who_is_refused_and_why(capsys, tmp_path):
    argv = ["study", "work-precision", FOUR_BAR, "--methods", "HalfImplicit,Cvode:ggl", "--steps", "1e-2", "--rtol", "1e-4,1e-6"]
    main([*argv, "--t-end", "0.1", "--repeats", "1", "--output", str(tmp_path)])
    told = capsys.readouterr().out
    assert told.count("refused: CVODE BDF GGL: Cvode BDF cannot take the form 'ggl'") == 1


def test_particles_of_a_file_may_lie_in_a_plane(tmp_path):
    for z, view in ((0.0, "xy"), (0.5, "3d")):
        mbdae.save(mbdae.Mechanism("mass", [mbdae.Particle("p", 1.0, (1.0, 0.0, z))]), tmp_path / "m.json")
        entry, parameters, system = build(str(tmp_path / "m.json"), [])
        assert (entry.name, entry.title, entry.view, parameters, system.nq) == ("m", "mass", view, {}, 3)


# --- refusals ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("argv, words", [
    ("frobnicate", "invalid choice: 'frobnicate'"),
    ("compare", "required: MECHANISM"),
    ("compare andrews --all", "the whole library as it is, not MECHANISM"),
    ("compare --all --t-end 2", "mbdae study profile"),
    ("compare foo", "there is no mechanism 'foo'"),
    ("compare slider-crank --methods Foo", "there is no method 'Foo'"),
    ("compare slider-crank --methods Ida:foo", "Ida:ggl"),
    ("compare slider-crank --steps 1e-2,abc", "'abc' is not a positive number"),
    ("compare slider-crank --steps -1", "'-1' is not a positive number"),
    ("solve slider-crank --h -1e-3", "'-1e-3' is not a positive number"),
    ("compare slider-crank --rtol nan", "'nan' is not a positive number"),
    ("compare slider-crank --t-end 0", "'0' is not a positive number"),
    ("compare slider-crank --repeats 1.5", "'1.5' is not a positive integer"),
    ("compare slider-crank --set mu", "not of the form name=value"),
    ("compare slider-crank --set nu=1", "no parameter 'nu'; it has mu"),
    ("compare slider-crank --set mu=abc", "'abc' is not a number"),
    ("compare slider-crank --set mu=-1", "mu must not be negative"),
    ("compare slider-crank --steps 1e-12 --no-figure --output {tmp}", "take larger steps or a shorter time"),
    ("compare slider-crank --output {tmp}/file/folder", "cannot make the folder"),
    ("compare slider-crank --colour red", "unrecognized arguments: --colour red (see 'mbdae compare --help')"),
    ("solve chain --methods Ida", "unrecognized arguments: --methods Ida (did you mean '--method'?) (see 'mbdae solve --help')"),
    ("solv chain", "invalid choice: 'solv' (did you mean 'solve'?)"),
    ("solve mine.txt", "there is no mechanism 'mine.txt' in the library, and the name of a file ends in .json or .yaml or .yml"),
    ("show {tmp}/none.yaml", "cannot read {tmp}/none.yaml: No such file or directory"),
    ("study work-precision {tmp}/none.yaml --output {tmp}", "cannot read {tmp}/none.yaml: No such file or directory"),
    ("study tolerance chain --methods HalfImplicit --output {tmp}",
     "this study takes methods with error control, over tolerances, not HalfImplicit"),
    ("study order chain --methods Ida --output {tmp}", "this study takes methods with a fixed step, over steps, not Ida"),
    ("confirm mine.yaml", "reference values belong to mechanisms of the library"),
    ("solve chain --plot {tmp}/a.txt", "must end in .png or .pdf or .svg"),
    ("solve chain --output {tmp}/a.txt", "must end in .npz or .csv or .json"),
    ("solve chain --output {tmp}/folder.npz", "it is a folder"),
    ("solve chain --output {tmp}/a.npz --set links=2.5", "links must be an integer"),
    ("solve chain --output {tmp}/a.npz --plot {tmp}/a.xyz", "must end in .png"),
    ("solve chain --output {tmp}/a.npz --points 1", "--points must be at least 2"),
    ("solve chain --output {tmp}/a.npz --method HalfImplicit --rtol 1e-3", "give --h, not --rtol"),
    ("solve chain --output {tmp}/a.npz --method Cvode --h 1e-3", "give --rtol and --atol, not --h"),
    ("solve chain --output {tmp}/a.npz --method Ida:ggl --formulation gear", "--method has the form ggl"),
    ("solve chain --output {tmp}/a.npz --method Cvode --formulation ggl", "cannot take the form 'ggl'"),
    ("solve chain --output {tmp}/a.npz --formulation foo", "unknown formulation 'foo'"),
    ("solve {tmp}/none.yaml --output {tmp}/a.npz", "none.yaml: No such file or directory"),
    ("solve {tmp}/bad.json --output {tmp}/a.npz", "bad.json: format: must be mbdae-mechanism"),
    ("solve {tmp}/bad.json --set mu=1 --output {tmp}/a.npz", "a file has no parameters: --set mu"),
    ("compare {tmp}/folder.json", "this is a folder"),
    ("animate {tmp}/file.txt", "there is no mechanism"),
    ("animate chain --output {tmp}/a.avi", "must end in .gif or .mp4"),
    ("animate chain --output {tmp}/a.gif --view ab", "two of the axes"),
    ("animate chain --output {tmp}/a.gif --fps 0", "'0' is not a positive integer"),
])
def test_refusals_are_one_line(capsys, tmp_path, argv, words):
    (tmp_path / "file").write_text("")
    (tmp_path / "bad.json").write_text("{}")
    (tmp_path / "folder.npz").mkdir()
    (tmp_path / "folder.json").mkdir()
    assert words.format(tmp=tmp_path) in refused(capsys, argv.format(tmp=tmp_path).split())


def test_a_missing_package_is_refused_with_its_remedy(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(Family, "availability", lambda self: Availability("some-package", None, "pip install some-package"))
    line = refused(capsys, ["compare", "slider-crank", "--methods", "Ida:ggl", "--output", str(tmp_path)])
    assert "needs the package some-package: pip install some-package" in line


def test_an_error_can_be_traced(tmp_path):
    with pytest.raises(ValueError, match="there is no mechanism"):
        main(["--traceback", "compare", "foo"])


def test_interrupt_is_quiet(capsys, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(compare, "work_precision", interrupted)
    assert main(["compare", "single-pendulum", "--t-end", "0.1", "--output", str(tmp_path)]) == 130
    told = capsys.readouterr()
    assert told.out == "" and told.err in ("", f"{COMPILING} ...\n")  # with an empty cache


def test_a_diverged_run_is_a_numerical_failure(capsys, tmp_path, monkeypatch):
    def diverged(*arguments, **options):
        raise FloatingPointError("Q is not finite")

    monkeypatch.setattr("mbdae.cli.solve.solve", diverged)
    line = refused(capsys, ["solve", "single-pendulum", "--t-end", "0.1", "--output", str(tmp_path / "a.npz")], code=1)
    assert "Automatic failed: Q is not finite" in line


# --- state-space form ----------------------------------------------------------------------------------------------------------


def test_list_names_the_state_space_forms_and_their_methods(capsys):
    assert main(["list"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "partition state space, coordinate partitioning" in told and "tangent state space, tangent plane" in told
    for name in ("TrapezoidalStateSpace", "TrapezoidalDescriptor", "SdirkDescriptor", "SdirkFirstOrder", "RosenbrockNystrom"):
        assert f"{name}:partition {name}:tangent" in told
    assert "a formulation may follow the name, as in Cvode:Adams:partition" in told


@pytest.mark.thorough
def test_compare_implicit_and_explicit_on_the_same_form(capsys, tmp_path):
    names = "SdirkFirstOrder,RosenbrockNystrom:tangent,Cvode:Adams:partition,Cvode:BDF:tangent"
    assert main(["compare", "stiff-double-pendulum", "--methods", names, "--rtol", "1e-5", "--t-end", "0.1", "--repeats", "1",
                 "--no-figure", "--output", str(tmp_path)]) == 0
    assert "Rosenbrock-Nystrom tangent plane" in capsys.readouterr().out
    rows = read_csv(tmp_path / "work_precision.csv")
    assert [r["method"] for r in rows] == ["SDIRK first order partitioned", "Rosenbrock-Nystrom tangent plane", "CVODE Adams partitioned",
                                           "CVODE BDF tangent plane"]
    assert all(r["status"] == "SUCCESS" and float(r["error_q"]) < 1e-2 and float(r["residual_position"]) < 1e-13 for r in rows)
    steps = [int(r["steps"]) for r in rows]
    assert max(steps[:2]) < steps[2]  # the equations are stiff


@pytest.mark.parametrize("method", ["RosenbrockNystrom:tangent", "Cvode:Adams:tangent"])
def test_solve_exchanges_charts(capsys, tmp_path, method):
    path = tmp_path / "run.npz"
    assert main(["solve", "double-spherical-pendulum", "--method", method, "--t-end", "1.5", "--output", str(path)]) == 0
    assert ", tangent: SUCCESS" in capsys.readouterr().out
    with np.load(path) as run:
        assert np.abs(run["q"][:, 2]).max() > 0.5 and run["t"][-1] == 1.5


@pytest.mark.parametrize("command", ["solve", "compare"])
def test_state_space_needs_a_degree_of_freedom(capsys, tmp_path, command):
    chosen = "--method" if command == "solve" else "--methods"
    output = tmp_path / ("run.npz" if command == "solve" else "results")
    assert main([command, "four-link", chosen, "RosenbrockNystrom", "--output", str(output)]) == 2
    assert "four-link has no degree of freedom" in capsys.readouterr().err


def test_solve_goes_on_from_a_file(capsys, tmp_path):
    """The file is a solution, with further arrays; the longer run has the bits of one without --resume."""
    half, whole, longer = (tmp_path / f"{name}.npz" for name in ("half", "whole", "longer"))
    call = ["solve", "double-pendulum", "--method", "HHT"]
    assert main([*call, "--t-end", "0.1", "--output", str(half), "--checkpoint", str(tmp_path / "kept.npz")]) == 0
    assert main([*call, "--t-end", "0.2", "--output", str(whole)]) == 0
    assert main([*call, "--t-end", "0.2", "--output", str(longer), "--resume", str(half)]) == 0
    found, want = (mbdae.Solution.load(path, library.mechanism("double-pendulum")) for path in (longer, whole))
    np.testing.assert_array_equal(found.q, want.q)
    with np.load(longer) as file:
        np.testing.assert_array_equal(file["energy"], want.energy)
    assert main([*call, "--t-end", "0.2", "--rtol", "1e-5", "--output", str(longer), "--resume", str(half)]) != 0
    assert "rtol of the saved run is 1e-06, that of this call is 1e-05" in capsys.readouterr().err
