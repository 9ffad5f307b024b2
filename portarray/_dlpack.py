"""DLPack's capsules in the hand: asked for once, looked into, and handed on.

A producer may give its capsule only once, and libraries ask for it several times over; they also
overlook what it says. So a backend takes the capsule (:func:`take`), reads what its library would
overlook, and gives its library the :class:`Held` capsule in the producer's place.
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
    "take",
]

CPU = (1, 0)
"""DLPack's kDLCPU, of which there is one."""

HOST_KINDS = (1, 3, 11)
"""DLPack's types of host memory: kDLCPU, and kDLCUDAHost and kDLROCMHost, which are page-locked."""

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
    """Return what DLPack calls a type of devices."""
    return _KIND_NAMES.get(kind, f"type {kind}, which this version does not know")


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
"""The version of DLPack that brought flags; what producers are asked for."""

_is_capsule_of = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule_of.argtypes = (ctypes.py_object, ctypes.c_char_p)
_is_capsule_of.restype = ctypes.c_int
_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.argtypes = (ctypes.py_object, ctypes.c_char_p)
_pointer_in.restype = ctypes.c_void_p


def _tensor_in(capsule: Any) -> _Tensor:
    """Return the tensor of a capsule that nobody has used."""
    if _is_capsule_of(capsule, _VERSIONED_NAME):
        tensor: _Tensor = _Versioned.from_address(_pointer_in(capsule, _VERSIONED_NAME)).tensor
        return tensor
    return _Tensor.from_address(_pointer_in(capsule, _NAME))


def _dtype_of(tensor: _Tensor) -> np.dtype[Any] | None:
    """Return the dtype of a tensor's elements; None where NumPy and ml_dtypes have no such type."""
    key = tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes
    if key != _BFLOAT16:
        return _DTYPES.get(key)
    import ml_dtypes  # for those who use bfloat16

    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def _no_capsule(found: Any, producer: str) -> Exception:
    if type(found).__name__ == "PyCapsule":
        return BufferError(
            f"the DLPack capsule of {producer} was used before, and one serves one consumer; "
            f"{producer}.__dlpack__ must give a new one each time"
        )
    return TypeError(f"{producer}.__dlpack__ returned {type(found).__name__} and no DLPack capsule")


class Held:
    """A capsule that nobody has used, offered as a DLPack producer that gives it to one consumer.

    Parameters
    ----------
    capsule : PyCapsule
        Of a producer.
    producer : str
        What it came from, for errors.

    Attributes
    ----------
    read_only : bool
        Whether the capsule marks its memory read-only; capsules before DLPack 1.0 cannot.
    odd : bool
        Whether a stride is negative, with which PyTorch ends the process, or the first element lies
        behind the pointer, which it refuses.
    dtype : numpy.dtype or None
        Of the elements; None where NumPy and ml_dtypes have no such type.
    versioned : bool
        Whether it is one of DLPack 1.0 or later.

    Raises
    ------
    BufferError
        If the capsule was used before, as one is that a producer gives twice.
    TypeError
        If it is no capsule.
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
        # Whoever takes the capsule may free this before the capsule itself is gone.
        tensor = _tensor_in(capsule)
        strides = tensor.strides
        backwards = bool(strides) and any(strides[i] < 0 for i in range(tensor.ndim))
        self.odd = backwards or tensor.byte_offset != 0
        self.dtype = _dtype_of(tensor)
        self._capsule = capsule
        # Not what the producer says: PyTorch counts Intel's GPUs by themselves, its capsules count
        # all of SYCL's devices.
        self._device = (tensor.device_type, tensor.device_id)
        self._producer = producer

    def __dlpack__(self, **_options: object) -> Any:
        """Return the capsule, until somebody has used it."""
        if _is_capsule_of(self._capsule, _VERSIONED_NAME) or _is_capsule_of(self._capsule, _NAME):
            return self._capsule
        raise _no_capsule(self._capsule, self._producer)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's device type and index, as they stand in the capsule."""
        return self._device


def take(
    x: Any,
    *,
    stream: Any = None,
    to_host: bool = False,
    copy: bool = False,
    max_version: tuple[int, int] | None = NEWEST,
) -> Held:
    """Ask a producer for its capsule, once.

    Parameters
    ----------
    x : object
        With ``__dlpack__`` and ``__dlpack_device__``.
    stream : int or None
        The consumer's stream, in DLPack's numbers; None on devices that have none.
    to_host : bool
        Whether the producer shall copy its data to the host, which few can.
    copy : bool
        Whether the producer shall copy its data where that is.
    max_version : tuple of int or None
        The newest version that the consumer reads; None where it knows of no versions.

    Raises
    ------
    BufferError
        If the capsule was used before, or the producer cannot export its memory.
    TypeError
        If what it gives is no capsule.
    """
    if type(x) is Held:
        return x
    name = type(x).__name__
    options = {} if stream is None else {"stream": stream}
    if to_host or copy:
        asked = {"dl_device": CPU} if to_host else {"copy": True, **options}
        try:
            return Held(x.__dlpack__(max_version=max_version, **asked), name)
        except TypeError as error:
            where = " to the CPU" if to_host else ""
            raise BufferError(
                f"{name} copies nothing{where} for others ({error}); copy it first"
            ) from error
    try:
        capsule = x.__dlpack__(max_version=max_version, **options)
    except TypeError:  # producers of DLPack before 1.0 know no versions
        capsule = x.__dlpack__(**options)
    return Held(capsule, name)


def host_values(x: Any) -> np.ndarray[Any, Any]:
    """Return the elements of a producer in host memory as a NumPy array over its memory.

    It is read-only where the producer says so, or cannot say. bfloat16 comes as ml_dtypes' type,
    which NumPy's own import refuses.

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


def host_capsule(
    values: np.ndarray[Any, Any], *, max_version: tuple[int, int] | None, copy: bool | None = None
) -> Any:
    """Return NumPy's capsule of an array, bfloat16 included, which NumPy does not export."""
    if values.dtype.name != "bfloat16":
        return values.__dlpack__(max_version=max_version, copy=copy)
    capsule = values.view(np.uint16).__dlpack__(max_version=max_version, copy=copy)
    _tensor_in(capsule).dtype.code = _BFLOAT16[0]
    return capsule
