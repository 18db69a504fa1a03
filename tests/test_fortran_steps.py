"""Fortran codes called in the libraries of their packages: the same steps as through the packages."""

from dataclasses import replace

import pytest

import mbdae

from .fortran_codes import FORMS, NO_ASSIMULO, NO_DAEPACK, NO_RADAU, OF_ASSIMULO, SMALL, both, posed, same
from .helpers import chain, double_pendulum


@pytest.fixture(scope="module")
def swing():
    return mbdae.System(double_pendulum())


@NO_DAEPACK
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SMALL)
def test_daspk_takes_the_same_steps(name, form):
    same(*both(name, form, "ddaspk", (0.0, 0.05)))


@NO_DAEPACK
@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", sorted(set(mbdae.library.names()) - set(SMALL)))
def test_daspk_takes_the_same_steps_in_the_whole_library(name, form):
    same(*both(name, form, "ddaspk", (0.0, 0.02), {"max_steps": 300}, rtol=1e-5))


@NO_DAEPACK
@pytest.mark.parametrize("jacobian", ["difference", "grouped", "grouped:partitioned", "estimated"])
def test_daspk_with_every_source_of_the_jacobian(swing, jacobian):
    same(*both(swing, "ggl", "ddaspk", (0.0, 0.3), {"jacobian": jacobian}))


@NO_DAEPACK
@pytest.mark.parametrize("options", [{"linsolver": "band"}, {"linsolver": "band", "jacobian": "grouped"}, {"max_order": 2},
                                     {"max_step": 0.01, "first_step": 1e-5}], ids=["band", "grouped band", "order", "steps"])
def test_daspk_with_every_option(options):
    same(*both(mbdae.System(chain(8)), "ggl", "ddaspk", (0.0, 0.1), options))


@NO_DAEPACK
@pytest.mark.parametrize("options", [{}, {"max_order": 2}, {"max_step": 0.01, "first_step": 1e-5}], ids=str)
@pytest.mark.parametrize("name", SMALL)
def test_lsodi_takes_the_same_steps(name, options):
    same(*both(name, "index1", "lsodi", (0.0, 0.05), options))


@NO_DAEPACK
@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(set(mbdae.library.names()) - set(SMALL)))
def test_lsodi_takes_the_same_steps_in_the_whole_library(name):
    same(*both(name, "index1", "lsodi", (0.0, 0.02), {"max_steps": 300}, rtol=1e-5))


@NO_RADAU
@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("name", SMALL)
def test_radau_takes_the_same_steps(name, level):
    same(*both(name, level, "radau", (0.0, 0.05)))


@NO_RADAU
@pytest.mark.thorough
@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("name", sorted(set(mbdae.library.names()) - set(SMALL)))
def test_radau_takes_the_same_steps_in_the_whole_library(name, level):
    same(*both(name, level, "radau", (0.0, 0.02), {"max_steps": 300}, rtol=1e-5))


@NO_RADAU
@pytest.mark.parametrize("jacobian", ["difference", "grouped", "grouped:partitioned", "estimated"])
def test_radau_with_every_source_of_the_jacobian(swing, jacobian):
    direct, wrapped = both(swing, 2, "radau", (0.0, 0.3), {"jacobian": jacobian})
    same(direct, wrapped)
    assert direct.statistics.factorisations >= direct.statistics.jacobians > 0
    if jacobian == "difference":
        assert direct.statistics.residuals_jacobian == direct.statistics.jacobians * posed(swing, 2).n


@NO_RADAU
@pytest.mark.parametrize("options", [{"order": 5}, {"order": 9}, {"order": 13}, {"max_step": 0.01, "first_step": 1e-6}], ids=str)
def test_radau_with_every_option(swing, options):
    same(*both(swing, 2, "radau", (0.0, 0.3), options))


@NO_ASSIMULO
@pytest.mark.parametrize(("code", "form"), [*OF_ASSIMULO, ("RodasODE", "tangent"), ("Dopri5", "partition"), ("Radau5DAE", "index2"),
                                            ("Radau5DAE", "index1"), ("Radau5DAE", "gear"), ("ODASSL", "index2"), ("ODASSL", "index1"),
                                            ("ODASSL", "gear"), ("ODASSL", "overdetermined"), ("LSODAR", "tangent"),
                                            ("GLIMDA", "index3")])
@pytest.mark.parametrize("name", ["double-pendulum", "slider-crank-free"])
def test_codes_of_assimulo_take_the_same_steps(name, code, form):
    same(*both(name, form, code, (0.0, 0.1)))


@NO_ASSIMULO
@pytest.mark.thorough
@pytest.mark.parametrize(("code", "form"), [("RodasODE", "ode"), ("Radau5DAE", "ggl"), ("Dopri5", "ode"), ("ODASSL", "ggl"),
                                            ("ODASSL", "overdetermined"), ("LSODAR", "ode"), ("LSODAR", "partition"),
                                            ("GLIMDA", "ggl")])
@pytest.mark.parametrize("name", sorted(set(mbdae.library.names()) - set(SMALL)))
def test_codes_of_assimulo_take_the_same_steps_in_the_whole_library(name, code, form):
    if form == "partition" and mbdae.library.system(name).freedom == 0:
        pytest.skip("its motion is prescribed")
    same(*both(name, form, code, (0.0, 0.02), {"max_steps": 300}, rtol=1e-5))


@NO_ASSIMULO
@pytest.mark.parametrize("jacobian", ["difference", "grouped", "grouped:partitioned", "estimated"])
def test_rodas_with_every_source_of_the_jacobian(swing, jacobian):
    same(*both(swing, "ode", "RodasODE", (0.0, 0.3), {"jacobian": jacobian}))


@NO_ASSIMULO
@pytest.mark.parametrize("options", [{"max_step": 0.01}, {"first_step": 1e-5}], ids=str)
@pytest.mark.parametrize(("code", "form"), OF_ASSIMULO)
def test_codes_of_assimulo_with_every_option(swing, code, form, options):
    if code == "LSODAR" and "first_step" in options:  # it chooses its first step itself
        return
    same(*both(swing, form, code, (0.0, 0.3), options))


@NO_ASSIMULO
@pytest.mark.parametrize(("code", "form"), [("ODASSL", "ggl"), ("LSODAR", "ode"), ("GLIMDA", "ggl")])
def test_codes_of_assimulo_with_a_limit_of_the_order(swing, code, form):
    same(*both(swing, form, code, (0.0, 0.3), {"max_order": 2}))


@NO_ASSIMULO
@pytest.mark.parametrize("jacobian", ["exact", "difference", "grouped", "grouped:partitioned", "estimated"])
def test_lsodar_with_every_source_of_the_jacobian(jacobian):
    """Of stiff equations: with others LSODAR needs none."""
    m = double_pendulum()
    stiff = mbdae.System(replace(m, forces=[*m.forces, mbdae.RSDA("brake", "ground", "upper", c=1e5)]))
    direct, wrapped = both(stiff, "ode", "LSODAR", (0.0, 1.0), {"jacobian": jacobian})
    same(direct, wrapped)
    assert direct.statistics.jacobians > 0


@NO_ASSIMULO
def test_lsodar_where_charts_are_restarted(swing):
    direct, wrapped = both(swing, "tangent", "LSODAR", (0.0, 2.0))
    same(direct, wrapped)
    assert direct.statistics.restarts == wrapped.statistics.restarts > 0
