"""In-house integrators: small configuration objects, compiled from start to end of the time span."""
