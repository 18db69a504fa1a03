"""Fused kernels of multibody systems: every kind of element in turn, none for nothing. The state must have been placed (see `frames`).

The calls are written out from the lists `elements.kinds` and `loads.kinds` when this module is imported, because compiled code must
know each kernel by name. For the second kind of constraints, say, the text reads

    if count(model, 76):
        phi_1(table(model, 76, dtype_1), X, out)

where `phi_1` is a loop over the records, with the kernel of the kind inside.
"""

from typing import Any

import numpy as np
from numba.core import config

from ..compilation.compiled import compiled, inlined
from . import layout as lay
from .elements.kind import arguments
from .elements.kinds import KINDS as CONSTRAINT_KINDS
from .layout import BODY_T, FRICTION_T, MOTION_T, USER_FORCE_T, count, table
from .loads import friction, gravity, user_force
from .loads.kinds import KINDS as FORCE_KINDS
from .sparse import fill
from .vec3 import vec

# what the fused kernels call beside the kernels of the kinds
_NAMES = {"np": np, "lay": lay, "gravity": gravity, "friction": friction, "user_force": user_force, "FRICTION_T": FRICTION_T,
          "USER_FORCE_T": USER_FORCE_T, "BODY_T": BODY_T, "MOTION_T": MOTION_T, "count": count, "table": table, "fill": fill, "vec": vec}
_BEGIN = "    X, motions = lay.frames(model, work), table(model, lay.MOTION, MOTION_T)\n"
_TEXTS = {  # beginning and end of each fused kernel
    "phi": ("def phi(t, q, model, work, out):\n" + _BEGIN, ""),
    "phi_q": ("def phi_q(t, model, work, G):\n" + _BEGIN, ""),
    "nu": ("def nu(t, model, work, out):\n" + _BEGIN + "    fill(out, 0.0)\n", ""),
    "gamma": ("def gamma(t, model, work, out):\n" + _BEGIN, ""),
    "force": ("""\
def force(t, q, lam, model, work, Q):
    bodies, X = table(model, lay.BODY, BODY_T), lay.frames(model, work)
    motions = table(model, lay.MOTION, MOTION_T)
    fill(Q, 0.0)
    gravity.forces(bodies, vec(table(model, lay.GRAVITY, np.float64)), X, Q)
""", """\
    if count(model, lay.USER_FORCE):
        users = table(model, lay.USER_FORCE, USER_FORCE_T)
        user_force.forces(users, table(model, lay.MEMBERS, np.int64), bodies, t, X, Q)
    if count(model, lay.FRICTION):
        friction.forces(table(model, lay.FRICTION, FRICTION_T), X, bodies, lam, Q)
"""),
    "energy": ("""\
def energy(q, model, work):
    X, bodies = lay.frames(model, work), table(model, lay.BODY, BODY_T)
    total = 0.0
""", """\
    return total
"""),
}
_LOOP = """\
    if count(model, {slot}):
        table_{n} = table(model, {slot}, dtype_{n})
        for k in range(table_{n}.shape[0]):
            {result}kernel_{n}(table_{n}[k], {arguments})
"""


def _fused(name: str, kinds: tuple[Any, ...], first_slot: int) -> Any:
    """One fused kernel, compiled; its text counts as part of this file, whose stamp follows the files of all kinds."""
    names, (begin, end), loops = dict(_NAMES), _TEXTS[name], ""
    for n, kind in enumerate(kinds):
        if name in kind.kernels():
            kernel = kind.kernels()[name]
            names |= {f"kernel_{n}": inlined(kernel), f"dtype_{n}": kind.dtype}
            loops += _LOOP.format(n=n, slot=first_slot + 2 * n, arguments=", ".join(arguments(kernel)),
                                  result="total += " if name == "energy" else "")
    return _written(name, begin + loops + end, names)


def _written(name: str, text: str, names: dict[str, Any]) -> Any:
    """The function of a text, compiled."""
    names["__name__"] = __name__  # without it the compiled code could be stored, but not loaded
    exec(compile(text, f"<{name}>" if config.DISABLE_JIT else __file__, "exec"), names)
    return compiled(names[name])


if len(CONSTRAINT_KINDS) > lay.MOST_CONSTRAINTS or len(FORCE_KINDS) > lay.MOST_FORCES:
    raise ImportError(f"mbdae.system.layout has room for {lay.MOST_CONSTRAINTS} kinds of constraints and {lay.MOST_FORCES} of forces; "
                      f"{len(CONSTRAINT_KINDS)} and {len(FORCE_KINDS)} are listed")

phi = _fused("phi", CONSTRAINT_KINDS, lay.CONSTRAINTS)
phi_q = _fused("phi_q", CONSTRAINT_KINDS, lay.CONSTRAINTS)
nu = _fused("nu", CONSTRAINT_KINDS, lay.CONSTRAINTS)
gamma = _fused("gamma", CONSTRAINT_KINDS, lay.CONSTRAINTS)
force = _fused("force", FORCE_KINDS, lay.FORCES)
energy = _fused("energy", FORCE_KINDS, lay.FORCES)


@compiled
def mass(model, out):
    """Mass blocks: `m` on the translations, `J` on the rotations; constant."""
    bodies = table(model, lay.BODY, BODY_T)
    at = 0
    for b in range(bodies.shape[0]):
        for _ in range(2 if bodies[b]["kind"] == lay.PLANAR else 3):
            out[at] = bodies[b]["mass"]
            at += 1
        J = bodies[b]["J"]
        if bodies[b]["kind"] == lay.PLANAR:
            out[at] = J[8]
            at += 1
        elif bodies[b]["kind"] == lay.RIGID:
            if J[1] == 0.0 and J[2] == 0.0 and J[5] == 0.0:
                out[at], out[at + 1], out[at + 2] = J[0], J[4], J[8]
                at += 3
            else:
                for k in range(9):
                    out[at + k] = J[k]
                at += 9
