"""Implicit integrators of the state-space form of mechanisms, and their coefficients [Negrut]."""
