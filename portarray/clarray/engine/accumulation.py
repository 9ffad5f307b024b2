"""What reductions and scans share: accumulators in OpenCL C, and the division of work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.dtypes import cl_type, computed_dtype, real_dtype_of
from portarray.clarray.kernels import kernel_source

DType = np.dtype[Any]
Accumulator: TypeAlias = Literal["result", "own", "truth", "count"]

LANES = 16
"""Vector lanes of the kernels."""

WORTH = 1 << 15
"""Elements that are worth another work-item on a CPU."""

_TRUTHS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
_VECTOR_LOADS = {
    "LOAD_HALF": "vload_half16(0, (const __global half *)(p))",
    "LOAD_BF16": "as_float16(convert_uint16(vload16(0, p)) << 16)",
}
_SIGNED = ("char", "short", "int", "long")


def accumulator_dtype(accumulator: Accumulator, source: DType, target: DType) -> DType:
    """Return the dtype of an accumulator."""
    if accumulator == "count":
        return np.dtype(np.int64)
    if accumulator == "truth":
        return np.dtype(_TRUTHS[real_dtype_of(computed_dtype(source)).itemsize])
    dtype = computed_dtype(target if accumulator == "result" else source)
    # Signed overflow is undefined in C; unsigned arithmetic gives the same bits.
    wraps = accumulator == "result" and dtype.kind in "iub"
    return np.dtype(np.uint64) if wraps else dtype


def definitions(
    device: Device,
    source: DType,
    target: DType,
    partial: DType,
    combine: tuple[str, str],
    value: str,
    result: str,
) -> list[str]:
    """Return the macros of reductions and scans, for scalars and for vectors of 16."""
    element, out, sums = cl_type(source), cl_type(target), cl_type(partial)
    if partial == np.uint64 and target.kind == "i":
        result = f"({out.compute})as_long({result})"
    elif out.compute != sums.compute and target.kind != "b":
        result = f"({out.compute})({result})"
    lines = [
        f"#define IN {element.storage}",
        f"#define E {element.compute}",
        f"#define LOAD_E(p, i) {element.load}(p, i)",
        f"#define T {sums.compute}",
        "#define TO_ULONG(v) as_ulong(convert_long(v))",
        f"#define MAP(v, c) {_converted(value, element.compute, sums.compute, '')}",
        f"#define OP(a, b) ({combine[0]})",
        f"#define IDENTITY {combine[1]}",
        f"#define OUT {out.storage}",
        f"#define STORE_OUT(p, i, a) {out.store}(p, i, {result})",
        *_limits(partial),
    ]
    if partial.kind == "c":
        lines += [f"#define R {sums.compute[:-1]}", f"#define C {sums.compute}"]
        lines += [kernel_source("real"), kernel_source("complex")]
    if has_vectors(device, source, partial):
        plain = result if out.store == "STORE" and out.compute == sums.compute else ""
        if partial == np.uint64 and target == np.int64:
            plain = "as_long16(a)"
        lines += [
            "#define VECTORS",
            *(f"#define T{n} {sums.compute}{n}" for n in (2, 4, 8, 16)),
            f"#define E16 {element.compute}16",
            f"#define LOAD_E16(p) {_VECTOR_LOADS.get(element.load, 'vload16(0, p)')}",
            "#define TO_ULONG16(v) as_ulong16(convert_long16(v))",
            f"#define MAP16(v, c) {_converted(value, element.compute, sums.compute, '16')}",
            f"#define STORE_OUT16(p, a) vstore16({plain}, 0, p)" if plain else "",
            kernel_source("reduce_vectors"),
        ]
    return lines


def has_vectors(device: Device, source: DType, partial: DType) -> bool:
    """Return whether vector kernels are used: on CPUs, for all but complex numbers."""
    return "c" not in (source.kind, partial.kind) and not device.traits.local_memory


def _converted(value: str, source: str, target: str, width: str) -> str:
    """Return the expression for an element, with its conversion to the accumulator dtype."""
    if source == target:
        convert = ""
    elif source in _SIGNED and target == "ulong":
        # Sign-extended, so that unsigned sums wrap to the signed ones.
        convert = f"TO_ULONG{width}"
    else:
        convert = f"convert_{target}{width}"
    return value.replace("T_", convert)


def _limits(partial: DType) -> list[str]:
    """Return the macros of an integer accumulator's limits."""
    if partial.kind not in "iub":
        return []
    if partial.kind == "b":
        return ["#define T_MIN 0", "#define T_MAX 1"]
    limits = np.iinfo(partial)
    suffix = "L" if partial.itemsize == 8 else ""
    if partial.kind == "u":
        return ["#define T_MIN 0", f"#define T_MAX {limits.max}U{suffix}"]
    # The literal of the minimum would not fit its type.
    return [f"#define T_MIN (-{limits.max}{suffix} - 1)", f"#define T_MAX {limits.max}{suffix}"]


def round_up(n: int, step: int) -> int:
    """Return the least multiple of a step that is not below n."""
    return -(-n // step) * step


def cut(total: int, pieces: int, step: int) -> tuple[int, int]:
    """Return the count and the length, a multiple of ``step``, of about ``pieces`` chunks."""
    length = max(round_up(-(-total // max(pieces, 1)), step), 1)
    return max(-(-total // length), 1), length


class Kernels(NamedTuple):
    """The kernels for some dtypes on one device by name, and the dtype of partial results."""

    named: dict[str, Kernel]
    partial: DType


def kernels_of(
    device: Device,
    source: DType,
    partial: DType,
    names: Sequence[str],
    lines: Sequence[str],
    buffers: int,
    values: Sequence[Any],
) -> Kernels:
    """Return a program's kernels: those named, and those for the device's traits and the dtypes."""
    programs = list(names)
    if device.traits.local_memory:
        programs.append("groups")
    elif has_vectors(device, source, partial):
        programs += ["rows", "columns"]
    text = "\n".join(lines)
    return Kernels({name: device.kernel(text, name, buffers, values) for name in programs}, partial)
