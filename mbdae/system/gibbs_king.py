"""Gibbs-King renumbering of a graph for a small envelope [J. G. Lewis, ACM Trans. Math. Software 8 (1982) 180-189].

Three steps for every component: two pseudo-peripheral nodes, whose level structures are deep and narrow; one level structure of smaller
width that combines both; numbers level by level, the next one to the node with the smallest growth of the front. The front is the set of
nodes without a number that have numbered neighbours; the sum of its sizes is the envelope.

Each step takes time in proportion to the number of edges, but for a logarithm in the last.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import TypeAlias

Graph: TypeAlias = Sequence[Sequence[int]]  # the neighbours of each node
Levels: TypeAlias = dict[int, int]  # the level of each node, or its distance

CANDIDATES = 5  # nodes of a last level that are tried as the other end


def gibbs_king(neighbours: Graph) -> list[int]:
    """A numbering of the nodes of a graph.

    Parameters
    ----------
    neighbours : sequence of sequences of int
        Those of each node; every edge stands at both of its nodes, none leads from a node to itself. The graph may have several components.

    Returns
    -------
    list of int
        The nodes in their new order, component after component.
    """
    order, done = [], set()
    for root in range(len(neighbours)):
        if root not in done:
            component = list(_distances(neighbours, root))
            done.update(component)
            order += _numbered(neighbours, _levels(neighbours, *_ends(neighbours, component)))
    return order


def _distances(neighbours: Graph, root: int) -> Levels:
    """Distance of each node from `root`, nearest first."""
    found = _narrow(neighbours, root, len(neighbours))
    assert found is not None
    return found


def _narrow(neighbours: Graph, root: int, widest: int) -> Levels | None:
    """The same, or `None` as soon as more than `widest` nodes have the same distance."""
    found, level, distance = {root: 0}, [root], 0
    while level:
        if len(level) > widest:
            return None
        distance += 1
        beyond = []
        for k in level:
            for j in neighbours[k]:
                if j not in found:
                    found[j] = distance
                    beyond.append(j)
        level = beyond
    return found


def _ends(neighbours: Graph, component: list[int]) -> tuple[Levels, Levels]:
    """Distances of all nodes from two pseudo-peripheral nodes of a component; the levels of the second have small width."""
    start = min(component, key=lambda k: len(neighbours[k]))
    while True:
        from_start, narrowest = _distances(neighbours, start), len(neighbours)
        from_end: Levels | None = None
        depth = max(from_start.values())
        for k in _candidates(neighbours, [k for k, d in from_start.items() if d == depth]):
            found = _narrow(neighbours, k, narrowest)
            if found is None:
                continue
            if max(found.values()) > depth:
                start = k
                break
            width = _width(found)
            if from_end is None or width < narrowest:
                from_end, narrowest = found, width
        else:
            assert from_end is not None
            return from_start, from_end


def _candidates(neighbours: Graph, last: list[int]) -> list[int]:
    """A few nodes of the last level: those with the fewest neighbours, no two of them next to each other."""
    chosen: list[int] = []
    shadowed: set[int] = set()
    for k in sorted(last, key=lambda k: len(neighbours[k])):
        if k not in shadowed:
            chosen.append(k)
            shadowed.update(neighbours[k])
        if len(chosen) == CANDIDATES:
            break
    return chosen


def _width(levels: Levels) -> int:
    return max(Counter(levels.values()).values())


def _levels(neighbours: Graph, from_start: Levels, from_end: Levels) -> Levels:
    """Level of each node: that of both structures where they agree; elsewhere, by components, the one with the smaller width.

    The first level belongs to the end with fewer neighbours.
    """
    depth = max(from_start.values())
    if len(neighbours[next(iter(from_end))]) < len(neighbours[next(iter(from_start))]):
        from_start, from_end = from_end, from_start
    backwards = {k: depth - d for k, d in from_end.items()}
    level = {k: d for k, d in from_start.items() if backwards[k] == d}
    sizes = Counter(level.values())
    views = sorted((from_start, backwards), key=_width)  # a tie goes to the narrower one
    for piece in _pieces(neighbours, [k for k in from_start if k not in level]):
        view = min(views, key=lambda view: _width_with(sizes, Counter(view[k] for k in piece)))
        level.update((k, view[k]) for k in piece)
        sizes.update(view[k] for k in piece)
    return level


def _width_with(sizes: Counter[int], more: Counter[int]) -> int:
    """Width of the levels that a piece enlarges."""
    return max(sizes[d] + n for d, n in more.items())


def _pieces(neighbours: Graph, nodes: Iterable[int]) -> list[list[int]]:
    """Connected parts of some of the nodes, largest first."""
    left, pieces = set(nodes), []
    for root in nodes:
        if root in left:
            left.remove(root)
            piece = [root]
            for k in piece:  # which grows meanwhile
                near = [j for j in neighbours[k] if j in left]
                left.difference_update(near)
                piece += near
            pieces.append(piece)
    return sorted(pieces, key=len, reverse=True)


def _numbered(neighbours: Graph, level: Levels) -> list[int]:
    """The nodes level by level, each time the one with the smallest growth of the front; of equals the one that entered it first."""
    members: list[list[int]] = [[] for _ in range(max(level.values()) + 1)]
    for k, d in level.items():
        members[d].append(k)
    order: list[int] = []
    entered: dict[int, int] = {}
    late = len(level)
    for nodes in members:
        growth = {k: (k not in entered) + sum(j not in entered for j in neighbours[k]) for k in nodes}
        heap = [(g, entered.get(k, late), k) for k, g in growth.items()]
        heapify(heap)
        while heap:
            g, _, k = heappop(heap)
            if growth.get(k) == g:  # otherwise it has a number, or stands in the heap anew
                del growth[k]
                order.append(k)
                for j in (k, *neighbours[k]):
                    if j not in entered:
                        entered[j] = len(order)
                        _less(growth, heap, entered, late, (j, *neighbours[j]))
    return order


def _less(growth: dict[int, int], heap: list[tuple[int, int, int]], entered: dict[int, int], late: int, nodes: Iterable[int]) -> None:
    """Update the growth of nodes, one of whose neighbours has entered the front."""
    for k in nodes:
        if k in growth:
            growth[k] -= 1
            heappush(heap, (growth[k], entered.get(k, late), k))
