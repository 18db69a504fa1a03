"""Rows of output in a folder of growing `.npy` files: the memory that they take does not grow with their number."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from .rows import COLUMNS, Columns, Rows
from .storage import BESIDE, METADATA, mapped

_HEAD = 128  # bytes of the header of a file


class Stream(Rows):
    """Rows of output, appended to `t.npy`, `q.npy`, `v.npy`, `a.npy`, `lam.npy` in a folder.

    `np.load(folder / "q.npy", mmap_mode="r")` reads them, also during the run, up to the last `flush`.

    Parameters
    ----------
    folder : Path
        Made if it does not exist. Rows of an earlier run in it are replaced.
    sizes : sequence of int
        Lengths of `q`, `v`, `a`, `lam`.
    columns : sequence of str
        Which of these are stored; `t` always is. The others have no columns.
    kept : int
        Number of rows of an earlier run that are kept: those of a run that is continued.
    prepare : callable, optional
        `prepare(columns) -> columns` is applied to rows before they are stored.

    Raises
    ------
    ValueError
        The folder contains something else, or fewer rows than are to be kept.
    """

    def __init__(self, folder: Path, sizes: Sequence[int], columns: Sequence[str] = COLUMNS, kept: int = 0,
                 prepare: Callable[[Columns], Columns] | None = None) -> None:
        super().__init__([n if name in columns else 0 for name, n in zip(COLUMNS[1:], sizes)])
        self.folder, self._prepare = folder, prepare
        self._files: dict[str, _Column] = {}
        _check_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in (METADATA, BESIDE):
            (folder / name).unlink(missing_ok=True)
        for name, n in zip(COLUMNS, (None, *self.sizes)):
            self._files[name] = _Column(folder / f"{name}.npy", () if n is None else (n,), kept)
        self.count = kept

    def append(self, columns: Columns) -> None:
        """Write rows."""
        columns = columns if self._prepare is None else self._prepare(columns)
        for file, values, size in zip(self._files.values(), columns, (None, *self.sizes)):
            file.append(values if size is None else values[:, :size])
        self.count += len(columns.t)

    def flush(self) -> None:
        """Make all rows readable, and write them to the disk."""
        for file in self._files.values():
            file.flush()

    def columns(self) -> Columns:
        """All rows, in the file system until they are used."""
        self.flush()
        return Columns(*(mapped(file.path) for file in self._files.values()))

    def truncate(self, count: int) -> None:
        """Keep the first rows."""
        for file in self._files.values():
            file.truncate(count)
        self.count = count

    def end_with(self, row: Columns) -> Columns:
        """A last row, without preparation; all rows."""
        self._prepare = None
        self.append(row)
        return self.columns()

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()


class _Column:
    """An `.npy` file that grows.

    Arrays of earlier runs may still be mapped to a file. A new run gets a new file, and one that goes on does not shorten it before its
    end: to read beyond the end of a file would kill the process.
    """

    def __init__(self, path: Path, shape: tuple[int, ...], kept: int) -> None:
        self.path, self._shape, self._rows = path, shape, kept
        if kept and len(mapped(path)) < kept:
            raise ValueError(f"{path}: {len(mapped(path))} rows, fewer than the {kept} at which the run is continued")
        if not kept:
            path.unlink(missing_ok=True)
        self._file: IO[bytes] = path.open("r+b" if kept else "w+b")
        self._write_head()

    @property
    def _end(self) -> int:
        """Bytes of the header and the rows."""
        return _HEAD + 8 * self._rows * int(np.prod(self._shape))

    def append(self, values: np.ndarray) -> None:
        self._file.write(np.ascontiguousarray(values, dtype=float).tobytes())
        self._rows += len(values)

    def truncate(self, rows: int) -> None:
        """Keep the first rows."""
        self._rows = rows
        self._write_head()
        self._file.truncate(self._end)

    def flush(self) -> None:
        """The header counts all rows, which are on the disk before."""
        self._file.flush()
        self._write_head()
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def _write_head(self) -> None:
        """The header with the number of rows; NumPy leaves room in it for a larger one."""
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (self._rows, *self._shape)})
        assert head.tell() == _HEAD, head.tell()
        self._file.seek(0)
        self._file.write(head.getvalue())
        self._file.seek(self._end)


def _check_folder(folder: Path) -> None:
    """Refuse a folder with something that is not output of a run."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"output: {folder} is a file; name a folder, which will hold t.npy, q.npy, ...")
    known = {METADATA, BESIDE, *(f"{name}.npy" for name in COLUMNS)}
    foreign = next((x.name for x in folder.iterdir() if x.name not in known), None) if folder.exists() else None
    if foreign is not None:
        raise ValueError(f"output: the folder {folder} holds {foreign!r}, which is not output of a run; name another folder")
