"""Solutions as files: `.npz` without pickled objects, and the folders of `mbdae.results.stream`, with the same arrays.

An array for each of `t`, `q`, `v`, `a`, `lam`; `metadata`, a text in JSON with all that is not an array; `events_0`, ..., the times of
events, and `motions_0`, ..., `q` and `v` there; `jumps_before_q`, ..., changes of the state by events; `start_q`, ..., the initial state;
`memory/...`, the contents of the memory of the integrator. Other arrays are not read.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from importlib import metadata as packages
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..system.assembly import State
from .identity import Identity
from .memory import Memory, Request
from .rows import COLUMNS
from .statistics import Statistics
from .status import Status
from .stored_jumps import arrays_of, described, jumps_from
from .trajectory import Trajectory

if TYPE_CHECKING:
    from ..system.system import System
    from .solution import Solution

FORMAT, VERSION = "mbdae-solution", 1
METADATA, BESIDE = "metadata.json", "beside.npz"  # in a folder
STATE = ("q", "v", "a", "lam")
_HELD = "memory/"
_UNREADABLE = (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile, zlib.error, NotImplementedError)  # raised by NumPy on damage


@cache
def package_version() -> str:
    """The version of mbdae."""
    return packages.version("mbdae")


# writing -----------------------------------------------------------------------------------------------------------------------


def save(path: Path, solution: Solution, more: Mapping[str, np.ndarray], about: Mapping[str, Any], compress: bool = True) -> None:
    """Write a solution to an `.npz` file, first under another name: a file that exists is replaced at once, or not at all.

    Parameters
    ----------
    path : Path
    solution : Solution
    more, about : dict
        Further arrays, and further metadata as JSON data.
    compress : bool

    Raises
    ------
    ValueError
        A name among `more` is taken.
    OSError
    """
    arrays = {name: np.asarray(getattr(solution, name)) for name in COLUMNS} | _kept(solution)
    clash = next((name for name in more if name in arrays or name == "metadata"), None)
    if clash is not None:
        raise ValueError(f"an array of the name {clash!r} belongs to every solution; choose another name")
    text = np.array(json.dumps(description(solution) | dict(about)))
    with replacing(path) as file:
        (np.savez_compressed if compress else np.savez)(file, **arrays, **more, metadata=text)  # type: ignore[arg-type]


def save_beside(folder: Path, solution: Solution) -> None:
    """Write all of a solution but its states to the folder that holds these."""
    with replacing(folder / BESIDE) as file:
        np.savez(file, **_kept(solution))  # type: ignore[arg-type]
    with replacing(folder / METADATA) as file:
        file.write(json.dumps(description(solution)).encode())


def _kept(solution: Solution) -> dict[str, np.ndarray]:
    """The arrays beside the states: events, the initial state, the memory."""
    found = {f"events_{k}": t for k, t in enumerate(solution.t_events or ())} | arrays_of(solution.jumps)
    found |= {f"motions_{k}": y for k, y in enumerate(solution.y_events or ())}
    if solution.request is not None:
        found |= {f"start_{name}": np.asarray(getattr(solution.request.start, name)) for name in STATE}
    if solution.memory is not None:
        found |= {_HELD + name: x for name, x in solution.memory.contents.items()}
    return found


def description(solution: Solution) -> dict[str, Any]:
    """All that is not an array, as JSON data."""
    request, memory = solution.request, solution.memory
    return {"format": FORMAT, "version": VERSION, "package": package_version(), "system": Identity(solution.system).data,
            "method": solution.method, "formulation": solution.formulation, "status": solution.status.name, "message": solution.message,
            "statistics": solution.statistics.as_dict(), "events": None if solution.t_events is None else len(solution.t_events),
            "jumps": described(solution.jumps),
            "request": None if request is None else {"t": request.start.t, "options": dict(request.options)},
            "memory": None if memory is None else {"t": memory.t, "rows": memory.rows, "seconds": memory.seconds}}


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path` at the end: a reader finds the old content or the new one, also after a crash."""
    trial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with trial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(trial, path)
    finally:
        trial.unlink(missing_ok=True)


# reading -----------------------------------------------------------------------------------------------------------------------


def load(path: Path, system: System, make: Callable[..., Solution]) -> Solution:
    """The solution in an `.npz` file or in a folder; `make(system, trajectory, method, formulation)` makes an object of it.

    Raises
    ------
    ValueError
        The file is damaged, is none of solutions, has been written by a newer version, or belongs to another system.
    OSError
        There is no such file.
    """
    with _opened(path) as arrays:
        about = _described(path, arrays)
        difference = Identity(system).difference(about["system"])
        if difference:
            raise ValueError(f"{path}: {difference}; load it with the system that it was computed for")
        try:
            return _solution(arrays, about, system, make)
        except (TypeError, AttributeError, KeyError) as error:
            raise _damaged(path, error) from error


def _in_folder(folder: Path, rows: int) -> list[np.ndarray]:
    """The first rows of a folder to which a checkpoint refers."""
    try:
        found = [mapped(folder / f"{name}.npy")[:rows] for name in COLUMNS]
    except _UNREADABLE as error:
        raise ValueError(f"the checkpoint refers to the output in {folder}, which cannot be read ({error}); put it back") from error
    if len(found[0]) < rows:
        raise ValueError(f"the checkpoint refers to {rows} rows of output in {folder}, there are {len(found[0])}; put it back")
    return found


@contextmanager
def _opened(path: Path) -> Iterator[Mapping[str, Any]]:
    """The arrays of a file or folder; errors within the context say that it is damaged."""
    with (path / BESIDE if path.is_dir() else path).open("rb") as opened:
        try:
            file = np.load(opened, allow_pickle=False)
        except _UNREADABLE as error:
            raise _damaged(path, error) from error
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise ValueError(f"{path}: this is a single array, not a solution as Solution.save writes it")
        with file:
            yield _Folder(path, file) if path.is_dir() else _File(path, file)


class _File(Mapping[str, Any]):
    """The arrays of an `.npz` file."""

    def __init__(self, path: Path, file: Mapping[str, Any]) -> None:
        self._path, self._file = path, file

    def __getitem__(self, name: str) -> Any:
        try:
            return self._file[name]
        except _UNREADABLE as error:
            raise _damaged(self._path, error) from error

    def __iter__(self) -> Iterator[str]:
        return iter(self._file)

    def __len__(self) -> int:
        return len(self._file)


class _Folder(_File):
    """The arrays of a folder, the states in the file system until they are used."""

    def __getitem__(self, name: str) -> Any:
        if name not in ("metadata", *COLUMNS):
            return super().__getitem__(name)
        try:
            return (self._path / METADATA).read_text(encoding="utf-8") if name == "metadata" else mapped(self._path / f"{name}.npy")
        except _UNREADABLE as error:
            raise _damaged(self._path, error) from error

    def __iter__(self) -> Iterator[str]:
        return iter(["metadata", *COLUMNS, *self._file])

    def __len__(self) -> int:
        return 1 + len(COLUMNS) + len(self._file)


def mapped(path: Path) -> np.ndarray:
    """The array of an `.npy` file, in the file system until it is used."""
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return np.load(path, mmap_mode="r") if np.prod(shape) else np.zeros(shape, dtype)


def _damaged(path: Path, error: BaseException) -> ValueError:
    reason = str(error) or type(error).__name__
    return ValueError(f"{path}: the file is damaged or incomplete ({reason}); use another one, or integrate anew")


def _described(path: Path, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The validated metadata."""
    if "metadata" not in arrays:
        raise ValueError(f"{path}: this is not a solution as Solution.save writes it, it has no metadata")
    try:
        about = json.loads(str(arrays["metadata"]))
        kind, version = about.get("format"), about.get("version")
    except (ValueError, AttributeError) as error:
        raise _damaged(path, error) from error
    if kind != FORMAT:
        raise ValueError(f"{path}: this is not a solution as Solution.save writes it, its format is {kind!r} and not {FORMAT!r}")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise ValueError(f"{path}: version {version!r} of the format, written by mbdae {about.get('package')}; this release, mbdae "
                         f"{package_version()}, reads versions up to {VERSION}: install a newer one")
    if not isinstance(about.get("system"), dict):
        raise _damaged(path, ValueError("its metadata lack the system"))
    return about


def _solution(arrays: Mapping[str, Any], about: Mapping[str, Any], system: System, make: Callable[..., Solution]) -> Solution:
    names = {f.name for f in fields(Statistics)}
    statistics = Statistics(**{name: x for name, x in about["statistics"].items() if name in names})
    columns = [arrays[name] for name in COLUMNS] if "folder" not in about else _in_folder(Path(about["folder"]), int(about["rows"]))
    if any(len(x) != len(columns[0]) for x in columns):
        raise TypeError("its arrays have different lengths")
    t, q, v, a, lam = columns
    trajectory = Trajectory(t, q, v, a, lam, statistics, Status[about["status"]], about["message"])
    found = make(system, trajectory, about["method"], about["formulation"])
    found.package = about["package"]
    if about["events"] is not None:
        found.t_events = [np.asarray(arrays[f"events_{k}"]) for k in range(about["events"])]
        motions = [f"motions_{k}" for k in range(about["events"])]
        found.y_events = [np.asarray(arrays[name]) for name in motions] if all(name in arrays for name in motions) else None
    found.jumps = jumps_from(arrays, about["jumps"])
    if about["request"] is not None:
        q, v, a, lam = (np.array(arrays[f"start_{name}"], dtype=float) for name in STATE)
        start = State(float(about["request"]["t"]), q, v, a, lam)
        found.request = Request(about["request"]["options"], start)
    if about["memory"] is not None:
        contents = {name.removeprefix(_HELD): np.asarray(arrays[name]) for name in arrays if name.startswith(_HELD)}
        found.memory = Memory(float(about["memory"]["t"]), int(about["memory"]["rows"]), float(about["memory"]["seconds"]), contents)
    return found
