"""What a run is to put out."""

from typing import NamedTuple


class Output(NamedTuple):
    """What a run is to put out.

    Attributes
    ----------
    single : bool
        Whether something is to be called after each step.
    every : int
        Number of steps from one output to the next, without times of output.
    """

    single: bool
    every: int
