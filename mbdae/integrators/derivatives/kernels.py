"""The evaluation of `F_y` by the complex step and of `F_yd` from the mass matrix."""

from ...compilation.compiled import compiled, window
from ...system import kernels
from ...system import layout as lay
from ...system.layout import part
from ...system.vectors import fill


@compiled
def evaluate(t, y, yd, q, d, model, work):
    """`F_y` and `F_yd` at `(t, y, yd)`, with the positions `q` of `y`, into the `FormDerivatives` `d`."""
    d.derive(t, y, yd, (1.0, 0.0), d.sweep, d.scratch, d.state, d.arguments)
    # identity, mass matrix, Phi_q
    kernels.place(t, q, model, work)
    kernels.mass(t, q, model, work)
    kernels.mass_entries(model, work, window(d.pieces, 1, d.masses))
    entries = d.pieces.shape[0] - 1 - d.masses
    if entries > 0:
        G = part(model, work, lay.W_G)
        kernels.phi_q(t, q, model, work, G)
        for k in range(entries):
            d.pieces[1 + d.masses + k] = G[k]
    fill(d.rates, 0.0)
    for k in range(d.places.shape[0]):
        if d.signs[k] != 0.0:
            d.rates[d.places[k]] = d.signs[k] * d.pieces[d.sources[k]]
