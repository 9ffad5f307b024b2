"""Trees of arrays written into files and read from them, behind ``pa.save`` and ``pa.load``."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._array import conversion, dtypes, host_access, native_arrays, results, slow_path
from portarray._array.array import Array
from portarray._saving import safetensors_files
from portarray._saving import structure as structures

if TYPE_CHECKING:
    from portarray._devices.device import Device

Values = np.ndarray[Any, Any]

# Keys of portarray's notes in a file.
_STRUCTURE = "structure"  # of the tree; missing where that is a dict in alphabetical order
_SHARED = "shared"  # names of arrays that are saved under another name, to that name


def write(path: object, tree: Any, metadata: object) -> None:
    """Write a tree into a file; see :func:`portarray.save`."""
    where = _path(path)
    user_metadata = _metadata(metadata)
    leaves, structure = structures.flatten(tree, _check_array)
    values, shared = _on_host(leaves)
    notes: dict[str, Any] = {}
    if shared:
        notes[_SHARED] = shared
    if not (isinstance(tree, Mapping) and list(tree) == sorted(leaves)):
        notes[_STRUCTURE] = structure
    try:
        safetensors_files.write(where, values, user_metadata, notes)
    except MemoryError as error:  # of a copy in C order
        results.reraise(error, "saving")


def read(
    path: object, device: Device, *, narrow: bool, names: Iterable[str] | None
) -> tuple[Any, dict[str, str]]:
    """Return the tree in a file and its metadata; see :func:`portarray.load`."""
    where = _path(path)
    try:
        stored = safetensors_files.read(where)
    except MemoryError as error:  # no address space to map the file
        results.reraise(error, "loading", nbytes=os.path.getsize(where))
    shared = _shared(stored)
    if names is None:
        structure = _structure(stored, shared)
    else:
        structure = dict.fromkeys(_selected_names(names, stored, shared))
    placed: dict[str, Array] = {}
    arrays: list[Array] = []
    try:
        for name in structures.leaf_names(structure):
            first = shared.get(name, name)
            if first not in placed:
                placed[first] = _placed(stored, first, device, narrow=narrow)
            arrays.append(placed[first])
    except BaseException:
        placed.clear()  # the traceback keeps this frame
        arrays.clear()
        raise
    return structures.unflatten(structure, arrays), stored.metadata


def _placed(stored: safetensors_files.Stored, name: str, device: Device, *, narrow: bool) -> Array:
    host_access.tell("load", device, to_host=False)
    try:
        return conversion.from_host(
            _in_memory(stored, name), device, narrow=narrow, take_ownership=True
        )
    except Exception as error:
        error.add_note(f"The array is {name!r} in {stored.path!r}")
        raise


def _in_memory(stored: safetensors_files.Stored, name: str) -> Values:
    try:
        return stored.values(name)
    except MemoryError as error:  # of the copy of an unaligned array
        results.reraise(error, "loading")


# --- arrays ---------------------------------------------------------------------------------------


def _check_array(x: Any, path: str) -> None:
    """Raise unless the value is an array of a dtype that portarray supports."""
    if type(x) is Array:
        return
    if isinstance(x, np.ndarray):
        if type(x) not in (np.ndarray, np.memmap):
            raise TypeError(
                f"save: {path} is a {type(x).__name__}, which has more than values\nHint: save "
                f"numpy.asarray of it"
            )
        try:
            dtypes.canonical(x.dtype)
        except TypeError as error:
            raise TypeError(f"save: {path} cannot be saved: {error}") from error
        return
    try:
        if native_arrays.device_of(x) is not None or hasattr(x, "__dlpack__"):
            return
    except Exception as error:
        error.add_note(f"at {path}")
        raise
    if hasattr(x, "_asdict"):
        fix = "use its _asdict(): files have mappings, lists and tuples"
    elif callable(getattr(x, "state_dict", None)):
        fix = "save its state_dict()"
    elif isinstance(x, (*dtypes.SCALARS, str)):
        fix = "make it an array with pa.asarray, or write it into metadata={...} as text"
    else:
        fix = "omit it, or keep its content in metadata={...}"
    raise TypeError(f"save: {path} is {_described(x)}, not an array\nHint: {fix}")


def _described(x: Any) -> str:
    text = repr(x)
    name = type(x).__name__
    return f"{text} of type {name}" if len(text) <= 40 else f"of type {name}"


def _on_host(
    leaves: Mapping[str, structures.Leaf],
) -> tuple[dict[str, safetensors_files.Block], dict[str, str]]:
    """Return arrays' values, each once, and for every repeated one its name to the first's."""
    values: dict[str, safetensors_files.Block] = {}
    shared: dict[str, str] = {}
    objects: dict[int, str] = {}
    memories: dict[object, str] = {}
    for name, (x, path) in leaves.items():
        first = objects.setdefault(id(native_arrays.native_of(x)), name)
        if first == name:
            values_here = _values(x, path)
            # A PyTorch state_dict has a tensor object for each name of one parameter.
            address = safetensors_files.address_of(values_here)
            memory = (address, values_here.shape, values_here.strides, values_here.dtype)
            first = memories.setdefault(memory, name) if values_here.size else name
        if first == name:
            values[name] = safetensors_files.Block(values_here, address)
        else:
            shared[name] = first
    return values, shared


def _values(x: Any, path: str) -> Values:
    """Return an array's values in host memory."""
    if isinstance(x, np.ndarray):
        return x.view(np.ndarray)
    try:
        if type(x) is not Array:
            # Native arrays stay on their device; other producers are imported.
            x = conversion.asarray(x)
        host_access.tell("save", x.device)
        return slow_path.read(x)
    except Exception as error:
        error.add_note(f"at {path}")
        raise


def _shared(stored: safetensors_files.Stored) -> dict[str, str]:
    """Return for each repeated array its name to the name that it is saved under."""
    shared = stored.notes.get(_SHARED, {})
    try:
        sound = all(first in stored.places for first in shared.values())
    except (AttributeError, TypeError):
        sound = False
    if not sound:
        raise _unfit(stored, _SHARED)
    return dict(shared)


def _structure(stored: safetensors_files.Stored, shared: Mapping[str, str]) -> Any:
    """Return the structure of the tree in a file, by default a flat dict."""
    flat = dict.fromkeys(sorted((*stored.places, *shared)))
    if _STRUCTURE not in stored.notes:
        return flat
    structure = stored.notes[_STRUCTURE]
    try:
        sound = sorted(structures.leaf_names(structure)) == list(flat)
    except TypeError:
        sound = False
    if not sound:
        raise _unfit(stored, _STRUCTURE)
    return structure


def _unfit(stored: safetensors_files.Stored, key: str) -> ValueError:
    return ValueError(
        f"load: portarray's metadata {key!r} in {stored.path!r} does not fit its arrays; another "
        f"program changed them\nHint: load them with names=[...], or remove the key "
        f"{safetensors_files.OWN!r} from the metadata"
    )


# --- arguments ------------------------------------------------------------------------------------


def _path(path: object) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"the path has type {type(path).__name__}\nHint: the path is the first argument: "
            f"pa.save(path, tree), pa.load(path)"
        )
    return os.fsdecode(path)


def _metadata(metadata: object) -> dict[str, str]:
    """Return the user's metadata, checked."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise TypeError(f"save: metadata must map str to str, not {type(metadata).__name__}")
    for key, value in metadata.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise TypeError(
                f"save: metadata[{key!r}] is {value!r}, and metadata maps str to str\nHint: use "
                f"str() or "
                f"json.dumps"
            )
        if key == safetensors_files.OWN:
            raise ValueError(
                f"save: portarray reserves the metadata key {key!r}\nHint: use another key"
            )
        try:
            (key + value).encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"save: metadata[{key!r}] has a lone surrogate, and text in files is UTF-8\nHint: "
                f"replace it"
            ) from None
    return dict(metadata)


def _selected_names(
    names: object, stored: safetensors_files.Stored, shared: Mapping[str, str]
) -> list[str]:
    """Return the names asked for, each once."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"load: names must be a list, not {names!r}\nHint: use names=[{names!r}]")
    requested = list(dict.fromkeys(names))
    for name in requested:
        if name in stored.places or name in shared:
            continue
        available = (*stored.places, *shared)
        near = difflib.get_close_matches(str(name), available, n=3)
        listed = ", ".join(map(repr, available[:8])) + (", ..." if len(available) > 8 else "")
        hint = f"use {' or '.join(map(repr, near))}" if near else f"it has {listed}"
        raise ValueError(
            f"load: {stored.path!r} does not have an array named {name!r}\nHint: {hint}"
        )
    return requested
