"""The decorator of compiled code, and the stamps of its sources."""
