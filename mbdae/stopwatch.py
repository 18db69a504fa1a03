"""Wall and processor time without the time that numba has spent on compiling or loading compiled code."""

import threading
import time

from numba.core import event


class _Compilation(event.Listener):  # type: ignore[misc]  # numba has no types
    """Adds up, for each thread, the time for which it has held the compiler lock."""

    def __init__(self) -> None:
        self._own = threading.local()

    def on_start(self, event: event.Event) -> None:
        own = self._own
        own.depth = getattr(own, "depth", 0) + 1
        if own.depth == 1:
            own.begin, own.cpu_begin = time.perf_counter(), time.process_time()

    def on_end(self, event: event.Event) -> None:
        own = self._own
        own.depth = max(getattr(own, "depth", 0) - 1, 0)
        if own.depth == 0 and hasattr(own, "begin"):
            own.total = self.seconds + time.perf_counter() - own.begin
            own.cpu_total = self.cpu_seconds + time.process_time() - own.cpu_begin

    @property
    def seconds(self) -> float:
        """Time spent by this thread so far."""
        seconds: float = getattr(self._own, "total", 0.0)
        return seconds

    @property
    def cpu_seconds(self) -> float:
        """Processor time of the process while this thread compiled."""
        seconds: float = getattr(self._own, "cpu_total", 0.0)
        return seconds


_compilation = _Compilation()
event.register("numba:compiler_lock", _compilation)


class Stopwatch:
    """Wall time and processor time since construction."""

    def __init__(self) -> None:
        self._begin, self._cpu_begin = self._now(), self._cpu_now()

    @property
    def seconds(self) -> float:
        """Wall time since the start, without compilation in this thread."""
        return self._now() - self._begin

    @property
    def cpu_seconds(self) -> float:
        """Processor time of all threads of the process since the start, without compilation in this thread."""
        return self._cpu_now() - self._cpu_begin

    @staticmethod
    def _now() -> float:
        return time.perf_counter() - _compilation.seconds

    @staticmethod
    def _cpu_now() -> float:
        return time.process_time() - _compilation.cpu_seconds
