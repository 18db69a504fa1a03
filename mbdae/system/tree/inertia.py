"""The mass matrix in joint coordinates and its factors, in operations that grow linearly with the number of bodies; it is never formed.

`M` is the composite inertia matrix [Negrut, eq. (3.148)]. With the articulated inertia `I_A` of each body and the part of the tree behind
it, `M^-1 = L^T L` where `L` goes from the leaves to the root and `L^T` back [Featherstone; Rodriguez, Jain and Kreutz]. For a velocity with
the direction `b`, `U = I_A b`, `D = b . U`, the wrench `p` of the part behind it:

    y = (x - b . p) / sqrt(D),    p += U y / sqrt(D),    I_A -= U U^T / D

and back, with the acceleration `a` of the body before it: `x = (y - U . a / sqrt(D)) / sqrt(D)`, `a += b x`. Complex numbers are not
conjugated, so all of this serves the complex step. Motions and wrenches of a body are at its centre of mass in global axes.
"""

from typing import NamedTuple

import numpy as np

from ...compilation.compiled import compiled
from .. import layout as lay
from ..layout import BODY, BODY_T, NB, NV, frames, header, table
from ..vec3 import add, cross, dot, scale, vec
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
from .spatial_inertia import less_product, load, of_body, plus, shifted, store, times


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
        for k in range(3):
            F[n, k] = bodies[n, k]
        store(of_body(bodies[n, MASS], bodies[n, MOMENTS:]), F[n, ARTICULATED:])
    for n in range(nb - 1, -1, -1):
        joint, I = tree[n], load(F[n, ARTICULATED:])
        # velocities of the joint, the last one first
        for v in range(joint["v"] + joint["n"] - 1, joint["v"] - 1, -1):
            I = without(I, B[v], S[v])
        if joint["above"] >= 0:
            before = F[joint["above"], ARTICULATED:]
            store(plus(load(before), shifted(I, vec(F[n]))), before)


@compiled
def without(I, direction, out):
    """`I - U U^T / D`, the inertia that is left where a velocity is free; its direction, gains `U / sqrt(D)` and `1 / sqrt(D)` in `out`."""
    a, b = vec(direction), vec(direction[3:])
    x, y = times(I, a, b)
    inverse = 1.0 / (dot(a, x) + dot(b, y))
    left = less_product(I, scale(inverse, x), scale(inverse, y), x, y)  # before the square root, which takes as long as the rest
    root = np.sqrt(inverse)
    x, y = scale(root, x), scale(root, y)
    out[0], out[1], out[2], out[3], out[4], out[5] = a[0], a[1], a[2], b[0], b[1], b[2]
    out[GAINS], out[GAINS + 1], out[GAINS + 2], out[GAINS + 3], out[GAINS + 4], out[GAINS + 5] = x[0], x[1], x[2], y[0], y[1], y[2]
    out[ROOT] = root
    return left


@compiled
def half_solve(L, x, model, out):
    """`out = L x`, from the leaves to the root; `out` may be `x`."""
    tree, nb, nv = joints(model), header(model)[NB], header(model)[NV]
    F, S = factors(L, nb), factor_axes(L, nb, nv)
    for n in range(nb):
        for k in range(LOAD, LOAD + 6):
            F[n, k] = 0.0
    for n in range(nb - 1, -1, -1):
        joint, p = tree[n], load_of(F[n])
        for v in range(joint["v"] + joint["n"] - 1, joint["v"] - 1, -1):
            out[v], p = _reduced(S[v], x[v], p)
        if joint["above"] >= 0:
            add_load(F[n], p, F[joint["above"]])


class Pair(NamedTuple):
    """A wrench, or an acceleration: of the centre of mass, and of the rotation."""

    linear: tuple[float, float, float]
    angular: tuple[float, float, float]


@compiled
def load_of(A):
    """What a row of the factors holds from `LOAD` on."""
    return Pair(vec(A[LOAD:]), vec(A[LOAD + 3:]))


@compiled
def _reduced(b, x, p):
    """`y = (x - b . p) / sqrt(D)` and `p + U y / sqrt(D)` for the wrench `p`."""
    y = b[ROOT] * (x - dot(vec(b), p.linear) - dot(vec(b[3:]), p.angular))
    return y, Pair(add(p.linear, scale(y, vec(b[GAINS:]))), add(p.angular, scale(y, vec(b[GAINS + 3:]))))


@compiled
def add_load(A, p, to):
    """Add the wrench `p` to that of the body before, whose centre of mass is at `-rho`."""
    moment = add(p.angular, cross(vec(A), p.linear))
    for k in range(3):
        to[LOAD + k] += p.linear[k]
        to[LOAD + 3 + k] += moment[k]


@compiled
def half_solve_transposed(L, y, model, out):
    """`out = L^T y`, from the root to the leaves; `out` may be `y`."""
    tree, nb, nv = joints(model), header(model)[NB], header(model)[NV]
    F, S = factors(L, nb), factor_axes(L, nb, nv)
    zero = 0.0 * L[0]
    for n in range(nb):
        joint, up = tree[n], tree[n]["above"]
        a, alpha = (zero, zero, zero), (zero, zero, zero)
        if up >= 0:
            alpha = vec(F[up, LOAD + 3:])
            a = add(vec(F[up, LOAD:]), cross(alpha, vec(F[n])))
        for v in range(joint["v"], joint["v"] + joint["n"]):
            b = S[v]
            s = b[ROOT] * (y[v] - dot(vec(b[GAINS:]), a) - dot(vec(b[GAINS + 3:]), alpha))
            a, alpha = add(a, scale(s, vec(b))), add(alpha, scale(s, vec(b[3:])))
            out[v] = s
        for k in range(3):
            F[n, LOAD + k], F[n, LOAD + 3 + k] = a[k], alpha[k]


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
            joint, p = tree[n], load_of(F[n])
            for k in range(joint["n"] - 1, -1, -1):
                W[at + k], p = _reduced(S[joint["v"] + k], G[at + k], p)
            if joint["above"] >= 0:
                add_load(F[n], p, F[joint["above"]])
