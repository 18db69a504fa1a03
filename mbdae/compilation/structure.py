"""Named fields for compiled code: an object that it gets as one pointer.

A named tuple of fifty arrays is passed to a compiled function as three hundred numbers, and is slow to compile in each function that only
passes it on. A `Structure` is passed as the address of its memory; `run.start.q` costs a load, as in C.
"""

from collections.abc import Iterable
from ctypes import addressof, c_char
from functools import cache
from hashlib import sha256
from struct import pack_into
from typing import Any

import numpy as np
from numba import typeof, types
from numba.core import cgutils, config
from numba.core.datamodel.models import OpaqueModel
from numba.core.imputils import lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, intrinsic, register_model, unbox
from numba.np.arrayobj import make_array, populate_array

WORD = 8  # bytes


REAL, WHOLE, ARRAY, STRUCTURE, OTHER = range(5)  # kinds of fields


class StructureType(types.Type):  # type: ignore[misc]  # numba has no types
    """The type of a `Structure` with fields of these types."""

    def __init__(self, name: str, fields: tuple[tuple[str, types.Type], ...]):
        self.fields = dict(fields)
        self.places, at = {}, 0
        for field, kind in fields:
            self.places[field] = at
            at += _words(kind)
        self.words = at
        self.plan = tuple((kind, _sort(kind)) for _, kind in fields)
        self.numbers = {field: (sort == REAL, self.places[field]) for field, (_, sort) in zip(self.fields, self.plan)
                        if sort in (REAL, WHOLE)}
        scarce = (field for field, (kind, sort) in zip(self.fields, self.plan)
                  if sort == OTHER and isinstance(kind, (types.Number, types.Boolean)))
        self.copied = (*self.numbers, *scarce)  # fields whose values in the memory may change
        self.attributes = tuple(field for field in self.fields if field not in self.copied)
        self.number_places = np.array([self.places[field] for field in self.copied], dtype=np.intp)
        self.sorts = tuple(sort for _, sort in self.plan)
        self.has_reals = REAL in self.sorts
        self.format = "".join(map(_format, self.fields.values())) or "q"  # of the memory
        super().__init__(f"{name}_{sha256(repr(fields).encode()).hexdigest()[:12]}")


class Structure:
    """Base of classes whose annotations name the fields, in the order of the memory.

    A field is an array (of one or two dimensions, contiguous), a number, another structure, a function called by its address, a tuple of
    such things, or `None`. Compiled code may write to numbers and to the entries of arrays; Python may also put an array of the same
    type in the place of another.

    Parameters
    ----------
    **fields
        All of those that the annotations name.
    """

    _numba_type_: StructureType  # numba asks for it by this name
    _memory: np.ndarray  # of words
    _address: int
    _reals: np.ndarray  # the same as real numbers
    _values: dict[str, Any]

    def __init__(self, **fields: Any):
        owner: Any = type(self)
        names, own = _names(owner), self.__dict__
        if tuple(fields) != names:
            if set(names) != set(fields):
                raise TypeError(f"{type(self).__name__} has the fields {', '.join(names)}, got {', '.join(fields)}")
            fields = {name: fields[name] for name in names}
        own["_values"] = fields
        if config.DISABLE_JIT:
            return
        kind = _PLAIN_TYPES.get((owner, *map(type, fields.values())))
        words: Iterable[Any] = fields.values()
        if kind is None:
            kind = _type_of(owner, fields)
            words = _words_of(kind.plan, fields.values()) or (0,)
            own.update(fields)
            for name in kind.copied:
                del own[name]
        own["_numba_type_"] = kind
        own["_memory"] = memory = np.empty(kind.words or 1, dtype=np.int64)
        pack_into(kind.format, memory, 0, *words)  # type: ignore[arg-type]  # an array is a buffer
        own["_address"] = address_of(memory)
        if kind.has_reals:
            own["_reals"] = memory.view(np.float64)

    def _write(self, name: str, value: Any) -> None:
        kind = self._numba_type_
        number, place = kind.numbers.get(name), kind.places[name]
        if number is not None:
            (self._reals if number[0] else self._memory)[place] = value
            return
        field = kind.fields[name]
        words = _words_of([(field, _sort(field))], [value])
        pack_into(_format(field), self._memory, WORD * place, *words)  # type: ignore[arg-type]
        if name in kind.attributes:
            self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        """A number, which compiled code may have changed; other fields are attributes."""
        own = self.__dict__
        kind = own.get("_numba_type_")
        number = None if kind is None else kind.numbers.get(name)
        if number is not None:
            return (own["_reals"] if number[0] else own["_memory"]).item(number[1])
        values = own.get("_values", {})
        if name not in values:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        if kind is None:
            return values[name]
        word = own["_memory"][kind.places[name]:][:1]
        return float(word.view(np.float64)[0]) if isinstance(kind.fields[name], types.Float) else int(word[0])

    def parts(self) -> list[tuple[str, Any]]:
        """The fields that are not numbers, with their names."""
        own = self.__dict__
        if "_memory" in own:
            return [(name, own[name]) for name in own["_numba_type_"].attributes]
        return [(name, value) for name, value in own["_values"].items() if not isinstance(value, _PLAIN)]

    @property
    def has_numbers(self) -> bool:
        """Whether some of the fields are numbers."""
        own = self.__dict__
        if "_memory" in own:
            return bool(own["_numba_type_"].number_places.size)
        return any(isinstance(value, _PLAIN) for value in own["_values"].values())

    def numbers(self) -> np.ndarray:
        """The fields that are numbers, copied: whole numbers, and the bits of real ones."""
        own = self.__dict__
        if "_memory" in own:
            found: np.ndarray = own["_memory"][own["_numba_type_"].number_places]
            return found
        return np.array([_bits(value) for value in own["_values"].values() if isinstance(value, _PLAIN)], dtype=np.int64)

    def put_numbers(self, words: np.ndarray) -> None:
        """Put the `numbers` of a structure of this type in the place of these."""
        own = self.__dict__
        if "_memory" in own:
            own["_memory"][own["_numba_type_"].number_places] = words
            return
        names = [name for name, value in own["_values"].items() if isinstance(value, _PLAIN)]
        for name, word in zip(names, words):
            kind = type(own["_values"][name])
            own["_values"][name] = kind(word.view(np.float64) if issubclass(kind, (float, np.floating)) else word)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._values:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        if not config.DISABLE_JIT:
            kind, number = self._numba_type_.fields[name], self._numba_type_.numbers.get(name)
            if number is not None and type(value) is (float if number[0] else int):
                (self._reals if number[0] else self._memory)[number[1]] = value
                return
            if isinstance(kind, types.Float):
                value = float(value)
            if kind_of(value) != kind:
                raise TypeError(f"{type(self).__name__}.{name} must be {kind}, got {kind_of(value)}")
            self._write(name, value)
        self._values[name] = value


def with_fields(structure: Any, **fields: Any) -> Any:
    """A structure with these fields in the place of its own; the others are shared."""
    owner: Any = type(structure)
    return owner(**{name: getattr(structure, name) for name in _names(owner)} | fields)


@cache
def _names(owner: Any) -> tuple[str, ...]:
    return tuple(name for base in reversed(owner.__mro__) if base is not Structure for name in getattr(base, "__annotations__", {}))


_TYPES: dict[tuple[Any, ...], StructureType] = {}  # by class and types of the fields, of which there is one object each
_PLAIN_TYPES: dict[tuple[Any, ...], StructureType] = {}  # of structures that consist of numbers alone, by class and classes of the fields
_ARRAYS: dict[tuple[Any, ...], types.Type] = {}  # by type and number of dimensions
_TUPLES: dict[tuple[Any, ...], tuple[types.Type, Any]] = {}  # by class and identities of the types of the parts, which are kept alive
_PARTS: dict[int, tuple[types.Type, list[tuple[types.Type, int]]]] = {}  # by the identity of the type, which is kept alive
_SCALARS = {int: types.int64, np.int64: types.int64, bool: types.boolean, type(None): types.none}
_LARGEST = 2**63  # of what numba takes for an int64
_PLAIN = (bool, int, float, np.number, np.bool_)


def _bits(value: Any) -> int:
    return int(np.float64(value).view(np.int64)) if isinstance(value, (float, np.floating)) else int(value)


def _type_of(owner: type, fields: dict[str, Any]) -> StructureType:
    """The type of a structure with these fields, which takes long to make."""
    kinds = tuple(map(kind_of, fields.values()))
    key = (owner, *map(id, kinds))
    made = _TYPES.get(key)
    if made is None:
        made = _TYPES[key] = StructureType(owner.__name__, tuple(zip(fields, kinds)))
        if made.sorts and all(sort in (REAL, WHOLE) for sort in made.sorts):
            _PLAIN_TYPES[(owner, *map(type, fields.values()))] = made
    return made


def _words_of(plan: Iterable[tuple[types.Type, int]], values: Iterable[Any]) -> list[Any]:
    """What is packed into the memory of fields of these types and sorts."""
    words: list[Any] = []
    for (kind, sort), value in zip(plan, values):
        if sort == ARRAY:
            words.append(address_of(value))
            words += value.shape
        elif sort == STRUCTURE:
            words.append(value._address)
        elif sort != OTHER:
            words.append(value)
        else:
            words += _other_words(kind, value)
    return words


def kind_of(value: Any) -> types.Type:
    """As `numba.typeof`, which takes long."""
    owner = type(value)
    if owner is float:
        return types.float64
    if owner is np.ndarray and value.flags.carray:  # contiguous, aligned, and may be written to
        kind = _ARRAYS.get((value.dtype, value.ndim))
        if kind is None:
            kind = _ARRAYS[value.dtype, value.ndim] = typeof(value)
        return kind
    if isinstance(value, float):
        return types.float64
    kind = None if isinstance(value, tuple) else getattr(value, "_numba_type_", None)  # of structures and functions called by address
    if kind is not None:
        return kind
    kind = _SCALARS.get(owner)
    if kind is not None and (kind is not types.int64 or -_LARGEST <= value < _LARGEST):
        return kind
    return _kind_of_tuple(value) if isinstance(value, tuple) and value else typeof(value)


def _kind_of_tuple(value: tuple[Any, ...]) -> types.Type:
    parts = [kind_of(x) for x in value]
    key = type(value), *map(id, parts)
    if key not in _TUPLES:
        _TUPLES[key] = typeof(value), parts
    return _TUPLES[key][0]


def address_of(array: np.ndarray) -> int:
    """The address of the first entry of an array that is contiguous; mostly in a quarter of the time of `__array_interface__`."""
    try:
        return addressof(c_char.from_buffer(array))  # type: ignore[arg-type]  # an array is a buffer
    except (TypeError, ValueError):  # it is empty, or may not be written to
        address: int = array.__array_interface__["data"][0]
        return address


def _words(kind: types.Type) -> int:
    """The number of words that a field takes."""
    return len(_format(kind))


def _format(kind: types.Type) -> str:
    """A field in memory, as `struct` names it: a letter for each word."""
    if isinstance(kind, types.Array):
        return "q" * (1 + int(kind.ndim))
    if isinstance(kind, types.BaseTuple):
        return "".join(map(_format, kind))
    if isinstance(kind, types.NoneType):
        return ""
    assert isinstance(kind, (types.Number, types.Boolean, types.FunctionType, StructureType)), kind
    return "d" if kind is types.float64 else "q"


def _sort(kind: types.Type) -> int:
    """Whether a field is one of those for which `_words_of` need not look at its type, which takes long."""
    if isinstance(kind, types.Array):
        assert kind.layout == "C" and kind.ndim <= 2, kind
        return ARRAY
    if isinstance(kind, StructureType):
        return STRUCTURE
    return REAL if kind is types.float64 else WHOLE if kind is types.int64 else OTHER


def _other_words(kind: types.Type, value: Any) -> list[Any]:
    """What is packed into the memory of a field that is none of the usual sorts."""
    if isinstance(kind, types.BaseTuple):
        return _words_of(_parts(kind), value)
    if isinstance(kind, types.NoneType):
        return []
    if isinstance(kind, types.Float):
        return [int(np.array(float(value)).view(np.int64))]
    if isinstance(kind, types.FunctionType):
        return [value.__wrapper_address__()]
    return [int(value)]


def _parts(kind: types.BaseTuple) -> list[tuple[types.Type, int]]:
    """The types of the parts of a tuple, and their sorts."""
    if id(kind) not in _PARTS:
        _PARTS[id(kind)] = kind, [(part, _sort(part)) for part in kind]
    return _PARTS[id(kind)][1]


register_model(StructureType)(OpaqueModel)


@unbox(StructureType)
def _unbox(typ, obj, c):
    address = c.pyapi.object_getattr_string(obj, "_address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer)


@intrinsic
def structure_at(typingctx, address, kind):
    """The structure of a type at an address."""
    target = kind.instance_type

    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], context.get_value_type(target))

    return target(types.int64, kind), codegen


@infer_getattr
class _Attributes(AttributeTemplate):  # type: ignore[misc]
    key = StructureType

    def generic_resolve(self, typ, attr):
        return typ.fields.get(attr)


@lower_getattr_generic(StructureType)
def _get(context, builder, typ, value, attr):
    mutable = isinstance(typ.fields[attr], (types.Number, types.Boolean))
    return _load(context, builder, typ.fields[attr], value, typ.places[attr], not mutable)


@lower_setattr_generic(StructureType)
def _set(context, builder, signature, args, attr):
    typ, kind = signature.args
    target, value = args
    field = typ.fields[attr]
    value = context.cast(builder, value, kind, field)
    builder.store(value, _place(builder, target, typ.places[attr], context.get_value_type(field)))


def _place(builder, base, word, kind):
    return builder.bitcast(cgutils.pointer_add(builder, base, word * WORD), kind.as_pointer())


def _word(context, builder, base, at, kind, constant=True):
    """A word from memory; those that no compiled code changes may be loaded once."""
    loaded = builder.load(_place(builder, base, at, context.get_value_type(kind)))
    if constant:
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


def _load(context, builder, kind, base, at, constant=True):
    """The value of a field."""
    if isinstance(kind, types.Array):
        return _array(context, builder, kind, base, at)
    if isinstance(kind, types.BaseTuple):
        parts = []
        for part in kind:
            parts.append(_load(context, builder, part, base, at))
            at += _words(part)
        return context.make_tuple(builder, kind, parts)
    if isinstance(kind, types.NoneType):
        return context.get_dummy_value()
    if isinstance(kind, types.FunctionType):
        function = cgutils.create_struct_proxy(kind)(context, builder)
        function.c_addr = _word(context, builder, base, at, types.voidptr)
        return function._getvalue()
    if isinstance(kind, types.Boolean):
        return builder.icmp_unsigned("!=", _word(context, builder, base, at, types.int64, constant), context.get_constant(types.int64, 0))
    return _word(context, builder, base, at, kind if not isinstance(kind, StructureType) else types.voidptr, constant)


def _array(context, builder, kind, base, at):
    """An array without a share in the ownership of its memory: the structure keeps that alive."""
    item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    view, size = make_array(kind)(context, builder), context.get_constant(types.intp, item)
    data = _word(context, builder, base, at, types.voidptr)
    shape = [_word(context, builder, base, at + 1 + k, types.intp) for k in range(kind.ndim)]
    strides = [size] if kind.ndim == 1 else [builder.mul(shape[1], size), size]
    populate_array(view, data=builder.bitcast(data, view.data.type), shape=shape, strides=strides, itemsize=size, meminfo=None)
    return view._getvalue()
