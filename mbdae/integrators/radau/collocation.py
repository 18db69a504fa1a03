"""The polynomial through the start and the stages of a step: starting values of the next one, states within the step."""

from ...compilation.compiled import compiled
from ...system.vectors import fill

FARTHEST = 10.0  # of the last step over which it is extrapolated


@compiled
def lagrange(theta, formula, basis):
    """Values of the Lagrange polynomials of the nodes `0, c_1, ..., c_s` at `theta`, in units of the step."""
    c, weights = formula.c, formula.weights
    s = c.shape[0]
    for j in range(s + 1):
        x = weights[j]
        for k in range(s + 1):
            if k != j:
                x *= theta - (0.0 if k == 0 else c[k - 1])
        basis[j] = x


@compiled
def keep(formula, Z, past):
    """Store the polynomial of a step that is accepted, relative to its end."""
    s = formula.c.shape[0]
    end = Z[s - 1]
    for k in range(end.shape[0]):
        past[0, k] = -end[k]
        for j in range(1, s):
            past[j, k] = Z[j - 1, k] - end[k]


@compiled
def after(theta, formula, past, basis, out):
    """The polynomial of the last step, relative to its end, at `theta` of it after its start."""
    s = formula.c.shape[0]
    lagrange(theta, formula, basis)
    fill(out, 0.0)
    for j in range(s):
        x, row = basis[j], past[j]
        for k in range(out.shape[0]):
            out[k] += x * row[k]


@compiled
def inside(theta, formula, Z, basis, y0, out):
    """The polynomial of a step that is not accepted yet."""
    lagrange(theta, formula, basis)
    for k in range(out.shape[0]):
        out[k] = y0[k]
    for j in range(formula.c.shape[0]):
        x, row = basis[j + 1], Z[j]
        for k in range(out.shape[0]):
            out[k] += x * row[k]


@compiled
def guess(h, run):
    """Starting values `Z` by extrapolation of the last step; in the first one, and after a far shorter one, along the derivative."""
    memory, Z = run.memory, run.Z
    now, last = run.formulas[memory.level], run.formulas[memory.last_level]
    for i in range(now.c.shape[0]):
        if abs(h) > FARTHEST * abs(memory.last_step):
            row, x = Z[i], now.c[i] * h
            for k in range(row.shape[0]):
                row[k] = x * run.rate[k]
        else:
            after(1.0 + now.c[i] * h / memory.last_step, last, run.past, run.basis, Z[i])
