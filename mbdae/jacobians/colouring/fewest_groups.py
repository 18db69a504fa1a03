"""Search for the smallest number of groups: orderings, then a lower bound, then exhaustive and tabu search."""

import numpy as np
from scipy.sparse import csr_array

from ..signatures import Indices
from .backtracking import FOUND, GAVE_UP, fewer_groups
from .cliques import large_clique
from .core import Core, completed, core_of
from .graph import Graph, graph_of, part_of
from .incidence import degrees, incidence_of
from .orderings import ORDERS
from .sequential import group_in_order
from .tabu import repaired

MAX_VISITS = 2_000_000  # of neighbours by all searches together, about 15 ms


class Search:
    """The best groups so far of a CSR pattern with rows and columns, and the lower bound.

    Attributes
    ----------
    count, groups, order : int, ndarray and str
        The best so far.
    bound : int
        Lower bound on the chromatic number.
    clique : ndarray
        A clique of the column-intersection graph.
    largest_row : int
    """

    def __init__(self, pattern: csr_array) -> None:
        self.largest_row = int(np.diff(pattern.indptr).max())
        self.incidence, self.n = incidence_of(pattern), pattern.shape[1]
        self.bound, self.clique = max(self.largest_row, 1), self._fullest_row()
        self.count, self.groups, self.order = self.n + 1, np.zeros(0, dtype=np.int64), ""
        self._degree: Indices | None = None
        self._tried: dict[str, Indices] = {}  # orderings by name
        self._state = 1  # of the random numbers

    @property
    def improvable(self) -> bool:
        """Whether the number of groups exceeds the lower bound."""
        return bool(self.count > self.bound)

    @property
    def degree(self) -> Indices:
        """Degree of each column, computed when it is first needed."""
        if self._degree is None:
            self._degree = degrees(self.incidence)
        return self._degree

    def only(self, order: str) -> None:
        """Groups by one ordering, and the lower bound."""
        columns = self._try_order(order)
        if self.improvable:
            self._try_clique(columns if order == "smallest-last" else ORDERS["smallest-last"](self.incidence, self.degree))

    def best(self) -> None:
        """All methods, the cheapest first, until the lower bound is attained."""
        self._try_order("natural")
        if self.improvable:
            self._try_clique(self._try_order("smallest-last"))
        for order in ("incidence-degree", "largest-first"):
            if self.improvable:
                self._try_order(order)
        if self.improvable and self.n * max(self.count, self._visits) <= MAX_VISITS:
            self._improve()

    def _try_order(self, name: str) -> Indices:
        order = ORDERS[name](self.incidence, np.zeros(self.n, dtype=np.int64) if name == "natural" else self.degree)
        count, groups = group_in_order(order, self.incidence, self.bound)
        self._tried[name] = order
        self._keep(count, groups, name)
        return order

    def _try_clique(self, order: Indices) -> None:
        columns = large_clique(order, self.incidence, self.degree, self.bound, self.count, MAX_VISITS // 8)
        if len(columns):
            self.clique, self.bound = columns, len(columns)

    def _improve(self) -> None:
        """First from below: a grouping that attains the bound ends the search, and a proof that there is none is cheap; then from above."""
        graph = graph_of(self.incidence, self.degree)
        self._left = MAX_VISITS // (1 + len(graph.near) // self.n)
        while self.improvable and self._decide(self.bound, graph):
            pass
        while self.count - 1 > self.bound and self._decide(self.count - 1, graph):
            pass

    def _decide(self, count: int, graph: Graph) -> bool:
        """Whether a grouping into `count` groups has been found, or its non-existence proved."""
        core = core_of(count, graph)
        for name, share in (("smallest-last", 4), ("incidence-degree", 2)):
            columns, steps = core.ordered(self._tried[name]), self._left // share
            outcome, groups = fewer_groups(count, part_of(graph, columns), steps)
            if outcome == GAVE_UP:
                self._left -= steps
                continue
            if outcome == FOUND:
                self._keep_all(completed(columns, groups, core, graph), "complete search")
            else:
                self.bound = count + 1
            return True
        return self._repair(count, columns, core, graph)

    def _repair(self, count: int, columns: Indices, core: Core, graph: Graph) -> bool:
        """Whether tabu search reduces one of the groupings to `count` groups."""
        part = part_of(graph, columns)
        steps = MAX_VISITS // (8 * (1 + len(columns) + len(part.near) // len(columns)))
        for start in (self.groups, np.arange(self.n)):
            groups, self._state = repaired(start[columns], count, part, steps, self._state)
            if groups is not None:
                self._keep_all(completed(columns, groups, core, graph), "tabu search")
                return True
        return False

    def _keep_all(self, groups: Indices, order: str) -> None:
        """Keep a grouping without its empty groups."""
        used, groups = np.unique(groups, return_inverse=True)
        self._keep(len(used), groups.astype(np.int64), order)

    def _keep(self, count: int, groups: Indices, order: str) -> None:
        if count < self.count:
            self.count, self.groups, self.order = int(count), groups, order

    @property
    def _visits(self) -> int:
        """Mean number of entries in the rows of a column."""
        sizes = np.diff(self.incidence.row_ptr)
        return 1 + int(sizes @ sizes) // int(self.n)

    def _fullest_row(self) -> Indices:
        row_ptr, columns = self.incidence.row_ptr, self.incidence.columns
        if len(row_ptr) == 1:  # no two columns share a row
            return np.zeros(1, dtype=np.int64)
        row = int(np.argmax(np.diff(row_ptr)))
        return columns[row_ptr[row]:row_ptr[row + 1]]
