"""Jacobians from values of a function: groups of columns, a check of one's own formula, and what a solver saves by them."""

import numpy as np
from scipy.sparse import diags_array

import mbdae
from mbdae.adapters.sundae import Ida
from mbdae.jacobians import GroupedDifference, check_jacobian, column_groups


def f(x):
    """A chain of nonlinear springs: each force depends on two neighbours."""
    return x**3 - np.append(x[1:], 0.0) - np.append(0.0, x[:-1])


def my_jacobian(x):
    """By hand, with a slip in the last diagonal entry."""
    J = diags_array([-np.ones(len(x) - 1), 3.0 * x**2, -np.ones(len(x) - 1)], offsets=[-1, 0, 1]).tocsc()
    J[-1, -1] *= 1.01
    return J


x = np.linspace(0.5, 1.5, 500)
pattern = diags_array([np.ones(499), np.ones(500), np.ones(499)], offsets=[-1, 0, 1])
grouping = column_groups(pattern)
difference = GroupedDifference(f, pattern)
J = difference(x)
print(f"{grouping.count} groups for 500 columns, at least {grouping.lower_bound} are needed: {difference.calls} evaluations")

report = check_jacobian(f, x, my_jacobian(x), pattern)
print("wrong:", ", ".join(f"({e.row}, {e.column})" for e in report.entries))

problem = mbdae.problem("chain", "ggl", links=64, joints="planar")
runs = {}
for name in ("dense", "grouped", "grouped:partitioned", "exact"):
    runs[name] = mbdae.solve(problem, Ida(jacobian=name), (0.0, 0.3), t_eval=[0.3])
    s = runs[name].statistics
    print(f"{name:20s}{s.residuals:5d} + {s.residuals_jacobian:5d} evaluations, {s.jacobians:3d} Jacobians")
