"""Docstrings of the public names: every parameter is described, all have examples, which test_packaging runs."""

import enum
import inspect
import re

import pytest

import mbdae

PUBLIC = [name for name in mbdae.__all__ if callable(getattr(mbdae, name))]
MADE_BY_MBDAE = {"Solution", "Jump", "TreeSystem"}  # users do not construct them; they are results, or are made by another class


def sections(docstring):
    """Texts of the sections of a numpydoc docstring by their titles."""
    parts = re.split(r"^(\w+)\n-+\n", docstring, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def described(text):
    """Names that a section describes."""
    return {name.strip(" *") for line in re.findall(r"^(\S[^:\n]*)(?: :.*)?$", text, flags=re.M) for name in line.split(",")}


@pytest.mark.parametrize("name", PUBLIC)
def test_parameters_are_described(name):
    obj = getattr(mbdae, name)
    if name in MADE_BY_MBDAE or (inspect.isclass(obj) and issubclass(obj, (enum.Enum, Exception))) or inspect.isabstract(obj):
        return
    found = sections(inspect.getdoc(obj))
    parameters = set(inspect.signature(obj).parameters) - {"self"}
    assert parameters <= described(found.get("Parameters", "") + found.get("Attributes", ""))


@pytest.mark.parametrize("name", PUBLIC)
def test_there_is_an_example(name):
    assert ">>>" in sections(inspect.getdoc(getattr(mbdae, name)))["Examples"]
