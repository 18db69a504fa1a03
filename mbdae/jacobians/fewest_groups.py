"""The way to the fewest groups: orders first, then a lower bound, then whatever may save a group."""

import numpy as np

from .branch_and_bound import FOUND, NONE, fewer_groups
from .cliques import large_clique
from .incidence import degrees, incidence_of
from .orderings import ORDERS
from .sequential import group_in_order
from .tabu import repaired

WORK = 2_000_000  # entries that an attempt to save a group may visit, some 10 ms


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
        self._degree, self._starts, self._state = None, [], 1

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
        self._starts.append(groups)
        self._keep(count, groups, name)
        return order

    def _try_clique(self, order):
        columns = large_clique(order, self.incidence, self.degree, self.bound, self.count, 5 * WORK)
        if len(columns):
            self.clique, self.bound = columns, len(columns)

    def _improve(self):
        """A short search for what the orders have just missed, repairs, and a long search, which may also prove that nothing is missing."""
        nodes = WORK // (4 * self._visits)
        self._search(min(4 * self.n, nodes))
        if self.open and not self._repair(self.bound):
            while self.open and self._repair(self.count - 1):
                pass
        self._search(nodes)

    def _search(self, nodes):
        """Branch and bound for one group less, again and again."""
        outcome = FOUND
        while self.open and outcome == FOUND and nodes >= self.n:
            outcome, groups = fewer_groups(self.count - 1, self.clique, self.incidence, self.degree, nodes)
            if outcome == FOUND:
                self._keep(int(groups.max()) + 1, groups, "branch and bound")
            if outcome == NONE:
                self.bound = self.count

    def _repair(self, count):
        """Whether one of the groupings can be brought down to `count` groups."""
        steps = WORK // (4 * self.n + 16 * self._visits)
        for start in [self.groups, *self._starts]:
            groups, self._state = repaired(start, count, self.incidence, steps, self._state)
            if groups is not None:
                self._keep(count, groups, "tabu search")
                return True
        return False

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
