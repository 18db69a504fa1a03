"""User functions inside compiled kernels: they are called by address.

A function compiled with numba becomes a C function; a plain Python function is wrapped by ctypes. Both are then a number in the
tables of the system, so that the kernels are compiled once for all users. An exception cannot cross compiled
code: it is kept in `Callbacks.pending`, the function returns NaN, and whoever called the kernel re-raises it.
"""

import ctypes

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit, types
from numba.core import config
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from .layout import FRAME

_F = ctypes.c_double
_I = ctypes.c_int64
_SCALAR = {1: ctypes.CFUNCTYPE(_F, _F), 3: ctypes.CFUNCTYPE(_F, _F, _F, _F)}
_FORCE = ctypes.CFUNCTYPE(None, _F, _I, _I, _I, _I, _I)
_SYSTEM = ctypes.CFUNCTYPE(None, _I, _F, _I, _I, _I, _I)


def _by_address(restype, argtypes):
    """An intrinsic that calls the C function `restype(argtypes)` at an address."""

    def declare(typingctx, address, *args):
        signature = restype(types.int64, *argtypes)

        def codegen(context, builder, sig, values):
            low = [context.get_value_type(a) for a in argtypes]
            ret = ir.VoidType() if restype is types.void else context.get_value_type(restype)
            pointer = builder.inttoptr(values[0], ir.FunctionType(ret, low).as_pointer())
            result = builder.call(pointer, values[1:])
            return context.get_dummy_value() if restype is types.void else result

        return signature, codegen

    return declare


if config.DISABLE_JIT:  # type: ignore[attr-defined]  # the same calls through ctypes, so that kernels can be stepped through

    def call1(address, x):
        return _SCALAR[1](address)(x)

    def call3(address, x, y, z):
        return _SCALAR[3](address)(x, y, z)

    def call_force(address, t, frames, ids, k, out, is_complex):
        _FORCE(address)(t, frames, ids, k, out, is_complex)

    def call_system(address, what, t, q, v, out, is_complex):
        _SYSTEM(address)(what, t, q, v, out, is_complex)

else:
    _d, _i = types.float64, types.int64

    @intrinsic
    def call1(typingctx, address, x):
        """`double f(double)`."""
        return _by_address(_d, (_d,))(typingctx, address, x)

    @intrinsic
    def call3(typingctx, address, x, y, z):
        """`double f(double, double, double)`."""
        return _by_address(_d, (_d, _d, _d))(typingctx, address, x, y, z)

    @intrinsic
    def call_force(typingctx, address, t, frames, ids, k, out, is_complex):
        """`void f(double t, int64 frames, int64 ids, int64 k, int64 out, int64 is_complex)`, addresses as integers."""
        return _by_address(types.void, (_d, _i, _i, _i, _i, _i))(typingctx, address, t, frames, ids, k, out, is_complex)

    @intrinsic
    def call_system(typingctx, address, what, t, q, v, out, is_complex):
        """`void f(int64 what, double t, int64 q, int64 v, int64 out, int64 is_complex)`, addresses as integers."""
        return _by_address(types.void, (_i, _d, _i, _i, _i, _i))(typingctx, address, what, t, q, v, out, is_complex)


@intrinsic
def _pointer(typingctx, address):
    """An address as a pointer."""
    signature = types.voidptr(types.int64)

    def codegen(context, builder, sig, values):
        return builder.inttoptr(values[0], context.get_value_type(sig.return_type))

    return signature, codegen


@njit
def law(address, x, xd, t):
    """A user's law `f(x, x', t)`; for complex arguments its derivatives enter by central differences."""
    f = call3(address, x.real, xd.real, t) + 0.0 * x
    if x.imag != 0.0:
        h = 6e-6 * (1.0 + abs(x.real))
        f += (x - x.real) * (call3(address, x.real + h, xd.real, t) - call3(address, x.real - h, xd.real, t)) / (2 * h)
    if xd.imag != 0.0:
        h = 6e-6 * (1.0 + abs(xd.real))
        f += (xd - xd.real) * (call3(address, x.real, xd.real + h, t) - call3(address, x.real, xd.real - h, t)) / (2 * h)
    return f


class Callbacks:
    """The user functions of one system: keeps them alive, and keeps the exception one of them has raised."""

    def __init__(self):
        self.pending = None
        self._alive = []
        self._replays = []

    def check(self):
        """Re-raise what a user function has raised, if any; quick where there is nothing to look at."""
        if self.pending is not None or self._replays:
            self.raise_pending()

    def raise_pending(self):
        """Re-raise what a user function raised inside a kernel, unchanged."""
        for replay in self._replays:
            replay()
        if self.pending is not None:
            error, self.pending = self.pending, None
            raise error

    def scalar(self, function, n):
        """Address of a user's function of `n` numbers (1 or 3) that returns a number."""
        if isinstance(function, Dispatcher) and not config.DISABLE_JIT:
            return self._compiled_scalar(function, n)

        def guarded(*args):
            try:
                return float(function(*args))
            except BaseException as error:  # KeyboardInterrupt too: it must reach the caller
                self._keep(error)
                return float("nan")

        return self._export(_SCALAR[n](guarded))

    def force(self, function, k):
        """Address of a `UserForce` function that acts on `k` bodies."""
        if isinstance(function, Dispatcher) and not config.DISABLE_JIT:
            return self._compiled_force(function, k)
        wrench = _wrench(function)

        def guarded(t, frames, ids, k, out, is_complex):
            result = view(out, 6 * k, is_complex).reshape(k, 6)
            try:
                x = _states(frames, ids, k, is_complex)
                result[:] = _lift(wrench, t, x) if is_complex else wrench(t, x)
            except BaseException as error:
                self._keep(error)
                result[:] = np.nan

        return self._export(_FORCE(guarded))

    def _compiled_force(self, function, k):
        """A C function around a compiled user force; on an exception it notes the state, with which Python then repeats the call."""
        note = np.zeros(2 + FRAME * k)
        c = cfunc(types.void(types.float64, *[types.int64] * 5))(_wrap_force(function, note.ctypes.data))
        self._alive += [note, c]

        def replay():
            if note[0]:
                note[0] = 0.0
                _wrench(function.py_func)(note[1], note[2:].reshape(k, FRAME))

        self._replays.append(replay)
        return c.address

    def system(self, evaluate):
        """Address of the one function behind a system of user functions, `evaluate(what, t, q, v, out, is_complex)`."""

        def guarded(what, t, q, v, out, is_complex):
            try:
                evaluate(what, t, q, v, out, bool(is_complex))
            except BaseException as error:
                self._keep(error)

        return self._export(_SYSTEM(guarded))

    def _keep(self, error):
        if self.pending is None:
            self.pending = error

    def _export(self, pointer):
        self._alive.append(pointer)
        return ctypes.cast(pointer, ctypes.c_void_p).value

    def _compiled_scalar(self, function, n):
        """A C function around a compiled one; on an exception it notes the arguments, with which Python then repeats the call."""
        note = np.zeros(n + 1)
        where = note.ctypes.data
        wrap = _wrap1(function, where) if n == 1 else _wrap3(function, where)
        c = cfunc(types.float64(*[types.float64] * n))(wrap)
        self._alive += [note, c]

        def replay():
            if note[n]:
                note[n] = 0.0
                function(*note[:n].tolist())

        self._replays.append(replay)
        return c.address


def _wrap_force(function, where):
    wrench = njit(_wrench(function))
    lift = njit(_lift)

    def wrapped(t, frames, ids, k, out, is_complex):
        index = carray(_pointer(ids), (k,), np.int64)
        n = FRAME * (index.max() + 1)
        if is_complex:
            z = carray(_pointer(frames), (n,), np.complex128).reshape((-1, FRAME))[index]
            x = np.ascontiguousarray(z.real)
        else:
            z = np.zeros((0, FRAME), np.complex128)
            x = carray(_pointer(frames), (n,), np.float64).reshape((-1, FRAME))[index]
        try:
            if is_complex:
                carray(_pointer(out), (k, 6), np.complex128)[:] = lift(wrench, t, z)
            else:
                carray(_pointer(out), (k, 6), np.float64)[:] = wrench(t, x)
        except Exception:
            note = carray(_pointer(where), (2 + FRAME * k,), np.float64)
            note[0], note[1] = 1.0, t
            note[2:] = x.ravel()
            carray(_pointer(out), (k * 6 * (2 if is_complex else 1),), np.float64)[:] = np.nan

    return wrapped


def _wrap1(function, where):
    def wrapped(x):
        try:
            return function(x)
        except Exception:
            note = carray(_pointer(where), (2,), np.float64)
            note[0], note[1] = x, 1.0
            return np.nan

    return wrapped


def _wrap3(function, where):
    def wrapped(x, y, z):
        try:
            return function(x, y, z)
        except Exception:
            note = carray(_pointer(where), (4,), np.float64)
            note[0], note[1], note[2], note[3] = x, y, z, 1.0
            return np.nan

    return wrapped


def view(address, count, is_complex=False):
    """A NumPy array on memory that a kernel handed over by address."""
    size = 16 if is_complex else 8
    buffer = (ctypes.c_char * (size * count)).from_address(address)
    return np.frombuffer(buffer, dtype=complex if is_complex else float)


def _states(frames, ids, k, is_complex):
    """Frames of the bodies `ids`, one row each."""
    index = np.frombuffer((ctypes.c_char * (8 * k)).from_address(ids), dtype=np.int64)
    return view(frames, FRAME * (int(index.max()) + 1), is_complex).reshape(-1, FRAME)[index]


def _wrench(function):
    """`(t, states) -> (k, 6)`: forces and torques of a user's function on real states."""

    def wrench(t, x):
        k = x.shape[0]
        F, T = np.zeros((k, 3)), np.zeros((k, 3))
        r, v, omega = x[:, :3].copy(), x[:, 12:15].copy(), x[:, 15:18].copy()
        function(t, r, x[:, 3:12].copy().reshape((k, 3, 3)), v, omega, F, T)
        return np.hstack((F, T))

    return wrench


def _lift(wrench, t, z):
    """The wrench at complex states: the directional derivative along the imaginary part by central differences."""
    x, step = np.ascontiguousarray(z.real), np.ascontiguousarray(z.imag)
    result = wrench(t, x) + 0j
    size = np.abs(step).max()
    if size > 0.0:
        h = 6e-6 * (1.0 + np.abs(x).max())
        slope = (wrench(t, x + h / size * step) - wrench(t, x - h / size * step)) / (2.0 * h)
        result = result + 1j * size * slope
    return result
