"""Strategies for Jacobians in every solver that takes one: success, counts, failures, and refusals by name."""

from functools import partial

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.adapters.assimulo import Assimulo
from mbdae.adapters.dae import SolveDae
from mbdae.adapters.odes import Odes
from mbdae.adapters.radau13 import Radau13
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Cvode, Ida
from mbdae.jacobians.strategy import JacobianStrategy, as_strategy, labelled

from .helpers import need, thorough_but

NAMES = ["exact", "dense", "grouped", "estimated"]
UPDATES = ["partitioned", "extended"]


# solvers -----------------------------------------------------------------------------------------------------------------

SOLVERS = {"Ida": Ida, "Bdf": mbdae.Bdf, "SolveDae": SolveDae, "Radau13": Radau13, "Cvode": Cvode}
SOLVERS |= {f"Odes {name}": partial(Odes, name) for name in ("ida", "ddaspk", "cvode")}
SOLVERS |= {f"Assimulo {name}": partial(Assimulo, name) for name in ("IDA", "CVode", "Radau5ODE")}
SOLVERS |= {"SolveDae BDF": partial(SolveDae, "BDF"), "Radau": partial(SolveIvp, "Radau"), "BDF": partial(SolveIvp, "BDF")}
ASK_BY_C = ("Ida", "Bdf", "Odes ida", "Odes ddaspk", "Assimulo IDA")


@pytest.mark.parametrize("update", thorough_but(["plain"], ["plain", *UPDATES]))
@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_takes_every_strategy(solver, source, update):
    method = SOLVERS[solver](jacobian=JacobianStrategy(source, update))
    if solver != "Bdf":
        need(method)
    plain = SOLVERS[solver]()
    s, options = library.system("slider-crank-free"), {"rtol": 1e-6, "atol": 1e-8, "t_eval": [0.05]}
    a, b = (mbdae.solve(s, m, (0.0, 0.05), **options) for m in (method, plain))
    assert a.success, a.message
    assert np.abs(a.q - b.q).max() < 1e-4
    st = a.statistics
    if source == "exact":
        assert not st.residuals_jacobian or solver in ASK_BY_C  # where updates are probed
    else:
        assert st.residuals_jacobian > 0
    assert bool(st.partitioned_updates) == (update != "plain" and solver in ASK_BY_C)
    assert st.jacobians > 0


@pytest.mark.parametrize("solver", ASK_BY_C)
def test_partitioned_runs_evaluate_less_and_are_as_accurate(solver):
    s = library.system("chain", links=6, joints="planar")
    exact_end = mbdae.solve(s, Ida(), (0.0, 0.5), rtol=1e-10, atol=1e-12, t_eval=[0.5]).q
    counts, errors = {}, {}
    for name in ("grouped", "grouped:partitioned"):
        method = SOLVERS[solver](jacobian=name)
        if solver != "Bdf":
            need(method)
        x = mbdae.solve(s, method, (0.0, 0.5), formulation="ggl", rtol=1e-6, atol=1e-8, t_eval=[0.5])
        assert x.success
        counts[name], errors[name] = x.statistics.jacobians, np.abs(x.q - exact_end).max()
    assert counts["grouped:partitioned"] < 0.5 * counts["grouped"]
    assert errors["grouped:partitioned"] < 20 * errors["grouped"] + 1e-6


def test_backward_in_time():
    s = library.system("slider-crank-free")
    x = mbdae.solve(s, Odes("ddaspk", jacobian="grouped:partitioned"), (0.05, 0.0), state=mbdae.assemble(s, 0.05), formulation="ggl",
                    t_eval=[0.0]) if Odes("ddaspk").availability().installed else None
    if x is None:
        pytest.skip("scikits.odes is not installed")
    y = mbdae.solve(s, SolveIvp("DOP853"), (0.05, 0.0), state=mbdae.assemble(s, 0.05), rtol=1e-10, atol=1e-12, t_eval=[0.0])
    assert x.success and x.statistics.partitioned_updates > 0 and np.abs(x.q - y.q).max() < 1e-4


def test_user_exceptions_pass_through_difference_quotients():
    calls = [0]

    def force(t, q, v):
        calls[0] += 1
        if t > 0.1:
            raise RuntimeError("beyond the map")
        return -q

    s = mbdae.System.from_functions(nq=1, nc=0, mass=lambda t, q: np.eye(1) + 0.0 * q, force=force, phi=lambda t, q: np.zeros(0, q.dtype),
                                    q0=[1.0])
    with pytest.raises(RuntimeError, match="beyond the map"):
        mbdae.solve(s, Ida(jacobian="grouped:partitioned"), (0.0, 1.0))


def test_values_that_are_not_finite_end_the_run_with_a_status():
    s = mbdae.System.from_functions(nq=1, nc=0, mass=lambda t, q: np.eye(1) + 0.0 * q, phi=lambda t, q: np.zeros(0, q.dtype), q0=[1.0],
                                    force=lambda t, q, v: np.where(t < 0.1, -q, np.nan))
    x = mbdae.solve(s, Ida(jacobian="grouped"), (0.0, 1.0))
    assert not x.success and x.status == mbdae.Status.NOT_FINITE and 0.05 < x.t[-1] <= 0.1


# names and refusals ------------------------------------------------------------------------------------------------------


def test_names():
    assert as_strategy("difference") is None
    assert as_strategy("dense:extended") == JacobianStrategy("dense", "extended", known=False)
    strategy = JacobianStrategy("grouped", scheme="central", floor=1.0)
    assert as_strategy(strategy) is strategy
    assert labelled("IDA", "exact") == "IDA" and labelled("IDA", "difference") == "IDA, difference Jacobian"
    assert Ida(jacobian="grouped:partitioned").label == "Ida, grouped, partitioned Jacobian"


@pytest.mark.parametrize("bad", ["Exact", "grouped:often", "grouped:partitioned:extended", "difference:partitioned", "", None, 3])
@pytest.mark.parametrize("make", [mbdae.Bdf, Ida, Cvode, SolveIvp, Odes, Assimulo, SolveDae, Radau13])
def test_what_is_no_strategy_is_refused(make, bad):
    with pytest.raises(ValueError, match="jacobian must be 'exact', 'dense', 'grouped', 'estimated'"):
        make(jacobian=bad)


@pytest.mark.parametrize("field", ["source", "update", "scheme"])
def test_wrong_fields_are_refused_by_name(field):
    with pytest.raises(ValueError, match=f"{field} must be one of .*, got 'best'"):
        JacobianStrategy(**{field: "best"})


@pytest.mark.parametrize("make, name", [(lambda j: Odes("lsodi", jacobian=j), "LSODI"), (lambda j: Odes("dop853", jacobian=j), "DOP853"),
                                        (lambda j: Assimulo("Radau5DAE", jacobian=j), "Radau5DAE"),
                                        (lambda j: Assimulo("Dopri5", jacobian=j), "Dopri5")])
def test_solvers_that_take_no_jacobian_refuse_strategies(make, name):
    with pytest.raises(ValueError, match=f"{name}.*is not possible"):
        make("grouped")
