"""Explicit Runge-Kutta methods on the underlying ODE, projected onto the constraints after every step."""
