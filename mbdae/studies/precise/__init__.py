"""Solutions in extended precision (`numpy.longdouble`), for the verification of reference values."""
