"""Projections of a state onto the constraints on three levels, and onto an energy."""
