"""Compiled code where no folder can be written: kept in a temporary folder, for this process only.

Numba keeps it beside the source files, in the user's cache or in `NUMBA_CACHE_DIR`. With a read-only installation and no home it refuses
to compile at all.
"""

import atexit
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import caching

from .stamp import HERE

_IMPL = getattr(caching, "CacheImpl", None) or caching._CacheImpl  # the second names are those before numba 0.62
_IN_TREE = getattr(caching, "InTreeCacheLocator", None) or caching._InTreeCacheLocator
ROOTS = HERE, HERE.parent / "adapters"  # the second one in a source tree


class TemporaryLocator(_IN_TREE):  # type: ignore[misc,valid-type]  # numba has no types
    """A folder that is removed at the end of the process, for the files of mbdae."""

    def get_cache_path(self) -> str:
        """See numba."""
        return str(Path(_folder()) / self.get_suitable_cache_subpath(self._py_file))

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """The locator; `None` for files of others, for which numba raises its error."""
        return super().from_function(py_func, py_file) if any(Path(py_file).is_relative_to(root) for root in ROOTS) else None


@cache
def _folder() -> str:
    """Made for this process, readable for no other user."""
    folder = tempfile.mkdtemp(prefix="mbdae-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    warnings.warn("compiled code of mbdae cannot be kept: neither its folder nor the user's cache can be written. Every process compiles "
                  "anew what does not come with the package, which may take minutes; set NUMBA_CACHE_DIR to a folder that can be written",
                  stacklevel=2)
    return folder


def register() -> None:
    """Make it the last resort of numba."""
    if TemporaryLocator not in _IMPL._locator_classes:
        _IMPL._locator_classes.append(TemporaryLocator)
