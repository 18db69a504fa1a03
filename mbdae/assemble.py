"""`assemble`: consistent initial values of a mechanism."""


from .model.mechanism import Mechanism
from .system.assembly import State
from .system.start import start_at
from .system.system import System
from .typing import ArrayLike


def assemble(target: Mechanism | System, t: float = 0.0, q: ArrayLike | None = None, v: ArrayLike | None = None) -> State:
    """A consistent state near a guess.

    Positions: `min |q (-) q_guess|_M` subject to `Phi(t, q) = 0`, the projection in the mass metric, on the branch that the angle drivers
    prescribe. The guess of the bodies belongs to `t = 0`, or to the time `t` if it satisfies the drivers there and not at 0; from
    `t = 0` it follows the drivers to the time `t`. A guess that is passed here belongs to the time `t`.

    Velocities: `min |v - v_guess|_M` subject to `Phi_q v = nu`; velocities without a guess follow with minimal kinetic energy.
    Accelerations and multipliers follow from the equations of motion.

    Parameters
    ----------
    target : Mechanism or System
    t : float
    q, v : array_like, shape (nq,) and (nv,), optional
        Guess; by default that of the mechanism's bodies. Velocities that are NaN are free; the others must then satisfy the constraints,
        whereas a guess of all velocities is projected. Velocities given with the bodies must satisfy joints and drivers.

    Returns
    -------
    State

    Raises
    ------
    ValueError
        If the target is neither of the two, or a guess has the wrong shape or is not finite.
    AssemblyError
        Names the constraints that cannot be satisfied, the driver whose angle is on the wrong branch, or the driver or constraint that
        contradicts a given velocity.

    Examples
    --------
    >>> from mbdae import library
    >>> assemble(library.mechanism("four-link"), 0.5).q.shape
    (21,)
    """
    return start_at(system_of("assemble", target), t, q, v)


def system_of(owner: str, target: object) -> System:
    """The system of a mechanism, or the system that it is.

    Raises
    ------
    ValueError
        If the first argument of `owner` is neither of the two.
    """
    if isinstance(target, Mechanism):
        return System(target)
    if not isinstance(target, System):
        raise ValueError(f"{owner}: the target must be a Mechanism or System, got {type(target).__name__}; it is the first argument")
    return target
