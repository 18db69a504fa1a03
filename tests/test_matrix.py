"""Formulations x solvers: what is declared to work works, what is not is refused by name; the names, the doctor, the page of settings."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import mbdae
import mbdae.library
from mbdae import studies
from mbdae.adapters.sundae import Ida
from mbdae.cli.main import main
from mbdae.driver.availability import Availability, installed
from mbdae.driver.support import FORMS, Settings
from mbdae.problems import FORMULATIONS
from mbdae.registry import FAMILIES, Family, MethodSpec, find
from mbdae.studies.matrix import MAX_ERROR, SPANS, Target, matrix, solvers, support, support_page

from .helpers import thorough_but

PAGE = Path(__file__).parents[1] / "docs" / "solvers.md"
SOLVERS = solvers()
QUICK = [s for s in SOLVERS if s.name in ("Bdf", "Cvode:BDF", "Ida", "SolveIvp:DOP853", "SolveIvp:Radau")]
STATE_SPACE = ("partition", "tangent")


@pytest.fixture(scope="module")
def targets():
    """Mechanisms with their references, made when they are asked for."""
    made = {}

    def target(name):
        if name not in made:
            made[name] = Target(name)
        return made[name]

    return target


def declared(spec):
    return {form for form, how in spec.make().support.items() if isinstance(how, Settings)}


def assert_column(target, spec):
    """One solver on one mechanism: supported forms reach the accuracy, the others are refused before they start.

    So are those without unknowns, where the motion is prescribed.
    """
    for form in FORMS:
        cell = target.run(spec, form)
        if form in declared(spec) and form in STATE_SPACE and target.system.freedom == 0:
            assert cell.outcome == "refused", cell
            assert "has no degree of freedom" in cell.message
        elif form in declared(spec):
            assert cell.outcome == "ok", cell
            assert cell.error < MAX_ERROR
        else:
            assert cell.outcome == "refused", cell
            assert f"cannot take the form {form!r}: " in cell.message
            assert spec.make().support[form] in cell.message


@pytest.mark.parametrize("spec", thorough_but(QUICK, SOLVERS), ids=lambda s: s.name)
def test_every_solver_on_the_double_pendulum(targets, spec):
    assert_column(targets("double-pendulum"), spec)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [name for name in SPANS if name != "double-pendulum"])
@pytest.mark.parametrize("spec", SOLVERS, ids=lambda s: s.name)
def test_every_solver_on_every_mechanism(targets, spec, mechanism):
    assert_column(targets(mechanism), spec)


@pytest.mark.parametrize("spec", solvers(installed=False), ids=lambda s: s.name)
def test_every_form_is_supported_or_refused_with_a_reason(spec):
    method = spec.family.method_class(**spec.family.chosen(spec.variant))
    assert set(method.support) == set(FORMS) == set(FORMULATIONS)
    assert all(isinstance(how, Settings) or len(how) > 10 for how in method.support.values())
    assert tuple(method.formulations) == tuple(form for form, how in method.support.items() if isinstance(how, Settings))


def test_the_references_are_those_of_the_library(targets):
    """DOP853 against what the library knows, or against IDA on the GGL form."""
    for name in ("double-pendulum", "andrews"):
        cell = targets(name).run(find("Ida"), "ggl", rtol=1e-9)
        assert cell.error < MAX_ERROR


def test_a_cell_tells_what_happened(targets):
    target = targets("double-pendulum")
    impatient = MethodSpec(Family("Ida", "mbdae.adapters.sundae", "IDA", "rtol", ""))
    object.__setattr__(impatient, "make", lambda: Ida(max_steps=2))
    failed = target.run(impatient, "ggl")
    assert (failed.outcome, failed.error) == ("failed", None)
    assert "2 steps were not enough" in failed.message
    wrong = target.run(find("Ida"), "ggl", rtol=1e-6)
    assert wrong.steps > 10 and wrong.residuals > 10 and wrong.seconds > 0


def test_the_command_prints_one_table_a_mechanism(capsys, tmp_path):
    path = tmp_path / "matrix.json"
    assert main(["matrix", "--mechanisms", "double-pendulum,andrews", "--methods", "Ida,Cvode:Adams", "--rtol", "1e-5",
                 "--output", str(path)]) == 0
    told = capsys.readouterr()
    assert told.out.count("double-pendulum   t = 0 ... 1 s") == told.out.count("andrews   t = 0 ... 0.03 s") == 1
    assert "40 cells: 16 ok, 24 refused, 0 inaccurate, 0 failed" in told.out
    assert '"outcome": "refused"' in path.read_text(encoding="utf-8")
    assert told.err == ""


@pytest.mark.parametrize(("arguments", "words"), [
    (["--mechanisms", "chain"], "'chain' is not among single-pendulum"),
    (["--methods", "HalfImplicit"], "has a fixed step; the matrix compares methods with error control"),
    (["--methods", "Foo"], "there is no method 'Foo'"),
    (["--output", "a.txt"], "must end in .csv or .json"),
    (["--settings", "--output", "a.csv"], "must end in .md")])
def test_bad_requests_are_refused(capsys, arguments, words):
    assert main(["matrix", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_the_settings_are_printed_and_the_page_is_up_to_date(capsys):
    assert main(["matrix", "--settings"]) == 0
    assert "needs as many equations as unknowns" in " ".join(capsys.readouterr().out.split())
    assert support_page() == PAGE.read_text(encoding="utf-8"), "run: mbdae matrix --settings --output docs/solvers.md"
    assert {r.method for r in support()} == {s.name for s in solvers(installed=False)}


def test_a_study_can_be_narrowed():
    seen = []
    cells = matrix(["double-pendulum"], [find("SolveIvp:RK45")], formulations=("ode", "ggl"), progress=lambda *x: seen.append(x))
    assert [c.outcome for c in cells] == ["ok", "refused"]
    assert seen[-1] == (1, 2, "double-pendulum: SolveIvp:RK45:ggl")
    assert studies.matrix is matrix


# --- names ---------------------------------------------------------------------------------------------------------------


def test_names_carry_variant_and_formulation():
    known = (("ida", "Ida", "IDA Gear"), ("Ida:GGL", "Ida:ggl", "IDA GGL"), ("Ida:hiller-anantharaman", "Ida:gear", "IDA Gear"),
             ("cvode:adams", "Cvode:Adams", "CVODE Adams ODE"), ("SolveIvp:ode:radau", "SolveIvp:Radau:ode", "SciPy Radau ODE"),
             ("cvode:adams:partition", "Cvode:Adams:partition", "CVODE Adams partitioned"),
             ("assimulo:lsodar:tangent", "Assimulo:LSODAR:tangent", "Assimulo LSODAR tangent plane"),
             ("Assimulo:DASP3ODE:ggl", "Assimulo:DASP3ODE:ggl", "Assimulo DASP3ODE GGL"),
             ("RosenbrockNystrom", "RosenbrockNystrom", "Rosenbrock-Nystrom partitioned"),
             ("sdirkfirstorder:tangent", "SdirkFirstOrder:tangent", "SDIRK first order tangent plane"),
             ("projectedgauss", "ProjectedGauss:PVA", "Projected Gauss PVA"),
             ("ProjectedGauss:2", "ProjectedGauss:2", "Projected Gauss 2 stages"),
             ("ProjectedGauss:2:pvae-0", "ProjectedGauss:2:PVAE-0", "Projected Gauss 2 stages PVAE-0"))
    for text, name, label in known:
        spec = find(text)
        assert (spec.name, spec.label) == (name, label)
        assert find(spec.name) == spec
    unknown = (("Ida:foo", "it can be Ida:index3, Ida:ggl"), ("Ida:ggl:gear", "there is no method"), ("", "there is no method"),
               ("Cvode:x", "it can be Cvode:BDF, Cvode:Adams; a formulation may follow"), ("HalfImplicit:ggl", "write HalfImplicit alone"),
               ("Cvode:BDF:Adams", "there is no method"), ("ProjectedGauss:2:3", ":PVA:1:position:adaptive$"),
               ("ProjectedGauss:PV:P", "there is no method"), ("ProjectedGauss:2:ggl", "there is no method"))
    for text, words in unknown:
        with pytest.raises(ValueError, match=words):
            find(text)


def test_variants_of_different_kinds_go_together():
    for text in ("ProjectedGauss:2:PVAE-0", "ProjectedGauss:PVAE-0:2"):
        method = find(text).make(h=0.5)
        assert (method.stages, method.project, method.h) == (2, "PVAE-0", 0.5)
    bare = find("ProjectedGauss:none:4").make()
    assert (bare.stages, bare.project) == (4, "") and find("ProjectedGauss").make() == mbdae.ProjectedGauss()


def test_every_variant_makes_a_method():
    for family in FAMILIES:
        for variant in family.variants:
            spec = find(f"{family.name}:{variant}")
            wanted, method = family.chosen(variant), spec.family.method_class(**family.chosen(variant))
            assert wanted and {name: getattr(method, name) for name in wanted} == wanted
            assert family.title in spec.label and family.variants[variant] in spec.label


# --- what is installed ---------------------------------------------------------------------------------------------------


def test_the_doctor_lists_every_solver(capsys):
    assert main(["doctor"]) == 0
    told = capsys.readouterr().out
    named = set(re.findall(r"[\w:]+", told))
    assert all((s.name in named) == (s.family.availability() is not None) for s in solvers(installed=False))
    assert "numba" in told and "ready" in told
    useless = next(line for line in told.splitlines() if "Assimulo:DASP3ODE" in line)
    assert "ready" not in useless and ("one fast unknown" in useless or "missing" in useless)


def test_the_doctor_knows_missing_and_broken_packages(capsys, monkeypatch):
    monkeypatch.setattr(Family, "availability", lambda self: Availability("some-package", None, "pip install some-package"))
    assert main(["doctor"]) == 0
    assert "missing" in (told := capsys.readouterr().out) and "pip install some-package" in told
    broken = Availability("some-package", "1.0", "pip install some-package", "ImportError: no such library")
    monkeypatch.setattr(Family, "availability", lambda self: broken)
    assert main(["doctor"]) == 0
    assert "broken" in (told := capsys.readouterr().out) and "no such library" in told
    assert main(["list"]) == 0
    assert "1.0, broken: ImportError: no such library" in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"needs the package some-package \(ImportError: no such library\)"):
        find("Ida").make()


def test_availability_tries_the_import():
    assert installed("numpy", "numpy", "").installed
    assert not installed("numpy", "no_such_module", "").installed
    assert "ModuleNotFoundError" in installed("numpy", "numpy.no_such_module", "").fault


POSTPONED = """
import sys
from mbdae.driver.availability import postpone
postpone("pylab"), postpone("pylab"), postpone("no_such_module")
import pylab
print("matplotlib" in sys.modules, "no_such_module" in sys.modules)
print(callable(pylab.plot), "matplotlib" in sys.modules)
import pylab as again
from pylab import *
print(again.plot is pylab.plot is plot, hasattr(again, "no_such_name"))
"""


def test_a_postponed_module_is_loaded_when_it_is_used():
    done = subprocess.run([sys.executable, "-c", POSTPONED], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False False", "True True", "True False"]


def test_versions_come_from_the_distribution_or_the_module(monkeypatch):
    assert installed("NumPy", "numpy", "", distributions=("no-such-distribution", "scipy")).version == version("scipy")
    assert installed("no-such-distribution", "numpy", "").version == np.__version__
    monkeypatch.delattr("numpy.__version__")
    assert installed("no-such-distribution", "numpy", "") == Availability("no-such-distribution", "unknown", "")


def test_the_doctor_tells_both_commands(capsys):
    assert main(["doctor"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Assimulo pip install 'mbdae[assimulo]' pip install -e '.[assimulo]'" in told
    assert "pip install ./adapters/pyradau13" in told


def test_solve_says_what_is_missing(monkeypatch):
    def missing(*arguments, **options):
        raise ModuleNotFoundError("No module named 'sksundae'")

    monkeypatch.setattr(Ida, "integrate", missing)
    system = mbdae.System(mbdae.library.mechanism("double-pendulum"))
    with pytest.raises(ImportError, match="No module named 'sksundae'"):  # it is there, so this is something else
        mbdae.solve(system, Ida(), (0.0, 1.0))
    monkeypatch.setattr(Ida, "availability", staticmethod(lambda: Availability("scikit-sundae", None, "pip install scikit-sundae")))
    with pytest.raises(ImportError, match="Ida needs the package scikit-sundae: pip install scikit-sundae"):
        mbdae.solve(system, Ida(), (0.0, 1.0))
