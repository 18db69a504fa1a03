"""The study of numberings: their measures, solvers that agree, growth of the cost; the thesis' tables and figures in small."""

import csv
from pathlib import Path

import numpy as np
import pytest
from linear_solvers.topology import ChainCost, chain_costs, growth, interleaved, joint_graph, numberings, reduced_pattern, solver_times

import mbdae
from mbdae import library

from .helpers import assert_picture, case, double_pendulum, scripts_in
from .test_kkt import four_bar

THESIS = Path(__file__).parents[1] / "examples" / "papers" / "thesis"
script = scripts_in(THESIS)


# --- numberings ------------------------------------------------------------------------------------------------------------


def test_measures_of_a_chain_in_a_good_and_in_a_bad_numbering():
    """Blocks: in the good one every joint but the first has a neighbour before it, in the bad one they are 1, 2, ... apart."""
    mechanism = library.mechanism("chain", links=10, joints="planar")
    names = [c.name for c in mechanism.constraints]
    good, bad = (numberings(mbdae.System(mechanism, n))[-1] for n in ("best", interleaved(names)))
    assert (good.bandwidth, good.envelope, good.work) == (1, 9, 18.0)
    assert good.joints in (tuple(names), tuple(names[::-1]))
    # joints 1, 3, 5, 7, 9 come first, then 10 (beside 9), 8 (beside 7), ...: widths 0, 0, 0, 0, 0, 1, 3, 5, 7, 9
    assert (bad.bandwidth, bad.envelope, bad.work) == (9, 25, 0.5 * sum(b * (b + 3) for b in (1, 3, 5, 7, 9)))
    assert bad.rows_envelope == sum(2 * 2 * b + 1 for b in (0, 0, 0, 0, 0, 1, 3, 5, 7, 9))


@pytest.mark.parametrize("name", [case(name) for name in ("andrews", "iltis", "tree", "random-tree")])
def test_numberings_of_a_mechanism(name):
    s = library.system(name)
    found = {n.name: n for n in numberings(s)}
    assert list(found) == ["natural", "rcm", "gibbs-king", "system"]
    names = sorted(c.name for c in s.mechanism.constraints)
    assert all(sorted(n.joints) == names for n in found.values())
    assert found["system"].rows_work == min(n.rows_work for n in found.values())
    assert found["gibbs-king"].envelope <= found["natural"].envelope


def test_the_graph_has_an_edge_where_joints_share_a_body():
    graph = joint_graph(library.system("andrews"))
    edges = {frozenset((graph.names[a], graph.names[b])) for a, b in graph.edges}
    on_coupler = ("F", "E3", "E4", "E6")  # they share the body K2
    assert edges == ({frozenset(p) for p in (("O", "F"), ("B", "E3"), ("A5", "G"), ("G", "E4"), ("A7", "H"), ("H", "E6"))}
                     | {frozenset((a, b)) for a in on_coupler for b in on_coupler if a != b})
    assert graph.sizes.tolist() == [2] * 10


def test_the_pattern_of_the_reduced_matrix_lies_in_the_envelope(rng):
    mechanism = library.mechanism("random-tree")
    s = mbdae.System(mechanism, [mechanism.constraints[k].name for k in rng.permutation(len(mechanism.constraints))])
    pattern, graph = reduced_pattern(s), joint_graph(s)
    place = np.argsort(graph.order)
    joint = np.repeat(np.arange(len(graph.order)), graph.sizes[graph.order])
    linked = {(max(a, b), min(a, b)) for a, b in place[graph.edges]} | {(k, k) for k in range(len(joint))}
    assert all((max(joint[a], joint[b]), min(joint[a], joint[b])) in linked for a, b in np.argwhere(pattern))
    q = s.retract(s.start.q, 0.1 * rng.normal(size=s.nv))
    G = s.phi_q(0.0, q).toarray()
    B = (G @ np.linalg.solve(s.mass(0.0, q), G.T))[np.ix_(s.row_order, s.row_order)]
    assert not B[~pattern & (np.abs(B) > 1e-12 * np.abs(B).max())].any()


def test_interleaving():
    assert interleaved("abcde") == ["a", "c", "e", "d", "b"]
    assert interleaved("abcd") == ["a", "c", "d", "b"]


# --- times -------------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_all_solvers_find_the_same_solution():
    s = library.system("andrews")
    rows = solver_times(s, repeats=1, seconds=1e-4, bad=interleaved(c.name for c in s.mechanism.constraints))
    assert max(r.error for r in rows) < 1e-12
    assert [r.size for r in rows] == [41] * 6 + [20] * 8
    assert [r.solver for r in rows if r.equations == "augmented"][:3] == ["ours", "ours, bad numbering", "dense LU"]
    assert all(r.overhead > 0.0 for r in rows if "Python" in r.solver or "SuperLU" in r.solver)
    assert all(r.overhead == 0.0 for r in rows if r.solver.startswith(("ours", "dense C", "packed", "band")))


def test_bands_of_any_width_are_solved():
    rows = solver_times(mbdae.System(double_pendulum()), repeats=1, seconds=1e-4)
    assert max(r.error for r in rows) < 1e-12


def test_systems_that_cannot_be_compared_are_refused():
    free = mbdae.System(mbdae.Mechanism("free", [mbdae.Particle("p", 2.0)]))
    user = mbdae.System.from_functions(nq=2, nc=1, mass=lambda t, q: np.eye(2), force=lambda t, q, v: -q, phi=lambda t, q: q[:1] - 1.0,
                                       q0=[1.0, 0.0])
    for system, message in ((free, "has 0"), (mbdae.System(four_bar()), "3 of them follow"), (user, "user functions")):
        with pytest.raises(ValueError, match=message):
            solver_times(system, repeats=1)
    with pytest.raises(ValueError, match="user functions"):
        numberings(user)


def test_growth_is_the_exponent():
    assert growth([ChainCost(n, 3e-7 * n**1.5) for n in (10, 30, 70)]) == pytest.approx(1.5)
    costs = chain_costs((2, 4), "spherical", repeats=1, seconds=1e-4)
    assert [c.links for c in costs] == [2, 4] and all(c.seconds > 0.0 for c in costs)


# --- the thesis --------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_thesis_in_small(script, tmp_path, capsys):
    """The scripts of section 3.4.2, on a short chain and with hardly any time."""
    quick = {"repeats": 1, "seconds": 1e-4}
    settings = {"table2": {"links": 4, **quick}, "tables3_4": {"links": 4, **quick}, "figures3_to_6": {"links": 6},
                "linear_cost": {"links": (2, 4), **quick}, "tables5_10": quick}
    for name, values in settings.items():
        script(name).main(tmp_path, **values)
    told = capsys.readouterr().out
    assert "8.7 (MA28)" in told and "bad: interleaved" in told and "andrews 125 -> 42, chain 31 -> 10" in told
    figures = {"figure3.png", "figure4.png", "figure5.png", "figure6.png", "linear_cost.png"}
    tables = {"table2_andrews.csv", "table2_chain.csv", "table3.csv", "table4.csv", "linear_cost_planar.csv", "linear_cost_spherical.csv",
              "linear_cost_revolute.csv", "table6.csv", "table7.csv", "table8.csv", "table9.csv", "table2.csv", "tables3_4.csv",
              "tables6_8.csv",
              "table9_ratios.csv"} | {name.replace(".png", ".curves.csv") for name in figures}
    assert {p.name for p in tmp_path.iterdir()} == figures | tables
    for name in figures:
        assert_picture(tmp_path / name)
    with open(tmp_path / "table3.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8 and rows[0]["solver"] == "ours" and float(rows[0]["error"]) < 1e-12
    assert set(settings) <= set(script("all").SCRIPTS)


def test_published_times_fit_together(script):
    """The reduced system alone costs less than all, so the columns of table 2 cannot be as they were printed."""
    common = script("common")
    for name in ("andrews", "chain"):
        part, whole = common.TABLES_3_4[name]["ours"], common.TABLE_2[name]
        assert part < whole["algorithm 3"] < whole["augmented, MA28"]
    assert common.TABLES_3_4["chain"]["ours"] > common.TABLE_2["andrews"]["algorithm 3"]
