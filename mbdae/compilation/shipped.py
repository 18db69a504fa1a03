"""Machine code that a wheel brings along, for processors of a common kind.

Numba keeps compiled code for the processor at hand. A wheel may contain the code of all methods for x86-64-v3, processors with AVX2 and
fused multiplications (see `packaging/wheel.py`), in the folder `kernels`. It is used where all agrees: the content of the source files,
the versions of Python and numba, the system, and the features of the processor. What does not agree is compiled as usual.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.registry import cpu_target

from .stamp import HERE

FOLDER = HERE / "kernels"
PROCESSOR, FEATURES = "x86-64-v3", ""  # as in `packaging/wheel.py`
NEEDED = {"+avx2", "+bmi", "+bmi2", "+cx16", "+f16c", "+fma", "+lzcnt", "+movbe", "+popcnt", "+sahf", "+sse4.2", "+xsave"}


def fits(features: str) -> bool:
    """Whether a processor with these features, as numba lists them, runs the code."""
    return config.CPU_NAME is None and set(features.split(",")) >= NEEDED


class KeptCache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """Functions on disk: those of this machine, and those that the package brings along.

    The folder is looked for when the function is called first: most functions of a module are not.
    """

    _shipped: Any = None

    def __init__(self, function: Any, ending: str, made_of: tuple[str, int]) -> None:
        self._about = function, ending, made_of

    def __getattr__(self, name: str) -> Any:
        """An attribute of numba's cache."""
        if name == "_about" or "_impl" in self.__dict__:
            raise AttributeError(name)
        self._open(*self._about)
        return getattr(self, name)

    def _open(self, function: Any, ending: str, made_of: tuple[str, int]) -> None:
        """Use files whose names end like this, made of these sources."""
        super().__init__(function)
        base = f"{self._impl.filename_base}-{ending}"
        self._cache_file = IndexDataCacheFile(self._cache_path, base, made_of)
        folder = folder_of(Path(function.__code__.co_filename))
        if folder is not None:
            self._shipped = IndexDataCacheFile(str(folder), base, made_of)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        """The function from the folder of this machine, or from that of the package."""
        found = super()._load_overload(sig, target_context)
        if found is None and self._shipped is not None:
            codegen = target_context.codegen()
            triple, _, features = codegen.magic_tuple()
            if fits(features):
                types, _, code = self._index_key(sig, codegen)
                data = self._shipped.load((types, (triple, PROCESSOR, FEATURES), code))
                found = None if data is None else self._impl.rebuild(target_context, data)
        return found


def folder_of(source: Path) -> Path | None:
    """Where the code of a source file of the package lies, if the package brings code along."""
    if not _exists() or not source.is_relative_to(HERE):
        return None
    return FOLDER / os.path.relpath(source.parent, HERE)


@cache
def _exists() -> bool:
    return FOLDER.is_dir()


def told() -> str:
    """Whether the package brings code along, and whether it is used here."""
    if not _exists():
        return "none comes with this installation; what is used is compiled at the first call and kept"
    made = json.loads((FOLDER / "made.json").read_text())
    code = f"for {made['processor']} comes with this installation"
    if made["numba"] != numba.__version__:
        return f"{code}, but for numba {made['numba']}: what is used is compiled at the first call and kept"
    if not fits(cpu_target.target_context.codegen().magic_tuple()[2]):
        return f"{code}, but not for this processor: what is used is compiled at the first call and kept"
    return f"{code} and is used"
