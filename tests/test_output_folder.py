"""Output that goes to a folder: the numbers of output in memory, files that NumPy reads, memory that does not grow."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mbdae
from mbdae import Output, Solution, library
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.integrators.control import driver

from .test_checkpoints import assert_same, pendulum, through_zero

METHODS = {"HalfImplicit": mbdae.HalfImplicit(h=1e-3), "HHT": mbdae.HHT(), "Bdf": mbdae.Bdf(), "Ida": Ida(),
           "Projected": mbdae.Projected(SolveIvp("DOP853"), "PV"), "Projected Ida": mbdae.Projected(Ida(), "PV")}
TIMES = np.linspace(0.0, 0.12, 801)


@pytest.mark.parametrize("options", [{}, {"t_eval": TIMES}, {"every": 7, "events": through_zero}], ids=["steps", "times", "events"])
@pytest.mark.parametrize("name", METHODS)
def test_the_rows_are_those_of_output_in_memory(name, options, tmp_path):
    if name == "Projected Ida":
        with pytest.raises(ValueError, match=r"output: .* projects its rows at the end"):
            mbdae.solve(pendulum(), METHODS[name], (0.0, 0.12), output=tmp_path / "run", **options)
        return
    want = mbdae.solve(pendulum(), METHODS[name], (0.0, 0.12), **options)
    found = mbdae.solve(pendulum(), METHODS[name], (0.0, 0.12), output=tmp_path / "run", **options)
    assert_same(want, found)
    assert isinstance(found.q, np.memmap)
    assert_same(want, Solution.load(tmp_path / "run", pendulum()))
    np.testing.assert_array_equal(np.load(tmp_path / "run" / "q.npy", mmap_mode="r"), want.q)
    assert json.loads((tmp_path / "run" / "metadata.json").read_text())["method"] == want.method


def ended(t, q, v):
    return t - 0.0834


ended.terminal = True


@pytest.mark.parametrize("options", [{}, {"t_eval": TIMES}])
def test_a_terminal_event_ends_the_rows(options, tmp_path):
    want, found = (mbdae.solve(pendulum(), mbdae.HHT(), (0.0, 0.12), events=ended, output=output, **options) for output in
                   (None, tmp_path / "run"))
    assert_same(want, found)
    assert_same(want, Solution.load(tmp_path / "run", pendulum()))


@pytest.mark.parametrize("method", [mbdae.HalfImplicit(h=1e-3), mbdae.ProjectedGauss(h=2e-3)], ids=str)
def test_multipliers_of_redundant_constraints_have_minimal_norm(method, tmp_path):
    bricard = library.mechanism("bricard")
    want, found = (mbdae.solve(bricard, method, (0.0, 0.2), output=output) for output in (None, tmp_path / "run"))
    assert_same(want, found)


def test_columns_that_are_not_wanted_are_not_stored(tmp_path):
    found = mbdae.solve(pendulum(), mbdae.HalfImplicit(h=1e-3), (0.0, 0.1), output=Output(tmp_path / "run", columns=["q"]))
    want = mbdae.solve(pendulum(), mbdae.HalfImplicit(h=1e-3), (0.0, 0.1))
    np.testing.assert_array_equal(found.q, want.q)
    assert found.v.shape == found.lam.shape == (len(want.t), 0)
    with pytest.raises(ValueError, match="columns must be among q, v, a, lam, got 'x'"):
        Output(tmp_path, columns=["x"])


def test_output_at_more_times_than_there_is_room_for(monkeypatch, tmp_path):
    """A step with more output than the storage holds, and storage that is full between two steps."""
    want = {name: mbdae.solve(pendulum(), METHODS[name], (0.0, 0.12), t_eval=TIMES) for name in ("HalfImplicit", "HHT")}
    monkeypatch.setattr(driver, "ROOM_BYTES", 0)
    for room in (1, 3, 100):
        monkeypatch.setattr(driver, "MIN_ROOM", room)
        for name, solution in want.items():
            assert_same(solution, mbdae.solve(pendulum(), METHODS[name], (0.0, 0.12), t_eval=TIMES))
        whole, found = (mbdae.solve(pendulum(), mbdae.RosenbrockNystrom(), (0.0, 0.12), t_eval=TIMES, events=through_zero, output=output)
                        for output in (None, tmp_path / "run"))
        assert_same(whole, found)


def test_a_run_goes_on_in_its_folder(tmp_path):
    want = mbdae.solve(pendulum(), mbdae.HHT(), (0.0, 0.12))
    begun = mbdae.solve(pendulum(), mbdae.HHT(), (0.0, 0.08), output=tmp_path / "run")
    with pytest.raises(ValueError, match=r"output folder of the saved run is .*run, that of this call is none"):
        mbdae.solve(pendulum(), mbdae.HHT(), (0.0, 0.12), resume=begun)
    found = mbdae.solve(pendulum(), mbdae.HHT(), (0.0, 0.12), resume=tmp_path / "run", output=tmp_path / "run")
    assert_same(want, found)
    shorter = mbdae.solve(pendulum(), mbdae.HHT(), (0.0, 0.05), output=tmp_path / "run")
    assert len(shorter.t) < len(found.t)
    assert_same(want, found)  # mapped to files that have another name now, or none


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("...")
    with pytest.raises(ValueError, match=r"holds 'thesis\.tex', which is not output of a run"):
        mbdae.solve(pendulum(), mbdae.HHT(), (0.0, 0.05), output=tmp_path)
    with pytest.raises(ValueError, match="is a file; name a folder"):
        mbdae.solve(pendulum(), mbdae.HHT(), (0.0, 0.05), output=tmp_path / "thesis.tex")
    assert (tmp_path / "thesis.tex").read_text() == "..."


def test_a_form_in_several_charts_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"DOP853.* is restarted in each chart of the form 'partition'"):
        mbdae.solve(pendulum(), SolveIvp("DOP853"), (0.0, 0.1), formulation="partition", output=tmp_path / "run")


MEASURE = """
import resource, sys
import numpy as np
import mbdae
from mbdae import library

rows, folder = int(sys.argv[1]), sys.argv[2]
chain = library.mechanism("chain", links=32)
mbdae.solve(chain, mbdae.HalfImplicit(h=1e-3), (0.0, 0.01), output=folder)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = mbdae.solve(chain, mbdae.HalfImplicit(h=1e-3), (0.0, 1e-3 * rows), output=folder, t_eval=np.linspace(0.0, 1e-3 * rows, rows + 1))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(found.t), (after - before) // 1024, sum(x.nbytes for x in (found.q, found.v, found.a, found.lam)) // 2**20)
"""


@pytest.mark.thorough
def test_the_memory_does_not_grow_with_the_rows(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    out = subprocess.run([sys.executable, "-c", MEASURE, "40000", str(tmp_path / "run")], env=environment, capture_output=True, text=True,
                         cwd=Path(__file__).parent.parent, check=True)
    rows, grown, size = map(int, out.stdout.split())
    assert rows == 40001 and size > 200 and grown < 80  # megabytes
