"""A program of the suite: statements of one line each, and what running them leaves behind.

A program is text, so that it can be pasted, cut and kept. Each statement is run on its own; one
that raises is recorded with its exception, and the next one runs with the variables as they are
then. After every statement the values of all variables are recorded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from portarray_conformance.programs.statements import read_statement
from portarray_conformance.target import Target

NumpyArray = npt.NDArray[Any]

HEADER = "import numpy as np\nfrom math import inf, nan\n"
# What programs may use besides their own variables.
BUILTINS: Mapping[str, Any] = {
    "np": np,
    "inf": math.inf,
    "nan": math.nan,
}


@dataclass(frozen=True, slots=True)
class Snap:
    """The value of one variable at one moment, free of the library that made it.

    ``kind`` is ``"array"`` (``what`` is the dtype's name, ``value`` a NumPy array), ``"tuple"``
    (``what`` the type's name and the names of its fields, ``value`` the snaps of its items),
    ``"dtype"`` (``value`` its name), ``"python"`` (``what`` the type's name) or ``"object"``
    (``value`` its public attributes). ``unsure`` marks elements that the reference leaves open.
    """

    kind: str
    what: str
    value: Any
    unsure: NumpyArray | None = None

    def same(self, other: Snap) -> bool:
        """Say whether both are the same bit for bit (any NaN counts as any other)."""
        if self.kind != other.kind or self.what != other.what:
            return False
        if self.kind == "array":
            one, two = self.value, other.value
            if one.shape != two.shape or one.dtype != two.dtype:
                return False
            return bool(one.tobytes() == two.tobytes()) or _same_values(one, two)
        if self.kind == "tuple":
            return len(self.value) == len(other.value) and all(
                a.same(b) for a, b in zip(self.value, other.value, strict=True)
            )
        return bool(self.value == other.value) or (
            self.value != self.value and other.value != other.value
        )


def _same_values(one: NumpyArray, two: NumpyArray) -> bool:
    """Compare values of which there are several patterns of bits: NaN, and uninitialized bools."""
    kind = one.dtype.kind
    if kind == "b":
        return bool(np.array_equal(one.view(np.uint8) != 0, two.view(np.uint8) != 0))
    if kind == "c":
        return _same_values(one.real, two.real) and _same_values(one.imag, two.imag)
    if kind not in "fV":
        return False
    if kind == "V":
        one, two = one.astype(np.float32), two.astype(np.float32)
    nan = np.isnan(one)
    if not nan.any() or not np.array_equal(nan, np.isnan(two)):
        return False
    return bool(np.where(nan, 0, one).tobytes() == np.where(nan, 0, two).tobytes())


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception, by what can be compared."""

    name: str
    bases: tuple[str, ...]
    module: str
    text: str
    # Classes of other mistakes in the same statement, each as right.
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """What one statement left behind: its exception, and all variables after it."""

    error: Raised | None
    after: Mapping[str, Snap]


def raised(error: BaseException) -> Raised:
    """Return what of an exception is compared."""
    kind = type(error)
    bases = tuple(one.__name__ for one in kind.__mro__)
    text = " ".join(str(error).split())
    also = tuple(one.__name__ for one in getattr(error, "also", ()))
    return Raised(kind.__name__, bases, kind.__module__, text, also)


class Machine:
    """Runs statements in one namespace and takes snapshots of its variables.

    Parameters
    ----------
    xp
        The namespace, ``xp`` in programs.
    is_array, to_numpy, dtype_name
        Whether a value is an array of it; an array's values as a NumPy array of its own; and the
        name of a dtype.
    unsure
        Which elements of an array the reference leaves open; None where there are none.
    """

    def __init__(
        self,
        xp: Any,
        *,
        is_array: Callable[[Any], bool],
        to_numpy: Callable[[Any], NumpyArray],
        dtype_name: Callable[[Any], str],
        unsure: Callable[[Any], NumpyArray | None] = lambda x: None,
    ) -> None:
        self.xp = xp
        self.is_array = is_array
        self.to_numpy = to_numpy
        self.unsure = unsure
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
        """Run one statement; return what it raised."""
        code = read_statement(statement).code or statement
        try:
            exec(code, variables)  # noqa: S102 - the suite's own text
        except Exception as error:  # noqa: BLE001 - what a library raises is compared
            return raised(error)
        return None

    def snap(self, value: Any) -> Snap:
        """Return the value without the library that made it."""
        if self.is_array(value):
            try:
                return Snap(
                    "array", self.dtype_name(value.dtype), self.to_numpy(value), self.unsure(value)
                )
            except Exception as error:  # noqa: BLE001 - lazy libraries raise here
                return Snap("broken", type(error).__name__, " ".join(str(error).split()))
        if hasattr(value, "bits"):
            known = ("bits", "eps", "max", "min", "smallest_normal")
            found = {key: float(getattr(value, key)) for key in known if hasattr(value, key)}
            return Snap("object", "limits", found)
        if isinstance(value, (tuple, list)):
            fields = ",".join(getattr(value, "_fields", ()))
            what = f"{type(value).__name__}({fields})" if fields else type(value).__name__
            return Snap("tuple", what, tuple(self.snap(item) for item in value))
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
        """Run a program and return what each statement left behind."""
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
