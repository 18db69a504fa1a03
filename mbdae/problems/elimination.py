"""Order of the pivots of the iteration matrix `F_y + c F_yd` in which a mechanism's topology causes no fill-in where it is a tree.

With the unknowns of a body `(q_b, v_b)` and of a joint `(lam_j, mu_j)` the matrix of the GGL form is, in the rows of the kinematics, the
dynamics, and the constraints on velocities and positions,

    c I - (T (v - G^T mu))_q    -T                     0           T G^T
    (M a + G^T lam - Q)_q       c M - Q_v              G^T - Q_lam     0
    (G v - nu)_q                G                      -N N^T          0
    Phi_q                       0                      0          -N N^T

with `G = Phi_q` by the velocities and `N` for redundant equations only; the other forms have fewer of these blocks, or others in their
places. All of it is kept. The pivots of a body stand on the diagonals of `c I` and `c M`; what these eliminations leave in the rows and
columns of a joint is `-G M^-1 G^T / c` for `lam` and `-G G^T / c` for `mu` to leading order, in index 3 the former with `1/c^2`. Bodies and
joints follow each other as in `mbdae.system.elimination`.
"""

from typing import NamedTuple

import numpy as np

from ..system.elimination import elimination
from ..system.static_lu import StaticFactors, room_for, static_pattern
from ..system.system import System
from ..typing import Integers
from .base import Problem
from .once import once

PAIRS = {"q": "kinematics", "v": "dynamics"}  # equations whose pivots are those of the unknowns of a body
OF_JOINTS = (("lam", "w"), ("mu", "z"))  # unknowns of a joint: of its first and of its second kind of constraints
CONSTRAINTS = ("velocity", "acceleration", "position")


class Pivots(NamedTuple):
    """Equation and unknown of each pivot, in the order of elimination; shape (n,)."""

    rows: Integers
    columns: Integers


def refusal(system: System) -> str:
    """Why the equations of a system have no such order; empty if they have."""
    if system.of_functions:
        return "a system of functions has no bodies and joints"
    if system.cartesian is not None:
        return "in joint coordinates the mass matrix couples all bodies of a branch"
    return ""


def pivots(problem: Problem) -> Pivots:
    """The `Pivots` of a problem, for a system without `refusal`."""
    found = elimination(problem.system)
    of_body, of_joint = _unknowns_of_bodies(problem), _unknowns_of_joints(problem, found.rows)
    pairs = [(of_body if node.is_body else of_joint)[node.number] for node in found.order]
    rows, columns = (np.concatenate(x) for x in zip(*pairs))
    return Pivots(rows.astype(np.int64), columns.astype(np.int64))


def factors_of(problem: Problem) -> StaticFactors:
    """Room for the factors of the iteration matrix of a problem, in the order of its `pivots`."""
    return room_for(once(problem, "factors", lambda: static_pattern(problem.pattern, *pivots(problem))))


def _unknowns_of_bodies(problem: Problem) -> list[Pivots]:
    """The pivots of each body."""
    system, found = problem.system, []
    ends = {name: np.append(system._bodies[name], size).astype(np.int64) for name, size in (("q", system.nq), ("v", system.nv))}
    for b in range(len(system._bodies)):
        own = {name: np.arange(end[b], end[b + 1]) for name, end in ends.items()}
        rows = [problem.equations[equation].start + own[name] for name, equation in PAIRS.items()]
        columns = [problem.blocks[name].start + own[name] for name in PAIRS]
        found.append(Pivots(np.concatenate(rows), np.concatenate(columns)))
    return found


def _unknowns_of_joints(problem: Problem, rows: list[Integers]) -> list[Pivots]:
    """The pivots of each joint or driver with these constraint equations."""
    equations = [problem.equations[name].start for name in CONSTRAINTS if name in problem.equations]
    blocks = [problem.blocks[name].start for names in OF_JOINTS for name in names if name in problem.blocks]
    return [Pivots(*(np.concatenate([start + own for start in kind]) for kind in (equations, blocks))) for own in rows]
