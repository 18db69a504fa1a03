"""What a system shows of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..summary import Summary, counted, named, plural

if TYPE_CHECKING:
    from .system import System


def summary_of(system: System) -> Summary:
    """Bodies, coordinates, constraints, forces and degrees of freedom of a system; nothing is computed for it."""
    s, m = system, system.mechanism
    found = s.__dict__.get("redundancy")  # once it is known
    redundant = f", {len(found.rows)} of them redundant" if found is not None and len(found.rows) else ""
    bodies = "none, the equations are functions of the user" if m is None else f"{counted(m.bodies)}: {named([b.name for b in m.bodies])}"
    return Summary(f"{type(s).__name__} {s.name!r}: nq={s.nq}, nv={s.nv}, nc={s.nc}",
                   (("bodies", bodies), *s.coordinate_rows(),
                    ("constraints", plural(s.nc, "equation") + redundant if s.nc else "none"),
                    ("forces", "" if m is None else counted(m.forces)),
                    ("degrees of freedom", f"{s.freedom}" if found is not None else f"{s.dof} by count")))
