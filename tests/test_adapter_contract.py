"""Every adapter supplies what the contract says."""

import pytest

from mbdae.adapters.assimulo import Assimulo
from mbdae.adapters.contract import SolverAdapter
from mbdae.adapters.dae import SolveDae
from mbdae.adapters.odes import Odes
from mbdae.adapters.radau13 import Radau13
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Cvode, Ida
from mbdae.driver.support import FORMS, Settings

ADAPTERS = pytest.mark.parametrize("adapter", [Assimulo, Cvode, Ida, Odes, Radau13, SolveDae, SolveIvp])


@ADAPTERS
def test_an_adapter_has_the_attributes_of_the_contract(adapter):
    assert isinstance(adapter(), SolverAdapter)


@ADAPTERS
def test_support_covers_all_formulations(adapter):
    method = adapter()
    assert set(method.support) == set(FORMS)
    assert set(method.formulations) == {form for form, how in method.support.items() if isinstance(how, Settings)}
    assert all(isinstance(how, Settings) or (isinstance(how, str) and how) for how in method.support.values())


def test_the_contract_is_not_met_by_other_objects():
    assert not isinstance(object(), SolverAdapter)
