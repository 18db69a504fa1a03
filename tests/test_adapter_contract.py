"""Every adapter supplies what the contract says."""

import pytest

from mbdae.adapters.assimulo import Assimulo
from mbdae.adapters.dae import SolveDae
from mbdae.adapters.odes import Odes
from mbdae.adapters.radau13 import Radau13
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Cvode, Ida
from mbdae.driver.method import Method
from mbdae.driver.support import FORMS, Settings

ADAPTERS = pytest.mark.parametrize("adapter", [Assimulo, Cvode, Ida, Odes, Radau13, SolveDae, SolveIvp])


@ADAPTERS
def test_an_adapter_has_the_attributes_of_the_contract(adapter):
    method = adapter()
    assert isinstance(method, Method)
    assert method.label and method.package != "mbdae" and method.availability() is not None
    assert method.own_differences and not method.keeps_charts and method.max_steps == 1_000_000
    assert method.step_size is None


@ADAPTERS
def test_support_covers_all_formulations(adapter):
    method = adapter()
    assert set(method.support) == set(FORMS)
    assert set(method.formulations) == {form for form, how in method.support.items() if isinstance(how, Settings)}
    assert all(isinstance(how, Settings) or (isinstance(how, str) and how) for how in method.support.values())


def test_an_incomplete_method_cannot_be_made():
    class Incomplete(Method):
        label = "incomplete"

    with pytest.raises(TypeError, match=r"abstract.*integrate.*support"):
        Incomplete()


def test_methods_have_defaults():
    class Minimal(Method):
        label, support = "minimal", {"ggl": Settings(), "ode": "it is implicit"}

        def integrate(self, problem, state, t_end, **options):
            raise AssertionError("it is not called")

    method = Minimal()
    assert method.formulations == ("ggl",) and method.package == "mbdae" and method.availability() is None
    assert method.step_size is method.max_steps is None
    assert not (method.keeps_charts or method.one_step or method.own_differences)
