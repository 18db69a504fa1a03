"""Jacobians by differences and complex steps, column by column group."""
