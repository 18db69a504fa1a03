"""The evaluations of a system, one kernel each, for every kind of system. Integrators and formulations call these and no others.

Arrays are real or complex (all of one kind in a call). `place` and `place_velocity` come first: the other kernels read the placed
state from `work`. `G` denotes the values of `Phi_q` in the fixed sparse pattern of the system, row by row.
"""

from ..compilation.compiled import compiled, window
from . import extra, frames, multibody, user
from . import layout as lay
from .layout import count, header, part
from .out_of_line import out_of_line
from .tree import call
from .tree.layout import gradients, positions, prescribed, wrenches
from .vectors import fill, put


@out_of_line(lay.PLACE, "txmw")
def place(t, q, model, work):
    """Make `q` the current position. The time matters where joints of a tree move as prescribed."""
    if header(model)[lay.KIND] == lay.MULTIBODY:
        frames.place(q, model, work)
    elif header(model)[lay.KIND] == lay.TREE:
        call.evaluate(call.PLACE, t, q, model, work)


@out_of_line(lay.PLACE_VELOCITY, "xmw")
def place_velocity(v, model, work):
    """Make `v` the current velocity."""
    if header(model)[lay.KIND] == lay.MULTIBODY:
        frames.place_velocity(v, model, work)
    elif header(model)[lay.KIND] == lay.TREE:
        call.evaluate(call.PLACE_VELOCITY, 0.0, v, model, work)


@out_of_line(lay.EVALUATE_PHI, "txmwx")
def phi(t, q, model, work, out):
    """`Phi(t, q)`."""
    if header(model)[lay.KIND] != lay.USER:
        x = cartesian(q, model, work)
        multibody.phi(t, x, model, work, out)
        if count(model, lay.EXTRA_CONSTRAINT):
            extra.constraints(lay.PHI, t, x, model, work, out)
    else:
        user.evaluate(lay.PHI, t, q, q, q, model, out)


@out_of_line(lay.EVALUATE_PHI_Q, "txmwx")
def phi_q(t, q, model, work, G):
    """Values of `Phi_q`, with respect to the velocity coordinates."""
    if header(model)[lay.KIND] == lay.MULTIBODY:
        _cartesian_phi_q(t, q, model, work, G)
    elif header(model)[lay.KIND] == lay.TREE:
        if G.shape[0]:
            _cartesian_phi_q(t, q, model, work, gradients(model, work))
            call.evaluate(call.PHI_Q, t, G, model, work)
    else:
        user.evaluate(lay.PHI_Q, t, q, q, q, model, G)


@out_of_line(lay.EVALUATE_NU, "txmwx")
def nu(t, q, model, work, out):
    """`nu = -Phi_t`: the velocity equation is `Phi_q v = nu`."""
    if header(model)[lay.KIND] != lay.USER:
        multibody.nu(t, model, work, out)
        if count(model, lay.EXTRA_CONSTRAINT):
            extra.constraints(lay.NU, t, cartesian(q, model, work), model, work, out)
        if header(model)[lay.KIND] == lay.TREE and prescribed(model):
            _cartesian_phi_q(t, q, model, work, gradients(model, work))
            call.evaluate(call.NU, t, out, model, work)
    else:
        user.evaluate(lay.NU, t, q, q, q, model, out)


@out_of_line(lay.EVALUATE_GAMMA, "txxmwx")
def gamma(t, q, v, model, work, out):
    """Right-hand side of the acceleration equation `Phi_q a = gamma`."""
    if header(model)[lay.KIND] != lay.USER:
        multibody.gamma(t, model, work, out)
        if count(model, lay.EXTRA_CONSTRAINT):
            extra.constraints(lay.GAMMA, t, cartesian(q, model, work), model, work, out)
        if header(model)[lay.KIND] == lay.TREE and out.shape[0]:
            _cartesian_phi_q(t, q, model, work, gradients(model, work))
            call.evaluate(call.GAMMA, t, out, model, work)
    else:
        user.evaluate(lay.GAMMA, t, q, v, q, model, out)


@compiled
def force(t, q, v, lam, model, work, out):
    """`Q(t, q, v, lam)`; `lam` matters only where forces depend on it, as friction does."""
    if header(model)[lay.KIND] == lay.TREE:
        wrenches_of_bodies(t, lam, model, work)
        call.evaluate(call.FORCE, t, out, model, work)
    else:
        _force(t, q, v, lam, model, work, out)


@compiled
def wrenches_of_bodies(t, lam, model, work):
    """The forces of a system in joint coordinates by the Cartesian velocity coordinates, see `tree.layout.wrenches`."""
    x = positions(model, work)
    _force(t, x, x, lam, model, work, wrenches(model, work))


@out_of_line(lay.EVALUATE_FORCE, "txxxmwx")
def _force(t, q, v, lam, model, work, out):
    """`Q(t, q, v, lam)` of a user's system; that of the bodies in Cartesian coordinates."""
    if header(model)[lay.KIND] == lay.USER:
        user.evaluate(lay.FORCE, t, q, v, lam, model, out)
    else:
        multibody.force(t, q, lam, model, work, out)
        if count(model, lay.EXTRA_FORCE):
            extra.forces(lay.FORCE, t, q, model, work, out)


@compiled
def cartesian(q, model, work):
    """The Cartesian coordinates of the placed state: `q` itself, unless it consists of joint coordinates."""
    if header(model)[lay.KIND] == lay.TREE:
        return positions(model, work)
    return window(q, 0, q.shape[0])


@compiled
def _cartesian_phi_q(t, q, model, work, G):
    multibody.phi_q(t, model, work, G)
    if count(model, lay.EXTRA_CONSTRAINT):
        extra.constraints(lay.PHI_Q, t, cartesian(q, model, work), model, work, G)


@compiled
def mass(t, q, model, work):
    """The mass matrix into `work`, see `mass_values`. It is constant in Cartesian coordinates and set once by `prepare`."""
    if header(model)[lay.KIND] == lay.USER:
        user.evaluate(lay.MASS, t, q, q, q, model, mass_values(model, work))
    elif header(model)[lay.KIND] == lay.TREE:
        call.evaluate(call.MASS, t, mass_values(model, work), model, work)


@compiled
def prepare(model, work):
    """Evaluate what is constant: the mass blocks of multibody systems."""
    if header(model)[lay.KIND] == lay.MULTIBODY:
        multibody.mass(model, mass_values(model, work))


@compiled
def mass_values(model, work):
    """The mass matrix in `work`: its blocks, or what it consists of in joint coordinates (see `tree.inertia`)."""
    return part(model, work, lay.W_MASS)


@compiled
def mass_entries(model, work, out):
    """The entries of the mass matrix, block by block; in joint coordinates it is one block."""
    M = mass_values(model, work)
    if header(model)[lay.KIND] == lay.TREE:
        n = header(model)[lay.NV]
        for k in range(n):
            column = window(out, n * k, n)
            fill(column, 0.0)
            column[k] = 1.0
            call.apply(call.MASS_TIMES, M, column, column, model)
    else:
        put(M, out)


@compiled
def qdot(t, q, v, model, out):
    """`T(q) v`."""
    if header(model)[lay.IDENTITY_MAP]:
        for k in range(v.shape[0]):
            out[k] = v[k]
    elif header(model)[lay.KIND] != lay.USER:
        frames.qdot(q, v, model, out)
    else:
        user.evaluate(lay.QDOT, t, q, v, q, model, out)


@compiled
def retract(q, d, model, out):
    """`q (+) d`."""
    if header(model)[lay.IDENTITY_MAP]:
        for k in range(q.shape[0]):
            out[k] = q[k] + d[k]
    elif header(model)[lay.KIND] != lay.USER:
        frames.retract(q, d, model, out)
    else:
        user.evaluate(lay.RETRACT, 0.0, q, d, q, model, out)


@compiled
def difference(q, q0, model, out):
    """`q (-) q0`: the `d` with `q0 (+) d = q`."""
    if header(model)[lay.IDENTITY_MAP]:
        for k in range(q.shape[0]):
            out[k] = q[k] - q0[k]
    elif header(model)[lay.KIND] != lay.USER:
        frames.difference(q, q0, model, out)
    else:
        user.evaluate(lay.DIFFERENCE, 0.0, q, q0, q, model, out)
