"""Random mechanisms through several methods and forms: `python -m tests.random_mechanisms SEED COUNT [planar|spatial|mixed|linkage]`.

Trees and closed loops of one to six bodies with springs, all constraints satisfied in the positions given. Loops of planar bodies are
closed without counting degrees of freedom, so that some pieces are rigid and held by more equations than are independent. Each method is
compared with one that leaves no row out: accelerations from NumPy's least squares of the whole KKT matrix.

A run that is farther from it than 100 tolerances is repeated with a finer tolerance or step, and with a still finer one if its error
does not fall as it must, as errors of many steps scatter. It counts as wrong unless the error falls then; where it does, the motion is
only too quick for the step, or the errors of many steps add up. A run that ends with `SINGULAR` has failed unless the whole `Phi_q`
loses rank on the way of a method that goes on.
"""

import sys
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.results.status import Status

from .helpers import quaternion, unit
from .linkages import GROUND, NoReference, reference
from .properties import linkage, mixed

T_END = 0.4
RTOL = ATOL = 1e-8
H = 1e-3
METHODS = (("DOP853", lambda h: SolveIvp("DOP853"), "ode"), ("Ida index 1", lambda h: Ida(), "index1"), ("Ida GGL", lambda h: Ida(), "ggl"),
           ("Bdf Gear", lambda h: mbdae.Bdf(), "gear"), ("Bdf index 2", lambda h: mbdae.Bdf(), "index2"),
           ("RosenbrockNystrom", lambda h: mbdae.RosenbrockNystrom(), None),
           ("DormandPrince", lambda h: mbdae.DormandPrince(), None),
           ("RadauIIA", lambda h: mbdae.RadauIIA(), None),
           ("SdirkSparse", lambda h: mbdae.SdirkSparse(), None),
           ("NullSpaceNewmark", lambda h: mbdae.NullSpaceNewmark(h=h), None),
           ("ProjectedGauss", lambda h: mbdae.ProjectedGauss(h=h, stages=3), None), ("Spark", lambda h: mbdae.Spark(h=h), None))
SECOND_ORDER = ("NullSpaceNewmark",)
LOOSE = 2e-3  # error of these, relative to positions and velocities
FINER, TIGHTER = 4, 100  # times smaller are step and tolerance of a run that is repeated
RANK_LOST = 1e-5  # smallest singular value of `Phi_q` on the way, relative to that at the start, at a singular position
SAMPLES, REFINEMENTS = 2000, 4  # of the way
FALL = 6  # of the error, at least, in the repeated run: a method of order two or more with a fixed step has 16 and more
ROWS = {"Revolute": 5, "Spherical": 3, "Universal": 4, "Cylindrical": 4, "Translational": 5, "Rod": 1}


def planar(rng):
    """Planar bodies on pins and rods; some loops are rigid pieces with redundant equations, as long as something moves."""
    n = int(rng.integers(2, 6))
    places, angles = rng.normal(size=(n, 2)), rng.uniform(-np.pi, np.pi, n)
    bodies = [mbdae.PlanarBody(f"b{k}", *(float(x) for x in 10 ** rng.uniform((-0.5, -1.5), (0.5, 0))), tuple(places[k]), angles[k])
              for k in range(n)]

    def local(name, point):
        if name == GROUND:
            return tuple(point)
        k = int(name[1:])
        c, s = np.cos(angles[k]), np.sin(angles[k])
        return tuple(np.array([[c, s], [-s, c]]) @ (point - places[k]))

    def pin(name, i, j):
        point = 0.5 * rng.normal(size=2)
        return mbdae.PlanarRevolute(name, i, j, local(i, point), local(j, point))

    joints = [pin(f"j{k}", GROUND if k == 0 or rng.random() < 0.3 else f"b{rng.integers(k)}", f"b{k}") for k in range(n)]
    for k in range(int(rng.integers(0, 3))):
        i, j = rng.choice(n, 2, replace=False)
        joints.append(pin(f"c{k}", f"b{i}", f"b{j}"))
    springs = [mbdae.TSDA(f"s{k}", GROUND, f"b{rng.integers(n)}", s_i=(*rng.normal(size=2), 0), s_j=(*(0.2 * rng.normal(size=2)), 0),
                          k=float(10 ** rng.uniform(0, 2)), c=0.1, l0=0.5) for k in range(int(rng.integers(0, 2)))]
    return mbdae.Mechanism("planar", bodies, joints, forces=springs, gravity=(0, -9.81, 0))


def spatial(rng):
    """Rigid bodies in trees and loops; a loop is closed where degrees of freedom are left, and sometimes by one joint too many."""
    n = int(rng.integers(1, 6))
    places, turns = rng.normal(size=(n, 3)), [quaternion(rng) for _ in range(n)]
    bodies = []
    for k in range(n):
        mass, J = float(10 ** rng.uniform(-1, 1)), np.sort(rng.uniform(0.05, 0.3, 3))
        J[2] = min(J[2], 0.95 * (J[0] + J[1]))
        bodies.append(mbdae.RigidBody(f"b{k}", mass, tuple(mass * J), tuple(places[k]), tuple(turns[k])))

    def local(name, x, point=True):
        if name == GROUND:
            return tuple(x)
        k = int(name[1:])
        return tuple(mbdae.model.rotations.to_matrix(turns[k]).T @ (x - places[k] if point else x))

    def joint(name, i, j, kind):
        p = rng.normal(size=3)
        points = {"s_i": local(i, p), "s_j": local(j, p)}
        a = unit(rng)
        if kind == "Rod":
            end = p + 0.5 * a
            return mbdae.Rod(name, i, j, s_i=local(i, p), s_j=local(j, end), length=float(np.linalg.norm(end - p)))
        if kind == "Spherical":
            return mbdae.Spherical(name, i, j, **points)
        b = np.cross(a, unit(rng)) if kind == "Universal" else a
        b /= np.linalg.norm(b)
        return getattr(mbdae, kind)(name, i, j, **points, a_i=local(i, a, False), a_j=local(j, b, False))

    kinds = ("Revolute", "Revolute", "Spherical", "Universal", "Cylindrical", "Translational", "Rod")
    joints = [joint(f"j{k}", GROUND if k == 0 or rng.random() < 0.2 else f"b{rng.integers(k)}", f"b{k}", kinds[rng.integers(len(kinds))])
              for k in range(n)]
    left = 6 * n - sum(ROWS[type(j).__name__] for j in joints)
    for k in range(int(rng.integers(0, 3)) if n > 1 else 0):
        i, j = rng.choice(n, 2, replace=False)
        kind = ("Spherical", "Rod", "Revolute", "Universal")[rng.integers(4)]
        if left - ROWS[kind] >= 1 or rng.random() < 0.2:
            joints.append(joint(f"c{k}", f"b{i}", f"b{j}", kind))
            left -= ROWS[kind]
    springs = [mbdae.TSDA(f"s{k}", GROUND, f"b{rng.integers(n)}", s_i=tuple(rng.normal(size=3)), s_j=tuple(0.2 * rng.normal(size=3)),
                          k=float(10 ** rng.uniform(0, 2)), c=0.1, l0=0.5) for k in range(int(rng.integers(0, 2)))]
    return mbdae.Mechanism("spatial", bodies, joints, forces=springs, gravity=(0, 0, -9.81))


MAKERS = {"planar": planar, "spatial": spatial}
MORE_MAKERS = {"mixed": mixed, "linkage": linkage}


def thrown(mechanism, rng):
    """The system and a start with a random velocity; `None` if nothing can move, or it starts too near a singular position."""
    s = mbdae.System(mechanism)
    q, _ = s.initial_guess()
    if s.freedom == 0:
        return None
    sizes = np.linalg.svd(s.phi_q(0.0, q).toarray(), compute_uv=False)
    rank = s.nc - len(s.dependent)
    if rank and sizes[rank - 1] < 2e-2 * sizes[0]:
        return None
    return s, mbdae.assemble(s, q=q, v=rng.normal(size=s.nv))


@dataclass
class Verdict:
    """What one method made of one mechanism; `error` and `finer`, of the repeated run, relative to the error allowed."""

    method: str
    status: Status
    error: float
    message: str
    finer: float | None = None
    smallest: float | None = None  # singular value on the way, relative to the start, of a run that ends with `SINGULAR`

    @property
    def kind(self) -> str:
        """For the tally."""
        if self.status == Status.SUCCESS:
            return "near" if self.near else "wrong" if self.wrong else "coarse"
        return "singular position" if self.smallest is not None and self.smallest < RANK_LOST else "failed"

    @property
    def near(self) -> bool:
        """Whether the run is within the error allowed."""
        return self.status == Status.SUCCESS and self.error <= 1.0

    @property
    def wrong(self) -> bool:
        """Whether the run ends with SUCCESS at a place to which finer runs do not converge."""
        return self.status == Status.SUCCESS and not self.near and (self.finer is None or not self.finer < self.error / FALL)


def judged(system, start, methods=METHODS):
    """A `Verdict` for each method, and why the motion cannot be judged: "sensitive" if two tolerances of the reference differ, or there
    is "no reference"."""
    try:
        want, coarse = (reference(system, T_END, start, rtol) for rtol in (1e-11, 1e-9))
    except NoReference:
        return [], "no reference"
    if np.abs(want - coarse).max() > 1e-7:
        return [], "sensitive"
    return [_verdict(system, start, want, *method) for method in methods], ""


def _verdict(system, start, want, name, make, form):
    def run(h, tolerance):
        return mbdae.solve(system, make(h), (0.0, T_END), formulation=form, state=start, rtol=tolerance, atol=tolerance)

    def error(found):
        scale = 1.0 + np.abs(want).max()
        allowed = LOOSE * (scale + np.abs(found.v).max()) if name in SECOND_ORDER else 100 * RTOL * scale
        return np.abs(system.difference(found.q[-1], want)).max() / allowed if found.success else np.nan

    found = run(H, RTOL)
    verdict = Verdict(name, found.status, error(found), found.message)
    if found.success and not verdict.near:
        verdict.finer = error(run(H / FINER, RTOL / TIGHTER))
        if verdict.wrong:
            verdict.finer = error(run(H / FINER**2, RTOL / (10 * TIGHTER)))
    if found.status == Status.SINGULAR:
        verdict.smallest = smallest_on_the_way(system, start)
    return verdict


def smallest_on_the_way(system, start):
    """The smallest singular value of `Phi_q`, without those of redundant rows, on a motion to the end, relative to its value at the start.

    `None` if no method goes on to the end.
    """
    methods = (("RosenbrockNystrom", lambda h: mbdae.RosenbrockNystrom(), None), METHODS[0], METHODS[2], METHODS[-1])
    runs = (mbdae.solve(system, make(H), (0.0, T_END), formulation=form, state=start, rtol=RTOL, atol=ATOL, dense_output=True)
            for _, make, form in methods)
    sol, rank = next((r.sol for r in runs if r.success), None), system.nc - len(system.dependent)
    if sol is None:
        return None

    def smallest(t):
        try:
            return np.linalg.svd(system.phi_q(t, sol(t)[0]).toarray(), compute_uv=False)[rank - 1]
        except mbdae.AssemblyError:  # so near that the state cannot be projected
            return np.inf

    times = np.linspace(0.0, T_END, SAMPLES)
    for _ in range(REFINEMENTS):
        k = int(np.argmin([smallest(t) for t in times]))
        nearest = times[k]
        times = np.linspace(times[max(k - 1, 0)], times[min(k + 1, len(times) - 1)], 41)
    return smallest(nearest) / smallest(0.0)


def cases(kind, seed, count):
    """`(number, system, start)` of the random mechanisms that can be judged."""
    for k in range(count):
        rng = np.random.default_rng((seed, k))
        found = thrown((MAKERS | MORE_MAKERS)[kind](rng), rng)
        if found is not None:
            yield (k, *found)


def main(seed, count, kind="spatial"):
    """Print every case that is not right, and how many there were."""
    tally, begin = Counter(), time.perf_counter()
    for k, s, start in cases(kind, seed, count):
        verdicts, unjudged = judged(s, start)
        tally[unjudged or "judged"] += 1
        tally["redundant"] += bool(len(s.dependent)) and not unjudged
        for v in (v for v in verdicts if not v.near):
            tally[v.kind] += 1
            finer = "" if v.finer is None else f", {v.finer:.1e} of it with a finer one"
            finer += "" if v.smallest is None else f", smallest singular value on the way {v.smallest:.1e}"
            print(f"{kind} {seed}/{k}: {v.method} {v.status.name}, error {v.error:.1e} of what is allowed{finer}, "
                  f"{len(s.dependent)} redundant; {v.message[:90]}", flush=True)
    seconds = time.perf_counter() - begin
    print(dict(tally), f"{seconds:.0f} s, {tally['judged'] / seconds:.2f} mechanisms per second by {len(METHODS)} methods")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
