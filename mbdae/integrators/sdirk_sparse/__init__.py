"""SDIRK4/16 in independent coordinates with sparse matrices of all unknowns."""
