"""Named parts of the unknowns and of the equations of a problem."""

from ..system.system import System

Blocks = tuple[tuple[str, str], ...]  # (block, size attribute of the system)


def slices(parts: Blocks, system: System) -> dict[str, slice]:
    """The blocks one after another."""
    out, at = {}, 0
    for name, attribute in parts:
        n = getattr(system, attribute)
        out[name] = slice(at, at + n)
        at += n
    return out


def size(s: slice) -> int:
    """The number of components of a block."""
    return int(s.stop - s.start)
