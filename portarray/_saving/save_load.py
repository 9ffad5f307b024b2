"""``pa.save`` and ``pa.load``: arrays and trees of them in safetensors files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from portarray._devices import selection

if TYPE_CHECKING:
    from portarray.typing import DeviceLike


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
        Symbolic links are followed; what else is hard-linked to the file keeps the earlier one.
    tree : Array, native array, NumPy array, or mappings, lists and tuples of them
        From any device. The keys of mappings are strings. Arrays in trees within trees are named
        by the path to them, joined by dots: ``{"layer": [x, y]}`` is ``layer.0`` and ``layer.1``
        in the file. A mapping of names to arrays is written as every program writes it. An array
        that is in the tree several times is saved once, under its first name.
    metadata : mapping of str to str, optional
        To be kept in the file. The key ``"portarray"`` is taken.

    Raises
    ------
    TypeError
        If something in the tree is not an array, or a key not a string. Nothing is written.
    ValueError
        If two arrays would have one name, or the tree is within itself or of more than 200 levels.
        Nothing is written.
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
    from portarray._saving import tree_files

    tree_files.write(path, tree, metadata)


@overload
def load(
    path: str | os.PathLike[str],
    *,
    device: DeviceLike | None = None,
    narrow: bool = False,
    names: Iterable[str] | None = None,
    return_metadata: Literal[False] = False,
) -> Any: ...
@overload
def load(
    path: str | os.PathLike[str],
    *,
    device: DeviceLike | None = None,
    narrow: bool = False,
    names: Iterable[str] | None = None,
    return_metadata: Literal[True],
) -> tuple[Any, dict[str, str]]: ...
def load(
    path: str | os.PathLike[str],
    *,
    device: DeviceLike | None = None,
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
        If the file does not exist.
    ValueError
        If the file is incomplete, has an unsupported dtype, or lacks a requested name.
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
    from portarray._saving import tree_files

    tree, metadata = tree_files.read(path, selection.resolve(device), narrow=narrow, names=names)
    return (tree, metadata) if return_metadata else tree
