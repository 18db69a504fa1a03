"""Gauss collocation on index-3 equations, with projections after every step."""
