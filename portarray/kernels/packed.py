"""Packed matrices as values, and what is computed with them."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from portarray._api.creation.values import asarray
from portarray._api.manipulation.order import permute_dims
from portarray._api.manipulation.shapes import reshape
from portarray._array import array as _array
from portarray._array import dispatch, operands
from portarray._array.kernel import Kernel, is_concrete, is_watched, of_arrays
from portarray._array.results import reraise
from portarray._config import config
from portarray._kernel_language.arguments import innermost_trace
from portarray._kernel_language.decorator import reason_unsupported
from portarray._movement import to_device
from portarray._trees import node_types
from portarray.backends.types import TunedKernel
from portarray.kernels import layouts, packed_generic, packing
from portarray.kernels.checks import packed as checks
from portarray.kernels.layouts import INTERLEAVED, Layout, layout_of

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._array.dispatch import DispatchTable
    from portarray._devices.device import Device
    from portarray.typing import DeviceLike

_VIEWED = {"INT8": np.int8, "INT4": np.int32}
"""What files have the bytes of a layout as."""


@final
class Packed:
    """A matrix of shape (out, in) whose weights are packed into few bits each.

    It is a pytree node: :func:`portarray.to_device` moves it, :func:`portarray.save` saves it, and
    a checkpoint's arrays are its memory. :func:`~portarray.kernels.linear` and
    :func:`~portarray.kernels.embedding` take it as a weight and read it as it is.

    Parameters
    ----------
    data : Array or numpy.ndarray
        The bytes, of shape (out, bytes of a row) and dtype uint8. Of ``"INT8"`` also int8 of shape
        (out, in), of ``"INT4"`` also int32 of shape (out, in / 8), in host memory.
    layout : str
        Of GGUF files, with scales in the blocks: ``"Q8_0"``, ``"Q4_0"``, ``"Q4_1"``, ``"Q5_0"``,
        ``"Q5_1"``, ``"Q4_K"`` or ``"Q6_K"``. Of compressed-tensors' checkpoints, symmetric and with
        scales apart: ``"INT8"``, its ``"int-quantized"``, and ``"INT4"``, its ``"pack-quantized"``.
    scales : Array or numpy.ndarray, optional
        Of ``"INT8"`` and ``"INT4"``, of shape (out, groups): one for as many neighbouring weights
        of a row each, a multiple of 32.
    device : device-like, optional
        Where NumPy arrays go, as for :func:`portarray.asarray`.

    Attributes
    ----------
    data : Array
        The bytes, of shape (out, bytes of a row), or as :meth:`interleaved` orders them.
    scales : Array or None
        The scales that are apart from them.
    layout : str
        The layout's name.

    Raises
    ------
    ValueError
        If the layout is not known, or a shape does not fit it.
    TypeError
        If a dtype does not.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray as pa
    >>> packed = pa.kernels.pack(pa.ones((2, 64), dtype=pa.float32, device="numpy"), "Q4_1")
    >>> packed
    Packed('Q4_1', (2, 64), device='numpy:cpu:0')
    >>> packed.data.shape, packed.nbytes
    ((2, 40), 80)
    """

    __slots__ = ("_row", "data", "layout", "scales")

    data: Array
    scales: Array | None
    layout: str

    def __init__(
        self, data: Any, layout: str, /, scales: Any = None, *, device: DeviceLike | None = None
    ) -> None:
        row = layout_of(layout)
        data = _as_bytes(data, row)
        self._set(
            layout,
            asarray(data, device=device) if isinstance(data, np.ndarray) else data,
            asarray(scales, device=device) if isinstance(scales, np.ndarray) else scales,
        )
        _check(self)
        _register()

    def _set(self, layout: str, data: Any, scales: Any) -> None:
        self.data, self.scales, self.layout = data, scales, layout
        self._row = layouts.LAYOUTS[layout]
        if getattr(data, "ndim", 2) == 3:
            self._row = self._row._replace(interleaved=data.shape[2])

    def interleaved(self) -> Packed:
        """Return the matrix in the order that products read fastest.

        On CPUs these are the bytes of 16 rows side by side, of shape (out / 16, bytes of a row,
        16): products with few rows then take about half the time.

        Returns
        -------
        Packed
            A copy, in this order. The matrix itself where the order is no faster: on other devices,
            with scales apart, and with rows that are not a multiple of 16.

        Examples
        --------
        >>> import portarray as pa
        >>> packed = pa.kernels.pack(pa.ones((32, 64), dtype=pa.float32, device="numpy"), "Q4_1")
        >>> packed.interleaved().shape
        (32, 64)
        """
        rows, columns = self.shape
        device = self.device
        if (
            self._row.interleaved > 1
            or self._row.apart
            or rows % INTERLEAVED
            or not rows * columns
            or device.kind != "cpu"
            or reason_unsupported(device)
        ):
            return self
        nbytes = self.data.shape[1]
        tiles = reshape(self.data, (rows // INTERLEAVED, INTERLEAVED, nbytes))
        flat = reshape(permute_dims(tiles, (0, 2, 1)), (rows * nbytes,))  # in C order
        data = reshape(flat, (rows // INTERLEAVED, nbytes, INTERLEAVED))
        return Packed(data, self.layout)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return self._row.shape(self.data.shape)

    @property
    def device(self) -> Device:
        """Device of the matrix."""
        return self.data.device

    @property
    def nbytes(self) -> int:
        """Bytes of weights and scales."""
        return int(self.data.nbytes + (0 if self.scales is None else self.scales.nbytes))

    def __repr__(self) -> str:
        return f"Packed({self.layout!r}, {self.shape}, device={str(self.device)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unflatten, (self.layout, (self.data, self.scales))


def _unflatten(layout: str, children: Any) -> Packed:
    """Return a packed matrix of valid parts."""
    out = Packed.__new__(Packed)
    out._set(layout, *children)
    _register()
    return out


@cache
def _register() -> None:
    """Register packed matrices as pytree nodes, once."""
    node_types.register(
        Packed,
        lambda x: ((x.data, x.scales), x.layout, ("data", "scales")),
        _unflatten,
        ("data", "scales"),
    )


def flattened(x: Packed) -> tuple[dict[str, Array], str]:
    """Return the arrays and the layout for a file."""
    return {"data": x.data, **({} if x.scales is None else {"scales": x.scales})}, x.layout


def unflattened(arrays: dict[str, Array], layout: str) -> Packed:
    """Return the matrix of a file's arrays."""
    return Packed(arrays["data"], layout, arrays.get("scales"))


def _as_bytes(data: Any, row: Layout) -> Any:
    """Return data as bytes; a checkpoint's integers are viewed as bytes."""
    kind = _VIEWED.get(row.name)
    if kind is not None and getattr(data, "dtype", None) == kind:
        device = data.device if type(data) is _array.Array else None
        host = np.ascontiguousarray(np.asarray(data)).view(np.uint8)  # says why where it cannot
        return host if device is None else asarray(host, device=device)
    return data


def _check(packed: Packed) -> None:
    data, scales, row = packed.data, packed.scales, packed._row
    if type(data) is not _array.Array:
        raise operands.refused(data, "Packed", scalars=False)
    in_tiles = data.ndim == 3 and data.shape[2] == INTERLEAVED and not row.apart
    if data.dtype != np.uint8 or not (data.ndim == 2 or in_tiles) or data.shape[1] % row.nbytes:
        shapes = "(out, bytes)"
        if data.ndim == 3 and not row.apart:
            shapes += f" or, interleaved, (out / {INTERLEAVED}, bytes, {INTERLEAVED})"
        raise ValueError(
            f"Packed: {row.name} data of {data.dtype} and shape {data.shape}; it must be uint8, "
            f"{shapes}, with blocks of {row.nbytes} bytes for {row.block} weights"
        )
    if not row.apart:
        if scales is not None:
            raise ValueError(f"Packed: {row.name} does not take scales: they are in its blocks")
        return
    if type(scales) is not _array.Array:
        untyped: Any = scales
        raise TypeError(
            f"Packed: scales of type {type(untyped).__name__} for {row.name}; expected an array "
            f"of shape (out, groups)"
        )
    dispatch.require_same_device("Packed", data._dispatch, scales._dispatch)
    width = packed.shape[1]
    groups = scales.shape[1] if scales.ndim == 2 else 0
    fits = groups and width % groups == 0 and (width // groups) % row.group == 0
    if (
        scales._dispatch.kind != "f"
        or scales.shape[:1] != data.shape[:1]
        or not (fits or not width)
    ):
        raise ValueError(
            f"Packed: scales of {scales.dtype} and shape {scales.shape} for {row.name} of shape "
            f"{packed.shape}; they must be floats, (out, groups), with groups of a multiple of "
            f"{row.group} columns"
        )


# --- conversions ----------------------------------------------------------------------------------


def pack(x: Array, layout: str, /, *, group: int = 128) -> Packed:
    """Pack a matrix: each weight is rounded to the nearest that its block has.

    Parameters
    ----------
    x : Array
        Floating-point array of shape (out, in); `in` is a multiple of the layout's block.
    layout : str
        See :class:`Packed`.
    group : int
        Of ``"INT8"`` and ``"INT4"``: how many weights share a scale, a multiple of 32; -1 for a
        whole row.

    Returns
    -------
    Packed
        On the device of `x`.

    Raises
    ------
    ValueError
        If the layout is not known or the shape does not fit it.
    TypeError
        If `x` is not an array of real floating-point numbers.

    Notes
    -----
    It is computed on the host. Other programs spend more time to find better scales for
    ``"Q4_K"`` and ``"Q6_K"``; the other layouts of GGUF are packed as the package gguf does.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.reshape(pa.linspace(-1, 1, 64, dtype=pa.float32, device="numpy"), (2, 32))
    >>> packed = pa.kernels.pack(x, "Q8_0")
    >>> bool(pa.max(pa.abs(pa.kernels.unpack(packed) - x)) < 0.005)
    True
    """
    row = layout_of(layout)
    checks.matrix("pack", x)
    size = x.shape[1] if group == -1 else group
    if x.shape[1] % row.block:
        raise ValueError(
            f"pack: x of shape {x.shape}; rows of {layout} must be a multiple of {row.block}"
        )
    if row.apart and (size % 32 or size < 1 or x.shape[1] % size):
        raise ValueError(
            f"pack: group={group} for rows of {x.shape[1]}; it must be a multiple of 32 that "
            f"divides them"
        )
    host = np.asarray(to_device.to_device(x, "numpy")).astype(np.float32)
    data, scales = packing.packed(host, row, size)
    arrays = [
        None if part is None else asarray(part, device=x.device, copy=True)
        for part in (data, scales)
    ]
    return Packed(arrays[0], layout, arrays[1])


def unpack(packed: Packed, /) -> Array:
    """Return the weights of a packed matrix.

    Parameters
    ----------
    packed : Packed
        The matrix.

    Returns
    -------
    Array
        Array of shape (out, in) and dtype float32, bit for bit what the format defines.

    Examples
    --------
    >>> import portarray as pa
    >>> packed = pa.kernels.pack(pa.ones((2, 32), dtype=pa.float32, device="numpy"), "Q4_0")
    >>> pa.kernels.unpack(packed).shape
    (2, 32)
    """
    if type(packed) is not Packed:
        raise TypeError(f"unpack: expected a Packed, not {type(packed).__name__}")
    return UNPACK(packed.data, packed.scales, layout=packed._row)


def call_of(
    name: str, arguments: tuple[Any, ...], *, rounded: bool = False
) -> tuple[Kernel, tuple[Any, ...], dict[str, Any]]:
    """Return the kernel for a call with a packed weight, and its arguments."""
    x, weight, *bias = arguments
    if type(weight) is not Packed:
        raise operands.refused(weight, name, scalars=False)
    if rounded:
        x = ROUNDED(x)
    parts = weight.data, weight.scales
    return (LINEAR if bias else EMBEDDING), (x, *bias, *parts), {"layout": weight._row}


def fused(
    x: Array, weight: Any, norm: Array | None, residual: Array | None, *, eps: float, gated: bool
) -> Array | None:
    """Return a fused product from one user kernel, or None if there is none."""
    if type(weight) is not Packed or x.dtype != np.float32:
        return None
    operands = (x, weight.data, weight.scales, norm, residual)
    fits = x.ndim == 2 and x.shape[1] == weight.shape[1] and not _empty(operands)
    fits = fits and not (gated and weight.data.shape[0] % 2)  # rows or tiles, in halves
    program = _program("packed_few", x._dispatch) if fits else None
    if program is None:
        return None
    if not is_concrete(operands, x._dispatch.device) and not _is_recorded(operands):
        return None
    from portarray.kernels import packed_kernels

    if x.shape[0] > packed_kernels.FEW:
        return None
    result: Array = program(*operands, layout=weight._row, eps=eps, gated=gated)
    return result


def _is_recorded(operands: tuple[Any, ...]) -> bool:
    """Return whether a trace records launches of user kernels on these arrays."""
    arrays = [x for x in operands if x is not None]
    trace = innermost_trace(arrays)
    return config._tuned_kernels and trace is not None and bool(trace.records_launch(arrays))


# --- versions -------------------------------------------------------------------------------------


class _PackedKernel(Kernel):
    """A kernel of packed matrices, which uses user kernels if the device runs them."""

    __slots__ = ()

    def __call__(self, *arrays: Any, **options: Any) -> Array:
        """Call the user kernel if possible, else the native version."""
        self.check(self.name, arrays, options)
        table = self.table(arrays)
        program = _program(self.name, table)
        if program is not None and is_concrete(arrays, table.device) and not _empty(arrays):
            try:
                return program(*arrays, **options)  # type: ignore[no-any-return]
            except IndexError as error:
                call = (self.natives(table, arrays, options)[1], options)
                reraise(error, f"kernels.{self.name}", table.device, call=call)
        return super().__call__(*arrays, **options)

    def candidates(self, table: DispatchTable) -> tuple[TunedKernel, ...]:
        """Return the library's versions, and the user kernel."""
        return (*super().candidates(table), *_user_kernels(self.name, table))


LINEAR = _PackedKernel("packed_linear", packed_generic.packed_linear, checks.packed_linear)
EMBEDDING = _PackedKernel(
    "packed_embedding", packed_generic.packed_embedding, checks.packed_embedding, leads=1
)
UNPACK = _PackedKernel("packed_unpack", packed_generic.unpack)
ROUNDED = _PackedKernel("packed_rounded", packed_generic.rounded, checks.in_blocks)


_DTYPES = frozenset({"float32", "float16", "bfloat16", "uint8"})
"""Of the array that leads: what the user kernels take."""


@cache
def _program(name: str, table: DispatchTable) -> Any:
    """Return the function that runs user kernels for a kernel, or None."""
    if reason_unsupported(table.device) or table.dtype.name not in _DTYPES:
        return None
    from portarray.kernels import packed_kernels  # most programs have no packed matrices

    return getattr(packed_kernels, name)


@cache
def _user_kernels(name: str, table: DispatchTable) -> tuple[TunedKernel, ...]:
    program, device = _program(name, table), table.device
    if program is None:
        return ()
    title, row = f"the user kernel {name}", "linear decode 1536x576 Q4_1"
    function = of_arrays(program, device)
    return (TunedKernel(function, title, _DTYPES, row, partial(_refused, device)),)


def _refused(device: Device, *natives: Any, layout: Layout | None = None) -> str:
    """Return why a user kernel does not support a call, or an empty string."""
    if _empty(natives):
        return "there is nothing to compute"
    if any(x is not None and is_watched(x, device) for x in natives):
        return "derivatives or a compiler follow the arrays, which kernels hide from them"
    return ""


def _empty(arrays: tuple[Any, ...]) -> bool:
    return any(x is not None and 0 in x.shape for x in arrays)
