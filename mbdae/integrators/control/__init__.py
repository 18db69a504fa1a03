"""What integrators with error control share."""
