"""Programs of the suite: statements of one line each, and the values that they leave behind.

A program is text, so that it can be pasted, cut and kept. Each statement is run on its own; one
that raises is recorded with its exception, and the next one runs with the variables as they are
then. After every statement the values of all variables are recorded.
"""

from __future__ import annotations

import math
import re
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from portarray_conformance.programs.statements import read_statement
from portarray_conformance.target import NumpyArray, Target

# Names that programs may use in addition to their own variables.
BUILTINS: Mapping[str, Any] = {"np": np, "inf": math.inf, "nan": math.nan}


@dataclass(frozen=True, slots=True)
class Snap:
    """The value of one variable at one moment, free of the library that made it.

    ``kind`` is ``"array"`` (``type_name`` is the dtype, ``value`` a NumPy array), ``"tuple"``
    (``type_name`` is the type and the names of its fields, ``value`` the snaps of its items),
    ``"dtype"`` (``value`` is its name), ``"python"`` (``type_name`` is the type) or ``"object"``
    (``value`` is its public attributes). ``undefined`` is the mask of undefined elements.
    """

    kind: str
    type_name: str
    value: Any
    undefined: NumpyArray | None = None

    def same(self, other: Snap) -> bool:
        """Return whether both are the same bit for bit (any NaN counts as any other)."""
        if self.kind != other.kind or self.type_name != other.type_name:
            return False
        if self.kind == "array":
            first, second = self.value, other.value
            if first.shape != second.shape or first.dtype != second.dtype:
                return False
            return bool(first.tobytes() == second.tobytes()) or _same_values(first, second)
        if self.kind == "tuple":
            return len(self.value) == len(other.value) and all(
                a.same(b) for a, b in zip(self.value, other.value, strict=True)
            )
        return bool(self.value == other.value) or (
            self.value != self.value and other.value != other.value
        )


def _same_values(first: NumpyArray, second: NumpyArray) -> bool:
    """Compare values of which there are several patterns of bits: NaN, and uninitialized bools."""
    kind = first.dtype.kind
    if kind == "b":
        return bool(np.array_equal(first.view(np.uint8) != 0, second.view(np.uint8) != 0))
    if kind == "c":
        return _same_values(first.real, second.real) and _same_values(first.imag, second.imag)
    if kind not in "fV":
        return False
    if kind == "V":
        first, second = first.astype(np.float32), second.astype(np.float32)
    nan = np.isnan(first)
    if not nan.any() or not np.array_equal(nan, np.isnan(second)):
        return False
    return bool(np.where(nan, 0, first).tobytes() == np.where(nan, 0, second).tobytes())


@dataclass(frozen=True, slots=True)
class Raised:
    """The comparable parts of an exception."""

    name: str
    bases: tuple[str, ...]
    module: str
    text: str
    # Classes of other mistakes in the same statement, equally right.
    alternatives: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


@dataclass(frozen=True, slots=True)
class Step:
    """The exception of one statement, and all variables after it."""

    error: Raised | None
    after: Mapping[str, Snap]


def raised(error: BaseException) -> Raised:
    """Return the comparable parts of an exception."""
    kind = type(error)
    bases = tuple(base.__name__ for base in kind.__mro__)
    text = " ".join(str(error).split())
    alternatives = tuple(c.__name__ for c in getattr(error, "alternatives", ()))
    return Raised(kind.__name__, bases, kind.__module__, text, alternatives)


class Machine:
    """Runs statements in one namespace and takes snapshots of its variables.

    Parameters
    ----------
    xp
        The namespace, ``xp`` in programs.
    is_array, to_numpy, dtype_name
        Return whether a value is an array of the namespace; a copy of an array as a NumPy array;
        and the name of a dtype.
    undefined
        Which elements of an array the reference leaves open; None where there are none.
    """

    def __init__(
        self,
        xp: Any,
        *,
        is_array: Callable[[Any], bool],
        to_numpy: Callable[[Any], NumpyArray],
        dtype_name: Callable[[Any], str],
        undefined: Callable[[Any], NumpyArray | None] = lambda x: None,
    ) -> None:
        self.xp = xp
        self.is_array = is_array
        self.to_numpy = to_numpy
        self.undefined = undefined
        self._dtype_name = dtype_name
        self._names: dict[Any, str] = {}

    def environment(self) -> dict[str, Any]:
        """Return the variables that a program begins with."""
        return {"xp": self.xp, **BUILTINS}

    def dtype_name(self, dtype: Any) -> str:
        """Return the name of a dtype."""
        try:
            return self._names[dtype]
        except (KeyError, TypeError):
            name = self._dtype_name(dtype)
        if isinstance(dtype, (np.dtype, type)) or hasattr(dtype, "__hash__"):
            self._names[dtype] = name
        return name

    def run(self, statement: str, variables: dict[str, Any]) -> Raised | None:
        """Run one statement; return its exception."""
        code = read_statement(statement).code or statement
        try:
            exec(code, variables)  # noqa: S102 - the suite's own text
        except Exception as error:  # noqa: BLE001 - exceptions are compared
            return raised(error)
        return None

    def snap(self, value: Any) -> Snap:
        """Return the value without the library that made it."""
        if self.is_array(value):
            try:
                return Snap(
                    "array",
                    self.dtype_name(value.dtype),
                    self.to_numpy(value),
                    self.undefined(value),
                )
            except Exception as error:  # noqa: BLE001 - lazy libraries raise here
                return Snap("broken", type(error).__name__, " ".join(str(error).split()))
        if hasattr(value, "bits"):
            attributes = ("bits", "eps", "max", "min", "smallest_normal")
            limits = {key: float(getattr(value, key)) for key in attributes if hasattr(value, key)}
            return Snap("object", "limits", limits)
        if isinstance(value, (tuple, list)):
            fields = ",".join(getattr(value, "_fields", ()))
            type_name = f"{type(value).__name__}({fields})" if fields else type(value).__name__
            return Snap("tuple", type_name, tuple(self.snap(item) for item in value))
        if value is None or isinstance(value, (bool, int, float, complex, str)):
            return Snap("python", type(value).__name__, value)
        try:
            name = self.dtype_name(value)
        except (TypeError, ValueError, KeyError, AttributeError):
            name = ""
        if re.fullmatch(r"bool|u?int\d+|b?float\d+|complex\d+", name):
            return Snap("dtype", "", name)
        return Snap("object", type(value).__name__, None)

    def snapshot(self, variables: Mapping[str, Any]) -> dict[str, Snap]:
        """Return the values of all variables of a program."""
        return {
            name: self.snap(value)
            for name, value in variables.items()
            if name not in BUILTINS and name not in ("xp", "__builtins__")
        }

    def trace(self, statements: Iterable[str]) -> list[Step]:
        """Run a program and return the step of each statement."""
        variables = self.environment()
        steps = []
        for statement in statements:
            error = self.run(statement, variables)
            steps.append(Step(error, self.snapshot(variables)))
        return steps


def target_machine(target: Target) -> Machine:
    """Return the machine that runs programs on a target."""

    def to_numpy(x: Any) -> NumpyArray:
        near = target.fetch(x)
        if near is x:
            return target.get(x)
        return np.asarray(near)

    def dtype_name(dtype: Any) -> str:
        name = target.dtype_name(dtype)
        return dtype.name if isinstance(dtype, np.dtype) else name

    return Machine(target.xp, is_array=target.is_array, to_numpy=to_numpy, dtype_name=dtype_name)


def restore(machine: Machine, snap: Snap) -> Any:
    """Return a value of the machine's namespace from its snapshot."""
    xp = machine.xp
    if snap.kind == "array":
        value = snap.value
        return xp.asarray(np.array(value, copy=True), dtype=getattr(xp, snap.type_name))
    if snap.kind == "tuple":
        items = [restore(machine, item) for item in snap.value]
        if snap.type_name.endswith(")"):
            return _tuple_type(snap.type_name)(*items)
        return items if snap.type_name == "list" else tuple(items)
    if snap.kind == "dtype":
        return getattr(xp, snap.value)
    return snap.value


@cache
def _tuple_type(text: str) -> Any:
    """Return a type of named tuples from its text, such as ``"QRResult(Q,R)"``."""
    name, _, fields = text.rstrip(")").partition("(")
    return namedtuple(name, fields.split(","))
