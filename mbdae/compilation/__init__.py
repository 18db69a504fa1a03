"""The decorator of compiled code, and version stamps of its source files."""

from .temporary import register

register()
