"""Derivatives `F_y` and `F_yd` of a form, evaluated within the compiled time loop."""
