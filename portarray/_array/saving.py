"""``pa.save`` and ``pa.load``: arrays and trees of them in safetensors files."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from portarray._array import array as _array
from portarray._array import call, conversion, dtypes
from portarray._devices import selection
from portarray._movement import files
from portarray._movement import structure as structures

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._devices.device import Device

__all__ = ["load", "save"]

Values = np.ndarray[Any, Any]

_STRUCTURE = f"{files.OWN}structure"
_SHARED = f"{files.OWN}shared"


def save(
    path: str | os.PathLike[str], tree: Any, *, metadata: Mapping[str, str] | None = None
) -> None:
    """Save an array, or a tree of arrays, as a safetensors file.

    The file is written beside the target and takes its place once it is whole and on the disk:
    when the program dies meanwhile, or the disk is full, the earlier file is still there.

    Parameters
    ----------
    path : str or os.PathLike
        The file; one that exists is replaced. It gets that name as it is, with no ending added.
        Links are followed.
    tree : Array, native array, NumPy array, or mappings, lists and tuples of them
        From any device. The keys of mappings are strings. Arrays in trees within trees are named
        by the path to them, joined by dots: ``{"layer": [x, y]}`` is ``layer.0`` and ``layer.1``
        in the file. A mapping of names to arrays is written as every program writes it. An array
        that is in the tree several times is saved once, under its first name.
    metadata : mapping of str to str, optional
        To be kept in the file. Keys that begin with ``portarray.`` are taken.

    Raises
    ------
    TypeError
        If something in the tree is no array, or a key no string. Nothing is written.
    ValueError
        If two arrays would have one name, or the tree is within itself. Nothing is written.
    OSError
        If the file cannot be written. The earlier one stays as it is.
    ModuleNotFoundError
        If safetensors is not installed: ``pip install "portarray[files]"``.

    See Also
    --------
    load

    Notes
    -----
    Arrays in host memory are written from there; only those that do not lie in it in C order are
    copied before. Arrays of other devices are copied to the host, all of them before the first is
    written. complex128, which the format lacks, is stored as float64 with one axis more, of
    length two.

    Examples
    --------
    >>> import os, tempfile
    >>> import portarray as pa
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> pa.save(path, {"w": pa.ones((2, 3)), "b": pa.zeros(3)}, metadata={"epoch": "3"})
    >>> pa.load(path)["b"].shape
    (3,)
    """
    where = _path(path)
    notes = _notes(metadata)
    leaves, structure = structures.taken_apart(tree, _check_array)
    values, shared = _on_host(leaves)
    if shared:
        notes[_SHARED] = structures.written(shared)
    if not (isinstance(tree, Mapping) and list(tree) == sorted(leaves)):
        notes[_STRUCTURE] = structures.written(structure)
    files.write(where, values, notes)


@overload
def load(
    path: str | os.PathLike[str],
    *,
    device: object = None,
    narrow: bool = False,
    names: Iterable[str] | None = None,
    return_metadata: Literal[False] = False,
) -> Any: ...
@overload
def load(
    path: str | os.PathLike[str],
    *,
    device: object = None,
    narrow: bool = False,
    names: Iterable[str] | None = None,
    return_metadata: Literal[True],
) -> tuple[Any, dict[str, str]]: ...
def load(
    path: str | os.PathLike[str],
    *,
    device: object = None,
    narrow: bool = False,
    names: Iterable[str] | None = None,
    return_metadata: bool = False,
) -> Any:
    """Load what :func:`save`, or another program, wrote into a safetensors file.

    The file is mapped into memory, and its data read where an array is used, and not before. On
    devices that use NumPy's memory the arrays lie in that mapping: nothing is copied. They may be
    written to, which changes neither the file nor what others load from it.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    device : device-like, optional
        Where the arrays go; the default device.
    narrow : bool
        Whether to accept the nearest dtype where the device lacks an array's.
    names : iterable of str, optional
        Names of the only arrays to load, as they are called in the file; all by default.
    return_metadata : bool
        Whether to return the file's metadata too.

    Returns
    -------
    tree : Array, dict, list or tuple
        The tree that was saved, mappings as dict. A dict of names to arrays where another program
        wrote the file or ``names`` is given. What was one array in several places is one again.
    metadata : dict of str to str
        Only with ``return_metadata``: what was given to :func:`save`, or what the program wrote.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no whole safetensors file, has a dtype that portarray lacks, or not a name.
    DTypeNotSupportedError
        If the device lacks a dtype, unless ``narrow``.
    ModuleNotFoundError
        If safetensors is not installed: ``pip install "portarray[files]"``.

    See Also
    --------
    save

    Notes
    -----
    While such arrays are in use the file may be replaced or deleted, as :func:`save` and most
    programs do it (Windows refuses that), but not be written in place or cut short.

    Examples
    --------
    >>> import os, tempfile
    >>> import portarray as pa
    >>> path = os.path.join(tempfile.mkdtemp(), "state.safetensors")
    >>> pa.save(path, {"step": pa.asarray(3), "weights": [pa.ones(2), pa.zeros(2)]})
    >>> pa.load(path, device="numpy")["weights"][0]
    Array([1., 1.], dtype=float64, device='numpy:cpu:0')
    >>> pa.load(path, device="numpy", names=["step"])
    {'step': Array(3, dtype=int64, device='numpy:cpu:0')}
    """
    target = selection.resolve(device)
    stored = files.read(_path(path))
    shared = _shared(stored)
    structure = None if names is not None else _structure(stored, shared)
    wanted = (
        list(structures.names_in(structure)) if names is None else _asked(names, stored, shared)
    )
    placed: dict[str, Array] = {}
    try:
        for name in wanted:
            first = shared.get(name, name)
            if first not in placed:
                placed[first] = _placed(stored, first, target, narrow=narrow)
        arrays = {name: placed[shared.get(name, name)] for name in wanted}
    except BaseException:
        placed.clear()  # who handles the error has the memory back
        raise
    tree = structures.put_together(structure, arrays)
    if not return_metadata:
        return tree
    own = stored.metadata
    return tree, {key: own[key] for key in own if not key.startswith(files.OWN)}


def _placed(stored: files.Stored, name: str, device: Device, *, narrow: bool) -> Array:
    try:
        return conversion.asarray(stored.values(name), device=device, narrow=narrow)
    except Exception as error:
        error.add_note(f"The array is {name!r} in {stored.path!r}.")
        raise


# --- arrays ---------------------------------------------------------------------------------------


def _check_array(x: Any, place: str) -> None:
    """Refuse what is no array of portarray's dtypes."""
    if type(x) is _array.Array:
        return
    if isinstance(x, np.ndarray):
        if type(x) not in (np.ndarray, np.memmap):
            raise TypeError(
                f"{place} is a {type(x).__name__}, which is more than its values; save "
                f"numpy.asarray of it"
            )
        try:
            dtypes.canonical(x.dtype)
        except TypeError as error:
            raise TypeError(f"{place} cannot be saved: {error}") from error
        return
    if conversion.home(x) is not None or hasattr(x, "__dlpack__"):
        return
    if hasattr(x, "_asdict"):
        fix = "use its _asdict(): files have mappings, lists and tuples"
    elif isinstance(x, (*dtypes.SCALARS, str)):
        fix = "make it an array with pa.asarray, or write it into metadata={...} as text"
    else:
        fix = "leave it out, or keep what it says in metadata={...}"
    raise TypeError(f"{place} is {_described(x)} and no array; {fix}")


def _described(x: Any) -> str:
    text = repr(x)
    name = type(x).__name__
    return f"{text} of type {name}" if len(text) <= 40 else f"of type {name}"


def _on_host(leaves: Mapping[str, structures.Leaf]) -> tuple[dict[str, Values], dict[str, str]]:
    """Return arrays' values, each once, and the names of all others to that of the first."""
    values: dict[str, Values] = {}
    shared: dict[str, str] = {}
    objects: dict[int, str] = {}
    memories: dict[object, str] = {}
    for name, (x, place) in leaves.items():
        first = objects.setdefault(id(x._native if type(x) is _array.Array else x), name)
        if first == name:
            found = _values(x, place)
            # PyTorch hands out a tensor for each name of a parameter, all with the same memory.
            memory = (found.__array_interface__["data"], found.shape, found.strides, found.dtype)
            first = memories.setdefault(memory, name) if found.size else name
        if first == name:
            values[name] = found
        else:
            shared[name] = first
    return values, shared


def _values(x: Any, place: str) -> Values:
    """Return an array's values in host memory."""
    if isinstance(x, np.ndarray):
        return x.view(np.ndarray)
    try:
        if type(x) is not _array.Array:
            # NumPy's are read above, so this is where the array is, or the way of any producer.
            x = conversion.asarray(x)
        return call.host_view(x)
    except Exception as error:
        error.add_note(f"at {place}")
        raise


def _shared(stored: files.Stored) -> dict[str, str]:
    """Return the names of arrays that the file has once, under another name, to that name."""
    found = _parsed(stored, _SHARED, {})
    if not isinstance(found, dict) or not all(first in stored.places for first in found.values()):
        raise _unfit(stored, _SHARED)
    return found


def _structure(stored: files.Stored, shared: Mapping[str, str]) -> Any:
    """Return the structure of the tree in a file: a flat dict where the file does not say."""
    flat = dict.fromkeys(sorted((*stored.places, *shared)))
    found = _parsed(stored, _STRUCTURE, flat)
    try:
        sound = sorted(structures.names_in(found)) == list(flat)
    except (TypeError, RecursionError):
        sound = False
    if not sound:
        raise _unfit(stored, _STRUCTURE)
    return found


def _parsed(stored: files.Stored, key: str, missing: Any) -> Any:
    text = stored.metadata.get(key)
    if text is None:
        return missing
    try:
        return structures.read(text)
    except ValueError as error:
        raise _unfit(stored, key) from error


def _unfit(stored: files.Stored, key: str) -> ValueError:
    return ValueError(
        f"{stored.path!r} has metadata {key!r} that does not fit its arrays: was it changed by "
        f"another program? Remove that key, then it is read as a dict of names"
    )


# --- arguments ------------------------------------------------------------------------------------


def _path(path: object) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"the path is of type {type(path).__name__}; it is the first argument: "
            f"pa.save(path, tree), pa.load(path)"
        )
    return os.fsdecode(path)


def _notes(metadata: object) -> dict[str, str]:
    """Return the user's metadata, checked."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise TypeError(f"metadata is of type {type(metadata).__name__}; it maps text to text")
    for key, value in metadata.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise TypeError(
                f"metadata[{key!r}] is {value!r}, and files keep text under text; use str(), or "
                f"json.dumps"
            )
        if key.startswith(files.OWN):
            raise ValueError(
                f"the metadata key {key!r} is taken: portarray's begin with {files.OWN}"
            )
    return dict(metadata)


def _asked(names: object, stored: files.Stored, shared: Mapping[str, str]) -> list[str]:
    """Return the names asked for, each once."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"names={names!r} is no list of names; use names=[{names!r}]")
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name in stored.places or name in shared:
            continue
        near = difflib.get_close_matches(str(name), (*stored.places, *shared), n=3)
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else "pa.load without names="
        raise ValueError(f"{stored.path!r} has no array named {name!r}. {hint}")
    return wanted
