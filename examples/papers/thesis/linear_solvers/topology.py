"""What the numbering of the joints does for the linear algebra of the KKT matrix [Negrut, section 3.4.2]."""

from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np

from mbdae import library
from mbdae.system import layout as lay
from mbdae.system.build import joint_of_rows
from mbdae.system.layout import SEGMENT_T
from mbdae.system.ordering import candidates, cheapest, factorisation_work, joint_edges, widths
from mbdae.system.reduced import meetings
from mbdae.system.system import System

from . import lapack
from .contenders import Prepared, duration, fastest_superlu, lu_from_python, ours, ours_reduced, superlu


@dataclass(frozen=True)
class JointGraph:
    """The graph whose nodes are the joints and drivers of a mechanism; an edge joins two of them that share a body.

    Attributes
    ----------
    names : tuple of str
    sizes : ndarray of int, shape (n,)
        Numbers of constraint equations.
    edges : ndarray of int, shape (m, 2)
    order : ndarray of int, shape (n,)
        The joints as the system has numbered them.
    """

    names: tuple
    sizes: np.ndarray
    edges: np.ndarray
    order: np.ndarray


def joint_graph(system):
    """The `JointGraph` of a system.

    Raises
    ------
    ValueError
        If the system is one of user functions, which has no joints.
    """
    if system.mechanism is None:
        raise ValueError(f"{system.name}: a system of user functions has no joints to be numbered; take one of a mechanism")
    joint, segments = joint_of_rows(system.mechanism), lay.records_of(system.model, lay.SEGMENT, SEGMENT_T)
    body = np.searchsorted(system._bodies["v"], segments["v"], side="right")
    order = joint[system.row_order]
    return JointGraph(tuple(c.name for c in system.mechanism.constraints), np.bincount(joint),
                      joint_edges(joint, segments["row"][meetings(body)]), order[np.flatnonzero(np.diff(order, prepend=-1))])


@dataclass(frozen=True)
class Numbering:
    """One numbering of the joints.

    Attributes
    ----------
    name : str
    joints : tuple of str
        Joints and drivers in their new order.
    bandwidth, envelope : int
        Of the reduced matrix in blocks of joints [Negrut, eqs. (3.124), (3.125)].
    work : float
        Bound of the work of factorisation in such blocks [Negrut, eq. (3.126)].
    rows_envelope : int
    rows_work : float
        The same for single rows; `System(mechanism, "best")` has the least of the latter.
    """

    name: str
    joints: tuple
    bandwidth: int
    envelope: int
    work: float
    rows_envelope: int
    rows_work: float


def numberings(system):
    """The numberings that there are for a mechanism.

    Parameters
    ----------
    system : System
        Of a mechanism.

    Returns
    -------
    list of Numbering
        Natural, reverse Cuthill-McKee and Gibbs-King in their better direction, then that of the system.

    Raises
    ------
    ValueError
        If the system is one of user functions, which has no joints.
    """
    graph = joint_graph(system)
    kinds = ("natural", "rcm", "gibbs-king")
    orders = [cheapest(candidates(len(graph.names), graph.edges, kind), graph.edges, graph.sizes) for kind in kinds]
    return [_measured(name, order, graph) for name, order in zip((*kinds, "system"), (*orders, graph.order))]


def _measured(name, order, graph):
    beta = widths(order, graph.edges)
    return Numbering(name, tuple(graph.names[k] for k in order), int(beta.max(initial=0)), int(beta.sum()),
                     factorisation_work(order, graph.edges), int(widths(order, graph.edges, graph.sizes).sum()),
                     factorisation_work(order, graph.edges, graph.sizes))


def interleaved(names):
    """A bad numbering of a chain: the first joint gets the number 1, the second the last one, the third 2 [Negrut, figure 5(b)].

    Returns
    -------
    list of str
        The joints in the order of their numbers.
    """
    names = list(names)
    return names[0::2] + names[1::2][::-1]


def reduced_pattern(system):
    """Which entries of the reduced matrix can be different from zero, rows in the system's numbering: bool, shape (nc, nc)."""
    G = system.phi_q(0.0, system.initial_guess()[0])
    G.data[:] = system.pattern.nonzero
    return ((G @ G.T).toarray() > 0)[np.ix_(system.row_order, system.row_order)]


# times ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SolverTime:
    """Time of one solver on one system of linear equations.

    Attributes
    ----------
    equations : {"augmented", "reduced"}
        `M a + Phi_q^T lam = Q`, `Phi_q a = gamma`, or `B lam = Phi_q M^-1 Q - gamma` alone.
    solver : str
    size : int
        Number of equations.
    seconds : float
        One solution, the median of all rounds.
    overhead : float
        What of that goes into the call from Python, as a system with one equation shows; zero for loops in compiled code.
    error : float
        Largest difference from the solution of NumPy, relative to its largest entry.
    """

    equations: str
    solver: str
    size: int
    seconds: float
    overhead: float
    error: float


def solver_times(system, repeats=9, seconds=0.01, bad=None):
    """What accelerations and multipliers cost with our solver and with others.

    Every solver has its matrix in its own format, put back where solving overwrites it; the time for that is taken off. Ours starts from
    the values of `Phi_q`: it forms the reduced matrix, factorises it and finds multipliers and accelerations. With the reduced system
    alone it starts from the reduced matrix in its envelope. It runs in a loop of compiled code, and so does LAPACK, but for the line
    "from Python", where SciPy calls it; SciPy calls SuperLU as well, with the ordering of columns that is fastest.

    Parameters
    ----------
    system : System
        Of a mechanism, without redundant constraints.
    repeats : int
        Rounds; in each of them all solvers take their turn.
    seconds : float
        Time that a solver gets in a round: it solves as often as that allows, once at least.
    bad : sequence of str, optional
        All joints and drivers in a bad order, for ours in comparison.

    Returns
    -------
    list of SolverTime

    Raises
    ------
    ValueError
        If the system has user functions, no constraints or redundant ones.
    """
    joint_graph(system)
    if system.nc == 0 or len(system.dependent):
        raise ValueError(f"{system.name}: solvers are compared on systems with constraints, none of them redundant; this one has "
                         f"{system.nc}, and {len(system.dependent)} of them follow from the others")
    systems = {"ours": system} | ({"ours, bad numbering": System(system.mechanism, bad)} if bad is not None else {})
    entries = [e for found in (_augmented(system, systems), _reduced(system, systems)) for e in found]
    return measured(entries, repeats, seconds)


def measured(entries, repeats, seconds):
    """The `SolverTime` of each `Entry`: medians of some rounds, in each of which all solvers take their turn."""
    counts = [_count(e.solver.run, seconds) for e in entries]
    times = [[] for _ in entries]
    for _ in range(repeats):
        for e, count, found in zip(entries, counts, times):
            found.append((duration(e.solver.run, count) - duration(e.solver.restore, count)) / count)
    return [e.measured(median(found)) for e, found in zip(entries, times)]


def _count(run, seconds):
    """How many solutions fit in the time; the very first one may have to be compiled."""
    run(1)
    return max(1, int(seconds / max(min(duration(run, 1) for _ in range(3)), 1e-7)))


@dataclass(frozen=True)
class Entry:
    """A solver in the comparison."""

    equations: str
    name: str
    solver: Prepared
    expected: np.ndarray
    empty: Prepared | None = None  # the same one with a single equation

    def measured(self, seconds):
        self.solver.run(1)
        overhead = 0.0
        if self.empty is not None:
            self.empty.run(1)
            run, restore = (min(duration(f, 20) for _ in range(5)) for f in (self.empty.run, self.empty.restore))
            overhead = (run - restore) / 20
        error = np.abs(self.solver.x - self.expected).max() / np.abs(self.expected).max()
        return SolverTime(self.equations, self.name, len(self.expected), seconds, overhead, float(error))


def _place(system):
    """Positions near the start, where no entry of `Phi_q` is zero by chance."""
    return system.retract(system.start.q, np.random.default_rng(0).uniform(-0.1, 0.1, system.nv))


_ONE = np.ones((1, 1))


def _augmented(system, systems):
    """Solvers of `[M Phi_q^T; Phi_q 0] (x, lam) = (b, c)`."""
    q, rng = _place(system), np.random.default_rng(1)
    b, c = rng.uniform(-1.0, 1.0, system.nv), rng.uniform(-1.0, 1.0, system.nc)
    G = system.phi_q(0.0, q).toarray()
    A, bc = np.block([[system.mass(0.0, q), G.T], [G, np.zeros((system.nc, system.nc))]]), np.concatenate([b, c])
    entry = partial(Entry, "augmented", expected=np.linalg.solve(A, bc))
    sparse, ordering = fastest_superlu(A, bc)
    return [*(entry(name, ours(s, q, b, c)) for name, s in systems.items()),
            entry("dense LU", lapack.general(A, bc)),
            entry("dense LU from Python", lu_from_python(A, bc), empty=lu_from_python(_ONE, _ONE[0])),
            entry("dense symmetric indefinite", lapack.symmetric(A, bc)),
            entry(f"SuperLU, {ordering}", sparse, empty=superlu(_ONE, _ONE[0], ordering))]


def _reduced(system, systems):
    """Solvers of `Phi_q M^-1 Phi_q^T lam = b`."""
    q, b = _place(system), np.random.default_rng(2).uniform(-1.0, 1.0, system.nc)
    G = system.phi_q(0.0, q).toarray()
    B, k = G @ np.linalg.solve(system.mass(0.0, q), G.T), system.row_order
    lam = np.linalg.solve(B, b)
    entry = partial(Entry, "reduced", expected=lam)
    sparse, ordering = fastest_superlu(B, b, positive=True)
    return [*(entry(name, ours_reduced(s, q, b)) for name, s in systems.items()),
            entry("dense LU", lapack.general(B, b)),
            entry("dense LU from Python", lu_from_python(B, b), empty=lu_from_python(_ONE, _ONE[0])),
            entry("dense Cholesky", lapack.positive(B, b)),
            entry("packed Cholesky", lapack.packed(B, b)),
            entry("band Cholesky, our numbering", lapack.banded(B[np.ix_(k, k)], b[k]), expected=lam[k]),
            entry(f"SuperLU, {ordering}", sparse, empty=superlu(_ONE, _ONE[0], ordering))]


# growth with the size --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChainCost:
    """What accelerations and multipliers of a chain cost.

    Attributes
    ----------
    links : int
    seconds : float
        One solution, the median of all rounds.
    """

    links: int
    seconds: float


def chain_costs(links, joints="planar", repeats=9, seconds=0.01):
    """Times of our solver for chains of the library.

    Parameters
    ----------
    links : sequence of int
        Numbers of links.
    joints : {"planar", "revolute", "spherical"}
    repeats, seconds
        As of `solver_times`.

    Returns
    -------
    list of ChainCost
    """
    runs = []
    for n in links:
        s, rng = library.system("chain", links=n, joints=joints), np.random.default_rng(0)
        b, c = rng.uniform(-1.0, 1.0, s.nv), rng.uniform(-1.0, 1.0, s.nc)
        runs.append(ours(s, s.initial_guess()[0], b, c).run)
    counts, times = [_count(run, seconds) for run in runs], [[] for _ in runs]
    for _ in range(repeats):
        for run, count, found in zip(runs, counts, times):
            found.append(duration(run, count) / count)
    return [ChainCost(n, median(found)) for n, found in zip(links, times)]


def growth(costs):
    """Exponent with which the cost grows with the number of links, by least squares in logarithms."""
    return float(np.polyfit(np.log([c.links for c in costs]), np.log([c.seconds for c in costs]), 1)[0])
