"""Mechanisms as files: `load` and `save`, JSON or YAML, the format of docs/file-format.md."""

from .description import DescriptionError
from .read import from_text, load
from .write import save

__all__ = ["DescriptionError", "from_text", "load", "save"]
