"""Estimated sparsity: a pattern from the nonzeros of difference quotients, extended when entries are missing."""

from typing import Any

import numpy as np
from scipy.sparse import csc_array

from .grouping import Grouping, column_groups


class EstimatedPattern:
    """The estimate Omega of the pattern of a Jacobian [Arnold, section 3.1].

    It is the union of the nonzeros of all full difference approximations so far. An entry that vanishes in all of them, because a force
    is not active yet or a velocity is zero, is missing: Newton's method then converges slowly although the Jacobian is new, and another
    full difference approximation is added.

    Parameters
    ----------
    shape : (m, n)

    Attributes
    ----------
    pattern : csc_array of bool, shape (m, n)
        Initially empty.
    updates : int
        Number of extensions.

    Examples
    --------
    >>> omega = EstimatedPattern((2, 3))
    >>> omega.add([[1.5, 0.0, 0.0], [0.0, -2.0, 0.0]])
    True
    >>> omega.add([[0.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    False
    >>> omega.add([[0.0, 0.0, 1e-9], [0.0, 3.0, 0.0]]), omega.updates, omega.pattern.nnz
    (True, 1, 3)
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.pattern = csc_array(shape, dtype=bool)
        self.updates = 0
        self._known = False
        self._grouping: Grouping | None = None

    def add(self, jacobian: Any) -> bool:
        """Unite the pattern with the nonzeros of a full difference approximation.

        Parameters
        ----------
        jacobian : array_like or sparse array, shape (m, n)

        Returns
        -------
        bool
            Whether there were new entries.
        """
        seen = csc_array(jacobian) != 0
        if seen.shape != self.pattern.shape:
            raise ValueError(f"EstimatedPattern: the Jacobian must have shape {self.pattern.shape}, got {seen.shape}")
        before = self.pattern.nnz
        union = csc_array(self.pattern + seen)
        union.sum_duplicates()
        union.sort_indices()
        if union.nnz == before and self._known:
            return False
        self.updates += self._known
        self._known, self._grouping = True, None
        union.data = np.ones(union.nnz, dtype=bool)
        self.pattern = union
        return True

    @property
    def grouping(self) -> Grouping:
        """Column groups of the current pattern."""
        if self._grouping is None:
            self._grouping = column_groups(self.pattern)
        return self._grouping
