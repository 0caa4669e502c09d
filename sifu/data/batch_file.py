"""CIFAR's batch files, which are pickles: their few opcodes are read here, and nothing is ever built or called.

A name in the file (such as numpy.ndarray) stays a text. The only array is one of bytes, made here from the bytes in
the file; a description of any other type is refused.
"""

from __future__ import annotations

import math
import pickletools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sifu.data.dataset import Pixels
from sifu.errors import DataError

_MAX_OPCODES = 2**20  # the longest file of CIFAR-100 has some hundred thousand
_ARRAY, _DTYPE = "numpy.ndarray", "numpy.dtype"
_EMPTY_ARRAY = ("numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct")


class _Name(NamedTuple):
    """The name of a class or function, which is not looked up."""

    text: str


class _Bytes(NamedTuple):
    """NumPy's type of a byte, the only one that these files need."""


class _Array:
    """An array whose bytes come later."""

    pixels: Pixels | None = None


def read_batch(data: bytes) -> dict[Any, Any]:
    """The mapping in a batch file: texts, whole numbers, lists, and one array of bytes [N, 3072]."""
    with warnings.catch_warnings():  # of pickletools, on odd texts: a file of images has none
        warnings.simplefilter("error")
        batch = _read(data)
    if not isinstance(batch, dict):
        raise DataError("it holds no mapping")
    return {key: value.pixels if isinstance(value, _Array) else value for key, value in batch.items()}


def _read(data: bytes) -> Any:
    reader = _Reader()
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if opcode.name == "STOP":
                break
            if count >= _MAX_OPCODES:
                raise DataError(f"it has more than {_MAX_OPCODES} opcodes")
            reader.step(opcode.name, argument)
        (batch,) = reader.stack
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, RecursionError, Warning) as error:
        raise DataError(f"it is damaged ({' '.join(str(error).split())[:100]})") from None
    return batch


class _Reader:
    """The stack machine of pickles, for the opcodes that CIFAR's files and NumPy's arrays have."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []  # how long the stack was at each mark
        self.memo: dict[int, Any] = {}
        self.arrays = 0

    def step(self, name: str, argument: Any) -> None:
        if name in _VALUES:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name]())
        elif name in _ACTIONS:
            _ACTIONS[name](self, argument)
        elif name not in _NOTHING:
            raise DataError(f"it has the opcode {name}, which has no place in images")

    def pop_to_mark(self) -> list[Any]:
        """What was pushed since the last mark."""
        place = self.marks.pop()
        items, self.stack[place:] = self.stack[place:], []
        return items


def _mark(reader: _Reader, _: Any) -> None:
    reader.marks.append(len(reader.stack))


def _put(reader: _Reader, place: int | None) -> None:
    reader.memo[len(reader.memo) if place is None else place] = reader.stack[-1]


def _get(reader: _Reader, place: int) -> None:
    reader.stack.append(reader.memo[place])


def _tuple(count: int | None) -> Callable[[_Reader, Any], None]:
    def act(reader: _Reader, _: Any) -> None:
        items = reader.pop_to_mark() if count is None else [reader.stack.pop() for _ in range(count)][::-1]
        reader.stack.append(tuple(items))

    return act


def _append(reader: _Reader, _: Any) -> None:
    item = reader.stack.pop()
    _add(reader.stack[-1], [item])


def _appends(reader: _Reader, _: Any) -> None:
    items = reader.pop_to_mark()
    _add(reader.stack[-1], items)


def _add(target: Any, items: list[Any]) -> None:
    if not isinstance(target, list):
        raise DataError("it appends to something that is no list")
    target.extend(items)


def _setitem(reader: _Reader, _: Any) -> None:
    value, key = reader.stack.pop(), reader.stack.pop()
    _set(reader.stack[-1], [key, value])


def _setitems(reader: _Reader, _: Any) -> None:
    items = reader.pop_to_mark()
    _set(reader.stack[-1], items)


def _set(target: Any, items: list[Any]) -> None:
    if not isinstance(target, dict) or len(items) % 2 or not all(isinstance(key, str | bytes) for key in items[::2]):
        raise DataError("it has a mapping whose keys are no texts")
    target.update(zip(items[::2], items[1::2], strict=True))


def _name(reader: _Reader, argument: str | None) -> None:
    """GLOBAL has the name in itself, STACK_GLOBAL on the stack."""
    if argument is None:
        last, module = reader.stack.pop(), reader.stack.pop()
        if not (isinstance(module, str) and isinstance(last, str)):  # a nest of pairs would be an endless text
            raise DataError("it names something that is no text")
        argument = f"{module} {last}"
    text = argument.replace(" ", ".")
    if text not in (_ARRAY, _DTYPE, *_EMPTY_ARRAY):
        raise DataError(f"it names {text[:100]}, which has no place in images")
    reader.stack.append(_Name(text))


def _reduce(reader: _Reader, _: Any) -> None:
    """A call, of which there are two: an empty array, and the type of a byte."""
    arguments, called = reader.stack.pop(), reader.stack.pop()
    if called in map(_Name, _EMPTY_ARRAY) and arguments[0] == _Name(_ARRAY):
        reader.arrays += 1
        reader.stack.append(_Array())
    elif called == _Name(_DTYPE) and arguments[0] in ("u1", "|u1", "uint8"):
        reader.stack.append(_Bytes())
    else:
        raise DataError("it holds something else than arrays of bytes")


def _build(reader: _Reader, _: Any) -> None:
    """The state of a type, which says nothing more of bytes, or the shape and the bytes of an array."""
    state, target = reader.stack.pop(), reader.stack[-1]
    if isinstance(target, _Bytes) and isinstance(state, tuple):
        return
    if not isinstance(target, _Array) or not isinstance(state, tuple) or len(state) != 5:
        raise DataError("it sets the state of something else than an array")
    _, shape, kind, fortran, data = state
    raw = data.encode("latin-1") if isinstance(data, str) else data  # Python 2 had no bytes apart from texts
    sizes = isinstance(shape, tuple) and len(shape) <= 4 and all(type(size) is int and size >= 0 for size in shape)
    if not sizes or not isinstance(kind, _Bytes) or not isinstance(raw, bytes) or math.prod(shape) != len(raw):
        raise DataError("it has an array that is not one of as many bytes as its shape says")
    if reader.arrays > 1 or target.pixels is not None:  # each would have a copy of bytes that are in the file once
        raise DataError("it has more than one array")
    target.pixels = np.frombuffer(raw, np.uint8).reshape(shape, order="F" if fortran is True else "C")


_NOTHING = ("PROTO", "FRAME")
_VALUES = (
    *("BININT", "BININT1", "BININT2", "BINSTRING", "SHORT_BINSTRING"),
    *("BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES"),
)
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
}
_ACTIONS: dict[str, Callable[[_Reader, Any], None]] = {
    "MARK": _mark,
    "BINPUT": _put,
    "LONG_BINPUT": _put,
    "MEMOIZE": _put,
    "BINGET": _get,
    "LONG_BINGET": _get,
    "TUPLE": _tuple(None),
    "TUPLE1": _tuple(1),
    "TUPLE2": _tuple(2),
    "TUPLE3": _tuple(3),
    "APPEND": _append,
    "APPENDS": _appends,
    "SETITEM": _setitem,
    "SETITEMS": _setitems,
    "GLOBAL": _name,
    "STACK_GLOBAL": _name,
    "REDUCE": _reduce,
    "BUILD": _build,
}
