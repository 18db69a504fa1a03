"""The HMMWV: published sizes and eigenvalue, static equilibrium, motions by two routes, and the thesis' linear algebra on its tree."""

from functools import cache

import numpy as np
import pytest

import mbdae
from mbdae import System, library
from mbdae.library import hmmwv
from mbdae.problems import FORMULATIONS
from mbdae.system.tree.composite import ClosedLoopSolver, Operations, gauss_operations

pytestmark = pytest.mark.thorough
WEIGHT = (2086.52 + 9.072 + 4 * (23.965 + 5.813 + 90.555)) * 9.81


@cache
def system(coordinates="joint", **parameters):
    return System(library.mechanism("hmmwv", **parameters), coordinates=coordinates)


def outputs(s, found):
    bodies = s.to_cartesian(found.q, found.v, found.a) if s.cartesian is not None else found
    c = s.cartesian or s
    return [hmmwv.ENTRY.observe(c, t, *x, lam) for t, *x, lam in zip(found.t, bodies.q, bodies.v, bodies.a, found.lam)]


def test_sizes_are_the_published_ones():
    assert (system(steering="free").nv, system(steering="free").nc, system(steering="free").dof) == (27, 16, 11)
    stiff = system("cartesian", model="stiff")
    assert (stiff.nq, stiff.nc + 14, stiff.dof) == (98, 80, 18)  # 14 norms of quaternions
    assert set(system().tree.cut) == {f"{what} {corner}" for what in ("lower ball", "tie") for corner in hmmwv.CORNERS}


def test_the_design_position_is_a_static_equilibrium():
    s = system("cartesian", road="flat", speed=0.0, drop=0.0)
    assert np.abs(s.start.a).max() <= 1e-10
    loads = [v for k, v in hmmwv.ENTRY.observe(s, 0.0, s.start.q, s.start.v, s.start.a, s.start.lam).items() if k.startswith("load")]
    assert sum(loads) == pytest.approx(WEIGHT, rel=1e-12)


def test_the_dominant_eigenvalue_of_the_stiff_model_is_the_published_one():
    p = FORMULATIONS["partition"](system(model="stiff", drop=0.0))
    rates = np.linalg.eigvals(-p.jacobian(0.0, p.y0, p.yd0, 0.0).toarray())
    assert rates.real.min() == pytest.approx(-2.6e5, rel=0.01)


@pytest.mark.parametrize("parameters", [{}, {"road": "flat", "steering": "driven"}, {"model": "stiff"}], ids=str)
@pytest.mark.parametrize("coordinates", ["cartesian", "joint"])
def test_references_in_both_coordinates(coordinates, parameters):
    s, wanted = system(coordinates, **parameters), [r for r in hmmwv.ENTRY.references_for(parameters) if r.t <= 1.0]
    found = mbdae.solve(s, mbdae.RosenbrockNystrom(), (0.0, 1.0), rtol=1e-8, atol=1e-8, t_eval=[r.t for r in wanted])
    assert found.success, found.message
    for r, values in zip(wanted, outputs(s, found)):
        for name, value in r.values.items():
            scale = 1e4 if name.startswith(("load", "spring")) else 1.0
            assert abs(values[name] - value) <= 2e-5 * scale, (r.t, name)


def test_the_vehicle_clears_the_bump_and_settles():
    s = system()
    found = mbdae.solve(s, mbdae.RosenbrockNystrom(local_error=1.0), (0.0, 4.0), rtol=1e-5, atol=1e-5)  # loads change by much in a step
    values = outputs(s, found)
    loads = np.array([[v[f"load_{k.replace(' ', '_')}"] for k in hmmwv.CORNERS] for v in values])
    after = found.t > 0.5
    assert loads[after].min() == 0.0 and loads.max() < 5e4  # wheels lift off
    assert values[-1]["height"] == pytest.approx(0.688, abs=1e-4)
    on_bump = found.t[after][np.abs(np.diff(loads[after], axis=0, prepend=loads[after][:1])).max(axis=1) > 500.0]
    assert on_bump[0] == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("parameters, message", [
    ({"model": "hard"}, "model must be one of 'soft', 'stiff', got 'hard'"), ({"road": "hill"}, "road must be one of"),
    ({"steering": "left"}, "steering must be one of"), ({"speed": -1.0}, "speed must be a number from 0 to 40"),
    ({"drop": 1.0}, "drop must be a number from 0 to 0.2")])
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        hmmwv.build(**parameters)


# --- linear algebra ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [True, False])
def test_the_closed_loop_solve(sparse, rng):
    s = system(steering="free")
    q = s.closed(0.0, s.retract(s.start.q, 0.05 * rng.normal(size=s.nv)))
    b, c = 1e3 * rng.normal(size=s.nv), rng.normal(size=s.nc)
    solver = ClosedLoopSolver(s, sparse)
    M = s.mass(0.0, q)
    assert np.abs(solver.matrix(0.0, q) - M).max() <= 1e-13 * np.abs(M).max()
    solver.evaluate(0.0, q)
    found, expected = solver.solve(b, c), s.solve_kkt(0.0, q, b, c)
    assert np.abs(found.x - expected.x).max() <= 1e-10 * np.abs(expected.x).max()
    assert np.abs(found.lam - expected.lam).max() <= 1e-10 * np.abs(expected.lam).max()


def test_the_closed_loop_solve_refuses_redundant_constraints():
    with pytest.raises(ValueError, match="3 constraint equations of spatial-four-bar follow from the others"):
        ClosedLoopSolver(System(library.mechanism("spatial-four-bar"), coordinates="joint"))


def test_operations_of_gaussian_elimination_are_those_of_table_6():
    assert gauss_operations(43) == {"factorisation": Operations(25585, 25585, 903), "forward": Operations(903, 903),
                                    "back": Operations(903, 903, 43)}


def test_operations_on_the_tree_are_those_of_table_7():
    """Steps 1 and 3.1, and the entries of `L` and `T`; 3.2 has 172 in the table, one for each entry of `T` but two."""
    found = ClosedLoopSolver(system(steering="free")).operations()
    assert found["1"] == Operations(975, 975, 165, 27)
    assert found["3.1"] == Operations(708, 804, 174)
    assert found["2"][:2] == (165, 165) and found["4"][:3] == (192, 165, 27)
    assert found["3.2"].multiplications == 174


def test_operations_of_dense_matrices_are_those_of_table_8():
    """All steps but 3.4, where the table has 2280 and 152: more than the factorisation and both substitutions need."""
    found = ClosedLoopSolver(system(steering="free"), sparse=False).operations()
    assert found["1"] == Operations(3276, 3276, 351, 27) and found["2"] == Operations(351, 351, 27)
    assert found["3.1"] == Operations(5616, 5616, 432) and found["3.2"] == Operations(432, 432)
    assert found["3.3"] == Operations(3536, 3672) and found["3.5"] == Operations(405, 432) and found["4"] == Operations(378, 351, 27)
