"""Adapters to established solvers. Each makes one package's solvers into methods for `mbdae.solve`; none is imported before it is used."""
