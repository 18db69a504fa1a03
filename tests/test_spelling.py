"""Names in another case or spelling: refused, with the one that was probably meant."""

import pytest

import mbdae
from mbdae import library
from mbdae.registry import find
from mbdae.spelling import closest

from .helpers import GROUND

MECHANISMS = {"Andrews": "andrews", "slider_crank": "slider-crank", "Four Link": "four-link", "car axis": "car-axis", "andrew": "andrews"}
METHODS = {"Idaa": "Ida", "half-implicit": "HalfImplicit", "Generalized Alpha": "GeneralizedAlpha", "DOP853": "SolveIvp:DOP853",
           "dopri5": "Odes:dopri5", "radau5dae": "Assimulo:Radau5DAE", "ggl:Ida": "Ida", "Ida:glg": "ggl", "SolveIvp:dop83": "DOP853",
           "Newmark:foxgoodwin": "fox-goodwin"}


@pytest.mark.parametrize(("given", "meant"), MECHANISMS.items())
def test_mechanisms(given, meant):
    for look_up in (library.entry, library.mechanism, library.system, mbdae.problem):
        with pytest.raises(ValueError, match=rf"there is no mechanism '{given}' in the library \(did you mean '{meant}'\?\); there are"):
            look_up(given)


@pytest.mark.parametrize(("given", "meant"), METHODS.items())
def test_methods(given, meant):
    with pytest.raises(ValueError, match=rf"there is no method '{given}' \(did you mean '{meant}'\?\)"):
        find(given)


@pytest.mark.parametrize(("given", "meant"), {"GGL": "ggl", "index_3": "index3", "Over-determined": "overdetermined",
                                              "Hiller_Anantharaman": "hiller-anantharaman", "tangents": "tangent"}.items())
def test_formulations(given, meant):
    with pytest.raises(ValueError, match=rf"unknown formulation '{given}'; there are .*\(did you mean '{meant}'\?\)"):
        mbdae.problem("four-link", given)


def test_parameters():
    with pytest.raises(ValueError, match=r"'slider-crank' has no parameter 'Mu'; it has mu \(did you mean 'mu'\?\)"):
        library.mechanism("slider-crank", Mu=0.1)
    with pytest.raises(ValueError, match=r"coordinates must be .*, got 'Classical' \(did you mean 'classical'\?\)"):
        library.system("andrews", coordinates="Classical")


def test_elements_of_a_mechanism():
    m = library.mechanism("four-link")
    s = mbdae.System(m)
    with pytest.raises(ValueError, match=r"there is no body 'Rotor' \(did you mean 'rotor'\?\)"):
        s.coordinates("Rotor")
    with pytest.raises(ValueError, match=r"there is no constraint equation 'a\.x' \(did you mean 'A\.x'\?\)"):
        m.without("a.x")
    with pytest.raises(ValueError, match=r"there is no body 'Link' \(did you mean 'link'\?\)"):
        mbdae.Mechanism("m", [mbdae.Particle("link", 1.0)], [mbdae.Rod("rod", GROUND, "Link")])
    pins = [mbdae.PlanarRevolute("pin", GROUND, "link")]
    with pytest.raises(ValueError, match=r"there is no joint 'Pin' \(did you mean 'pin'\?\)"):
        mbdae.Mechanism("m", [mbdae.PlanarBody("link", 1.0, 1.0)], pins, forces=[mbdae.Friction("f", "Pin", 0.1, 0.1)])


def test_swapped_arguments():
    with pytest.raises(ValueError, match=r"mechanism and formulation are swapped, write problem\('andrews', 'ggl'\)"):
        mbdae.problem("ggl", "andrews")
    with pytest.raises(ValueError, match=r"no body 'rod' \('ground' is one: the name of the Rod comes first"):
        mbdae.Mechanism("m", [mbdae.Particle("p", 1.0)], [mbdae.Rod(GROUND, "p", "rod")])
    s = library.system("four-link")
    with pytest.raises(ValueError, match=r"q must have shape \(21,\), got \(1,\), a single number: is it the time, which comes first\?"):
        s.phi(s.initial_guess()[0], 0.0)


@pytest.mark.parametrize("name", ["xylophone", "x" * 100, "", 3, None, ["andrews"]])
def test_what_resembles_nothing_is_answered_with_nothing(name):
    assert closest(name, library.names()) is None
    with pytest.raises(ValueError, match=r"there is no mechanism .* in the library; there are"):
        library.entry(name)
