"""safetensors files: written whole or not at all, and mapped into memory to be read.

The format is read and written by the safetensors library. Arrays of complex128, for which it has
no name, are stored as float64 with a last axis of two, real and imaginary part; the file's metadata
says which they are.
"""

from __future__ import annotations

import errno
import json
import math
import mmap
import os
import re
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from portarray._atomic_files import replaced
from portarray._installation import pip_install

Values = np.ndarray[Any, Any]

OWN = "portarray"
"""The key of portarray's own notes among a file's metadata, as JSON.

It is one key, since the library writes several in an order of its own each time.
"""

_COMPLEX128 = "complex128"
_ATTEMPTS = 100  # to read a file that others replace meanwhile


# --- writing --------------------------------------------------------------------------------------


class Block(NamedTuple):
    """An array's values, and the address of the first of them."""

    values: Values
    address: int


def address_of(values: Values) -> int:
    """Return the address of an array's first element; slow in NumPy, so asked for once."""
    address: int = values.__array_interface__["data"][0]
    return address


def write(
    path: str, arrays: Mapping[str, Block], metadata: Mapping[str, str], notes: Mapping[str, Any]
) -> None:
    """Write arrays to a file; on any error the earlier one stays.

    Arrays in one block of memory in C order are written from there; others are copied first.
    """
    library = _library()
    specs = {}
    pairs = []
    alive = []  # TensorSpec holds no reference
    for name, (array, address) in arrays.items():
        # safetensors reads contiguous memory in C order.
        values = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
        if values is not array:
            address = address_of(values)
        if values.dtype.kind == "c" and values.dtype.itemsize == 16:
            values = values.reshape(*values.shape, 1).view(values.real.dtype)
            pairs.append(name)
        alive.append(values)
        # As its save_file does, but without NumPy's slow names of dtypes.
        specs[name] = library.TensorSpec(
            dtype=_name_of(values.dtype),
            shape=values.shape,
            data_ptr=address,
            data_len=values.nbytes,
        )
    all_notes = {**notes, **({_COMPLEX128: pairs} if pairs else {})}
    text = json.dumps(all_notes, ensure_ascii=False, separators=(",", ":"))
    every = {**metadata, OWN: text} if all_notes else dict(metadata)
    with replaced(path) as temporary:
        try:
            library.serialize_file(specs, temporary, metadata=every or None)
        except library.SafetensorError as error:
            raise _unwritten(path, str(error)) from error


def _unwritten(path: str, why: str) -> OSError:
    """Return the OSError for a message of safetensors, with its errno where it has one."""
    os_error = re.search(r"\(os error (\d+)\)", why)
    if os_error is None:
        return OSError(f"save: {path!r} was not written: {why}")
    return OSError(int(os_error[1]), f"{os.strerror(int(os_error[1]))}; it was not written", path)


# --- reading --------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """Location of an array in a file: the format's dtype name, shape, offset in bytes."""

    code: str
    shape: tuple[int, ...]
    start: int


@dataclass(frozen=True, slots=True)
class Stored:
    """A file that is mapped into memory, privately: what is written there stays in this process."""

    path: str
    metadata: dict[str, str]  # without portarray's
    notes: dict[str, Any]  # portarray's own, as given to :func:`write`
    places: dict[str, _Place]  # of the arrays, by name in alphabetical order
    pairs: frozenset[str]  # names of the complex128 arrays
    memory: mmap.mmap  # unmapped with the last array in it

    def values(self, name: str) -> Values:
        """Return an array in the mapping, or a copy if its memory is not aligned."""
        code, shape, start = self.places[name]
        dtype = _dtype(code)
        if dtype is None:
            raise ValueError(
                f"load: array {name!r} in {self.path!r} has the unsupported dtype {code}\n"
                f"Hint: load the others with names=[...]"
            )
        if not math.prod(shape):
            copy: Values = np.empty(shape, dtype)
        else:
            copy = np.ndarray(shape, dtype, self.memory, start)
        if code == "BOOL" and copy.size and copy.view(np.uint8).max() > 1:
            raise ValueError(
                f"load: {self.path!r} is damaged: {name!r} has values that are not booleans"
            )
        if name in self.pairs:
            copy = copy.view(np.dtype(np.complex128).newbyteorder("<")).reshape(shape[:-1])
        return copy if copy.flags.aligned else copy.copy()


def read(path: str) -> Stored:
    """Map a file into memory; its data is read where an array is used, and not before."""
    library = _library()
    for _ in range(_ATTEMPTS):
        _check_regular(path)
        with open(path, "rb") as file:
            data_start = 8 + int.from_bytes(file.read(8), "little")
            metadata, places, end = _header(path, library, data_start)
            # safetensors opens the path itself. An open file's inode number is not used again.
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                memory = _mapped(file.fileno())
                break
    else:
        raise OSError(
            errno.EAGAIN, "other programs replace the file faster than it can be read", path
        )
    if len(memory) != end:
        raise _damaged(path, "its length changed while it was read")
    notes = _notes(path, metadata.pop(OWN, "{}"))
    pairs = _pairs(path, notes.pop(_COMPLEX128, []), places)
    return Stored(path, metadata, notes, dict(sorted(places.items())), pairs, memory)


def _mapped(descriptor: int) -> mmap.mmap:
    """Map a whole file privately: what is written there stays in this process."""
    try:
        if sys.version_info >= (3, 13) and sys.platform != "win32":
            # Do not keep a file descriptor for each mapping.
            return mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY, trackfd=False)
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY)
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise MemoryError(str(error)) from error
        raise


def _check_regular(path: str) -> None:
    """Raise unless the path is a regular file, before opening it: opening a pipe blocks."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "load: the path is a folder, not a file", path)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "load: the path is not a regular file", path)


def _header(path: str, library: Any, start: int) -> tuple[dict[str, str], dict[str, _Place], int]:
    """Return metadata, the places of arrays whose data begins at ``start``, and where it ends."""
    places = {}
    try:
        with library.safe_open(path, framework="np") as file:
            # In this order arrays are contiguous: the format allows no gaps.
            for name in file.offset_keys():
                entry = file.get_slice(name)
                code, shape = entry.get_dtype(), tuple(entry.get_shape())
                places[name] = _Place(code, shape, start)
                start += math.prod(shape) * _bits(code) // 8
            return dict(file.metadata() or {}), places, start
    except library.SafetensorError as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: str, why: str) -> ValueError:
    with open(path, "rb") as file:
        first = file.read(8)
    kinds = [kind for start, kind in _OTHERS.items() if first.startswith(start)]
    fix = kinds[0] if kinds else "restore it from its source, or save it again"
    return ValueError(f"load: {path!r} is not a complete safetensors file: {why}\nHint: {fix}")


_OTHERS = {
    b"\x93NUMPY": "it is one of NumPy's .npy files: use numpy.load",
    b"PK\x03\x04": "it is a zip archive of numpy.savez or torch.save: use numpy.load or torch.load",
    b"\x80\x04\x95": "it is a pickle: use pickle.load if you trust its source",
    b"\x80\x05\x95": "it is a pickle: use pickle.load if you trust its source",
    b"\x89HDF": "it is an HDF5 file: use h5py",
    b"GGUF": "it is a GGUF file: use gguf",
}
"""How files of other formats begin, to what reads them."""


def _notes(path: str, text: str) -> dict[str, Any]:
    try:
        notes = json.loads(text)
    except (ValueError, RecursionError):
        notes = None
    if not isinstance(notes, dict):
        raise _damaged(
            path, f"its metadata {OWN!r} is not JSON written by portarray: {text[:80]!r}"
        )
    return notes


def _pairs(path: str, names: Any, places: Mapping[str, _Place]) -> frozenset[str]:
    """Return which arrays are complex128, as the file says."""
    try:
        pairs = frozenset(names)
        sound = all(places[name].code == "F64" and places[name].shape[-1] == 2 for name in pairs)
    except (TypeError, LookupError):
        sound = False
    if not sound:
        raise _damaged(
            path, f"{_COMPLEX128} in its metadata {OWN!r} lists arrays that are not float64 pairs"
        )
    return pairs


# --- dtypes and the library -----------------------------------------------------------------------

_DTYPES: dict[str, type[np.generic]] = {
    "BOOL": np.bool,
    "I8": np.int8,
    "I16": np.int16,
    "I32": np.int32,
    "I64": np.int64,
    "U8": np.uint8,
    "U16": np.uint16,
    "U32": np.uint32,
    "U64": np.uint64,
    "F16": np.float16,
    "F32": np.float32,
    "F64": np.float64,
    "C64": np.complex64,
}


@cache
def _name_of(dtype: np.dtype[Any]) -> str:
    return dtype.name


@cache
def _dtype(code: str) -> np.dtype[Any] | None:
    """Return the dtype of the format's name for it, None where portarray has none."""
    if code == "BF16":
        import ml_dtypes

        dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    elif code in _DTYPES:
        dtype = np.dtype(_DTYPES[code])
    else:
        return None
    return dtype.newbyteorder("<")


@cache
def _bits(code: str) -> int:
    """Return the size of an element in bits, which is a part of the name: ``"F8_E4M3"``."""
    digits = re.search(r"\d+", code)
    return int(digits[0]) if digits else 8


def _library() -> Any:
    """Return the safetensors library."""
    try:
        import safetensors
    except ModuleNotFoundError as error:
        if error.name != "safetensors":
            raise
        raise ModuleNotFoundError(
            f"save and load need safetensors\nHint: {pip_install('portarray[files]')}",
            name="safetensors",
        ) from error
    return safetensors
