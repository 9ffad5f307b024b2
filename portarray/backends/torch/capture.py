"""portarray's arrays in PyTorch's transformations: pytrees for ``torch.func``, and Dynamo.

Dynamo, which captures graphs for ``torch.compile``, interprets a function's bytecode, and would
have to interpret portarray's dispatch, caches and checks. An attribute of each public function
therefore names a substitute for Dynamo. It unwraps arrays and calls the function under
``nonstrict_trace``: Dynamo does not interpret the function, but the compiler records its calls of
PyTorch.
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
from portarray.backends.types import Arrays

__all__ = ["Capture"]

Function = Callable[..., Any]


class Capture(Backend):
    """The hooks of PyTorch's transformations."""

    def register_arrays(self, arrays: Arrays) -> None:
        """See :meth:`portarray.backends.base.Backend.register_arrays`."""
        _register_tree(arrays)
        # Tagging takes longer than a program's first calls, and only the compiler reads the tags.
        arrays.after_import("torch._dynamo", lambda module: _tag(arrays))


def _tag(arrays: Arrays) -> None:
    """Tell PyTorch's compiler what to do with each public function."""
    _state.arrays = arrays
    _state.functions = arrays.functions()
    results: dict[str, Any] = {
        name: getattr(function, "__globals__", {}).get(
            str(function.__annotations__.get("return")).partition("[")[0]
        )
        for name, function in _state.functions.items()
    }
    _state.named = {name: kind for name, kind in results.items() if hasattr(kind, "_fields")}
    for name, function in _state.functions.items():
        if name not in _WITHOUT_SUBSTITUTE:
            function._torchdynamo_inline = _substitute(name)  # type: ignore[attr-defined]
        _skip(function)
    for function in arrays.others():
        _skip(function)
        function._torchdynamo_disable = True  # type: ignore[attr-defined]
        function._torchdynamo_disable_msg = _MESSAGE  # type: ignore[attr-defined]


class _ForeignArray:
    """An array of another library, a constant of the pytree; equal only to itself."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ForeignArray) and other.array is self.array

    def __hash__(self) -> int:
        return id(self.array)


def _register_tree(arrays: Arrays) -> None:
    def flatten(x: Any) -> tuple[list[Any], Any]:
        try:
            return [arrays.unwrap(x)], None
        except TypeError:
            return [], _ForeignArray(x)

    def unflatten(leaves: Any, foreign: Any) -> Any:
        return arrays.wrap(*leaves) if foreign is None else foreign.array

    pytree.register_pytree_node(arrays.array_type, flatten, unflatten)


def _skip(function: Function) -> None:
    """Keep Dynamo from compiling a function and its callees after a graph break."""
    frames: Any = torch._C._dynamo.eval_frame
    if isinstance(function, FunctionType) and hasattr(frames, "_FrameExecStrategy"):
        skip = frames._FrameAction.SKIP
        frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(skip, skip))


# --- interpreted by Dynamo -----------------------------------------------------------------------


class _State:
    """Set when the backend is loaded."""

    arrays: Arrays
    functions: Mapping[str, Function]
    named: Mapping[str, type]
    """Functions that return a named tuple, with its class."""


_state = _State()

_WITHOUT_SUBSTITUTE = frozenset(
    f"Array.{name}"
    for name in (
        *("__array__", "__array_namespace__", "__array_ufunc__", "__complex__", "__contains__"),
        *("__copy__", "__deepcopy__", "__dlpack__", "__dlpack_device__", "__format__", "__iter__"),
        *("__len__", "__reduce_ex__", "__repr__", "__str__", "all", "any", "astype", "copy"),
        *("max", "mean", "min", "reshape", "squeeze", "sum", "to_device", "tolist"),
    )
)
"""Methods without a substitute: they call other functions, or Dynamo cannot capture them."""

_MESSAGE = "portarray's functions are captured whole, and this one does not compute arrays alone"

_VALUES: dict[str, Function] = {
    "Array.__bool__": lambda self: bool(_tensor(self)),
    "Array.__int__": lambda self: int(_tensor(self)),
    "Array.__float__": lambda self: float(_tensor(self)),
    "Array.__index__": lambda self: int(_tensor(self)),
    "Array.item": lambda self: _tensor(self).item(),
}
"""Methods that need an array's values: PyTorch decides."""

_QUERIES = frozenset(("can_cast", "device", "finfo", "iinfo", "isdtype", "result_type"))
"""Functions that return no arrays and need only dtypes."""


def _substitute(name: str) -> Function:
    """Return the function that Dynamo interprets instead of a public function."""
    if name in _VALUES:
        return _VALUES[name]
    read: Any = _read_call
    if name in _QUERIES:
        read = _read_query_tuple if name in _state.named else _read_query
    elif name in _state.named:
        read = _read_call_tuple
    elif name == "Array.__setitem__":
        read = _read_setitem
    elif name.startswith("Array.__i") and name != "Array.__invert__":
        read = _read_inplace
    # Not a closure: Dynamo's guards would look for it in the original function.
    code = read.__code__
    constants = tuple([name if x == "NAME" else x for x in code.co_consts])
    return FunctionType(code.replace(co_consts=constants), read.__globals__)


def _read_call(*args: Any, **options: Any) -> Any:
    return _wrap(_capture_call("NAME", args, options))


def _read_call_tuple(*args: Any, **options: Any) -> Any:
    return _state.named["NAME"](*_wrap(_capture_call("NAME", args, options)))


def _read_query(*args: Any) -> Any:
    return _query("NAME", *_dtypes(*args))


def _read_query_tuple(*args: Any) -> Any:
    name, dtypes = "NAME", _dtypes(*args)
    kind: Any = _state.named[name]
    parts = [_query_part(name, n, *dtypes) for n in range(len(kind._fields))]
    # See below for the sum.
    return kind(*[x + 0 if isinstance(x, (int, float)) else x for x in parts])


def _dtypes(*args: Any) -> list[Any]:
    kind: Any = _state.arrays.array_type
    return [x.dtype if isinstance(x, kind) else x for x in args]


def _read_inplace(self: Any, operand: Any) -> Any:
    _state.arrays.put(self, _capture_call("NAME", (self, operand), {}))
    return self


def _read_setitem(self: Any, key: Any, value: Any) -> None:
    _state.arrays.put(self, _capture_call("NAME", (self, key, value), {}))


def _tensor(x: Any) -> Any:
    native = _state.arrays.bare(x)
    if not isinstance(native, Tensor):
        raise TypeError(
            "torch.compile: an array is not on a device of PyTorch\n"
            "Hint: move it first, x.to_device('torch')"
        )
    return native


def _capture_call(name: str, args: Any, options: Any) -> Any:
    """Call a function as a whole: tensors and numbers are inputs, everything else is constant."""
    inputs: list[Any] = []
    constants: list[Any] = []
    structure = (
        _structure(args, inputs, constants),
        tuple(options),
        _structure(tuple(options.values()), inputs, constants),
    )
    devices = [x.device for x in inputs if isinstance(x, Tensor)]
    # Dynamo adds no guards for the sum, which is a constant without a source.
    call = _record_call(name, structure, len(devices), *devices, *constants) + 0
    return _opaque_call(call, *inputs)


def _structure(x: Any, inputs: list[Any], constants: list[Any]) -> Any:
    """Return the structure of an argument, and append its leaves to the lists."""
    if isinstance(x, _state.arrays.array_type):
        inputs.append(_tensor(x))
        return "array"
    if isinstance(x, list):
        return ("list", tuple([_structure(item, inputs, constants) for item in x]))
    if isinstance(x, tuple):
        return ("tuple", tuple([_structure(item, inputs, constants) for item in x]))
    if isinstance(x, np.ndarray):
        inputs.append(torch.as_tensor(x))
        return "host"
    if isinstance(x, slice):
        return (
            "slice",
            tuple([_structure(item, inputs, constants) for item in (x.start, x.stop, x.step)]),
        )
    # Numbers may be symbolic sizes.
    if isinstance(x, (Tensor, int, float)) and not isinstance(x, bool):
        inputs.append(x)
        return "input"
    constants.append(x)
    return "constant"


def _wrap(result: Any) -> Any:
    if isinstance(result, Tensor):
        return _state.arrays.stored(result, _tables[result.device][result.dtype])
    return tuple([_wrap(item) for item in result]) if isinstance(result, tuple) else result


# --- called while Dynamo captures ----------------------------------------------------------------

_TAKE_HOST = frozenset(("asarray", "Array.__getitem__", "Array.__setitem__"))
"""Functions that accept NumPy arrays, which Dynamo turns into tensors."""

_calls: list[tuple[str, Any, tuple[Any, ...]]] = []
_tables: dict[Any, Any] = {}
_opaque_call: Any = None  # set by the first call: importing Dynamo takes a second


def _query(name: str, *args: Any) -> Any:
    return _state.functions[name](*args)


def _query_part(name: str, index: int, *args: Any) -> Any:
    return _state.functions[name](*args)[index]


def _record_call(name: str, structure: Any, device_count: int, *constants: Any) -> int:
    """Record a call and return its index."""
    global _opaque_call
    if _opaque_call is None:
        if not hasattr(torch._dynamo, "nonstrict_trace"):
            raise RuntimeError(
                f"torch.compile: portarray needs PyTorch 2.7 or newer, got {torch.__version__}"
            )
        _opaque_call = torch._dynamo.nonstrict_trace(_make_call)
    named = [getattr(x, "native", None) for x in constants[device_count:]]
    for device in (*constants[:device_count], *named):
        if isinstance(device, torch.device) and device not in _tables:
            _tables[device] = _state.arrays.tables(device)
    _calls.append((name, structure, constants[device_count:]))
    return len(_calls) - 1


# Their results are constants for Dynamo.
_query._dynamo_marked_constant = True  # type: ignore[attr-defined]
_query_part._dynamo_marked_constant = True  # type: ignore[attr-defined]
_record_call._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _make_call(call: int, *inputs: Any) -> Any:
    """Make a recorded call with these tensors and numbers."""
    name, structure, constants = _calls[call]
    input_iterator, constant_iterator = iter(inputs), iter(constants)

    def filled(structure: Any) -> Any:
        if structure == "array":
            return _state.arrays.wrap(next(input_iterator))
        if structure == "host":
            values = next(input_iterator)
            return _state.arrays.wrap(values) if name in _TAKE_HOST else values
        if structure == "input":
            return _concrete(next(input_iterator))
        if structure == "constant":
            return next(constant_iterator)
        kind, parts = structure
        values = [filled(part) for part in parts]
        return slice(*values) if kind == "slice" else values if kind == "list" else tuple(values)

    args = filled(structure[0])
    options = dict(zip(structure[1], filled(structure[2]), strict=True))
    result = _state.functions[name](*args, **options)
    return _unwrap(args[0] if result is None else result)


def _concrete(x: Any) -> Any:
    """Return the number of a symbol, on which Dynamo then guards."""
    if isinstance(x, SymInt):
        return int(x)
    return float(x) if isinstance(x, SymFloat) else x


def _unwrap(result: Any) -> Any:
    if isinstance(result, _state.arrays.array_type):
        return _state.arrays.bare(result)
    return tuple([_unwrap(item) for item in result]) if isinstance(result, tuple) else result
