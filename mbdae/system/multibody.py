"""Fused kernels of multibody systems: every kind of element in turn, none for nothing. The state must have been placed (see `frames`).

The loops over the kinds are written out from the lists `elements.kinds` and `loads.kinds` when this module is imported, because compiled
code must know each kernel by name. `SOURCE` is the text; for the second kind of constraints, say, it reads

    if count(model, 72):
        records = table(model, 72, dtype_1)
        for k in range(records.shape[0]):
            phi_1(records[k], at, out)
"""


import numpy as np
from numba.core import config

from ..compilation.compiled import compiled
from . import extra
from . import layout as lay
from .elements.kinds import KINDS as CONSTRAINT_KINDS
from .layout import BODY_T, FRICTION_T, count, table
from .loads import friction, gravity
from .loads.kinds import KINDS as FORCE_KINDS
from .placed import placed, placed_bodies
from .sparse import fill
from .vec3 import vec

# what the fused kernels call beside the kernels of the kinds
_NAMES = {"np": np, "lay": lay, "extra": extra, "gravity": gravity, "friction": friction, "FRICTION_T": FRICTION_T, "count": count,
          "table": table, "placed": placed, "placed_bodies": placed_bodies, "fill": fill, "vec": vec}
_HEADS = {
    "phi": ("def phi(t, q, model, work, out):\n    at = placed(t, q, model, work)",
            "    if count(model, lay.EXTRA_CONSTRAINT):\n        extra.constraints(lay.PHI, t, q, model, work, out)"),
    "phi_q": ("def phi_q(t, q, model, work, G):\n    at = placed(t, q, model, work)",
              "    if count(model, lay.EXTRA_CONSTRAINT):\n        extra.constraints(lay.PHI_Q, t, q, model, work, G)"),
    "nu": ("def nu(t, q, model, work, out):\n    at = placed(t, q, model, work)\n    fill(out, 0.0)",
           "    if count(model, lay.EXTRA_CONSTRAINT):\n        extra.constraints(lay.NU, t, q, model, work, out)"),
    "gamma": ("def gamma(t, q, model, work, out):\n    at = placed(t, q, model, work)",
              "    if count(model, lay.EXTRA_CONSTRAINT):\n        extra.constraints(lay.GAMMA, t, q, model, work, out)"),
    "force": ("def force(t, q, lam, model, work, out):\n    at = placed_bodies(t, q, model, work)\n    fill(out, 0.0)\n"
              "    gravity.forces(at, vec(table(model, lay.GRAVITY, np.float64)), out)",
              "    if count(model, lay.EXTRA_FORCE):\n        extra.forces(lay.FORCE, t, q, model, work, out)\n"
              "    if count(model, lay.FRICTION):\n        friction.forces(table(model, lay.FRICTION, FRICTION_T), at, lam, out)"),
    "energy": ("def energy(t, q, model, work):\n    at = placed_bodies(t, q, model, work)\n    total = 0.0",
               "    if count(model, lay.EXTRA_FORCE):\n        total += extra.energy(t, q, model, work)\n    return total"),
}
_CALL = """\
    if count(model, {slot}):
        records_{n} = table(model, {slot}, dtype_{n})
        for k in range(records_{n}.shape[0]):
            {name}_{n}(records_{n}[k], at, {out})"""
_SUM = """\
    if count(model, {slot}):
        records_{n}, sum_{n} = table(model, {slot}, dtype_{n}), 0.0
        for k in range(records_{n}.shape[0]):
            sum_{n} += {name}_{n}(records_{n}[k], at)
        total += sum_{n}"""


def _source(name, kinds, first_slot, out):
    """The text of one fused kernel."""
    head, tail = _HEADS[name]
    call = _SUM if name == "energy" else _CALL
    calls = [call.format(n=n, name=name, out=out, slot=first_slot + 2 * n) for n, kind in enumerate(kinds) if name in kind.kernels()]
    return "\n".join([head, *calls, tail]) + "\n"


def _fused(name, kinds, first_slot, out="out"):
    """One fused kernel, compiled; its text counts as part of this file, whose stamp follows the files of all kinds."""
    names = {"__name__": __name__, **_NAMES}
    for n, kind in enumerate(kinds):
        names[f"dtype_{n}"] = kind.dtype
        names |= {f"{kernel}_{n}": function for kernel, function in kind.kernels().items()}
    exec(compile(_source(name, kinds, first_slot, out), f"<{name}>" if config.DISABLE_JIT else __file__, "exec"), names)
    return compiled(names[name])


if len(CONSTRAINT_KINDS) > lay.MOST_CONSTRAINTS or len(FORCE_KINDS) > lay.MOST_FORCES:
    raise ImportError(f"mbdae.system.layout has room for {lay.MOST_CONSTRAINTS} kinds of constraints and {lay.MOST_FORCES} of forces; "
                      f"{len(CONSTRAINT_KINDS)} and {len(FORCE_KINDS)} are listed")

phi = _fused("phi", CONSTRAINT_KINDS, lay.CONSTRAINTS)
phi_q = _fused("phi_q", CONSTRAINT_KINDS, lay.CONSTRAINTS, "G")
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
