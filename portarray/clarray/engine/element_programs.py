"""The programs of element-wise operations.

For each combination of dtypes an operation has a *plain* program of two kernels: ``flat`` for
contiguous arrays of one shape, ``walk`` for any layout, rank and mix with Python scalars. Large
arrays of other layouts get a program of one kernel, ``rows``, whose strides along the innermost
axis are compile-time constants, so that the compiler can vectorize contiguous accesses.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.dtypes import cl_type, kind_of
from portarray.clarray.engine.casting import conversion, macros
from portarray.clarray.engine.operation import Operation
from portarray.clarray.kernels import kernel_source

DType = np.dtype[Any]

LETTERS = "abc"

_CALL = re.compile(r"\b([a-z]\w*)\(")
_QUICK = frozenset(
    {
        "c_mul",
        "ceil",
        "copysign",
        "fabs",
        "floor",
        "fmax",
        "fmin",
        "isfinite",
        "isinf",
        "isnan",
        "max",
        "min",
        "rint",
        "signbit",
        "trunc",
    }
)

MANY = 4
"""The rank from which ``rows`` reads the sizes and strides of the outer axes from a buffer."""

# Intel's compiler builds ``walk`` twice as fast without vectorizing it, which small arrays do not
# need. Its gathers from strided memory take four times as long as scalar loads, so that cheap
# operations are not vectorized in ``rows`` either (8 million float32 sums: 9 ms instead of 40).
_INTEL = "-DUNVECTORIZED=__attribute__((intel_vec_len_hint(1)))"


class Task(NamedTuple):
    """What a program is written for."""

    operation: Operation
    kinds: tuple[DType | None, ...]
    dtype: DType
    out_dtype: DType


class Plain(NamedTuple):
    """The kernels of a plain program."""

    flat: Kernel
    walk: Kernel
    group: int


def part_dtype(dtype: DType) -> DType:
    """Return the dtype of by-value parameters of a compute type; two of them for a complex one."""
    if kind_of(dtype) in ("real", "complex"):
        return np.dtype(np.float64 if cl_type(dtype).needs_double else np.float32)
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype


@cache
def plain(task: Task, device: Device) -> Plain:
    """Return the kernels of the plain program."""
    options = _options(device)
    source, name = _plain_source(task), task.operation.name
    count = len(task.kinds)
    long = [np.int64] * (count + 2)
    values = [
        part
        for position in range(count)
        for part in _value_dtypes(task.operation.operand_dtype(position, task.dtype))
    ]
    return Plain(
        device.kernel(source, f"{name}_flat", count + 1, long, options),
        device.kernel(
            source, f"{name}_walk", count + 2, [*long, np.int32, np.int32, *values], options
        ),
        flat_group(device),
    )


def flat_group(device: Device) -> int:
    """Return the size of a work-group over contiguous arrays."""
    # On CPUs every group costs some time to start, so groups are large.
    traits = device.traits
    most: int = device.native.max_work_group_size
    return min(512, most) if traits.host_memory else traits.group


@cache
def rows(task: Task, steps: tuple[int | None, ...], rank: int, device: Device) -> Kernel:
    """Return the kernel for large arrays of one layout."""
    walked = 1 + sum(kind is not None for kind in task.kinds)
    many = rank == MANY
    shown = min(rank, MANY - 1)
    longs = walked + shown + walked * (shown - many) + many
    values = [
        part
        for position, kind in enumerate(task.kinds)
        if kind is None
        for part in _value_dtypes(task.operation.operand_dtype(position, task.dtype))
    ]
    return device.kernel(
        _rows_source(task, steps, rank),
        f"{task.operation.name}_rows",
        walked + many,
        [*[np.int64] * longs, *values],
        _options(device),
    )


def _options(device: Device) -> tuple[str, ...]:
    intel = device.kind == "cpu" and device.platform_name.startswith("Intel")
    return (_INTEL,) if intel else ("-DUNVECTORIZED=",)


def _value_dtypes(dtype: DType) -> tuple[DType, ...]:
    part = part_dtype(dtype)
    return (part, part) if dtype.kind == "c" else (part,)


def _head(task: Task) -> list[str]:
    """Return the lines that a program begins with."""
    operation, kinds, dtype, out_dtype = task
    natural = operation.result_dtype(dtype)
    computed = [operation.operand_dtype(position, dtype) for position in range(len(kinds))]
    casts = natural != out_dtype or any(
        kind is not None and kind != operand for kind, operand in zip(kinds, computed, strict=True)
    )
    files = (*(("casting",) if casts else ()), *operation.files(dtype))
    return [macros(dtype), *map(kernel_source, files)]


def _pointer(dtype: DType, name: str) -> str:
    return f"const __global {cl_type(dtype).storage} *{name}"


def _loaded(task: Task, position: int) -> str:
    """Return the expression that loads an array operand at its index."""
    operation, kinds, dtype, out_dtype = task
    letter, kind = LETTERS[position], kinds[position]
    operand = operation.operand_dtype(position, dtype)
    kind = operand if kind is None else kind
    stored = operation.forms[kind_of(dtype)] == "a" and operand == out_dtype
    return conversion(f"{cl_type(kind).load}({letter}_p, i_{letter})", kind, operand, stored=stored)


def _value(task: Task, position: int) -> tuple[list[str], str]:
    """Return the parameters and the expression of an operand that is a Python scalar."""
    operand = task.operation.operand_dtype(position, task.dtype)
    letter, compute = LETTERS[position], cl_type(operand).compute
    if operand.kind != "c":
        return [f"const {compute} {letter}_v"], f"{letter}_v"
    part = compute.removesuffix("2")
    parameters = [f"const {part} {letter}_re", f"const {part} {letter}_im"]
    return parameters, f"({compute})({letter}_re, {letter}_im)"


def _declared(task: Task, position: int, expression: str) -> str:
    compute = cl_type(task.operation.operand_dtype(position, task.dtype)).compute
    return f"    const {compute} {LETTERS[position]} = {expression};"


def _stored(task: Task) -> str:
    operation, _, dtype, out_dtype = task
    natural = operation.result_dtype(dtype)
    value = conversion(operation.forms[kind_of(dtype)], natural, out_dtype, stored=True)
    return f"    {cl_type(out_dtype).store}(o, i_o, {value});"


@cache
def _plain_source(task: Task) -> str:
    operation, kinds, dtype, out_dtype = task
    positions = range(len(kinds))
    letters = LETTERS[: len(kinds)]
    operands = [operation.operand_dtype(position, dtype) for position in positions]
    pointers = [
        _pointer(read or name, f"{letter}_p")
        for letter, read, name in zip(letters, kinds, operands, strict=True)
    ]
    buffers = [f"__global {cl_type(out_dtype).storage} *o", *pointers]
    indices = [f"long i_{name}" for name in ("o", *letters)]
    width = 2 + len(kinds)
    scalars = [_value(task, position) for position in positions]
    return "\n".join(
        [
            *_head(task),
            f"__kernel void {operation.name}_flat({', '.join([*buffers, *indices])}, long n) {{",
            "    const long at = get_global_id(0);",
            "    if (at >= n) return;",
            "    " + " ".join(f"i_{name} += at;" for name in ("o", *letters)),
            *(_declared(task, position, _loaded(task, position)) for position in positions),
            _stored(task),
            "}",
            f"__kernel UNVECTORIZED void {operation.name}_walk({', '.join(buffers)}, "
            f"const __global long *layout, {', '.join(indices)}, long n, int rank, int scalars, "
            f"{', '.join(name for names, _ in scalars for name in names)}) {{",
            "    long rest = get_global_id(0);",
            "    if (rest >= n) return;",
            f"    for (int axis = 0; axis < rank; ++axis, layout += {width}) {{",
            "        const long size = layout[0], at = rest % size;",
            "        rest /= size;",
            "        "
            + " ".join(
                f"i_{name} += at * layout[{1 + position}];"
                for position, name in enumerate(("o", *letters))
            ),
            "    }",
            *(
                _declared(
                    task,
                    position,
                    f"scalars & {1 << position} ? {value} : {_loaded(task, position)}",
                )
                for position, (_, value) in enumerate(scalars)
            ),
            _stored(task),
            "}",
        ]
    )


def _is_quick(task: Task) -> bool:
    """Return whether an operation is a few instructions, without calls of slow functions."""
    expression = task.operation.forms[kind_of(task.dtype)]
    return _QUICK.issuperset(_CALL.findall(expression))


@cache
def _rows_source(task: Task, steps: tuple[int | None, ...], rank: int) -> str:
    operation, kinds, _, out_dtype = task
    every = ["o"]
    buffers = [f"__global {cl_type(out_dtype).storage} *o"]
    scalars: list[str] = []
    body: list[str] = []
    for position, (letter, kind) in enumerate(zip(LETTERS, kinds, strict=False)):
        if kind is None:
            names, value = _value(task, position)
            scalars += names
        else:
            every.append(letter)
            buffers.append(_pointer(kind, f"{letter}_p"))
            value = _loaded(task, position)
        body.append(_declared(task, position, value))
    many = rank == MANY
    shown = min(rank, MANY - 1)
    values = [f"long i_{name}" for name in every]
    values += [f"const long n_{axis}" for axis in range(shown)]
    values += [f"const long s_{name}_{axis}" for axis in range(shown - many) for name in every]
    walk = [f"    const long at_{axis} = get_global_id({axis});" for axis in range(shown)]
    outside = " || ".join(f"at_{axis} >= n_{axis}" for axis in range(min(shown, 2)))
    walk.append(f"    if ({outside}) return;")
    if many:
        buffers.append("const __global long *layout")
        values.append("const long axes")
        width = 1 + len(every)
        walk += [
            "    long rest = at_2;",
            f"    for (long axis = 0; axis < axes; ++axis, layout += {width}) {{",
            "        const long size = layout[0], at = rest % size;",
            "        rest /= size;",
            "        "
            + " ".join(f"i_{name} += at * layout[{1 + i}];" for i, name in enumerate(every)),
            "    }",
        ]
    for name, step in zip(every, steps, strict=True):
        inner = f"at_0 * s_{name}_0" if step is None else f"at_0 * {step}"
        terms = [inner, *(f"at_{axis} * s_{name}_{axis}" for axis in range(1, shown - many))]
        walk.append(f"    i_{name} += {' + '.join(terms)};")
    hint = "UNVECTORIZED " if None in steps and _is_quick(task) else ""
    return "\n".join(
        [
            *_head(task),
            f"__kernel {hint}void {operation.name}_rows("
            f"{', '.join([*buffers, *values, *scalars])}) {{",
            *walk,
            *body,
            _stored(task),
            "}",
        ]
    )
