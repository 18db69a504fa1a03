"""Your equations in SymPy: two weights on a string over a bead, by Lagrange's method; mbdae takes derivatives, compiles, and solves.

The string runs from the first weight, which swings, over the fixed bead to the second, which hangs: Atwood's swinging machine.
"""

import sympy as sp
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida

x, y, z = dynamicsymbols("x y z")  # the swinging weight, and the height of the hanging one
m, M, g, length = sp.symbols("m M g length")
t = dynamicsymbols._t

T = m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 + M * z.diff(t) ** 2 / 2
string = sp.sqrt(x**2 + y**2) - z - length
method = LagrangesMethod(T - m * g * y - M * g * z, [x, y, z], hol_coneqs=[string])

ends = {}
for heavy in (2.0, 3.0):  # the second system needs no new derivatives
    system = mbdae.from_sympy(method, parameters={m: 1.0, M: heavy, g: 9.81, length: 2.0}, q0=[1.0, 0.0, -1.0], name="swinging Atwood")
    for solver in (Ida(), SolveIvp("DOP853")):
        run = mbdae.solve(system, solver, (0.0, 3.0), rtol=1e-9, atol=1e-11)
        q, tension, drift = run.q[-1], run.lam[-1, 0], abs(run.energy - run.energy[0]).max()
        print(f"M = {heavy:.0f} kg, {run.method:12}: weight at ({q[0]:.6f}, {q[1]:.6f}) m, tension {tension:.6f} N, drift {drift:.0e} J")
        ends[heavy, run.method] = q
