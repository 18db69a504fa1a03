"""The way to the fewest groups: orders first, then a lower bound, then whatever may save a group."""

import numpy as np

from .backtracking import FOUND, GAVE_UP, fewer_groups
from .cliques import large_clique
from .core import completed, core_of
from .graph import graph_of, part_of
from .incidence import degrees, incidence_of
from .orderings import ORDERS
from .sequential import group_in_order
from .tabu import repaired

WORK = 2_000_000  # neighbours that the complete searches may visit together, some 15 ms


class Search:
    """The best groups so far of a CSR pattern with rows and columns, and the lower bound.

    Attributes
    ----------
    count, groups, order : int, ndarray and str
        The best so far.
    bound : int
        No grouping has fewer groups.
    clique : ndarray
        Columns that all meet each other.
    largest_row : int
    """

    def __init__(self, pattern):
        self.largest_row = int(np.diff(pattern.indptr).max())
        self.incidence, self.n = incidence_of(pattern), pattern.shape[1]
        self.bound, self.clique = max(self.largest_row, 1), self._fullest_row()
        self.count, self.groups, self.order = self.n + 1, None, None
        self._degree, self._tried, self._state = None, {}, 1

    @property
    def open(self):
        """Whether a group might still be saved."""
        return self.count > self.bound

    @property
    def degree(self):
        """Of each column, found when it is first needed."""
        if self._degree is None:
            self._degree = degrees(self.incidence)
        return self._degree

    def only(self, order):
        """Groups by one order, and the bound."""
        columns = self._try_order(order)
        if self.open:
            self._try_clique(columns if order == "smallest-last" else ORDERS["smallest-last"](self.incidence, self.degree))

    def best(self):
        """The cheapest steps come first; nothing is done beyond the bound."""
        self._try_order("natural")
        if self.open:
            self._try_clique(self._try_order("smallest-last"))
        for order in ("incidence-degree", "largest-first"):
            if self.open:
                self._try_order(order)
        if self.open and self.n * max(self.count, self._visits) <= WORK:
            self._improve()

    def _try_order(self, name):
        order = ORDERS[name](self.incidence, np.zeros(self.n, dtype=np.int64) if name == "natural" else self.degree)
        count, groups = group_in_order(order, self.incidence, self.bound)
        self._tried[name] = order, groups
        self._keep(count, groups, name)
        return order

    def _try_clique(self, order):
        columns = large_clique(order, self.incidence, self.degree, self.bound, self.count, WORK // 8)
        if len(columns):
            self.clique, self.bound = columns, len(columns)

    def _improve(self):
        """From below, as a grouping that meets the bound ends it all and a proof that there is none costs little; then from above."""
        graph = graph_of(self.incidence, self.degree)
        self._left = WORK // (1 + len(graph.near) // self.n)
        while self.open and self._settle(self.bound, graph):
            pass
        while self.count - 1 > self.bound and self._settle(self.count - 1, graph):
            pass

    def _settle(self, count, graph):
        """Whether a grouping into `count` groups has been found or excluded."""
        core = core_of(count, graph)
        for name, share in (("smallest-last", 4), ("incidence-degree", 2)):
            columns, steps = core.ordered(self._tried[name][0]), self._left // share
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

    def _repair(self, count, columns, core, graph):
        """Whether one of the groupings can be brought down to `count` groups."""
        part = part_of(graph, columns)
        steps = WORK // (8 * (1 + len(columns) + len(part.near) // len(columns)))
        for start in (self.groups, np.arange(self.n)):
            groups, self._state = repaired(start[columns], count, part, steps, self._state)
            if groups is not None:
                self._keep_all(completed(columns, groups, core, graph), "tabu search")
                return True
        return False

    def _keep_all(self, groups, order):
        """A search for some number of groups may leave some of them empty."""
        used, groups = np.unique(groups, return_inverse=True)
        self._keep(len(used), groups.astype(np.int64), order)

    def _keep(self, count, groups, order):
        if count < self.count:
            self.count, self.groups, self.order = int(count), groups, order

    @property
    def _visits(self):
        """Entries in the rows of a column, in the mean."""
        sizes = np.diff(self.incidence.row_ptr)
        return 1 + int(sizes @ sizes) // self.n

    def _fullest_row(self):
        row_ptr, columns = self.incidence.row_ptr, self.incidence.columns
        if len(row_ptr) == 1:  # no two columns meet
            return np.zeros(1, dtype=np.int64)
        row = int(np.argmax(np.diff(row_ptr)))
        return columns[row_ptr[row]:row_ptr[row + 1]]
