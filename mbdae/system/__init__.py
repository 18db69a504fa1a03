"""The equations of a mechanism: `M a + Phi_q^T lam = Q`, `Phi = 0`, as compiled kernels over one buffer of tables."""
