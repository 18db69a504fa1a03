"""What the scripts of this folder share: the two mechanisms, their bad numberings, published times, cells of printed tables.

The thesis: D. Negrut, "On the implicit integration of differential-algebraic equations of multibody dynamics", The University of Iowa
(1998), section 3.4.2. Its times are CPU seconds for 1000 solutions on an HP 9000 J210, so only ratios can be compared. Its solver
for general sparse matrices is MA28; that of SciPy is SuperLU.
"""

import _one_thread  # noqa: F401
from linear_solvers.topology import interleaved, numberings

import mbdae
from mbdae import library

OUTPUT = "results/papers/thesis"  # default of --output
LINKS = 50
TITLES = {"andrews": "Seven-body mechanism", "chain": "Chain of {links} pendulums"}

# Table 2 has the seven-body mechanism at 8.888 and 1.018 s and the chain at 1.2933 and 0.2313 s. These columns must have been exchanged:
# the solution of the reduced system alone takes 0.23 s for the mechanism (table 3) and 0.98 s for the chain (table 4).
TABLE_2 = {"andrews": {"augmented, MA28": 1.2933, "algorithm 3": 0.2313}, "chain": {"augmented, MA28": 8.888, "algorithm 3": 1.018}}
TABLES_3_4 = {  # dgetrf and dgetrs, dppsvx, MA28, sparse Cholesky with a bad and with a good numbering
    "andrews": {"dense LU": 0.79, "packed Cholesky": 0.47, "SuperLU": 0.88, "ours, bad numbering": 0.71, "ours": 0.23},
    "chain": {"dense LU": 53.87, "packed Cholesky": 27.45, "SuperLU": 4.14, "ours, bad numbering": 54.47, "ours": 0.98},
}


def mechanism(name, links=LINKS):
    """The seven-body mechanism (`andrews`) or the chain of pendulums in the plane (`chain`)."""
    return library.mechanism(name, **({"links": links, "joints": "planar"} if name == "chain" else {}))


def title(name, links=LINKS):
    """What a mechanism is called."""
    return TITLES[name].format(links=links)


def bad_numbering(target):
    """A bad order of the joints: that of the thesis for the chain, first joint, last, second, ...; for others the worst of some.

    The bad numbering of the seven-body mechanism is in a picture of the thesis only. Here it is the worst, by eq. (3.126), of orders that
    one might come by: that of the list of joints, that list backwards, alphabetical, interleaved like the chain.

    Returns
    -------
    kind : str
    joints : list of str
    """
    names = [c.name for c in target.constraints]
    if target.name == "chain":
        return "interleaved", interleaved(names)
    found = {"as listed": names, "backwards": names[::-1], "alphabetical": sorted(names), "interleaved": interleaved(names)}
    kind = max(found, key=lambda k: numberings(mbdae.System(target, found[k]))[-1].work)
    return kind, found[kind]


def time_cells(table, published):
    """Lines of `solver_times`: microseconds, ratio to the first line, the same without calls from Python, what is published, error."""
    ours, rows = table[0].seconds, []
    for r in table:
        less = f"{(r.seconds - r.overhead) / ours:.1f}" if r.overhead else ""
        rows.append([r.solver, f"{1e6 * r.seconds:.2f}", f"{r.seconds / ours:.1f}", less, published(r.solver), f"{r.error:.0e}"])
    return rows


TIME_HEAD = ["", "us", "times ours", "less calls", "published", "error"]
