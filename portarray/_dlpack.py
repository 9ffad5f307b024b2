"""DLPack capsules: requested once, inspected, and passed on.

Some producers export a capsule only once, while libraries ask for it several times, and ignore some
of its fields. So a backend takes the capsule (:func:`take`), checks the fields that its library
ignores, and passes the :class:`Held` capsule to its library in place of the producer.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

__all__ = [
    "CPU",
    "HOST_KINDS",
    "NEWEST",
    "Held",
    "host_capsule",
    "host_values",
    "kind_name",
    "labelled",
    "take",
]

CPU = (1, 0)
"""DLPack's kDLCPU, device 0."""

HOST_KINDS = (1, 3, 11)
"""DLPack's types of host memory: kDLCPU, and the pinned kDLCUDAHost and kDLROCMHost."""

_KIND_NAMES = {
    kind: f"kDL{name}"
    for kind, name in enumerate(
        (
            *("CPU", "CUDA", "CUDAHost", "OpenCL", "", "", "Vulkan", "Metal", "VPI", "ROCM"),
            *("ROCMHost", "ExtDev", "CUDAManaged", "OneAPI", "WebGPU", "Hexagon", "MAIA", "Trn"),
        ),
        start=1,
    )
    if name
}


def kind_name(kind: int) -> str:
    """Return DLPack's name of a device type."""
    return _KIND_NAMES.get(kind, f"unknown type {kind}")


class _DataType(ctypes.Structure):
    """DLDataType of dlpack.h."""

    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    """DLTensor of dlpack.h."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned of dlpack.h; the unversioned one begins with the tensor."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_NAME, _VERSIONED_NAME = b"dltensor", b"dltensor_versioned"
_READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY
_UINT = 1  # kDLUInt
_BFLOAT16 = (4, 16, 1)
_DTYPES = {
    **{(0, 8 * size, 1): np.dtype(f"i{size}") for size in (1, 2, 4, 8)},
    **{(_UINT, 8 * size, 1): np.dtype(f"u{size}") for size in (1, 2, 4, 8)},
    **{(2, 8 * size, 1): np.dtype(f"f{size}") for size in (2, 4, 8)},
    **{(5, 8 * size, 1): np.dtype(f"c{size}") for size in (8, 16)},
    (6, 8, 1): np.dtype(bool),
}
"""NumPy's own dtypes by DLPack's code, bits and lanes."""
NEWEST = (1, 0)
"""The version of DLPack asked for: the first with flags."""

_is_capsule_of = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule_of.argtypes = (ctypes.py_object, ctypes.c_char_p)
_is_capsule_of.restype = ctypes.c_int
_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.argtypes = (ctypes.py_object, ctypes.c_char_p)
_pointer_in.restype = ctypes.c_void_p


def _tensor_in(capsule: Any) -> _Tensor:
    """Return the tensor of an unconsumed capsule."""
    if _is_capsule_of(capsule, _VERSIONED_NAME):
        tensor: _Tensor = _Versioned.from_address(_pointer_in(capsule, _VERSIONED_NAME)).tensor
        return tensor
    return _Tensor.from_address(_pointer_in(capsule, _NAME))


def _dtype_of(tensor: _Tensor) -> np.dtype[Any] | None:
    """Return the dtype of a tensor's elements; None if NumPy and ml_dtypes lack it."""
    key = tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes
    if key != _BFLOAT16:
        return _DTYPES.get(key)
    import ml_dtypes  # only for bfloat16

    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def _no_capsule(result: Any, producer: str) -> Exception:
    if type(result).__name__ == "PyCapsule":
        return BufferError(
            f"the DLPack capsule of {producer} was already consumed, and a capsule serves one "
            f"consumer\n"
            f"Hint: {producer}.__dlpack__ must return a new one for each call"
        )
    return TypeError(
        f"{producer}.__dlpack__ returned {type(result).__name__} instead of a DLPack capsule"
    )


class Held:
    """An unconsumed capsule as a DLPack producer, for one consumer.

    Parameters
    ----------
    capsule : PyCapsule
        A producer's capsule.
    producer : str
        Type name of the producer, for errors.

    Attributes
    ----------
    read_only : bool
        Whether the capsule is flagged read-only, which DLPack before 1.0 cannot express.
    odd : bool
        Whether a stride is negative, for which PyTorch aborts, or the byte offset is not 0, which
        it refuses.
    dtype : numpy.dtype or None
        Dtype of the elements; None if NumPy and ml_dtypes lack it.
    versioned : bool
        Whether it is a capsule of DLPack 1.0 or later.

    Raises
    ------
    BufferError
        If the capsule is already consumed, as when a producer exports one twice.
    TypeError
        If it is not a capsule.
    """

    __slots__ = ("_capsule", "_device", "_producer", "dtype", "odd", "read_only", "versioned")

    def __init__(self, capsule: Any, producer: str = "object") -> None:
        self.read_only = False
        self.versioned = bool(_is_capsule_of(capsule, _VERSIONED_NAME))
        if self.versioned:
            managed = _Versioned.from_address(_pointer_in(capsule, _VERSIONED_NAME))
            self.read_only = bool(managed.flags & _READ_ONLY)
        elif not _is_capsule_of(capsule, _NAME):
            raise _no_capsule(capsule, producer)
        # Copied: the consumer may free the tensor before the capsule.
        tensor = _tensor_in(capsule)
        strides = tensor.strides
        backwards = bool(strides) and any(strides[i] < 0 for i in range(tensor.ndim))
        self.odd = backwards or tensor.byte_offset != 0
        self.dtype = _dtype_of(tensor)
        self._capsule = capsule
        # Not the producer's __dlpack_device__: PyTorch numbers Intel's GPUs alone there, and all
        # SYCL devices in capsules.
        self._device = (tensor.device_type, tensor.device_id)
        self._producer = producer

    def __dlpack__(self, **_options: object) -> Any:
        """Return the capsule, unless it is consumed."""
        if _is_capsule_of(self._capsule, _VERSIONED_NAME) or _is_capsule_of(self._capsule, _NAME):
            return self._capsule
        raise _no_capsule(self._capsule, self._producer)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's device type and index from the capsule."""
        return self._device


def take(
    x: Any,
    *,
    stream: Any = None,
    to_host: bool = False,
    copy: bool = False,
    max_version: tuple[int, int] | None = NEWEST,
) -> Held:
    """Request a producer's capsule, once.

    Parameters
    ----------
    x : object
        With ``__dlpack__`` and ``__dlpack_device__``.
    stream : int or None
        The consumer's stream as DLPack numbers it; None on devices without streams.
    to_host : bool
        Whether to request a copy in host memory, which few producers support.
    copy : bool
        Whether to request a copy on the same device.
    max_version : tuple of int or None
        The newest version that the consumer reads; None for consumers before DLPack 1.0.

    Raises
    ------
    BufferError
        If the capsule is already consumed, or the producer cannot export its memory.
    TypeError
        If the producer does not return a capsule.
    """
    if type(x) is Held:
        return x
    name = type(x).__name__
    options = {} if stream is None else {"stream": stream}
    if to_host or copy:
        request = {"dl_device": CPU} if to_host else {"copy": True, **options}
        try:
            return Held(x.__dlpack__(max_version=max_version, **request), name)
        except TypeError as error:
            where = " to the CPU" if to_host else ""
            raise BufferError(
                f"{name} cannot be exported without a copy{where} ({error})\nHint: copy it first"
            ) from error
    try:
        capsule = x.__dlpack__(max_version=max_version, **options)
    except TypeError:  # before DLPack 1.0 there is no max_version
        capsule = x.__dlpack__(**options)
    return Held(capsule, name)


def host_values(x: Any) -> np.ndarray[Any, Any]:
    """Return a NumPy view of a producer's memory, which must be host memory.

    Read-only unless the producer declares its memory writable. Supports bfloat16 (ml_dtypes), which
    NumPy's own import does not.

    Raises
    ------
    BufferError
        As :func:`take`.
    """
    if isinstance(x, np.ndarray):
        return x
    held = take(x)
    dtype = held.dtype
    if dtype is None or dtype.name != "bfloat16":
        return np.from_dlpack(held)
    capsule = held.__dlpack__()
    _tensor_in(capsule).dtype.code = _UINT
    values = np.from_dlpack(Held(capsule))
    return values.view(dtype)


def labelled(capsule: Any, device: tuple[int, int]) -> Any:
    """Label an unconsumed capsule with a device, and return it; for devices that are simulated."""
    tensor = _tensor_in(capsule)
    tensor.device_type, tensor.device_id = device
    return capsule


def host_capsule(
    values: np.ndarray[Any, Any], *, max_version: tuple[int, int] | None, copy: bool | None = None
) -> Any:
    """Return a capsule of a NumPy array; bfloat16, which NumPy does not export, is supported."""
    if values.dtype.name != "bfloat16":
        return values.__dlpack__(max_version=max_version, copy=copy)
    capsule = values.view(np.uint16).__dlpack__(max_version=max_version, copy=copy)
    _tensor_in(capsule).dtype.code = _BFLOAT16[0]
    return capsule
