"""The types, names and literals of a program in a C-like language.

Numbers are ``i8`` to ``u64``, ``f32`` and ``f64``; float16 and bfloat16 are stored as such, and
computed in float32 and rounded after each operation, as NumPy does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from portarray._kernel_language import tree, types
from portarray._kernel_language.c_text import atom
from portarray._kernel_language.dialects import Dialect
from portarray._kernel_language.setting import MAX_AXES, Setting
from portarray._kernel_language.types import Array, DType, Number, Scalar, Tuple

_SHORT = {"int": "i", "uint": "u", "float": "f", "complex": "c"}
HALVES = ("float16", "bfloat16")


def c_name(dtype: DType) -> str:
    """Return the C name of a dtype in memory."""
    name = dtype.name
    if name == "bool":
        return "pa_bool"
    if name == "bfloat16":
        return "bf16"
    word = name.rstrip("0123456789")
    return _SHORT[word] + name[len(word) :]


class Types:
    """Types and names that the functions of a program share, and which of them it uses."""

    def __init__(self, kernel: tree.Function, setting: Setting, dialect: Dialect) -> None:
        self.setting = setting
        self.dialect = dialect
        self.written = kernel.written
        self.changing = tree.changing_in_helpers(kernel)
        self.default = tree.weak_dtype(kernel, setting.default)
        self.wide = setting.index_bits > 31
        self.offset = "i64" if self.wide else "i32"
        self.used: dict[tuple[str, str, int], DType] = {}  # sizes and strides that are read
        self.tuples: dict[tuple[str, ...], str] = {}
        self.unicode_names: dict[str, int] = {}
        self.small: dict[str, str] = {}  # functions needed in addition to the prelude's, by name

    def name(self, name: str) -> str:
        """Return the C name of a user's variable, array or function, or of a temporary.

        No language has words that begin so, and all other names in programs begin with ``pa_``.
        """
        return f"pa_value{name[1:]}" if name.startswith(".") else f"u_{self.in_ascii(name)}"

    def generated(self, prefix: str, name: str) -> str:
        """Return the C name of what belongs to a user's name, such as an array's size."""
        return f"pa_{prefix}_{self.in_ascii(name)}"

    def argument(self, function: tree.Function, name: str) -> str:
        """Return the C name of a parameter; one that is assigned to has a variable too."""
        return self.generated("given", name) if name in function.variables else self.name(name)

    def in_ascii(self, name: str) -> str:
        """Return a name, or instead of other letters than those of ASCII a number."""
        if name.isascii():
            return name
        return f"0u{self.unicode_names.setdefault(name, len(self.unicode_names))}"

    def settled(self, type_: Scalar) -> Scalar:
        """Return the strong type in which numbers are stored."""
        return types.settled(type_, self.default)

    def c_type(self, type_: Scalar | Tuple) -> str:
        if isinstance(type_, Tuple):
            return self.struct(tuple(self.c_type(item) for item in type_.items))
        dtype = self.settled(type_).dtype
        assert dtype is not None
        if dtype.name in HALVES:
            return "f32"
        return "bool" if dtype.kind == "b" else c_name(dtype)

    def struct(self, items: tuple[str, ...]) -> str:
        """Return the name of the struct for a tuple."""
        return self.tuples.setdefault(items, f"pa_tuple_{'_'.join(items)}")

    def cast(self, text: str, source: Scalar, target: Scalar) -> str:
        if target.kind == "c":
            name = c_name(target.strong_dtype)
            if source.kind == "c":
                return f"pa_{name}_of_{c_name(source.strong_dtype)}({text})"
            part = types.part_of(target)
            return f"pa_make_{name}({text if source == part else self.cast(text, source, part)}, 0)"
        if target.kind == "b":
            return f"({text} != 0)"
        if target.strong_dtype.name in HALVES:
            if source.strong_dtype == target.strong_dtype:
                return text
            # Integers that float32 does not hold are rounded once.
            wide = "f64" if source.strong_dtype.itemsize > 4 and self.has_double() else "f32"
            return f"pa_round_{c_name(target.strong_dtype)}_{wide}(({wide}){text})"
        name = c_name(target.strong_dtype)
        if source.strong_dtype.name in HALVES and name == "f32":
            return text
        return f"({name}){text}" if atom(text) else f"({name})({text})"

    def has_double(self) -> bool:
        return np.dtype(np.float64) in self.setting.dtypes

    def literal(self, value: Number, target: Scalar) -> str:
        dtype = target.dtype
        assert dtype is not None
        if target.kind == "c":
            part = types.part_of(target)
            parts = [self.literal(real, part) for real in (value.real, value.imag)]
            return f"pa_make_{c_name(dtype)}({', '.join(parts)})"
        if dtype.kind == "b":
            return "true" if value else "false"
        if target.kind == "f":
            if dtype.name in HALVES:
                with np.errstate(all="ignore"):
                    value = float(np.asarray(value).astype(dtype))
            real = float(value)
            if dtype.itemsize <= 4:
                with np.errstate(over="ignore"):
                    real = float(np.float32(real))
            if math.isnan(real) or math.isinf(real):
                word = "PA_NAN" if math.isnan(real) else "PA_INF"
                text = f"(-{word})" if real < 0 else word
                return f"(({c_name(dtype) if dtype.itemsize > 2 else 'f32'}){text})"
            if dtype.itemsize == 8:
                return repr(real) if real >= 0 else f"({real!r})"
            return f"{real!r}f" if not repr(real).startswith("-") else f"({real!r}f)"
        whole = int(value)
        limits = np.iinfo(dtype)
        if whole == limits.min and whole < 0 and dtype.itemsize >= 4:
            return f"({self.literal(whole + 1, target)} - 1)"
        long = self.dialect.long_suffix
        suffix = {"int64": long, "uint64": f"U{long}", "uint32": "U"}.get(dtype.name, "")
        text = f"{whole}{suffix}"
        return text if whole >= 0 else f"({text})"

    def use(self, quantity: str, array: Array, axis: int) -> str:
        """Return the name of an array's size or stride, and record its use."""
        self.used["offset" if quantity == "offset" else quantity, array.name, axis] = (
            types.INT64 if self.wide else types.INT32
        )
        return self.generated(f"{quantity}{axis}", array.name)

    def length(self, axis: int) -> str:
        """Return the number of work-items along an axis of launches."""
        if self.setting.ndim <= MAX_AXES:
            return f"pa_ndrange{axis}"
        return f"({' * '.join(f'pa_ndrange{n}' for n in range(self.setting.ndim))})"

    def origins(self) -> range:
        """Return the axes whose indices begin at a value, as a launch may be a part of a call."""
        return range(self.axes if self.wide else 0)

    def origin(self, axis: int) -> str:
        """Return what is added to an index of a launch."""
        return f" + pa_origin{axis}" if self.wide else ""

    @property
    def axes(self) -> int:
        """The number of axes of a launch."""
        return self.setting.ndim if self.setting.ndim <= MAX_AXES else 1

    def inherited(self, helper: tree.Function, *, declare: bool = False) -> list[str]:
        """Return a helper's arrays, their sizes and strides, and the work-item's place.

        All that the kernel has: compilers drop what is not used.
        """
        out = []
        arrays = {a.name: a for a in tree.arrays_of(helper)}
        for name in sorted(arrays):
            array = arrays[name]
            pointer_name = self.name(name)
            out.append(f"{self.pointer(array)} {pointer_name}" if declare else pointer_name)
            if array.shape is None:
                for axis in range(array.ndim):
                    parts = [self.use("size", array, axis)]
                    if array.strided:
                        parts.append(self.use("stride", array, axis))
                    out += [
                        f"const {self.offset} {size_name}" if declare else size_name
                        for size_name in parts
                    ]
        for axis in range(self.setting.ndim):
            for size_name in (f"pa_index{axis}", f"pa_ndrange{axis}"):
                out.append(f"const {self.offset} {size_name}" if declare else size_name)
        for axis in self.origins():
            out.append(f"const {self.offset} pa_origin{axis}" if declare else f"pa_origin{axis}")
        out += self.dialect.inherited_declared if declare else self.dialect.inherited
        return out

    def unraveled(self, linear: str) -> Iterator[str]:  # numpydoc ignore=YD01
        """Yield the declarations of the indices along all axes, from a linear one."""
        yield f"{self.offset} pa_rest = {linear};"
        for axis in range(self.setting.ndim - 1, 0, -1):
            yield f"const {self.offset} pa_index{axis} = pa_rest % pa_ndrange{axis};"
            yield f"pa_rest /= pa_ndrange{axis};"
        yield f"const {self.offset} pa_index0 = pa_rest;"

    def pointer(self, array: Array) -> str:
        """Return the type of a pointer to an array's elements."""
        space = f"PA_{array.space.upper()}"
        const = "" if array.space != "global" or array.name in self.written else "const "
        return f"{space} {const}{c_name(array.dtype)}*"
