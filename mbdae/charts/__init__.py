"""Charts of the constraint manifold: independent coordinates, and everything else as functions of them."""
