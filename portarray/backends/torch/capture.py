"""portarray's arrays in PyTorch's transformations: pytrees for ``torch.func``, and Dynamo.

Dynamo, which captures graphs for ``torch.compile``, reads a function's bytecode, and would have to
read portarray's tables, caches and checks with it. So it is given, in the place of each public
function, another one: that takes arrays apart and calls the function as a whole, which Dynamo does
not read (``nonstrict_trace``), but whose calls of PyTorch the compiler sees. Dynamo finds it in an
attribute of the function; to all others the function is what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch import SymFloat, SymInt, Tensor
from torch.utils import _pytree as pytree

from portarray.backends.base import Backend
from portarray.backends.torch.tracing import is_traced
from portarray.backends.types import Arrays

__all__ = ["Capture"]

Function = Callable[..., Any]


class Capture(Backend):
    """The hooks of PyTorch's transformations."""

    def adopt(self, arrays: Arrays) -> None:
        """See :meth:`portarray.backends.base.Backend.adopt`."""
        _register_tree(arrays)
        _state.arrays = arrays
        _state.functions = arrays.functions()
        results: dict[str, Any] = {
            name: getattr(function, "__globals__", {}).get(function.__annotations__.get("return"))
            for name, function in _state.functions.items()
        }
        _state.named = {name: kind for name, kind in results.items() if hasattr(kind, "_fields")}
        for name, function in _state.functions.items():
            if name not in _READ:
                function._torchdynamo_inline = _in_place_of(name)  # type: ignore[attr-defined]
            _skip(function)
        for function in arrays.others():
            _skip(function)
            function._torchdynamo_disable = True  # type: ignore[attr-defined]
            function._torchdynamo_disable_msg = _MESSAGE  # type: ignore[attr-defined]

    def is_traced(self, x: Any) -> bool:
        """See :meth:`portarray.backends.base.Backend.is_traced`."""
        return is_traced(x)


class _Other:
    """An array of another library, which is no tree for PyTorch; equal to itself alone."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Other) and other.array is self.array

    def __hash__(self) -> int:
        return id(self.array)


def _register_tree(arrays: Arrays) -> None:
    def flatten(x: Any) -> tuple[list[Any], Any]:
        try:
            return [arrays.unwrap(x)], None
        except TypeError:
            return [], _Other(x)

    def unflatten(leaves: Any, other: Any) -> Any:
        return arrays.wrap(*leaves) if other is None else other.array

    pytree.register_pytree_node(arrays.array_type, flatten, unflatten)


def _skip(function: Function) -> None:
    """Have Dynamo compile neither a function nor what it calls where that is not captured whole.

    After a graph break it would try.
    """
    frames: Any = torch._C._dynamo.eval_frame
    if isinstance(function, FunctionType) and hasattr(frames, "_FrameExecStrategy"):
        skip = frames._FrameAction.SKIP
        frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(skip, skip))


# --- what Dynamo reads ---------------------------------------------------------------------------


class _State:
    """What is known once the backend is loaded."""

    arrays: Arrays
    functions: Mapping[str, Function]
    named: Mapping[str, type]
    """Functions that return a named tuple, with its class."""


_state = _State()

_READ = frozenset(
    f"Array.{name}"
    for name in (
        *("__array__", "__array_namespace__", "__array_ufunc__", "__complex__", "__contains__"),
        *("__copy__", "__deepcopy__", "__dlpack__", "__dlpack_device__", "__format__", "__iter__"),
        *("__len__", "__reduce_ex__", "__repr__", "__str__", "all", "any", "astype", "copy"),
        *("max", "mean", "min", "reshape", "squeeze", "sum", "to_device", "tolist"),
    )
)
"""Methods that Dynamo reads itself: they call functions, or are out of its reach."""

_MESSAGE = "portarray's functions are captured whole, and this one does not compute arrays alone"

_VALUES: dict[str, Function] = {
    "Array.__bool__": lambda self: bool(_tensor(self)),
    "Array.__int__": lambda self: int(_tensor(self)),
    "Array.__float__": lambda self: float(_tensor(self)),
    "Array.__index__": lambda self: int(_tensor(self)),
    "Array.item": lambda self: _tensor(self).item(),
}
"""Methods that need an array's values: PyTorch says what it makes of them."""

_ANSWERED = frozenset(("can_cast", "device", "finfo", "iinfo", "isdtype", "result_type"))
"""Functions that return no arrays, of which only dtypes matter."""


def _in_place_of(name: str) -> Function:
    """Return what Dynamo reads in the place of a public function."""
    if name in _VALUES:
        return _VALUES[name]
    read: Any = _calling
    if name in _ANSWERED:
        read = _asking_several if name in _state.named else _asking
    elif name in _state.named:
        read = _naming
    elif name == "Array.__setitem__":
        read = _assigning
    elif name.startswith("Array.__i") and name != "Array.__invert__":
        read = _changing
    # A closure would do, but for its guards: they look at the closure of the function itself.
    code = read.__code__
    constants = tuple([name if x == "NAME" else x for x in code.co_consts])
    return FunctionType(code.replace(co_consts=constants), read.__globals__)


def _calling(*args: Any, **options: Any) -> Any:
    return _wrapped(_called("NAME", args, options))


def _naming(*args: Any, **options: Any) -> Any:
    return _state.named["NAME"](*_wrapped(_called("NAME", args, options)))


def _asking(*args: Any) -> Any:
    return _answered("NAME", *_dtypes(*args))


def _asking_several(*args: Any) -> Any:
    name, given = "NAME", _dtypes(*args)
    kind: Any = _state.named[name]
    parts = [_part(name, n, *given) for n in range(len(kind._fields))]
    # See below for the sum.
    return kind(*[x + 0 if isinstance(x, (int, float)) else x for x in parts])


def _dtypes(*args: Any) -> list[Any]:
    kind: Any = _state.arrays.array_type
    return [x.dtype if isinstance(x, kind) else x for x in args]


def _changing(self: Any, other: Any) -> Any:
    _state.arrays.put(self, _called("NAME", (self, other), {}))
    return self


def _assigning(self: Any, key: Any, value: Any) -> None:
    _state.arrays.put(self, _called("NAME", (self, key, value), {}))


def _tensor(x: Any) -> Any:
    native = _state.arrays.bare(x)
    if not isinstance(native, Tensor):
        raise TypeError(
            "torch.compile captures calls on devices of PyTorch, and this array is on another; "
            "move it before: x.to_device('torch')"
        )
    return native


def _called(name: str, args: Any, options: Any) -> Any:
    """Call a function as a whole: tensors and numbers are handed over, all else is a constant."""
    given: list[Any] = []
    others: list[Any] = []
    form = (
        _form(args, given, others),
        tuple(options),
        _form(tuple(options.values()), given, others),
    )
    places = [x.device for x in given if isinstance(x, Tensor)]
    # The sum is a constant without a source, and Dynamo guards none that has one.
    number = _noted(name, form, len(places), *places, *others) + 0
    return _made_whole(number, *given)


def _form(x: Any, given: list[Any], others: list[Any]) -> Any:
    """Return what an argument is made of, and put its parts into lists."""
    if isinstance(x, _state.arrays.array_type):
        given.append(_tensor(x))
        return "array"
    if isinstance(x, list):
        return ("list", tuple([_form(one, given, others) for one in x]))
    if isinstance(x, tuple):
        return ("tuple", tuple([_form(one, given, others) for one in x]))
    if isinstance(x, np.ndarray):
        given.append(torch.as_tensor(x))
        return "host"
    if isinstance(x, slice):
        return ("slice", tuple([_form(one, given, others) for one in (x.start, x.stop, x.step)]))
    # Numbers may be symbols: sizes that vary.
    if isinstance(x, (Tensor, int, float)) and not isinstance(x, bool):
        given.append(x)
        return "given"
    others.append(x)
    return "other"


def _wrapped(result: Any) -> Any:
    if isinstance(result, Tensor):
        return _state.arrays.stored(result, _tables[result.device][result.dtype])
    return tuple([_wrapped(one) for one in result]) if isinstance(result, tuple) else result


# --- what is called while Dynamo reads -----------------------------------------------------------

_TAKE_HOST = frozenset(("asarray", "Array.__getitem__", "Array.__setitem__"))
"""Functions that take NumPy's arrays, which are tensors for Dynamo; others refuse tensors too."""

_calls: list[tuple[str, Any, tuple[Any, ...]]] = []
_tables: dict[Any, Any] = {}
_made_whole: Any = None  # once Dynamo, which takes a second to import, has met a call


def _answered(name: str, *args: Any) -> Any:
    return _state.functions[name](*args)


def _part(name: str, number: int, *args: Any) -> Any:
    return _state.functions[name](*args)[number]


def _noted(name: str, form: Any, number: int, *others: Any) -> int:
    """Note a call and return its number."""
    global _made_whole
    if _made_whole is None:
        if not hasattr(torch._dynamo, "nonstrict_trace"):
            raise RuntimeError(
                f"torch.compile captures portarray's functions with PyTorch 2.7 and newer, and "
                f"this is {torch.__version__}"
            )
        _made_whole = torch._dynamo.nonstrict_trace(_made)
    named = [getattr(x, "native", None) for x in others[number:]]
    for place in (*others[:number], *named):
        if isinstance(place, torch.device) and place not in _tables:
            _tables[place] = _state.arrays.tables(place)
    _calls.append((name, form, others[number:]))
    return len(_calls) - 1


# Their results are constants for Dynamo.
_answered._dynamo_marked_constant = True  # type: ignore[attr-defined]
_part._dynamo_marked_constant = True  # type: ignore[attr-defined]
_noted._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _made(number: int, *given: Any) -> Any:
    """Make a call that was noted, with these tensors and numbers."""
    name, form, others = _calls[number]
    every, rest = iter(given), iter(others)

    def filled(form: Any) -> Any:
        if form == "array":
            return _state.arrays.wrap(next(every))
        if form == "host":
            values = next(every)
            return _state.arrays.wrap(values) if name in _TAKE_HOST else values
        if form == "given":
            return _settled(next(every))
        if form == "other":
            return next(rest)
        kind, parts = form
        values = [filled(part) for part in parts]
        return slice(*values) if kind == "slice" else values if kind == "list" else tuple(values)

    args = filled(form[0])
    options = dict(zip(form[1], filled(form[2]), strict=True))
    result = _state.functions[name](*args, **options)
    return _natives(args[0] if result is None else result)


def _settled(x: Any) -> Any:
    """Return a symbol as the number that it stands for, which is guarded then."""
    if isinstance(x, SymInt):
        return int(x)
    return float(x) if isinstance(x, SymFloat) else x


def _natives(result: Any) -> Any:
    if isinstance(result, _state.arrays.array_type):
        return _state.arrays.bare(result)
    return tuple([_natives(one) for one in result]) if isinstance(result, tuple) else result
