"""One file per constraint family. Each has the same four kernels over its table of records:

`phi(e, t, motions, X, out)`           residual rows
`rows(e, t, motions, X, G)`            rows of Phi_q, written into the fixed sparse pattern
`nu(e, t, motions, X, out)`            `-Phi_t`, the right-hand side of the velocity equation
`gamma(e, t, motions, X, out)`         right-hand side of the acceleration equation

`X` holds the frames of the bodies. With body-fixed variations `delta theta`, `delta(A s) = A (delta theta x s)`.
"""
