"""`from_sympy`: a system from SymPy expressions or from the methods of `sympy.physics.mechanics`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..system.system import System
from .code import code_of, functions_of
from .names import Names, check_symmetry, entries_of, expression_of, require

if TYPE_CHECKING:
    from sympy import Symbol
    from sympy.physics.mechanics import KanesMethod, LagrangesMethod

    from ..model.geometry import Picture
    from ..typing import ArrayLike, Vector

Entries: TypeAlias = Any  # a matrix, an array or a sequence of SymPy expressions

_LOG = logging.getLogger(__name__)


def from_sympy(method: LagrangesMethod | KanesMethod | None = None, *, q: Entries | None = None, mass: Entries | None = None,
               force: Entries | None = None, phi: Entries = (), parameters: Mapping[Any, float] | None = None, v: Entries | None = None,
               kinematics: Entries | None = None, time: Symbol | None = None, energy: Any | None = None, potential: Any | None = None,
               q0: ArrayLike | None = None, v0: ArrayLike | None = None, labels: Sequence[str] | None = None,
               picture: Callable[[float, Vector], Picture] | None = None, name: str = "symbolic system") -> System:
    """A system `M a + Phi_q^T lam = Q`, `Phi(t, q) = 0` from SymPy expressions.

    All derivatives are symbolic, and all functions are compiled: no Python is called between the time steps. `Abs`, `sign`, `Max`,
    `Min`, `Heaviside` and `Piecewise` are differentiated piecewise. Functions that numba does not support, e.g. Bessel functions, are
    evaluated by SciPy, with a warning in the log. New values of the parameters need a new compilation, but no new derivatives.

    Parameters
    ----------
    method : LagrangesMethod or KanesMethod, optional
        Of `sympy.physics.mechanics`, in place of `q, v, mass, force, kinematics`. The multipliers of `LagrangesMethod` have the sign of its
        `eom` and `solve_multipliers`; in its `mass_matrix` and `rhs` they stand with the opposite one. `KanesMethod` removes dependent
        speeds, and the forces of constraints with them: declare all coordinates and speeds independent there, and give the constraints
        as `phi`.
    q : sequence of dynamicsymbols or of Symbol
        Position coordinates.
    mass : Matrix or nested sequence
        `M(t, q)`, shape (nv, nv), symmetric positive definite.
    force : Matrix or sequence
        `Q(t, q, v)`, shape (nv,); the derivative of a dynamicsymbol is its velocity.
    phi : Matrix or sequence, optional
        `Phi(t, q)`; appended to the holonomic constraints of a `LagrangesMethod`.
    parameters : dict, optional
        A value for every other symbol, and for every function of time that is constant.
    v : sequence, optional
        Symbols of the velocities: `qdot = v`, or as in `kinematics`.
    kinematics : Matrix or sequence, optional
        `qdot = T(q) v`, linear in `v`; then Python is called in every evaluation.
    time : Symbol, optional
        By default the argument of the dynamicsymbols, or `Symbol("t")`.
    energy, potential : expression, optional
        The total energy, or the potential, to which `1/2 v . M v` is added. Default for a `LagrangesMethod`: the generalised energy
        `sum qdot dL/dqdot - L`, if `L` does not depend on time explicitly.
    q0, v0, labels, picture, name
        As for `System.from_functions`.

    Returns
    -------
    System

    Raises
    ------
    ImportError
        Without SymPy.
    ValueError
        If something is missing, superfluous, or of the wrong shape; the message names it.

    Examples
    --------
    >>> import mbdae
    >>> import sympy as sp
    >>> x, y, u, w, m, g = sp.symbols("x y u w m g")
    >>> pendulum = mbdae.from_sympy(q=[x, y], v=[u, w], mass=sp.diag(m, m), force=[0, -m * g], phi=[x**2 + y**2 - 1],
    ...                             parameters={m: 1.0, g: 9.81}, q0=[1.0, 0.0])
    >>> pendulum.nq, pendulum.nc
    (2, 1)
    """
    try:
        import sympy  # noqa: F401
    except ImportError:
        raise ImportError("from_sympy needs SymPy: pip install sympy") from None
    if method is not None:
        given = {"q": q, "v": v, "mass": mass, "force": force, "kinematics": kinematics}
        twice = " and ".join(k for k, x in given.items() if x is not None)
        require(not twice, f"the method brings its own {twice}; leave that out")
        q, v, mass, force, kinematics, constraints, generalised = _equations_of(method)
        phi = [*constraints, *entries_of(phi, "phi")]
        energy = generalised if energy is None and potential is None else energy
    for what, x in (("q", q), ("mass", mass), ("force", force)):
        require(x is not None, f"{what} is missing")
    require(energy is None or potential is None, "give either the energy or the potential")

    names = Names(q, v, time, parameters)
    nq, nv = len(names.Q), len(names.V)
    require(kinematics is not None or nq == nv, f"there are {nq} coordinates and {nv} velocities, so kinematics must be given")
    rates = names.rates(None if kinematics is None else entries_of(kinematics, "kinematics", nq))
    mass = entries_of(mass, "mass", nv, nv)
    M = names.translated("mass", mass, "tq")
    Q = names.translated("force", entries_of(force, "force", nv), "tqv")
    phi = entries_of(phi, "phi")
    Phi = names.translated("phi", phi, "tq")
    for k, e in enumerate(Phi):
        require(e.free_symbols & {*names.Q}, f"phi[{k}] = {phi[k]} does not depend on the coordinates")
    H = None
    if energy is not None:
        H, = names.translated("energy", [expression_of(energy, "energy")], "tqv")
    elif potential is not None:
        H, = names.translated("potential", [expression_of(potential, "potential")], "tq")
        H += sum(u * M[i * nv + j] * w for i, u in enumerate(names.V) for j, w in enumerate(names.V)) / 2
    names.check_values(unused=method is None)
    check_symmetry(M, names, mass)

    functions, left_out = functions_of(code_of(nq, nv, tuple(M), tuple(Q), tuple(Phi), rates, H), names.values)
    for what, why in left_out.items():
        _LOG.warning("from_sympy: %s: %s is evaluated by SciPy, without numba: %s", name, what, why)
    system: System = System.from_functions(nq=nq, nv=nv, nc=len(Phi), q0=q0, v0=v0, labels=labels, picture=picture, name=name, **functions)
    evaluated: Any = vars(system)["_functions"]
    if rates is None and not left_out and not evaluated.compiled:
        _LOG.warning("from_sympy: %s: derivatives by complex step and by differences disagree at the initial guess; if there is a kink, "
                     "then from another guess no Python will be called", name)
    return system


def _equations_of(method: Any) -> tuple[Any, ...]:
    """`q, v, mass, force, kinematics, phi, energy` of one of SymPy's methods."""
    import sympy as sp
    from sympy.physics.mechanics import KanesMethod, LagrangesMethod

    if isinstance(method, LagrangesMethod):
        if method.eom is None:
            method.form_lagranges_equations()
        q, phi = list(method.q), list(method._hol_coneqs)
        require(len(method.coneqs) == len(phi), "LagrangesMethod: non-holonomic constraints are not supported")
        L, moving = method._L[0], {x: sp.Dummy() for x in (*method.u, *q)}
        steady = q[0].args[0] not in L.xreplace(moving).free_symbols
        energy = sum(u * L.diff(u) for u in method.u) - L if steady else None
        return q, None, method.mass_matrix[:, :len(q)], method.forcing, None, phi, energy
    require(isinstance(method, KanesMethod), f"the method must be a LagrangesMethod or a KanesMethod, got {type(method).__name__}; "
            "System keeps its own as eom_method, JointsMethod as method")
    require(not method._udep, "KanesMethod has removed the dependent speeds, and the forces of the constraints with them; declare all "
            "coordinates and speeds independent there, and give the constraints as phi")
    try:
        mass, force = method.mass_matrix, method.forcing
    except ValueError:
        raise ValueError("from_sympy: call kanes_equations(bodies, loads) of the KanesMethod first") from None
    rates = method.kindiffdict()
    return list(method.q), list(method.u), mass, force, [rates[x.diff()] for x in method.q], [], None
