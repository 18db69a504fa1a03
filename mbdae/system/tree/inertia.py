"""The mass matrix in joint coordinates and its factors, in operations that grow linearly with the number of bodies; it is never formed.

`M` is the composite inertia matrix [Negrut, eq. (3.148)]. With the articulated inertia `I_A` of each body and the part of the tree behind
it, `M^-1 = L^T L` where `L` goes from the leaves to the root and `L^T` back [Featherstone; Rodriguez, Jain and Kreutz]. For a velocity with
the direction `b`, `U = I_A b`, `D = b . U`, the wrench `p` of the part behind it:

    y = (x - b . p) / sqrt(D),    p += U y / sqrt(D),    I_A -= U U^T / D

and back, with the acceleration `a` of the body before it: `x = (y - U . a / sqrt(D)) / sqrt(D)`, `a += b x`. Complex numbers are not
conjugated, so all of this serves the complex step. Motions and wrenches of a body are at its centre of mass in global axes.
"""

import numpy as np

from ...compilation.compiled import compiled
from .. import layout as lay
from ..layout import BODY, BODY_T, NB, NV, frames, header, table
from ..vec3 import cross, dot, vec
from .layout import (
    ARTICULATED,
    AXIS,
    GAINS,
    LOAD,
    MASS,
    MOMENTS,
    MOTION,
    PLACE_T,
    ROOT,
    ROW_T,
    axes,
    factor_axes,
    factors,
    inertia_axes,
    inertias,
    joints,
    kinematics,
)


@compiled
def mass(model, work, M):
    """What the mass matrix consists of at the placed state."""
    tree, bodies, X = joints(model), table(model, BODY, BODY_T), frames(model, work)
    nb, nv = header(model)[NB], header(model)[NV]
    kin, B, into, to = kinematics(model, work), axes(model, work), inertias(M, nb), inertia_axes(M, nb, nv)
    M[0] = 1.0
    for n in range(nb):
        b = tree[n]["body"]
        for k in range(3):
            into[n, k] = kin[n, k]
        into[n, MASS] = bodies[b]["mass"]
        _turned(X, b, bodies[b]["J"], into[n])
    for v in range(nv):
        for k in range(AXIS):
            to[v, k] = B[v, k]


@compiled
def _turned(X, b, J, out):
    """`A J A^T` as `xx, yy, zz, xy, xz, yz` from entry `MOMENTS` on."""
    x, y, z = (J[0], J[1], J[2]), (J[3], J[4], J[5]), (J[6], J[7], J[8])
    f, g, h = vec(X[b, 3:]), vec(X[b, 6:]), vec(X[b, 9:])  # rows of A
    Jf, Jg, Jh = (dot(x, f), dot(y, f), dot(z, f)), (dot(x, g), dot(y, g), dot(z, g)), (dot(x, h), dot(y, h), dot(z, h))
    out[MOMENTS], out[MOMENTS + 1], out[MOMENTS + 2] = dot(f, Jf), dot(g, Jg), dot(h, Jh)
    out[MOMENTS + 3], out[MOMENTS + 4], out[MOMENTS + 5] = dot(f, Jg), dot(f, Jh), dot(g, Jh)


@compiled
def mass_times(M, x, model, out):
    """`out = M x` by accelerations from the root to the leaves and forces back [Luh, Walker and Paul]."""
    tree, nb, nv = joints(model), header(model)[NB], header(model)[NV]
    bodies, B = inertias(M, nb), inertia_axes(M, nb, nv)
    # accelerations, then the wrenches of the bodies in their place
    for n in range(nb):
        joint, I, up = tree[n], bodies[n], tree[n]["above"]
        for k in range(6):
            I[MOTION + k] = bodies[up, MOTION + k] if up >= 0 else 0.0 * M[0]
        _shift_motion(I, MOTION)
        for v in range(joint["v"], joint["v"] + joint["n"]):
            for k in range(6):
                I[MOTION + k] += B[v, k] * x[v]
    for n in range(nb):
        I = bodies[n]
        a, b, c = I[MOTION + 3], I[MOTION + 4], I[MOTION + 5]
        xx, yy, zz, xy, xz, yz = I[MOMENTS], I[MOMENTS + 1], I[MOMENTS + 2], I[MOMENTS + 3], I[MOMENTS + 4], I[MOMENTS + 5]
        for k in range(MOTION, MOTION + 3):
            I[k] *= I[MASS]
        I[MOTION + 3], I[MOTION + 4], I[MOTION + 5] = xx * a + xy * b + xz * c, xy * a + yy * b + yz * c, xz * a + yz * b + zz * c
    # forces
    for n in range(nb - 1, -1, -1):
        joint, I = tree[n], bodies[n]
        for v in range(joint["v"], joint["v"] + joint["n"]):
            s = 0.0 * M[0]
            for k in range(6):
                s += B[v, k] * I[MOTION + k]
            out[v] = s
        if joint["above"] >= 0:
            add_wrench(I, MOTION, bodies[joint["above"]], MOTION)


@compiled
def _shift_motion(at, k):
    """The motion in the entries from `k` on to the centre of mass at `rho`, which the first three entries hold: `a += alpha x rho`."""
    d = cross(vec(at[k + 3:]), vec(at))
    at[k], at[k + 1], at[k + 2] = at[k] + d[0], at[k + 1] + d[1], at[k + 2] + d[2]


@compiled
def add_wrench(at, k, to, m):
    """Add the wrench in the entries from `k` on to that of the body before, whose centre of mass is at `-rho`."""
    d = cross(vec(at), vec(at[k:]))
    for i in range(3):
        to[m + i] += at[k + i]
        to[m + 3 + i] += at[k + 3 + i] + d[i]


@compiled
def factor(M, model, L):
    """Articulated inertias, from the leaves to the root."""
    L[0], L[1] = M[0], M[1]
    tree, nb, nv = joints(model), header(model)[NB], header(model)[NV]
    bodies, B, F, S = inertias(M, nb), inertia_axes(M, nb, nv), factors(L, nb), factor_axes(L, nb, nv)
    for n in range(nb):
        _start(bodies[n], F[n])
    for n in range(nb - 1, -1, -1):
        joint, A = tree[n], F[n]
        # velocities of the joint, the last one first
        for v in range(joint["v"] + joint["n"] - 1, joint["v"] - 1, -1):
            b = S[v]
            for k in range(AXIS):
                b[k] = B[v, k]
            D = 0.0 * L[0]
            for k in range(6):
                U = 0.0 * L[0]
                for m in range(6):
                    U += A[ARTICULATED + 6 * k + m] * b[m]
                b[GAINS + k] = U
                D += b[k] * U
            root = 1.0 / np.sqrt(D)
            for k in range(6):
                b[GAINS + k] *= root
            b[ROOT] = root
            for k in range(6):
                for m in range(6):
                    A[ARTICULATED + 6 * k + m] -= b[GAINS + k] * b[GAINS + m]
        if joint["above"] >= 0:
            _add_inertia(A, F[joint["above"]])


@compiled
def _start(I, A):
    """The inertia of a body alone, `[m 1, 0; 0, J]`."""
    for k in range(3):
        A[k] = I[k]
    for k in range(ARTICULATED, LOAD):
        A[k] = 0.0
    for k in range(3):
        A[ARTICULATED + 7 * k] = I[MASS]
        A[ARTICULATED + 21 + 7 * k] = I[MOMENTS + k]
    for k in range(3):  # xy, xz, yz
        i, j = 3 + (0, 0, 1)[k], 3 + (1, 2, 2)[k]
        A[ARTICULATED + 6 * i + j] = A[ARTICULATED + 6 * j + i] = I[MOMENTS + 3 + k]


@compiled
def _add_inertia(A, to):
    """Add `X^T I_A X` to the inertia of the body before; `X` is the shift of its motion to this body. `A` is overwritten."""
    rho = vec(A)
    # I_A X: the columns of the rotation gain (a e_k x rho) of those of the translation
    for i in range(6):
        at = ARTICULATED + 6 * i
        d = cross(rho, (A[at], A[at + 1], A[at + 2]))
        for k in range(3):
            A[at + 3 + k] += d[k]
    # X^T of it
    for j in range(6):
        at = ARTICULATED + j
        d = cross(rho, (A[at], A[at + 6], A[at + 12]))
        for k in range(3):
            A[at + 18 + 6 * k] += d[k]
    for k in range(ARTICULATED, LOAD):
        to[k] += A[k]


@compiled
def half_solve(L, x, model, out):
    """`out = L x`, from the leaves to the root; `out` may be `x`."""
    tree, nb, nv = joints(model), header(model)[NB], header(model)[NV]
    F, S = factors(L, nb), factor_axes(L, nb, nv)
    for n in range(nb):
        for k in range(LOAD, LOAD + 6):
            F[n, k] = 0.0
    for n in range(nb - 1, -1, -1):
        joint, A = tree[n], F[n]
        for v in range(joint["v"] + joint["n"] - 1, joint["v"] - 1, -1):
            out[v] = _reduce(S[v], x[v], A, LOAD)
        if joint["above"] >= 0:
            add_wrench(A, LOAD, F[joint["above"]], LOAD)


@compiled
def _reduce(b, x, A, k):
    """`y = (x - b . p) / sqrt(D)`, `p += U y / sqrt(D)` for the wrench `p` in the entries of `A` from `k` on."""
    for m in range(6):
        x -= b[m] * A[k + m]
    y = x * b[ROOT]
    for m in range(6):
        A[k + m] += b[GAINS + m] * y
    return y


@compiled
def half_solve_transposed(L, y, model, out):
    """`out = L^T y`, from the root to the leaves; `out` may be `y`."""
    tree, nb, nv = joints(model), header(model)[NB], header(model)[NV]
    F, S = factors(L, nb), factor_axes(L, nb, nv)
    for n in range(nb):
        joint, A, up = tree[n], F[n], tree[n]["above"]
        for k in range(6):
            A[LOAD + k] = F[up, LOAD + k] if up >= 0 else 0.0 * L[0]
        _shift_motion(A, LOAD)
        for v in range(joint["v"], joint["v"] + joint["n"]):
            b, s = S[v], y[v]
            for k in range(6):
                s -= b[GAINS + k] * A[LOAD + k]
            s *= b[ROOT]
            for k in range(6):
                A[LOAD + k] += b[k] * s
            out[v] = s


@compiled
def scale_rows(G, L, model, W):
    """`W = Phi_q L^T`, row by row along its path: zero elsewhere [Negrut, lemma 3]."""
    tree, nb, nv = joints(model), header(model)[NB], header(model)[NV]
    F, S = factors(L, nb), factor_axes(L, nb, nv)
    rows, path = table(model, lay.TREE_ROW, ROW_T), table(model, lay.TREE_PLACE, PLACE_T)
    for r in range(rows.shape[0]):
        first, last = rows[r]["place"], rows[r]["place"] + rows[r]["places"]
        for i in range(first, last):
            for k in range(LOAD, LOAD + 6):
                F[path[i]["joint"], k] = 0.0
        for i in range(first, last):
            n, at = path[i]["joint"], path[i]["at"]
            joint, A = tree[n], F[n]
            for k in range(joint["n"] - 1, -1, -1):
                W[at + k] = _reduce(S[joint["v"] + k], G[at + k], A, LOAD)
            if joint["above"] >= 0:
                add_wrench(A, LOAD, F[joint["above"]], LOAD)
