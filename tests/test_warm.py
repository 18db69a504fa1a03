"""`mbdae warm`: what it compiles is what runs need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from joblib.externals.loky import get_reusable_executor
from numba.core import event

from mbdae.cli import compare
from mbdae.cli.console import Bar
from mbdae.cli.main import main
from mbdae.registry import FAMILIES, find
from mbdae.studies.grid.target import Target
from mbdae.studies.warm import FIRST, _together, installed, start, stop, warm_on, warmed

ROOT = Path(__file__).parents[1]
COUNT = """
import sys
from numba.core import event
import mbdae
from mbdae.registry import find

class Counter(event.Listener):
    n = 0
    def on_start(self, event):
        Counter.n += 1
    def on_end(self, event):
        pass

spec = find(sys.argv[1])
method = spec.make(h=1e-3) if spec.control == "h" else spec.make()
with event.install_listener("numba:compile", Counter()):
    for name in ("heavy-top", "flyball-governor", "spatial-four-bar", "ring"):
        found = mbdae.solve(mbdae.library.system(name), method, (0.0, 0.01), events=lambda t, q, v: v[0], dense_output=True)
        assert found.success, found.message
print(Counter.n)
"""


def test_all_methods_of_the_package_are_warmed():
    found = installed()
    assert FIRST in found and len(found) == len(set(found))
    own = [f for f in FAMILIES if f.availability() is None]
    assert {f.name for f in own} <= {find(name).family.name for name in found}


def test_what_is_in_the_cache_is_not_compiled_again():
    warmed("HalfImplicit")
    again = warmed("HalfImplicit")
    assert again.method == "HalfImplicit" and again.functions == 0 and again.seconds > 0.0


def test_the_command_says_what_was_compiled(capsys):
    warmed("HalfImplicit")
    assert main(["warm", "HalfImplicit", "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    assert "HalfImplicit" in shown and "functions compiled" in shown and "none, all in the cache" in shown


def test_methods_on_one_mechanism_are_ready_in_any_order():
    runs = [("HalfImplicit", 1e-3), ("Bdf:ggl", 1e-4), ("RosenbrockNystrom:partition", 1e-4)]  # the last one refuses: no freedom
    assert set(warm_on(Target.of("four-link"), runs, jobs=1)) == {name for name, _ in runs}


@pytest.mark.parametrize("cold", (True, False))
def test_compare_compiles_on_all_cores_if_anything_is_compiled(cold, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(compare, "warm_on", lambda target, runs: asked.append((target, runs)) or [])
    monkeypatch.setattr(Bar, "__init__", lambda self, stream, made=Bar.__init__: made(self, stream) or setattr(self, "announced", cold))
    monkeypatch.setattr(Bar, "_compiling", lambda self: None)
    command = ["compare", "chain", "--set", "joints=planar", "--methods", "HalfImplicit,Bdf:gear", "--steps", "1e-2", "--rtol", "1e-3"]
    assert main([*command, "--t-end", "0.02", "--no-figure", "--output", str(tmp_path)]) == 0
    if cold:
        (target, runs), = asked
        assert target == Target.of("chain", {"joints": "planar"}, t_end=0.02) and runs == [("HalfImplicit", 1e-2), ("Bdf:gear", 1e-3)]
    else:
        assert not asked


@pytest.mark.parametrize("refused", (True, False))
def test_processes_start_with_the_first_compilation_and_end_with_a_refusal(refused, monkeypatch, tmp_path, capsys):
    told = []
    for name in ("start", "stop"):
        monkeypatch.setattr(compare, name, lambda name=name: told.append(name))
    monkeypatch.setattr(compare, "warm_on", lambda target, runs: told.append("runs") or [])
    monkeypatch.setattr(compare, "check_steps", lambda *given, made=compare.check_steps: compilation() or made(*given))
    command = ["compare", "chain", "--set", "joints=planar", "--methods", "HalfImplicit", "--t-end", "0.02", "--no-figure"]
    steps = "1e-12" if refused else "1e-2"
    assert main([*command, "--steps", steps, "--output", str(tmp_path)]) == (2 if refused else 0)
    assert told == (["start", "stop"] if refused else ["start", "runs"])
    capsys.readouterr()


def compilation():
    with event.trigger_event("numba:compile"):
        pass


@pytest.mark.thorough
def test_processes_are_ready_before_they_are_needed():
    """Those that have started are those that compile, and none is left."""
    start()
    pool = get_reusable_executor(reuse=True)
    assert list(warm_on(Target.of("four-link"), [("HalfImplicit", 1e-3)])) == ["HalfImplicit"]
    assert pool._flags.shutdown
    stop()


def test_methods_of_a_module_are_compiled_by_one_process():
    runs = [("NullSpaceHHT", 1e-3), ("Bdf:ggl", 1e-6), ("NullSpaceGeneralizedAlpha", 1e-3), ("Ida:ggl", 1e-6)]
    assert _together(runs) == [[runs[0], runs[2]], [runs[1]], [runs[3]]]


def test_unknown_methods_are_refused(capsys):
    assert main(["warm", "HalfImplizit"]) == 2
    assert "HalfImplicit" in capsys.readouterr().err


def test_all_formulations(capsys):
    names = installed(forms=True)
    assert set(installed()) < set(names) and len(names) == len(set(names))
    assert {"Bdf:ggl", "Bdf:index3", "RosenbrockNystrom:tangent"} <= {find(name).name for name in names}
    assert main(["warm", "Bdf", "--all"]) == 2
    assert "--all" in capsys.readouterr().err


@pytest.mark.slow
def test_after_it_runs_compile_nothing(tmp_path):
    """With an empty cache; other mechanisms than those that were compiled with."""
    around = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    methods = ("HHT", "RosenbrockNystrom", "DormandPrince", "Ida")
    subprocess.run([sys.executable, "-m", "mbdae.cli.main", "warm", ",".join(methods)], env=around, cwd=ROOT, check=True)
    for method in methods:
        done = subprocess.run([sys.executable, "-c", COUNT, method], env=around, cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["0"], method
