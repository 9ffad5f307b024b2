"""Check that data moves between two devices unchanged: every bit, from every layout.

Moving computes nothing, so a device has no reason to change a bit. Zeros keep their signs,
subnormal numbers are not flushed, NaNs keep sign and payload, quiet and signaling ones. A device
whose hardware quiets signaling NaNs in copies may be allowed that (``exact=False``): they must
arrive as NaNs then.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from portarray_conformance.target import STANDARD_DTYPES, NumpyArray, Target

__all__ = ["VIEWS", "WAYS", "arrays", "difference", "dtypes", "values", "wrong"]

Way: TypeAlias = Callable[[Any, Any, Any], Any]

WAYS: Mapping[str, Way] = {
    "array.to_device": lambda xp, x, device: x.to_device(device),
    "asarray": lambda xp, x, device: xp.asarray(x, device=device),
    "from_dlpack": lambda xp, x, device: xp.from_dlpack(x, device=device),
}
"""The standard's ways to another device: called with the namespace, an array and the device."""

_ALONE = (1, 2)

VIEWS: Mapping[str, Callable[[Any, Any], Any]] = {
    "0-d": lambda xp, x: x[(*_ALONE, ...)],
    "empty": lambda xp, x: x[:0, :],
    "strided": lambda xp, x: x[::2, 1::3],
    "reversed": lambda xp, x: xp.flip(x),
    "transposed": lambda xp, x: x.T,
    "broadcast": lambda xp, x: xp.broadcast_to(x[:1, :], (4, 8)),
}
"""Layouts that a namespace makes of a matrix: called with the namespace and the matrix."""

_BEYOND = ("float16", "bfloat16")


def dtypes(target: Target, *devices: Any) -> list[str]:
    """Return the names of the dtypes that a namespace has on all of some devices.

    float16 and bfloat16 count where the namespace names them and makes arrays of NumPy's.
    """
    inspection = target.xp.__array_namespace_info__()
    supported = [inspection.dtypes(device=device) for device in devices]
    names = [
        name
        for name in STANDARD_DTYPES
        if all(name in dtypes_of_device for dtypes_of_device in supported)
    ]
    return names + [
        name
        for name in _BEYOND
        if hasattr(target.xp, name) and all(_makes(target, name, device) for device in devices)
    ]


def _makes(target: Target, name: str, device: Any) -> bool:
    try:
        array = target.xp.asarray(values(name).copy(), device=device)
    except (TypeError, ValueError):
        return False
    return bool(array.dtype == getattr(target.xp, name))


@dataclass(frozen=True, slots=True)
class _Format:
    """A binary floating-point format: bits in all, and bits of the fraction."""

    bits: int
    fraction: int

    @property
    def infinity(self) -> int:
        return (1 << (self.bits - 1)) - (1 << self.fraction)

    @property
    def quiet(self) -> int:
        """The bit that is set in quiet NaNs and not in signaling ones."""
        return 1 << (self.fraction - 1)

    def special(self) -> list[int]:
        """Return the patterns of zero, subnormals, extremes, infinity and NaNs, both signs."""
        quiet = self.infinity | self.quiet
        below = self.quiet - 1
        patterns = [
            *(0, 1, (1 << self.fraction) - 1, 1 << self.fraction, self.infinity - 1),
            *(self.infinity, quiet, quiet | 1, quiet | (0x5555555555555 & below), quiet | below),
            *(self.infinity | 1, self.infinity | below),
        ]
        return patterns + [pattern | 1 << (self.bits - 1) for pattern in patterns]

    def signaling(self, bits: NumpyArray) -> NumpyArray:
        """Return which patterns are signaling NaNs."""
        signaling: NumpyArray = self.nan(bits) & (bits & bits.dtype.type(self.quiet) == 0)
        return signaling

    def nan(self, bits: NumpyArray) -> NumpyArray:
        """Return which patterns are NaNs."""
        magnitude = bits & bits.dtype.type((1 << (self.bits - 1)) - 1)
        nan: NumpyArray = magnitude > bits.dtype.type(self.infinity)
        return nan


_FORMATS: Mapping[str, _Format] = {
    "float16": _Format(16, 10),
    "bfloat16": _Format(16, 7),
    "float32": _Format(32, 23),
    "complex64": _Format(32, 23),
    "float64": _Format(64, 52),
    "complex128": _Format(64, 52),
}
"""The format of each dtype's numbers, of their parts where they are complex."""


def _dtype(name: str) -> np.dtype[Any]:
    if name == "bfloat16":
        import ml_dtypes  # here: only namespaces that have bfloat16 need it

        dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return dtype
    return np.dtype(name)


@functools.cache
def values(name: str, shape: tuple[int, ...] = (6, 8)) -> NumpyArray:
    """Return an array of drawn bits of a dtype, every special number among them; not to write."""
    rng = np.random.default_rng(1)
    dtype = _dtype(name)
    size = int(np.prod(shape))
    if name == "bool":
        array = rng.integers(0, 2, size).astype(np.bool_)
    else:
        drawn = rng.integers(0, 256, size * dtype.itemsize, dtype=np.uint8)
        if name in _FORMATS:
            numbers = drawn.view(f"u{_FORMATS[name].bits // 8}")
            special = _FORMATS[name].special()
            # The 0-d array is -0.0, whose sign a fill with a scalar may lose.
            alone = np.arange(numbers.size).reshape(*shape, -1)[_ALONE]
            others = rng.permutation(np.delete(np.arange(numbers.size), alone))
            numbers[others[: len(special)]] = special
            numbers[alone] = 1 << (_FORMATS[name].bits - 1)
        array = drawn.view(dtype)
    array = array.reshape(shape)
    array.flags.writeable = False
    return array


def _lent(name: str) -> Iterator[tuple[str, NumpyArray]]:
    """Yield a dtype's values in memory of NumPy's as only NumPy lays it out.

    Yields
    ------
    str
        The name of the layout.
    numpy.ndarray
        The values.
    """
    base = values(name)
    for view, make in VIEWS.items():
        yield f"NumPy's {view}", make(np, base.copy())
    yield "NumPy's read-only", base
    memory = np.empty(base.nbytes + 1, dtype=np.uint8)
    unaligned = memory[1:].view(base.dtype).reshape(base.shape)
    unaligned[...] = base
    yield "NumPy's unaligned", unaligned


def arrays(target: Target, name: str, device: Any) -> Iterator[tuple[str, NumpyArray, Any]]:
    """Yield a dtype's values on a device in many layouts.

    NumPy's memory is among them where the namespace takes it as it is (``copy=False``).

    Yields
    ------
    str
        The name of the layout.
    numpy.ndarray
        The expected values.
    array
        The array on the device.
    """
    xp = target.xp
    base = values(name)
    matrix = xp.asarray(base.copy(), device=device)
    yield "matrix", base, matrix
    for layout, make in VIEWS.items():
        yield layout, np.asarray(make(np, base)), make(xp, matrix)
    large = values(name, (101, 307))  # more than a page of every dtype
    yield "large", large, xp.asarray(large.copy(), device=device)
    for layout, lent in _lent(name):
        try:
            x = xp.asarray(lent, device=device, copy=False)
        except (TypeError, ValueError, NotImplementedError):
            continue  # it would be copied, and then it is one of the layouts above
        yield layout, np.asarray(lent), x


def difference(got: NumpyArray, want: NumpyArray, *, exact: bool = True) -> str:
    """Describe how an array differs from the expected one, in dtype, shape or any bit.

    Return an empty text if they agree. Unless ``exact``, any NaN may replace a signaling NaN.
    """
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype} {got.shape} in place of {want.dtype} {want.shape}"
    form = _FORMATS.get(want.dtype.name)
    width = want.dtype.itemsize if form is None else form.bits // 8
    if form is None and want.dtype.kind == "c":
        raise ValueError(f"numbers of {want.dtype} have no known format")
    left, right = (np.ascontiguousarray(x).view(f"u{width}").ravel() for x in (got, want))
    differs = left != right
    if form is not None and not exact:
        differs &= ~(form.signaling(right) & form.nan(left))
    if not differs.any():
        return ""
    index = int(np.argmax(differs))
    return (
        f"{int(differs.sum())} of {differs.size} numbers differ, the first at {index} (flat): "
        f"{int(left[index]):#x} in place of {int(right[index]):#x}"
    )


def wrong(
    target: Target,
    source: Any,
    destination: Any,
    method: str,
    *,
    exact: bool = True,
    names: Container[str] | None = None,
) -> list[str]:
    """Return the faults of moving arrays to a device and back; empty if there are none.

    ``source`` and ``destination`` are the ``device`` attributes of arrays, ``method`` is a key of
    :data:`WAYS`, ``exact`` as for :func:`difference`. ``names`` restricts the dtypes.
    """
    faults: list[str] = []
    move = functools.partial(WAYS[method], target.xp)
    for name in dtypes(target, source, destination):
        if names is not None and name not in names:
            continue
        for layout, want, x in arrays(target, name, source):
            try:
                there = move(x, destination)
                back = move(there, source)
                copies = {"there": (there, destination), "and back": (back, source)}
                fetched = {text: target.get(y) for text, (y, _) in copies.items()}
            except Exception as error:  # noqa: BLE001 - whatever a library raises is the finding
                faults.append(f"{name} {layout}: {type(error).__name__}: {error}")
                continue
            for text, (y, device) in copies.items():
                if y.device != device:
                    faults.append(f"{name} {layout}: {text} it is on {y.device}, not {device}")
                unlike = difference(fetched[text], want, exact=exact)
                if unlike:
                    faults.append(f"{name} {layout}: {text} {unlike}")
    return faults
