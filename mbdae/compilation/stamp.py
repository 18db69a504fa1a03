"""The source files that a compiled function depends on, and a hash of their content."""

import re
from functools import cache
from hashlib import sha256
from os import sep
from os.path import dirname, exists, join
from pathlib import Path

HERE = Path(__file__).parents[1]
_FOLDER = str(HERE)  # paths are texts below: comparing those of a few hundred functions takes a third of the time

_IMPORT = re.compile(r"^from[ ]+(?P<dots>\.*)(?P<module>[\w.]*)[ ]+import[ ]+(?:\((?P<many>[^)]*)\)|(?P<one>.*))$", re.MULTILINE)
_NAME = re.compile(r"(\w+)(?:[ ]+as[ ]+\w+)?")
_COMPILES = re.compile(r"^(?:from (?:numba|\S*\bcompiled)\b|import numba)", re.MULTILINE)


@cache
def stamp(path: str) -> tuple[str, int]:
    """Hash and number of the files whose code or constants may be part of a function compiled in `path`."""
    files = sorted(_sources(str(path)) | {join(_FOLDER, "compilation", "compiled.py")}, key=_parts)
    return sha256(b"".join(map(_content, files))).hexdigest(), len(files)


def sources(path: Path) -> set[Path]:
    """The file itself and those it imports compiled functions, whole modules or constants from, recursively."""
    return set(map(Path, _sources(str(path))))


def _sources(path: str) -> set[str]:
    found: set[str] = set()
    pending = {path}
    while pending:
        file = pending.pop()
        found.add(file)
        pending |= _dependencies(file) - found
    return found


@cache
def _dependencies(file: str) -> frozenset[str]:
    files: set[str] = set()
    for statement in _IMPORT.finditer(_text(file)):
        target = _target(file, statement["dots"], statement["module"])
        if target:
            for name in _NAME.findall(statement["many"] or statement["one"] or ""):
                files |= _files_behind(target, name)
    return frozenset(files)


def _target(file: str, dots: str, module: str) -> str:
    """The imported module or folder, without suffix; empty outside mbdae."""
    parts = module.split(".") if module else []
    if dots:
        folder = file
        for _ in dots:
            folder = dirname(folder)
        return join(folder, *parts)
    return join(_FOLDER, *parts[1:]) if parts[:1] == ["mbdae"] else ""


@cache
def _files_behind(target: str, name: str) -> frozenset[str]:
    module, part = f"{target}.py", join(target, f"{name}.py")
    if _exists(module):
        return frozenset({module} if _COMPILES.search(_text(module)) or _is_constant(name, module) else ())
    return frozenset({part} if _exists(part) else ())


def _is_constant(name: str, file: str) -> bool:
    """Whether a name is one of a constant, not of a class such as `DP1`."""
    return name.isupper() and not re.search(rf"^class {name}\b", _text(file), re.MULTILINE)


def _parts(file: str) -> list[str]:
    """The order of files: that of their folders."""
    return file.split(sep)


@cache
def _exists(file: str) -> bool:
    return exists(file)


@cache
def _text(file: str) -> str:
    return _content(file).decode().replace("\r\n", "\n")


@cache
def _content(file: str) -> bytes:
    return Path(file).read_bytes()
