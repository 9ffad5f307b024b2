"""Moving arrays and trees of arrays, beyond what the standard has."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from portarray._array import conversion, dtypes, host_access, native_arrays, results
from portarray._array.array import Array
from portarray._config import config
from portarray._devices import selection
from portarray._movement import array_moves
from portarray._movement.routes import TransferPlan
from portarray.backends import registry

if TYPE_CHECKING:
    from portarray._devices.device import Device
    from portarray._movement.progress import TreeBar
    from portarray.typing import DeviceLike


def transfer_plan(x: Array, device: DeviceLike, *, narrow: bool = False) -> TransferPlan:
    """Return how an array would go to a device; nothing is moved.

    Parameters
    ----------
    x : Array
        Of any device. What its library computes lazily is computed.
    device : device-like
        As for :func:`portarray.device`.
    narrow : bool
        Whether to accept the nearest dtype if the device does not support x's.

    Returns
    -------
    TransferPlan
        Route, copies, bytes, and why it is not cheaper: what ``x.to_device(device)`` does.

    Raises
    ------
    TypeError
        If x is not an :class:`Array`; :func:`asarray` makes one of a native array.
    UnknownDeviceError, DeviceNotFunctionalError
        If the text does not name a device, or one that cannot be used here.
    DTypeNotSupportedError
        If the device lacks the dtype, unless ``narrow``.
    ValueError
        If the move is refused for another reason: an axis that is longer than the device's library
        counts, a tensor that requires grad.

    Notes
    -----
    A plan is for this array as it is now: reversed, read-only or unaligned ones may be copied where
    others are not. It raises what the move would raise, except where memory would run out, which
    nobody knows before. ``portarray routes`` shows the plans of a plain array between all devices.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.zeros(3, device="numpy")
    >>> plan = pa.transfer_plan(x, "numpy")
    >>> plan.copies, plan.nbytes, plan.why
    (0, 0, '')
    >>> print(plan)
    numpy:cpu:0 → numpy:cpu:0: library, without a copy
    """
    return array_moves.planned(x, selection.resolve(device), narrow=narrow)


@overload
def to_device(
    tree: Array,
    device: DeviceLike,
    *,
    narrow: bool = False,
    non_blocking: bool = False,
    native: Literal[False] | None = None,
    progress: bool | None = None,
) -> Array: ...
@overload
def to_device(
    tree: Any,
    device: DeviceLike,
    *,
    narrow: bool = False,
    non_blocking: bool = False,
    native: bool | None = None,
    progress: bool | None = None,
) -> Any: ...
def to_device(
    tree: Any,
    device: DeviceLike,
    *,
    narrow: bool = False,
    non_blocking: bool = False,
    native: bool | None = None,
    progress: bool | None = None,
) -> Any:
    """Return a tree like the given one with all its arrays on a device.

    A tree is an array, or anything that holds arrays in any depth: dict, OrderedDict, defaultdict,
    list, tuple, namedtuple, deque, instances of dataclasses and of attrs' classes, scikit-learn's
    estimators, and classes that are registered with JAX, or with optree, globally or in its
    namespace ``"portarray"``.

    Parameters
    ----------
    tree : Any
        Arrays may be :class:`Array`, arrays of any library that portarray drives, and of others
        that export DLPack. The tree and its arrays stay as they are. Of an iterator, such as a
        generator of batches, each item is a tree.
    device : device-like
        As for :func:`portarray.device`.
    narrow : bool
        Whether to accept the nearest dtype if the device does not support an array's.
    non_blocking : bool
        Whether it may return before the data has arrived on a device with memory of its own. Work
        on the device waits for it; NumPy arrays that are moved must not be changed before that.
    native : bool, optional
        None leaves each array what it was: an :class:`Array` stays one, and a library's own array
        becomes one of the device's library. True makes all of them the library's own, False makes
        all of them :class:`Array`.
    progress : bool, optional
        Whether to show a bar on the standard error when it takes longer than a second, for which
        rich must be installed. None is ``pa.config.progress``.

    Returns
    -------
    Any
        A new tree. What is in the given one several times is one object in it too: arrays,
        containers and objects. An array that is on the device already is in it as it is. For an
        iterator, an iterator that reads and moves each item when it is requested.

    Raises
    ------
    UnknownDeviceError, DeviceNotFunctionalError
        If the text does not name a device, or one that cannot be used here.
    DTypeNotSupportedError
        If the device lacks the dtype of an array, unless ``narrow``.
    OutOfMemoryError
        If memory runs out on the way.
    ValueError
        If the tree is within itself, or a tensor that requires grad would go to another library.
    TypeError
        If the tree itself is an object that is passed on as it is, see below, since nothing would
        be moved; None, scalars and texts are let through.
    ModuleNotFoundError
        If a bar is wanted and rich is not installed; nothing was moved then.

    See Also
    --------
    prefetch : Reads and moves the batches of an iterable ahead, in a thread.

    Notes
    -----
    Each array goes as :meth:`Array.to_device` sends it, so that it may share its memory with the
    given one where both devices use host memory; :func:`transfer_plan` says whether. NumPy arrays
    of another byte order are converted.

    What holds no number is passed on as it is, the same object: strings, functions, Python's and
    NumPy's scalars, NumPy arrays of strings and objects, masked arrays, modules of PyTorch, and
    containers of classes that are not named above.

    Errors carry a note with the path of the array, such as ``at tree['layers'][3].weight``. What
    was moved until then is released.

    Examples
    --------
    >>> import portarray as pa
    >>> model = {"weights": [pa.ones(3), pa.zeros(2)], "name": "small"}
    >>> moved = pa.to_device(model, "numpy")
    >>> moved["weights"][0].device, moved["name"]
    (Device('numpy:cpu:0'), 'small')

    NumPy's arrays become arrays of the device's library, or all become :class:`Array`:

    >>> import numpy as np
    >>> type(pa.to_device({"bias": np.ones(2)}, "numpy", native=False)["bias"]).__name__
    'Array'
    """
    # Most programs move single arrays.
    from portarray._movement import progress as bars
    from portarray._trees import tree_map

    where = checked_device("to_device", device, native=native, progress=progress)
    if isinstance(tree, Iterator) and not tree_map.is_tree(tree):
        return map(
            partial(
                to_device,
                device=where,
                narrow=narrow,
                non_blocking=non_blocking,
                native=native,
                progress=progress,
            ),
            tree,
        )
    shown = config.progress if progress is None else progress
    watch = bars.TreeBar(f"to {where}") if shown else None
    return moved_tree(
        tree, where, narrow=narrow, non_blocking=non_blocking, native=native, watch=watch
    )


def checked_device(function: str, device: DeviceLike, **flags: bool | None) -> Device:
    """Return the device that a function moves trees to; refuse flags that are not True or False."""
    if device is None:
        raise TypeError(f"{function}: None does not name a device\nHint: pass a device or its text")
    for name, value in flags.items():
        if value is not None and not isinstance(value, bool):
            raise TypeError(f"{function}: {name} must be True, False or None, not {value!r}")
    return selection.resolve(device)


def moved_tree(
    tree: Any,
    device: Device,
    *,
    narrow: bool,
    native: bool | None,
    non_blocking: bool = False,
    copy: bool | None = None,
    watch: TreeBar | None = None,
) -> Any:
    """Return a tree like the given one with all its arrays on a device; see :func:`to_device`."""
    from portarray._trees import node_types, tree_map

    mover = _Mover(device, narrow=narrow, non_blocking=non_blocking, native=native, copy=copy)
    if not (isinstance(tree, _ATOMS) or mover.is_array(tree) or tree_map.is_tree(tree)):
        raise TypeError(_unmoved(tree, node_types.NAMESPACE))
    try:
        return tree_map.tree_map(tree, mover.image, is_array=mover.is_array, watch=watch)
    finally:
        mover.moved.clear()  # a traceback keeps this frame, and it the arrays


def _unmoved(value: Any, namespace: str) -> str:
    """Return the message for a value that has no arrays to move."""
    name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    if isinstance(value, np.ndarray):
        return (
            f"to_device: a {name} of dtype {value.dtype} is not an array of numbers\n"
            f"Hint: pass x.filled(value) of a masked array, numpy.asarray(x) of a matrix, or the "
            f"codes "
            f"of labels"
        )
    return (
        f"to_device: a {name} is neither an array nor a tree of arrays\n"
        f"Hint: pass its contents as a dict or list (a module's state_dict() or parameters(), the "
        f"columns of a data frame as NumPy arrays), or register how its class is flattened with "
        f"optree.register_pytree_node(..., namespace={namespace!r})"
    )


class _Mover:
    """Moves the arrays of one tree to a device.

    Parameters
    ----------
    device : Device
        Where to.
    narrow, non_blocking, native
        As for :func:`to_device`.
    copy : bool or None
        True gives each array new memory; None lets it share memory where it can.
    """

    __slots__ = ("_as_native", "_classes", "_copy", "_device", "_narrow", "_non_blocking", "moved")

    def __init__(
        self,
        device: Device,
        *,
        narrow: bool,
        non_blocking: bool,
        native: bool | None,
        copy: bool | None,
    ) -> None:
        self._device = device
        self._narrow = narrow
        self._non_blocking = non_blocking
        self._as_native = native
        self._copy = copy
        self._classes: dict[type, bool] = {}
        # Results by the id of the native array, which may be in the tree several times, bare and
        # within Arrays; with the array itself, so that its id is not used again.
        self.moved: dict[int, tuple[Any, Array]] = {}

    def is_array(self, value: Any) -> bool:
        """Return whether a value is an array: of numbers, and no more than an array."""
        cls = type(value)
        if cls is Array:
            return True
        if cls in _NUMPY:
            return _holds_numbers(value.dtype)
        is_known_array = self._classes.get(cls)
        if is_known_array is None:
            is_known_array = self._classes[cls] = _is_array_class(cls, value)
        return is_known_array

    def image(self, value: Any) -> Any:
        """Return an array on the device, in the requested form."""
        if type(value) is Array:
            x = self._moved(native_arrays.native_of(value), value)
            return native_arrays.native_of(x) if self._as_native else x
        plain = value.view(np.ndarray) if type(value) is np.memmap else value
        owner = native_arrays.device_of(plain)
        as_native = self._as_native is not False
        if owner is self._device and as_native and not self._copy:
            return value
        if owner is not None:
            x = self._moved(plain, native_arrays.from_native(plain, owner, copy=None))
        else:  # of another byte order, or of a library that portarray does not know
            x = conversion.asarray(plain, device=self._device, copy=self._copy, narrow=self._narrow)
            as_native = as_native and (self._as_native is True or isinstance(plain, np.ndarray))
        return native_arrays.native_of(x) if as_native else x

    def _moved(self, native: Any, x: Array) -> Array:
        """Return an array on the device; each native array is moved once."""
        device = self._device
        earlier = self.moved.get(id(native))
        if earlier is None:
            host_access.tell_move(x.device, device)
            there = array_moves.moved(
                x, device, copy=self._copy, narrow=self._narrow, non_blocking=self._non_blocking
            )
            self.moved[id(native)] = native, there
            return there
        return (
            x
            if x.device is device and not self._copy
            else results.wrap(native_arrays.native_of(earlier[1]), device)
        )


_ATOMS = (type(None), *dtypes.SCALARS, str, bytes)

_NUMPY = (
    np.ndarray,
    np.memmap,
)  # other subclasses (masked arrays, matrices) are more than their values


def _holds_numbers(dtype: np.dtype[Any]) -> bool:
    """Return whether NumPy arrays of a dtype are moved, unlike text, dates, objects and records."""
    # bfloat16 is a user-defined dtype, whose kind NumPy gives as void.
    return dtype.kind in "biufc" or (dtype.kind == "V" and dtype.isbuiltin == 2)


def _is_array_class(cls: type, value: Any) -> bool:
    """Return whether instances of a class, of which ``value`` is one, are arrays."""
    if issubclass(cls, (np.ndarray, np.generic)):
        return False
    if hasattr(cls, "__dlpack__") and hasattr(cls, "__dlpack_device__"):
        return True
    return not issubclass(cls, dtypes.SCALARS) and registry.owner(value) is not None
