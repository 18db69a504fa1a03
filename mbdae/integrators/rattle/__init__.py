"""RATTLE and its compositions on the index-3 equations."""
