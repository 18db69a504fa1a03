"""Forces at rest: those of bushings, springs, tyres and joints that carry a vehicle in its design position.

Of all forces in equilibrium they are those with the least elastic energy `sum F^2/(2 k)`: what a structure carries that was put together
without tension.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..model.base import Force, Joint
from ..model.bodies import RigidBody
from ..model.forces import TSDA
from ..model.joints import Free, Revolute, Rod, Spherical, Translational
from ..model.rotations import triad
from ..typing import Matrix, Vector
from .bushing import Bushing
from .guided_rod import GuidedRod

GRAVITY = 9.81
REFERENCE = 1e6  # N/m, stiffness whose compliance is one in the equations


class Attachment(NamedTuple):
    """Unknown forces on body j at a place, and their reactions on body i."""

    name: str
    i: str
    j: str
    place: Vector
    forces: Matrix  # directions, one per column
    moments: Matrix
    compliance: Vector  # one per column of both, zero where a joint is rigid


def loads_at_rest(bodies: Sequence[RigidBody], joints: Iterable[Joint | GuidedRod], forces: Iterable[Force],
                  wheels: Mapping[str, float]) -> dict[str, Vector]:
    """Forces on bodies j by the name of the bushing, spring, joint or wheel that exerts them.

    Parameters
    ----------
    bodies : sequence of RigidBody
        In the design position, all axes parallel to the global ones.
    joints, forces : iterable
        Joints; bushings and springs, of which stiffness and places are used.
    wheels : mapping of str to float
        Stiffness of the tyre by the name of its wheel [N/m].

    Raises
    ------
    ValueError
        If the forces cannot hold the bodies.
    """
    at = {b.name: np.array(b.position) for b in bodies}
    found = [_of_joint(j, at) for j in joints if not isinstance(j, Free)]
    found += [_of_force(f, at) for f in forces if isinstance(f, (Bushing, TSDA))]
    found += [_attachment(name, "ground", name, at[name], np.eye(3)[:, 2:], (k,)) for name, k in wheels.items()]
    A = np.hstack([np.zeros((6 * len(at), 0)), *(_columns(a, list(at), at) for a in found)])
    C = np.diag(np.concatenate([np.zeros(0), *(a.compliance for a in found)]))
    weight = np.concatenate([[0.0, 0.0, GRAVITY * b.mass, 0.0, 0.0, 0.0] for b in bodies])
    x = _least_energy(A, C, weight)
    if np.abs(A @ x - weight).max() > 1e-8 * weight.max():
        raise ValueError("the forces of joints, springs and tyres cannot hold the bodies at rest")
    ends = np.cumsum([0, *(len(a.compliance) for a in found)])
    return {a.name: x[s:e] for a, s, e in zip(found, ends, ends[1:])}


def _least_energy(A: Matrix, C: Matrix, weight: Vector) -> Vector:
    """`x` of least `x . C x / 2` with `A x = weight`, refined once."""
    n, m = len(C), len(weight)
    K = np.block([[C, A.T], [A, np.zeros((m, m))]])
    K_inverse = np.linalg.pinv(K, hermitian=True)
    z = K_inverse @ np.concatenate([np.zeros(n), weight])
    z += K_inverse @ (np.concatenate([np.zeros(n), weight]) - K @ z)
    x: Vector = z[:n]
    return x


def _columns(a: Attachment, names: list[str], at: Mapping[str, Vector]) -> Matrix:
    """Forces and moments about the centres of mass of all bodies."""
    out = np.zeros((6 * len(names), len(a.compliance)))
    count = a.forces.shape[1]
    for body, sign in ((a.j, 1.0), (a.i, -1.0)):
        if body in at:
            k = 6 * names.index(body)
            out[k:k + 3, :count] = sign * a.forces
            out[k + 3:k + 6, :count] = sign * np.cross(a.place - at[body], a.forces.T).T
            out[k + 3:k + 6, count:] = sign * a.moments
    return out


def _attachment(name: str, i: str, j: str, place: Vector, forces: Matrix, stiffness: Sequence[float] = (),
                moments: Matrix | None = None) -> Attachment:
    moments = np.zeros((3, 0)) if moments is None else moments
    compliance = REFERENCE / np.array(stiffness) if stiffness else np.zeros(forces.shape[1] + moments.shape[1])
    return Attachment(name, i, j, place, forces, moments, compliance)


def _of_joint(joint: Joint | GuidedRod, at: Mapping[str, Vector]) -> Attachment:
    place = at[joint.j] + np.array(joint.s_j)
    if isinstance(joint, (Rod, GuidedRod)):
        d = place - at[joint.i] - np.array(joint.s_i)
        return _attachment(joint.name, joint.i, joint.j, place, (d / np.linalg.norm(d)).reshape(3, 1))
    if isinstance(joint, Spherical):
        return _attachment(joint.name, joint.i, joint.j, place, np.eye(3))
    assert isinstance(joint, (Revolute, Translational))
    across = np.array(triad(joint.a_i)).T
    if isinstance(joint, Revolute):
        return _attachment(joint.name, joint.i, joint.j, place, np.eye(3), moments=across)
    return _attachment(joint.name, joint.i, joint.j, place, across, moments=np.eye(3))


def _of_force(f: Bushing | TSDA, at: Mapping[str, Vector]) -> Attachment:
    place = at[f.j] + np.array(f.s_j)
    if isinstance(f, Bushing):
        return _attachment(f.name, f.i, f.j, place, np.eye(3), f.k)
    d = at[f.i] + np.array(f.s_i) - place
    return _attachment(f.name, f.i, f.j, place, (d / np.linalg.norm(d)).reshape(3, 1), (f.k,))
