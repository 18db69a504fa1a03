"""Run times are those of computations, not of compilation."""

import threading
import time

import numba
import pytest

from mbdae.stopwatch import Stopwatch


def slow_to_compile():
    """A new function each time: its compilation takes some tenths of a second."""
    @numba.njit
    def function(x):
        return sorted([x + k for k in range(5)])[0] + len(str(int(x)))

    return function


@pytest.mark.thorough
def test_compilation_is_left_out():
    begin, watch = time.perf_counter(), Stopwatch()
    assert slow_to_compile()(3.0) == 4.0
    spent, seconds = time.perf_counter() - begin, watch.seconds
    assert spent > 0.2 and 0.0 <= seconds < 0.3 * spent
    time.sleep(0.02)
    assert watch.seconds >= seconds + 0.02


def test_compilation_in_other_threads_is_not_deducted():
    thread = threading.Thread(target=lambda: slow_to_compile()(3.0))
    begin, watch = time.perf_counter(), Stopwatch()
    thread.start()
    thread.join()
    assert watch.seconds >= 0.99 * (time.perf_counter() - begin)
