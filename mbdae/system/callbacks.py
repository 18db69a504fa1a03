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
_FORCE = ctypes.CFUNCTYPE(None, _F, _I, _I, _I)
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
        return _SCALAR[1](int(address))(x)

    def call3(address, x, y, z):
        return _SCALAR[3](int(address))(x, y, z)

    def call_force(address, t, states, k, out):
        _FORCE(int(address))(t, states, int(k), out)

    def call_system(address, what, t, q, v, out, is_complex):
        _SYSTEM(int(address))(what, t, q, v, out, is_complex)

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
    def call_force(typingctx, address, t, states, k, out):
        """`void f(double t, int64 states, int64 k, int64 out)`, addresses as integers."""
        return _by_address(types.void, (_d, _i, _i, _i))(typingctx, address, t, states, k, out)

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

        def guarded(t, states, k, out):
            result = view(out, 6 * k).reshape(k, 6)
            try:
                result[:] = _wrench(function, t, view(states, FRAME * k).reshape(k, FRAME))
            except BaseException as error:
                self._keep(error)
                result[:] = np.nan

        return self._export(_FORCE(guarded))

    def _compiled_force(self, function, k):
        """A C function around a compiled user force; on an exception it notes the state, with which Python then repeats the call."""
        note = np.zeros(2 + FRAME * k)
        c = cfunc(types.void(types.float64, *[types.int64] * 3))(_wrap_force(function, note.ctypes.data))
        self._alive += [note, c]

        def replay():
            if note[0]:
                note[0] = 0.0
                _wrench(function.py_func, note[1], note[2:].reshape(k, FRAME))

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
    def wrapped(t, states, k, out):  # plain loops: this is compiled anew in every process
        x, result = carray(_pointer(states), (k, FRAME), np.float64), carray(_pointer(out), (k, 6), np.float64)
        r, A, v, omega = np.empty((k, 3)), np.empty((k, 3, 3)), np.empty((k, 3)), np.empty((k, 3))
        F, T = np.zeros((k, 3)), np.zeros((k, 3))
        for b in range(k):
            for i in range(3):
                r[b, i], v[b, i], omega[b, i] = x[b, i], x[b, 12 + i], x[b, 15 + i]
                for j in range(3):
                    A[b, i, j] = x[b, 3 + 3 * i + j]
        try:
            function(t, r, A, v, omega, F, T)
        except Exception:
            note = carray(_pointer(where), (2 + FRAME * k,), np.float64)
            note[0], note[1] = 1.0, t
            for b in range(k):
                for i in range(FRAME):
                    note[2 + FRAME * b + i] = x[b, i]
                F[b, 0] = np.nan
        for b in range(k):
            for i in range(3):
                result[b, i], result[b, 3 + i] = F[b, i], T[b, i]

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


def _wrench(function, t, x):
    """Forces and torques (k, 6) of a user's function at the states `x` (k, 18)."""
    k = len(x)
    F, T = np.zeros((k, 3)), np.zeros((k, 3))
    r, A, v, omega = (x[:, a:b].copy() for a, b in ((0, 3), (3, 12), (12, 15), (15, 18)))
    function(t, r, A.reshape(k, 3, 3), v, omega, F, T)
    return np.hstack((F, T))
