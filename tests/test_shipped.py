"""Compiled code that comes with the package: used where the processor, numba and the sources agree, otherwise compiled."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from mbdae.compilation import shipped

USED = """
import sys
from pathlib import Path
from mbdae.compilation import shipped
shipped.FOLDER = Path(sys.argv[1])
{change}
from numba.core import event
with event.install_listener("numba:compile", event.RecordingListener()) as recorded:
    import numpy as np
    from mbdae.system.vectors import largest
    value = largest(np.array([1.0, -3.0, 2.0]))
print(value, len(recorded.buffer))
"""
FOR_ALL = {"NUMBA_CPU_NAME": shipped.PROCESSOR, "NUMBA_CPU_FEATURES": shipped.FEATURES}


def has_features():
    from numba.core.registry import cpu_target
    return shipped.fits(cpu_target.target_context.codegen().magic_tuple()[2])


pytestmark = pytest.mark.skipif(not has_features(), reason=f"no processor of the kind {shipped.PROCESSOR}, or code for another one")


def tried(folder, kept, change="", **environment):
    """The value, and whether something was compiled, with code in `folder`, and nothing kept before."""
    command = [sys.executable, "-c", USED.format(change=change), str(folder)]
    run = subprocess.run(command, env=os.environ | {"NUMBA_CACHE_DIR": str(kept)} | environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    value, events = run.stdout.split()
    return float(value), int(events) > 0


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """Code of one function for `PROCESSOR`, as a wheel has it."""
    made, folder = tmp_path_factory.mktemp("made"), tmp_path_factory.mktemp("kernels")
    assert tried(folder / "none", made, **FOR_ALL) == (3.0, True)
    for file in made.rglob("*.nb[ic]"):
        place = folder / Path(shipped.HERE / "system").relative_to(shipped.HERE)
        place.mkdir(exist_ok=True)
        shutil.copy(file, place)
    return folder


def test_code_that_fits_is_used(kernels, tmp_path):
    assert tried(kernels, tmp_path) == (3.0, False)
    assert not list(tmp_path.rglob("*.nb[ic]"))  # nothing was compiled, nothing is kept


@pytest.mark.thorough
@pytest.mark.parametrize("change, environment", (
    ("shipped.NEEDED = {'+a feature that no processor has'}", {}),
    ("shipped.HERE = Path('/')", {}),
    ("", {"NUMBA_CPU_NAME": "generic"}),
), ids=("processor", "source elsewhere", "code for any processor"))
def test_other_code_is_compiled(kernels, tmp_path, change, environment):
    assert tried(kernels, tmp_path, change, **environment) == (3.0, True)
    assert list(tmp_path.rglob("*.nbc"))


@pytest.mark.thorough
def test_code_of_another_numba_is_compiled_anew(kernels, tmp_path):
    other = shutil.copytree(kernels, tmp_path / "kernels")
    for index in other.rglob("*.nbi"):
        code = index.read_bytes()
        own = pickle.dumps(numba.__version__, protocol=-1)
        assert code.startswith(own)
        index.write_bytes(pickle.dumps("0.1", protocol=-1) + code[len(own):])
    assert tried(other, tmp_path / "kept") == (3.0, True)


def test_what_doctor_says(monkeypatch, tmp_path):
    shipped._exists.cache_clear()
    monkeypatch.setattr(shipped, "_exists", lambda: True)
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    made = {"processor": shipped.PROCESSOR, "numba": numba.__version__}
    (tmp_path / "made.json").write_text(json.dumps(made))
    assert shipped.told().endswith("is used")
    monkeypatch.setattr(shipped, "NEEDED", {"+none"})
    assert "not for this processor" in shipped.told()
    (tmp_path / "made.json").write_text(json.dumps(made | {"numba": "0.1"}))
    assert "for numba 0.1" in shipped.told()
    monkeypatch.setattr(shipped, "_exists", lambda: False)
    assert "none comes" in shipped.told()


def test_processor_is_that_of_the_wheel():
    text = (Path(__file__).parents[1] / "packaging" / "wheel.py").read_text()
    assert f'PROCESSOR, FEATURES = "{shipped.PROCESSOR}", "{shipped.FEATURES}"' in text
