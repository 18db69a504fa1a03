"""Newmark's formulas and their relatives on constrained equations: the classical way, and in null-space coordinates."""
