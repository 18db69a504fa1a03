"""Accelerations of a tree without constraints by the articulated-body algorithm [Featherstone], in one pass to the root and one back.

The pass to the root is that of `inertia.factor` and of `inertia.half_solve` at once: the wrench `r` of a body and the part of the tree
behind it, of the applied forces less those of inertia, goes to the root with the articulated inertia,

    y = b . r / sqrt(D),    r -= U y / sqrt(D),    I_A -= U U^T / D

so that the operations of one need not wait for those of the other. The mass matrix and its factors are there afterwards.
"""

from ...compilation.compiled import compiled
from .. import layout as lay
from ..layout import BODY_T, NB, NV, frames, header, part, table
from ..vec3 import dot, scale, sub, vec
from .equations import effective
from .inertia import Pair, add_load, half_solve_transposed, load_of, mass, without
from .layout import ARTICULATED, GAINS, LOAD, MASS, MOMENTS, ROOT, axes, factor_axes, factors, inertias, joints, kinematics, wrenches
from .spatial_inertia import load, of_body, plus, shifted, store


@compiled
def accelerations(model, work, out):
    """Accelerations of the joint coordinates at the placed state, for the Cartesian forces in `wrenches`."""
    tree, nb, nv = joints(model), header(model)[NB], header(model)[NV]
    M, L, B = part(model, work, lay.W_MASS), part(model, work, lay.W_MINV), axes(model, work)
    F, S = factors(L, nb), factor_axes(L, nb, nv)
    mass(model, work, M)
    L[0], L[1] = M[0], M[1]
    _bodies(model, work, inertias(M, nb), F)
    for n in range(nb - 1, -1, -1):
        joint, I, r = tree[n], load(F[n, ARTICULATED:]), load_of(F[n])
        # velocities of the joint, the last one first
        for v in range(joint["v"] + joint["n"] - 1, joint["v"] - 1, -1):
            I = without(I, B[v], S[v])
            out[v], r = _freed(S[v], r)
        if joint["above"] >= 0:
            before = F[joint["above"], ARTICULATED:]
            store(plus(load(before), shifted(I, vec(F[n]))), before)
            add_load(F[n], r, F[joint["above"]])
    half_solve_transposed(L, out, model, out)


@compiled
def _freed(b, r):
    """`y = b . r / sqrt(D)` and `r - U y / sqrt(D)`, for the row of a velocity in the factors."""
    y = b[ROOT] * (dot(vec(b), r.linear) + dot(vec(b[3:]), r.angular))
    return y, Pair(sub(r.linear, scale(y, vec(b[GAINS:]))), sub(r.angular, scale(y, vec(b[GAINS + 3:]))))


@compiled
def _bodies(model, work, I, F):
    """The inertia of each body at its centre of mass, and its wrench."""
    tree, bodies, X, Q = joints(model), table(model, lay.BODY, BODY_T), frames(model, work), wrenches(model, work)
    kin = kinematics(model, work)
    for n in range(tree.shape[0]):
        b = tree[n]["body"]
        store(of_body(I[n, MASS], I[n, MOMENTS:]), F[n, ARTICULATED:])
        wrench = effective(Q, bodies[b], X, b, kin[n])
        for k in range(3):
            F[n, k] = I[n, k]
            F[n, LOAD + k], F[n, LOAD + 3 + k] = wrench.linear[k], wrench.angular[k]
