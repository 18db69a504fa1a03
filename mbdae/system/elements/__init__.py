"""One file per kind of primitive constraint: its kernels and the `KIND` that names them; `kinds` lists those that are built in.

The kernels take one record `e` and what they need of the state that was placed, and write the equations from `e["row"]` on:

`phi(e, ..., out)`      residuals
`phi_q(e, ..., G)`      rows of Phi_q, written into the fixed sparse pattern
`nu(e, ..., out)`       `-Phi_t`, the right-hand side of the velocity equation
`gamma(e, ..., out)`    right-hand side of the acceleration equation

`X` holds the frames of the bodies. With body-fixed variations `delta theta`, `delta(A s) = A (delta theta x s)`.
"""
