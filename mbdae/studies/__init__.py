"""Studies: reference solutions, errors, work-precision diagrams, observed order, energy, stability, strategies for Jacobians.

Each study returns a plain table, a list of frozen dataclass rows, and has a function that draws it. Nothing is printed or shown.

>>> from mbdae.studies import Series, work_precision, plot_work_precision
>>> rows = work_precision(system, [Series("half-implicit", HalfImplicit, (1e-2, 1e-3))], (0.0, 1.0))
>>> plot_work_precision(rows).savefig("work_precision.png")
"""

from ..pictures.animate import animate
from ..pictures.drawing import Drawing, plot_positions
from ..pictures.outputs import observe, plot_outputs
from .energy import EnergyCurve, energy_study, plot_energy
from .errors import Errors, conserves_energy, constraint_residuals, energy_drift, errors
from .jacobian import EndValues, JacobianFacts, JacobianRow, JacobianStudy, Motion, jacobian_facts, jacobian_study
from .jacobian_figures import plot_groups, plot_pattern, plot_timeline
from .kinematics import ReferenceSolution, freedom, kinematic_reference
from .matrix import Cell, Support, matrix, support, support_page
from .order import OrderRow, fitted_orders, order_study, plot_order
from .reference import ReferenceFailed, reference
from .scaling import ScalingRow, plot_scaling, scaling_study
from .stability import eigenvalues, largest_frequencies, natural_frequencies, plot_frequencies, stability_limit
from .table import metadata, write_csv, write_json
from .work_precision import Series, WorkPrecisionRow, work_precision
from .work_precision_figures import plot_work_precision

__all__ = [
    "Cell",
    "Drawing",
    "EndValues",
    "EnergyCurve",
    "Errors",
    "JacobianFacts",
    "JacobianRow",
    "JacobianStudy",
    "Motion",
    "OrderRow",
    "ReferenceFailed",
    "ReferenceSolution",
    "ScalingRow",
    "Series",
    "Support",
    "WorkPrecisionRow",
    "animate",
    "conserves_energy",
    "constraint_residuals",
    "eigenvalues",
    "energy_drift",
    "energy_study",
    "errors",
    "fitted_orders",
    "freedom",
    "jacobian_facts",
    "jacobian_study",
    "kinematic_reference",
    "largest_frequencies",
    "matrix",
    "metadata",
    "natural_frequencies",
    "observe",
    "order_study",
    "plot_energy",
    "plot_frequencies",
    "plot_groups",
    "plot_order",
    "plot_outputs",
    "plot_pattern",
    "plot_positions",
    "plot_scaling",
    "plot_timeline",
    "plot_work_precision",
    "reference",
    "scaling_study",
    "stability_limit",
    "support",
    "support_page",
    "work_precision",
    "write_csv",
    "write_json",
]
