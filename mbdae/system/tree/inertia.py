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
from ..vec3 import cross, vec
from .layout import AXIS, PLACE_T, ROW_T, axes, factor_axes, factors, inertia_axes, inertias, joints, kinematics


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
        into[n, 3] = bodies[b]["mass"]
        _turned(X, b, bodies[b]["J"], into[n])
    for v in range(nv):
        for k in range(AXIS):
            to[v, k] = B[v, k]


@compiled
def _turned(X, b, J, out):
    """`A J A^T` as `xx, yy, zz, xy, xz, yz` from entry 4 on."""
    for k in range(6):
        i, j = (0, 1, 2, 0, 0, 1)[k], (0, 1, 2, 1, 2, 2)[k]
        s = 0.0 * X[b, 3]
        for l in range(3):
            for m in range(3):
                s += X[b, 3 + 3 * i + l] * J[3 * l + m] * X[b, 3 + 3 * j + m]
        out[4 + k] = s


@compiled
def mass_times(M, x, model, out):
    """`out = M x` by accelerations from the root to the leaves and forces back [Luh, Walker and Paul]."""
    tree, nb, nv = joints(model), header(model)[NB], header(model)[NV]
    bodies, B = inertias(M, nb), inertia_axes(M, nb, nv)
    # accelerations, then the wrenches of the bodies in their place
    for n in range(nb):
        joint, I, up = tree[n], bodies[n], tree[n]["above"]
        for k in range(6):
            I[10 + k] = bodies[up, 10 + k] if up >= 0 else 0.0 * M[0]
        _shift_motion(I, 10)
        for v in range(joint["v"], joint["v"] + joint["n"]):
            for k in range(6):
                I[10 + k] += B[v, k] * x[v]
    for n in range(nb):
        I = bodies[n]
        a, b, c = I[13], I[14], I[15]
        for k in range(10, 13):
            I[k] *= I[3]
        I[13], I[14], I[15] = I[4] * a + I[7] * b + I[8] * c, I[7] * a + I[5] * b + I[9] * c, I[8] * a + I[9] * b + I[6] * c
    # forces
    for n in range(nb - 1, -1, -1):
        joint, I = tree[n], bodies[n]
        for v in range(joint["v"], joint["v"] + joint["n"]):
            s = 0.0 * M[0]
            for k in range(6):
                s += B[v, k] * I[10 + k]
            out[v] = s
        if joint["above"] >= 0:
            add_wrench(I, 10, bodies[joint["above"]], 10)


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
                    U += A[3 + 6 * k + m] * b[m]
                b[6 + k] = U
                D += b[k] * U
            root = 1.0 / np.sqrt(D)
            for k in range(6):
                b[6 + k] *= root
            b[12] = root
            for k in range(6):
                for m in range(6):
                    A[3 + 6 * k + m] -= b[6 + k] * b[6 + m]
        if joint["above"] >= 0:
            _add_inertia(A, F[joint["above"]])


@compiled
def _start(I, A):
    """The inertia of a body alone, `[m 1, 0; 0, J]`."""
    for k in range(3):
        A[k] = I[k]
    for k in range(3, 39):
        A[k] = 0.0
    A[3] = A[10] = A[17] = I[3]
    A[24], A[31], A[38] = I[4], I[5], I[6]
    A[25] = A[30] = I[7]
    A[26] = A[36] = I[8]
    A[32] = A[37] = I[9]


@compiled
def _add_inertia(A, to):
    """Add `X^T I_A X` to the inertia of the body before; `X` is the shift of its motion to this body. `A` is overwritten."""
    rho = vec(A)
    # I_A X: the columns of the rotation gain (a e_k x rho) of those of the translation
    for i in range(6):
        at = 3 + 6 * i
        d = cross(rho, (A[at], A[at + 1], A[at + 2]))
        for k in range(3):
            A[at + 3 + k] += d[k]
    # X^T of it
    for j in range(6):
        d = cross(rho, (A[3 + j], A[9 + j], A[15 + j]))
        for k in range(3):
            A[3 + 6 * (3 + k) + j] += d[k]
    for k in range(3, 39):
        to[k] += A[k]


@compiled
def half_solve(L, x, model, out):
    """`out = L x`, from the leaves to the root; `out` may be `x`."""
    tree, nb, nv = joints(model), header(model)[NB], header(model)[NV]
    F, S = factors(L, nb), factor_axes(L, nb, nv)
    for n in range(nb):
        for k in range(39, 45):
            F[n, k] = 0.0
    for n in range(nb - 1, -1, -1):
        joint, A = tree[n], F[n]
        for v in range(joint["v"] + joint["n"] - 1, joint["v"] - 1, -1):
            out[v] = _reduce(S[v], x[v], A, 39)
        if joint["above"] >= 0:
            add_wrench(A, 39, F[joint["above"]], 39)


@compiled
def _reduce(b, x, A, k):
    """`y = (x - b . p) / sqrt(D)`, `p += U y / sqrt(D)` for the wrench `p` in the entries of `A` from `k` on."""
    for m in range(6):
        x -= b[m] * A[k + m]
    y = x * b[12]
    for m in range(6):
        A[k + m] += b[6 + m] * y
    return y


@compiled
def half_solve_transposed(L, y, model, out):
    """`out = L^T y`, from the root to the leaves; `out` may be `y`."""
    tree, nb, nv = joints(model), header(model)[NB], header(model)[NV]
    F, S = factors(L, nb), factor_axes(L, nb, nv)
    for n in range(nb):
        joint, A, up = tree[n], F[n], tree[n]["above"]
        for k in range(6):
            A[39 + k] = F[up, 39 + k] if up >= 0 else 0.0 * L[0]
        _shift_motion(A, 39)
        for v in range(joint["v"], joint["v"] + joint["n"]):
            b, s = S[v], y[v]
            for k in range(6):
                s -= b[6 + k] * A[39 + k]
            s *= b[12]
            for k in range(6):
                A[39 + k] += b[k] * s
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
            for k in range(39, 45):
                F[path[i]["joint"], k] = 0.0
        for i in range(first, last):
            n, at = path[i]["joint"], path[i]["at"]
            joint, A = tree[n], F[n]
            for k in range(joint["n"] - 1, -1, -1):
                W[at + k] = _reduce(S[joint["v"] + k], G[at + k], A, 39)
            if joint["above"] >= 0:
                add_wrench(A, 39, F[joint["above"]], 39)
