"""What DLPack's capsules say that libraries overlook on import."""

from __future__ import annotations

import ctypes

__all__ = ["is_read_only"]

_VERSIONED = b"dltensor_versioned"
_READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY

_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.argtypes = (ctypes.py_object, ctypes.c_char_p)
_pointer_in.restype = ctypes.c_void_p
_is_capsule_of = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule_of.argtypes = (ctypes.py_object, ctypes.c_char_p)
_is_capsule_of.restype = ctypes.c_int


def is_read_only(capsule: object) -> bool:
    """Tell whether an unused capsule marks its memory read-only; capsules before 1.0 cannot."""
    if not _is_capsule_of(capsule, _VERSIONED):
        return False
    # struct DLManagedTensorVersioned: a version of 8 bytes, two pointers, then 64 bits of flags.
    address = _pointer_in(capsule, _VERSIONED)
    flags = ctypes.c_uint64.from_address(address + 8 + 2 * ctypes.sizeof(ctypes.c_void_p))
    return bool(flags.value & _READ_ONLY)
