"""Adams formulas for steps of different lengths, by modified divided differences.

With the divided differences `f[t_n, ..., t_(n-j)]` of the derivative and `psi_j(n) = t_n - t_(n-j)`

    phi_j(n) = psi_1(n) ... psi_j(n) f[t_n, ..., t_(n-j)],   phi*_j(n) = beta_j phi_j(n),   beta_j = prod_(i<=j) psi_i(n+1)/psi_i(n),

where `psi_i(n+1) = h + psi_(i-1)(n)` belongs to the step under way, the predictor and the corrector are

    p = y_n + h sum_(j<k) g_j phi*_j(n),   y_(n+1) = p + h g_k phi_k(n+1),   phi_j(n+1) = phi_(j-1)(n+1) - phi*_(j-1)(n),

with `phi_0(n+1) = f(t_(n+1), p)` in the corrector. `g_j = c_j1`, `c_0q = 1/q`, `c_jq = c_(j-1)q - h/psi_j(n+1) c_(j-1)(q+1)`.

E. Hairer, S. P. Norsett, G. Wanner, *Solving Ordinary Differential Equations I*, section III.5; L. F. Shampine, M. K. Gordon, *Computer
Solution of Ordinary Differential Equations*, 1975.
"""

import numpy as np

from ...compilation.compiled import compiled


@compiled
def put_coefficients(h, memory):
    """`g`, `beta`, `sigma` and the nodes of a step of the length `h` with the order `memory.order`."""
    k, since, nodes, g, beta, sigma = memory.order, memory.since, memory.nodes, memory.g, memory.beta, memory.sigma
    nodes[0] = 0.0
    for j in range(1, nodes.shape[0]):
        nodes[j] = h + since[j - 1]
    # differences of an order that is not yet known are zero
    beta[0] = sigma[0] = 1.0
    for j in range(1, k + 1):
        beta[j] = beta[j - 1] * nodes[j] / since[j] if j < memory.known else 0.0
        sigma[j] = j * h / nodes[j] * sigma[j - 1]
    c = np.empty(k + 1)
    for q in range(k + 1):
        c[q] = 1.0 / (q + 1)
    g[0] = c[0]
    for j in range(1, k + 1):
        share = h / nodes[j]
        for q in range(k + 1 - j):
            c[q] -= share * c[q + 1]
        g[j] = c[0]


@compiled
def put_interpolation(s, k, nodes, c):
    """Weights `c_j` of the integral of the polynomial through the derivatives at the end of a step and before, from the end.

    `y(t_(n+1) + s) = y_(n+1) + s sum_(j<=k) c_j phi_j(n+1)`.
    """
    w = np.empty(k + 1)
    for q in range(k + 1):
        w[q] = 1.0 / (q + 1)
    c[0] = 1.0
    for j in range(1, k + 1):
        gamma, eta = (s + nodes[j - 1]) / nodes[j], s / nodes[j]
        for q in range(k + 1 - j):
            w[q] = gamma * w[q] - eta * w[q + 1]
        c[j] = w[0]
