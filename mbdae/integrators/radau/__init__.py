"""Radau IIA methods of three, five and seven stages on the stabilised index-2 equations, with variable order and step size."""
