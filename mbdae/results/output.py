"""Where the output of a run goes, if not into memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .rows import COLUMNS


@dataclass(frozen=True)
class Output:
    """A folder to which the rows of output are written during the run; the memory needed does not grow with their number.

    The folder holds `t.npy`, `q.npy`, `v.npy`, `a.npy`, `lam.npy`, one row per time, and `metadata.json`. The arrays of the `Solution` are
    those in the folder, as memory maps; `Solution.load(folder, system)` opens them later.

    Parameters
    ----------
    folder : str or Path
        Made if it does not exist; output of an earlier run in it is replaced.
    columns : sequence of {"q", "v", "a", "lam"}
        What is stored beside `t`; the others have no columns in the solution.

    Raises
    ------
    ValueError
        There is no such column.

    Examples
    --------
    >>> mbdae.solve(chain, method, (0, 1000), t_eval=times, output=mbdae.Output("run", columns=["q"]))  # doctest: +SKIP
    """

    folder: str | Path
    columns: Sequence[str] = COLUMNS[1:]

    def __post_init__(self) -> None:
        if not isinstance(self.folder, str | Path):
            raise ValueError(f"Output: the folder must be a path, got {self.folder!r}")
        given = (self.columns,) if isinstance(self.columns, str) else tuple(self.columns)
        unknown = next((x for x in given if x not in COLUMNS), None)
        if unknown is not None:
            raise ValueError(f"Output: columns must be among {', '.join(COLUMNS[1:])}, got {unknown!r}")
        object.__setattr__(self, "folder", Path(self.folder))
        object.__setattr__(self, "columns", given)

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder)
