"""Random numbers, reproducible across devices.

The generator is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
1, 2, 3", SC 2011), which is counter-based and passes BigCrush. Element ``i`` of a draw depends on
the seed, the amount drawn before, and ``i``. Every draw consumes whole groups of 64 words, of which
an element of 64 bits takes two.

Integers, uniform numbers and permutations are equal bit for bit on every device; normal numbers
differ by some ULP, with the device's ``log``, ``sqrt``, ``sinpi`` and ``cospi``.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.arguments import (
    ShapeLike,
    axis_of,
    dtype_or_default,
    integer_of,
    shape_of,
)
from portarray.clarray.creation import arange
from portarray.clarray.dtypes import bfloat16, cl_type, kind_of
from portarray.clarray.indexing import take
from portarray.clarray.kernels import kernel_source
from portarray.clarray.selection import device_of
from portarray.clarray.sorting import argsort
from portarray.clarray.strided import Array, empty

__all__ = ["Generator"]

DType = np.dtype[Any]

_WORD = 1 << 32
_LONG = 1 << 64
_STREAMS = 1 << 48

# Bits of uniform numbers: the precision of the dtype.
_FRACTIONS: dict[DType, int] = {
    np.dtype(np.float16): 11,
    bfloat16: 8,
    np.dtype(np.float32): 24,
    np.dtype(np.float64): 53,
}


class Generator:
    """A stream of random numbers on a device; ``seed`` is an int, several, or a SeedSequence.

    It can be pickled, and used by several threads, which get its numbers in any order.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> rng = cl.random.Generator(7)
    >>> rng.integers(0, 10, (4,)).tolist()  # the same on every device
    [8, 7, 8, 2]
    >>> rng.normal((2, 3), dtype=cl.float32).shape
    (2, 3)
    """

    __slots__ = ("_block", "_key", "_lock", "_seeds", "_stream", "device")

    def __init__(self, seed: Any = None, device: object = None) -> None:
        seeds = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        self.device: Device = device_of(device)
        self._seeds = seeds
        self._key = int(seeds.generate_state(1, np.uint64)[0])
        self._stream = 0
        self._block = 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<clarray random generator, Philox4x32-10, on {self.device!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._seeds, self.device, self.state)

    @property
    def state(self) -> dict[str, int]:
        """The position in the stream as ``key``, ``stream`` and ``block``; it can be assigned."""
        with self._lock:
            return {"key": self._key, "stream": self._stream, "block": self._block}

    @state.setter
    def state(self, state: Mapping[str, int]) -> None:
        if set(state) != {"key", "stream", "block"}:
            raise ValueError(
                f"a state has the keys 'key', 'stream' and 'block', got {sorted(state)}"
            )
        found = {name: integer_of(value, name) for name, value in state.items()}
        for name, value in found.items():
            if not 0 <= value < _LONG:
                raise ValueError(f"{name} is {value}; it must be from 0 to {_LONG - 1}")
        with self._lock:
            self._key, self._stream = found["key"], found["stream"]
            self._block = found["block"]

    def spawn(self, n_children: int) -> list[Generator]:
        """Return generators of independent streams, as :meth:`numpy.random.Generator.spawn`."""
        return [Generator(seeds, self.device) for seeds in self._seeds.spawn(n_children)]

    def jumped(self, jumps: int = 1) -> Generator:
        """Return a generator ``jumps`` streams of 2**66 words ahead, of the 2**48 of a seed."""
        found = Generator(self._seeds, self.device)
        state = self.state
        found.state = {**state, "stream": (state["stream"] + integer_of(jumps, "jumps")) % _STREAMS}
        return found

    def uniform(
        self, shape: ShapeLike = (), low: float = 0.0, high: float = 1.0, dtype: Any = None
    ) -> Array:
        """Return uniform numbers ``low <= x < high``, with as many random bits as the dtype has."""
        found = self._real(dtype, "uniform")
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise ValueError(
                f"uniform: low is {low} and high {high}; they must be finite, in order"
            )
        part = _computed(found)
        with np.errstate(over="ignore"):  # checked below
            limits = [float(found.type(one)) for one in (low, high)]
            width = float(part(limits[1]) - part(limits[0]))
        if not math.isfinite(width):
            raise ValueError(
                f"uniform: low is {low} and high {high}; {found} must hold both and their "
                f"difference"
            )
        top = _below(limits[1], found) if limits[0] < limits[1] else limits[1]
        return self._draw("uniform", shape_of(shape), found, (limits[0], width, top))

    def normal(
        self, shape: ShapeLike = (), mean: float = 0.0, std: float = 1.0, dtype: Any = None
    ) -> Array:
        """Return normal numbers by the Box-Muller method.

        They lie within 8.6 standard deviations in float64, and within 6.7 in other dtypes.
        """
        found = self._real(dtype, "normal")
        if not std >= 0:
            raise ValueError(f"normal: std is {std}; it must not be negative")
        return self._draw("normal", shape_of(shape), found, (mean, std))

    def integers(
        self,
        low: int,
        high: int | None = None,
        shape: ShapeLike = (),
        dtype: Any = None,
        endpoint: bool = False,
    ) -> Array:
        """Return unbiased integers from ``low`` to below ``high``, or to it with ``endpoint``."""
        found = dtype_or_default(dtype, self.device, "integral")
        if kind_of(found) not in ("signed", "unsigned"):
            raise TypeError(f"integers: dtype is {found}; it must be an integer dtype")
        start, end = (0, low) if high is None else (low, high)
        first = integer_of(start, "low")
        last = integer_of(end, "high") - (not endpoint)
        limits = np.iinfo(found)
        if not limits.min <= first <= last <= limits.max:
            raise ValueError(
                f"integers: from {first} to {last}; that must be at least one number, and "
                f"{found} holds {limits.min} to {limits.max}"
            )
        span = last - first + 1
        whole = _WORD if span <= _WORD else _LONG
        return self._draw(
            "integers_32" if whole == _WORD else "integers_64",
            shape_of(shape),
            found,
            (first % _LONG, span % whole, whole % span),
        )

    def permutation(self, x: int | Array, /, *, axis: int = 0) -> Array:
        """Return the numbers below ``x``, or an array's entries along an axis, in random order."""
        if isinstance(x, Array):
            if x.device is not self.device:
                raise ValueError(
                    f"permutation: the array is on {x.device!r}, the generator on {self.device!r}"
                )
            if x.ndim == 0:
                raise ValueError("permutation: a 0-d array has no order")
            place = axis_of(axis, x.ndim)
            return take(x, self._order(x.shape[place]), axis=place)
        count = integer_of(x, "x")
        if count < 0:
            raise ValueError(f"permutation: x is {count}; it must not be negative")
        order = self._order(count)
        return order if count else arange(0, device=self.device)

    def _order(self, count: int) -> Array:
        return argsort(self.integers(0, _LONG, (count,), np.uint64), stable=True)

    def _real(self, dtype: Any, function: str) -> DType:
        found = dtype_or_default(dtype, self.device, "real floating")
        if found not in _FRACTIONS:
            raise TypeError(f"{function}: dtype is {found}; it must be real floating-point")
        return found

    def _draw(
        self, name: str, shape: tuple[int, ...], dtype: DType, values: tuple[float, ...]
    ) -> Array:
        """Launch a kernel for the next blocks, and advance past them."""
        device = self.device
        out = empty(shape, dtype, device)
        count = math.prod(shape)
        wide = name == "integers_64" or dtype == np.float64
        groups = -(-count // (32 if wide else 64))
        with self._lock:
            key, stream, block = self._key, self._stream, self._block
            self._block = (block + 16 * groups) % _LONG
        if count:
            items = -(-groups // _groups_per_item(device))
            _kernel(device, name, dtype).launch(
                (items,), (1,) if device.traits.host_memory else None, (out.storage,),
                block, stream, key, count, *values,
            )  # fmt: skip
        return out


def _restored(seeds: np.random.SeedSequence, device: Device, state: Mapping[str, int]) -> Generator:
    found = Generator(seeds, device)
    found.state = state
    return found


def _computed(dtype: DType) -> type[np.floating[Any]]:
    return np.float64 if dtype == np.float64 else np.float32


def _below(value: float, dtype: DType) -> float:
    """Return the largest number of a dtype below a value."""
    if dtype == bfloat16:
        return float(np.nextafter(ml_dtypes.bfloat16(value), ml_dtypes.bfloat16(-math.inf)))
    return float(np.nextafter(dtype.type(value), dtype.type(-math.inf)))


def _groups_per_item(device: Device) -> int:
    """Return how many groups of 64 words a work-item computes."""
    return 32 if device.traits.host_memory else 1


@cache
def _kernel(device: Device, name: str, dtype: DType) -> Kernel:
    own = cl_type(dtype)
    lines = [
        f"#define S {own.storage}",
        f"#define STORE_S {own.store}",
        f"#define EACH {_groups_per_item(device)}",
    ]
    if dtype in _FRACTIONS:
        double = dtype == np.float64
        bits = _FRACTIONS[dtype]
        lines += [
            f"#define T {own.compute}",
            f"#define PER {2 if double else 4}",
            f"#define PLAIN {int(own.storage == own.compute)}",
            f"#define SHIFT {(64 if double else 32) - bits}",
            f"#define SCALE 0x1p-{bits}{'' if double else 'f'}",
        ]
        values: list[Any] = [_computed(dtype)] * (3 if name == "uniform" else 2)
    else:
        part = np.uint32 if name == "integers_32" else np.uint64
        values = [np.uint64, part, part]
    source = "\n".join([*lines, kernel_source("random")])
    return device.kernel(source, name, 1, [np.uint64] * 3 + [np.int64] + values)
