"""Solvers of the linear systems of the thesis, section 3.4.2, measured against each other: numberings of joints, LAPACK, SuperLU, ours."""
