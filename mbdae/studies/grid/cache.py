"""Results of tasks in a folder, one file each, named by the content of the task and the code that computes it."""

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from ...compilation.stamp import HERE
from ..table import metadata, plain
from .task import Task

ADAPTERS = Path(metadata.__code__.co_filename).parents[2] / "adapters"  # of a checkout; of an installed package they lie in `HERE`


@cache
def code_stamp() -> str:
    """Hash of the sources of mbdae and of the versions of the packages under it."""
    files = sorted([*HERE.rglob("*.py"), *(ADAPTERS.rglob("*.py") if ADAPTERS.is_dir() else ())])
    digest = hashlib.sha256(json.dumps(metadata()["versions"], sort_keys=True).encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


class Cache:
    """Results in a folder; without one nothing is kept.

    Parameters
    ----------
    folder : path or None
    fresh : bool
        Whether earlier results are ignored (and replaced).
    turn : int
        Number of the pass over the study, from 1 on: each has results of its own.
    """

    def __init__(self, folder: str | Path | None, fresh: bool = False, turn: int = 1) -> None:
        self.folder, self.fresh, self.turn = None if folder is None else Path(folder), fresh, turn

    def path(self, task: Task) -> Path | None:
        """The file of a task."""
        if self.folder is None:
            return None
        turn = {"pass": self.turn} if self.turn > 1 else {}
        content = json.dumps(plain({"task": type(task).__name__, "code": code_stamp()} | turn | task.content()), sort_keys=True)
        return self.folder / hashlib.sha256(content.encode()).hexdigest()[:32]

    def load(self, task: Task) -> Any:
        """The result, or `None` if there is none; a damaged file counts as none."""
        path = self.path(task)
        if path is None or self.fresh or not path.exists():
            return None
        try:
            return task.load(path)
        except (OSError, ValueError, KeyError, TypeError, EOFError):
            return None

    def store(self, task: Task, result: Any) -> None:
        """Keep a result; the file is complete or is not there."""
        path = self.path(task)
        if path is None or not task.lasting(result):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        begun = path.with_name(f"{path.name}.{os.getpid()}")
        task.save(begun, result)
        begun.replace(path)
