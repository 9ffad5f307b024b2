"""Transfer of MLX arrays: host memory and DLPack.

MLX copies host memory, since later writes would change arrays and pending results; Metal can share
whole pages on request (``copy=False``). Exported views are read-only: MLX shares buffers among
independent arrays, and its lazy computations assume that buffers are constant.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import mlx.core as mx
import numpy as np

from portarray import _dlpack as dlpack
from portarray.backends.base import Backend
from portarray.backends.common.copying import copied
from portarray.backends.mlx import devices, filling, limits
from portarray.backends.mlx.devices import Devices
from portarray.backends.mlx.tracing import evaluated, is_traced

__all__ = ["Transfer", "check_shape", "evaluated", "from_dlpack", "from_host", "to_host", "under"]

_NATIVE = Devices.dtypes("cpu", 0)
_NUMPY = {native: dtype for dtype, native in _NATIVE.items()}

_READ = frozenset((*_NATIVE, np.dtype(np.complex128)))
"""NumPy dtypes that ``mx.array`` accepts."""

_DLPACK_CPU = 1


class Transfer(Backend):
    """Transfer of MLX's arrays: host memory, other devices, DLPack."""

    converts_on_copy = True

    def on_host(self, device: mx.Device) -> bool:
        """Return whether a device uses host memory, as Apple's GPUs do."""
        return device.type == mx.cpu or not mx.cuda.is_available()

    @staticmethod
    def from_host(
        array: np.ndarray[Any, Any],
        device: mx.Device,
        *,
        copy: bool | None,
        non_blocking: bool = False,
    ) -> mx.array:
        """Make an MLX array from a NumPy array."""
        if copy is False:
            return _over_host_memory(array)
        return Transfer.from_host_converted(array, array.dtype.newbyteorder("="), device)

    @staticmethod
    def from_host_converted(
        array: np.ndarray[Any, Any], dtype: np.dtype[Any], device: mx.Device
    ) -> mx.array:
        """Make an MLX array of another dtype; converts by NumPy's rules while copying."""
        check_shape(array.shape)
        nbytes = array.size * dtype.itemsize
        limits.check(array.shape, nbytes)
        with under(device):
            if not array.size:
                # Reductions of `mx.array(empty)` may hang.
                return evaluated(mx.zeros(array.shape, dtype=_NATIVE[dtype]))
            if filling.serves(nbytes) or not (
                _copies_well(array) and _converts_alike(array.dtype, dtype)
            ):
                return filling.filled(array, dtype)
            # Without a dtype MLX narrows float64 and complex128.
            return mx.array(array, dtype=_NATIVE[dtype])

    def why_copied_in(self, array: np.ndarray[Any, Any], device: mx.Device) -> str:
        """Return why MLX copies NumPy's memory."""
        check_shape(array.shape)
        return "MLX's arrays are immutable, and the memory may change"

    def why_copied(self, x: mx.array, device: mx.Device) -> str:
        return ""

    @staticmethod
    def to_host(x: mx.array, *, copy: bool | None) -> np.ndarray[Any, Any]:
        """Return an array as a NumPy array, once it is computed.

        Views are read-only, see the module docstring.
        """
        if copy is False and mx.cuda.is_available():
            raise ValueError(
                "copy=False, but NumPy cannot read MLX's CUDA memory without a copy\n"
                "Hint: pass copy=None or copy=True"
            )
        dtype = _NUMPY[x.dtype]
        evaluated(x)
        # A second reference to the buffer keeps MLX from reusing it if x gets new values.
        handle = mx.view(x, mx.uint16) if x.dtype == mx.bfloat16 else x.__copy__()
        host = np.asarray(handle)
        if host.dtype is not dtype:
            # NumPy gets MLX's int64 as another C type, and does not support its bfloat16.
            host = host.view(dtype)
        if copy or mx.cuda.is_available():  # managed memory, which CUDA migrates
            return copied(host)
        host.flags.writeable = False
        return host

    @staticmethod
    def move(
        x: mx.array, device: mx.Device, *, copy: bool | None, non_blocking: bool = False
    ) -> mx.array:
        """Return an array for another device, zero-copy: all devices share memory.

        A copy is evaluated immediately, so that every thread can use it.
        """
        if not copy:
            return x
        if filling.serves(x.nbytes) and not is_traced(x):
            return Transfer.from_host(Transfer.to_host(x, copy=None), device, copy=True)
        limits.check(x.shape, x.nbytes)
        with under(device):
            moved = mx.array(x)
            return moved if is_traced(moved) else evaluated(moved)

    @staticmethod
    def from_dlpack(x: Any, device: mx.Device | None, *, copy: bool | None) -> mx.array:
        """Make an array from an object with ``__dlpack__``, which is called once."""
        target = mx.default_device() if device is None else device
        if isinstance(x, mx.array):
            return Transfer.move(x, target, copy=copy)
        kind, index = map(int, x.__dlpack_device__())
        if kind not in dlpack.HOST_KINDS:
            return _over_gpu_memory(x, (kind, index), target, copy=copy)
        # MLX's own import makes float32 of float64 and refuses negative strides.
        host = dlpack.host_values(x)
        where = Devices.device_of_native(target)
        assert where is not None
        if host.dtype.newbyteorder("=") not in Devices.dtypes(*where):
            raise TypeError(
                f"from_dlpack: MLX does not have {host.dtype} on {target}\n"
                f"Hint: convert the data first"
            )
        return Transfer.from_host(host, target, copy=copy)

    def to_dlpack(
        self,
        x: mx.array,
        *,
        stream: Any,
        max_version: tuple[int, int] | None,
        dl_device: tuple[int, int] | None,
        copy: bool | None,
    ) -> Any:
        """Return a DLPack capsule of an array, once it is computed.

        For DLPack 1.0 host memory is flagged read-only unless it is a copy.
        """
        origin = self.dlpack_device(x)
        target = origin if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
        if target != origin and target[0] != _DLPACK_CPU:
            raise BufferError(
                f"an MLX array can be exported to its own DLPack device {origin} and to the CPU "
                f"({_DLPACK_CPU}, 0), not to {target}"
            )
        x = _contiguous(x, copy)
        reads_flags = max_version is not None and max_version[0] >= 1
        if target[0] != _DLPACK_CPU or x.dtype == mx.bfloat16 or not reads_flags:
            return x.__dlpack__(stream=stream, dl_device=target, copy=copy)
        return self.to_host(x, copy=copy).__dlpack__(stream=None, max_version=max_version)

    def dlpack_device(self, x: mx.array) -> tuple[int, int]:
        """Return DLPack's device type and index of an array, which depends on the build."""
        kind, index = x.__dlpack_device__()
        return int(kind), int(index)


def _over_host_memory(array: np.ndarray[Any, Any]) -> mx.array:
    """Return an array that shares NumPy's memory, which must not be written afterwards."""
    try:
        return mx.from_dlpack(array, copy=False)
    except (TypeError, ValueError, BufferError) as error:
        raise ValueError(
            f"copy=False, but MLX cannot use this memory without a copy "
            f"({str(error).splitlines()[0]})\nHint: pass copy=None or copy=True"
        ) from error


def _copies_well(array: np.ndarray[Any, Any]) -> bool:
    """Return whether ``mx.array`` copies an array efficiently.

    It supports neither negative strides nor gaps, and copies all memory from the first element to
    the last: of a column, the whole matrix.
    """
    span = size = array.itemsize
    for length, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0 or stride % array.itemsize:
            return False
        span += (length - 1) * stride
        size *= length
    return 2 * span <= 3 * size


def _converts_alike(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Return whether MLX converts as NumPy does.

    MLX rounds twice to half precision, and converts out-of-range values differently.
    """
    if source == target:
        return source.isnative
    if source not in _READ or target.itemsize < 4:
        return False
    return source.kind in "biu" or target.kind in "fc"


def under(device: mx.Device | None) -> AbstractContextManager[Any]:
    """Return a context that makes a device current."""
    return (Devices.scope(device) if device is not None else None) or nullcontext()


def check_shape(shape: tuple[int, ...]) -> None:
    """Raise ValueError for axes that are longer than MLX supports."""
    for size in shape:
        if size > devices.LONGEST:
            raise ValueError(
                f"an axis of {size} elements exceeds MLX's limit of {devices.LONGEST}\n"
                f"Hint: use several axes or arrays"
            )


def _over_gpu_memory(
    x: Any, origin: tuple[int, int], device: mx.Device, *, copy: bool | None
) -> mx.array:
    """Return an array that shares a GPU's memory, which MLX supports for Metal only."""
    held = dlpack.take(x)
    try:
        with under(device):
            return mx.from_dlpack(held, copy=copy)
    except (TypeError, ValueError) as error:
        raise BufferError(
            f"MLX cannot read DLPack device {origin} ({dlpack.kind_name(origin[0])}) here: "
            f"{str(error).splitlines()[0]}\nHint: move the data to the host first"
        ) from error


def _contiguous(x: mx.array, copy: bool | None) -> mx.array:
    """Return an array without negative strides, for which PyTorch aborts."""
    if all(stride >= 0 for stride in memoryview(evaluated(x)).strides or ()):  # type: ignore[arg-type]
        return x
    if copy is False:
        raise BufferError(
            "copy=False, but an array with negative strides must be copied\nHint: pass copy=None"
        )
    # The CPU supports every dtype.
    return mx.contiguous(x, stream=mx.cpu)


from_dlpack, from_host, to_host = Transfer.from_dlpack, Transfer.from_host, Transfer.to_host
