"""The contract of tasks, the cells of studies."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any, ClassVar, Protocol


class Task(Protocol):
    """One cell of a study: plain data that can be sent to another process, and what to do with it."""

    timed: ClassVar[bool]
    """Whether the result contains times, so that a further pass measures them again."""

    @property
    def text(self) -> str:
        """For the progress bar."""
        ...

    @property
    def curve(self) -> Hashable:
        """Tasks of one curve run one after another in one process, since they share their preparations."""
        ...

    def content(self) -> dict[str, Any]:
        """All that determines the result, as JSON data."""
        ...

    def carry_out(self) -> Any:
        """The result, which `save` can store."""
        ...

    def save(self, path: Path, result: Any) -> None:
        """Write the result to a file."""
        ...

    def load(self, path: Path) -> Any:
        """The result in the file."""
        ...

    @staticmethod
    def lasting(result: Any) -> bool:
        """Whether the result is to be kept: false after an error that another attempt may not have."""
        ...
