"""Room on Python's stack: the same results and errors, and no chunks of the stack that come and go."""

import sys

import pytest

from mbdae.room import with_room


def add(x: float, *, y: float = 1.0) -> float:
    """The sum."""
    return x + y


def test_a_function_stays_what_it_is():
    roomy = with_room(add)
    assert roomy(1.0) == 2.0 and roomy(1.0, y=3.0) == 4.0
    assert roomy.__name__ == "add" and roomy.__doc__ == add.__doc__ and roomy.__module__ == __name__


def test_errors_arrive():
    def fail():
        raise ValueError("none")

    with pytest.raises(ValueError, match="none"):
        with_room(fail)()


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="other interpreters keep frames in another way")
def test_calls_at_any_depth_take_no_new_memory():
    resource = pytest.importorskip("resource")

    def leaf(x):
        return x

    def at(depth):
        if depth:
            return at(depth - 1)
        begin = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for k in range(1000):
            leaf(k)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - begin

    # of these depths some have a call in the loop that would begin a chunk
    assert max(with_room(at)(depth) for depth in range(100, 300)) < 500
