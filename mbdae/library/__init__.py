"""Mechanisms with their data, sources and reference values.

>>> from mbdae import library
>>> library.mechanism("slider-crank", mu=0.2).name
'slider-crank'
"""

from .base import Comparison, Entry, Reference
from .catalogue import entry, mechanism, names, system

__all__ = ["Comparison", "Entry", "Reference", "entry", "mechanism", "names", "system"]
