"""Gauss methods for constrained mechanisms, with projections after every step."""
