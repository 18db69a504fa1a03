"""The source files that a compiled function depends on, and a hash of their content."""

import re
from functools import cache
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parents[1]

_IMPORT = re.compile(r"^from[ ]+(?P<dots>\.*)(?P<module>[\w.]*)[ ]+import[ ]+(?:\((?P<many>[^)]*)\)|(?P<one>.*))$", re.MULTILINE)
_NAME = re.compile(r"(\w+)(?:[ ]+as[ ]+\w+)?")
_COMPILES = re.compile(r"^(?:from (?:numba|\S*\bcompiled)\b|import numba)", re.MULTILINE)


@cache
def stamp(path: str) -> tuple[str, int]:
    """Hash and number of the files whose code or constants may be part of a function compiled in `path`."""
    files = sorted(sources(Path(path)) | {HERE / "compilation" / "compiled.py"})
    return sha256(b"".join(map(_content, files))).hexdigest(), len(files)


def sources(path: Path) -> set[Path]:
    """The file itself and those it imports compiled functions, whole modules or constants from, recursively."""
    found: set[Path] = set()
    pending = [path]
    while pending:
        file = pending.pop()
        if file not in found:
            found.add(file)
            pending += _dependencies(file)
    return found


@cache
def _dependencies(file: Path) -> set[Path]:
    files = set()
    for statement in _IMPORT.finditer(_text(file)):
        folder = _target(file, statement["dots"], statement["module"])
        for name in _NAME.findall(statement["many"] or statement["one"] or ""):
            files |= _files_behind(folder, name)
    return files


def _target(file: Path, dots: str, module: str) -> Path | None:
    """The imported module or folder, without suffix; `None` outside mbdae."""
    parts = module.split(".") if module else []
    if dots:
        return file.parents[len(dots) - 1].joinpath(*parts)
    return HERE.joinpath(*parts[1:]) if parts[:1] == ["mbdae"] else None


def _files_behind(target: Path | None, name: str) -> set[Path]:
    if target is None:
        return set()
    if target.with_suffix(".py").exists():
        file = target.with_suffix(".py")
        return {file} if _COMPILES.search(_text(file)) or _is_constant(name, file) else set()
    return {file for file in [target / f"{name}.py"] if file.exists()}


def _is_constant(name: str, file: Path) -> bool:
    """Whether a name is one of a constant, not of a class such as `DP1`."""
    return name.isupper() and not re.search(rf"^class {name}\b", _text(file), re.MULTILINE)


@cache
def _text(file: Path) -> str:
    return _content(file).decode().replace("\r\n", "\n")


@cache
def _content(file: Path) -> bytes:
    return file.read_bytes()
