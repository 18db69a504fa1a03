"""Jacobians from values of functions: column groups, difference quotients, estimated patterns, cheap updates, checks, and the strategies
for solvers that are made of them. See docs/jacobians.md.
"""

from .check import check_folded, check_jacobian, check_problem
from .differences import FoldedDifference, GroupedDifference, NotFinite
from .estimated import EstimatedPattern
from .extended import MixedDerivatives
from .grouping import Grouping, check_groups, column_groups
from .partitioned import PartitionedJacobian
from .report import JacobianReport
from .residuals import residual_of
from .strategy import JacobianStrategy, Strategy, as_strategy

__all__ = ["EstimatedPattern", "FoldedDifference", "GroupedDifference", "Grouping", "JacobianReport", "JacobianStrategy",
           "MixedDerivatives", "NotFinite", "PartitionedJacobian", "Strategy", "as_strategy", "check_folded", "check_groups",
           "check_jacobian", "check_problem", "column_groups", "residual_of"]
