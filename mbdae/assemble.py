"""`assemble`: the consistent start of a mechanism."""


from .model.mechanism import Mechanism
from .system.assembly import State
from .system.start import start_at
from .system.system import System
from .typing import ArrayLike


def assemble(target: Mechanism | System, t: float = 0.0, q: ArrayLike | None = None, v: ArrayLike | None = None) -> State:
    """A consistent state near a guess.

    Positions move as little as possible in the mass metric, `min |q (-) q_guess|_M` subject to `Phi(t, q) = 0`, on the branch that the
    drivers of angles name. The guess of the bodies belongs to `t = 0`, or to the time `t` if it fits the drivers there and not at 0; from
    `t = 0` it follows the drivers to the time `t`. A guess that is passed here belongs to the time `t`.

    Velocities satisfy `Phi_q v = nu`. Those that are given stay as they are where the constraints allow it and change as little as possible
    otherwise, `min |v - v_guess|_M`; those that are left out follow with the least kinetic energy. Accelerations and multipliers follow.

    Parameters
    ----------
    target : Mechanism or System
    t : float
    q, v : array_like, shape (nq,) and (nv,), optional
        Guess; by default that of the mechanism's bodies. Velocities that are NaN are free, and those given beside them must not contradict
        the constraints; a guess of all velocities may. Velocities given with the bodies must not contradict joints or drivers.

    Returns
    -------
    State

    Raises
    ------
    ValueError
        If the target is neither of the two, or a guess has the wrong shape or is not finite.
    AssemblyError
        Names the constraints that cannot be met, the driver whose angle is on the wrong branch, or the driver or constraint that
        contradicts a given velocity.

    Examples
    --------
    >>> from mbdae import library
    >>> assemble(library.mechanism("four-link"), 0.5).q.shape
    (21,)
    """
    if isinstance(target, Mechanism):
        target = System(target)
    if not isinstance(target, System):
        raise ValueError(f"assemble: the target must be a Mechanism or System, got {type(target).__name__}; it is the first argument")
    return start_at(target, t, q, v)
