"""Andrews' mechanism in Cartesian coordinates, GGL form, written by hand with numba: what the residual of the problem is compared with."""

import numpy as np
from numba import njit

from mbdae import TSDA


def residual_of(mechanism):
    """`residual(t, y, yd, out)` for a mechanism of planar bodies, revolute joints, one spring and one torque; data frozen in."""
    names = {b.name: k for k, b in enumerate(mechanism.bodies)} | {"ground": -1}
    n, nc = len(mechanism.bodies), 2 * len(mechanism.joints)
    mass = np.array([[b.mass, b.mass, b.inertia] for b in mechanism.bodies]).ravel()
    ends = np.array([(names[j.i], names[j.j]) for j in mechanism.joints])
    points = np.array([(*j.s_i, *j.s_j) for j in mechanism.joints])
    spring = next(f for f in mechanism.forces if isinstance(f, TSDA))
    motor = next(f for f in mechanism.forces if not isinstance(f, TSDA))
    (cx, cy), (dx, dy), on = spring.s_i[:2], spring.s_j[:2], 3 * names[spring.j]
    k, l0, torque, driven = spring.k, spring.l0, motor.torque[2].value, 3 * names[motor.body] + 2
    nv = 3 * n

    @njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz", "arcp"})
    def residual(t, y, yd, out):
        for b in range(nv):
            out[b] = yd[b] - y[nv + b]
            out[nv + b] = mass[b] * yd[nv + b]
        for j in range(nc // 2):
            row = 2 * nv + 2 * j
            px = py = vx = vy = 0.0
            lx, ly = y[row], y[row + 1]
            mx, my = y[row + nc], y[row + nc + 1]
            for end in range(2):
                b = ends[j, end]
                sx, sy = points[j, 2 * end], points[j, 2 * end + 1]
                sign = 2.0 * end - 1.0
                if b < 0:
                    px += sign * sx
                    py += sign * sy
                    continue
                q, v = 3 * b, nv + 3 * b
                c, s = np.cos(y[q + 2]), np.sin(y[q + 2])
                rx, ry = c * sx - s * sy, s * sx + c * sy
                px += sign * (y[q] + rx)
                py += sign * (y[q + 1] + ry)
                vx += sign * (y[v] - ry * y[v + 2])
                vy += sign * (y[v + 1] + rx * y[v + 2])
                out[v] += sign * lx
                out[v + 1] += sign * ly
                out[v + 2] += sign * (rx * ly - ry * lx)
                out[q] += sign * mx
                out[q + 1] += sign * my
                out[q + 2] += sign * (rx * my - ry * mx)
            out[row], out[row + 1] = vx, vy
            out[row + nc], out[row + nc + 1] = px, py
        c, s = np.cos(y[on + 2]), np.sin(y[on + 2])
        rx, ry = c * dx - s * dy, s * dx + c * dy
        ex, ey = y[on] + rx - cx, y[on + 1] + ry - cy
        length = np.sqrt(ex * ex + ey * ey)
        f = k * (length - l0) / length
        out[nv + on] += f * ex
        out[nv + on + 1] += f * ey
        out[nv + on + 2] += f * (rx * ey - ry * ex)
        out[nv + driven] -= torque

    return residual
