"""Targets: an Array API namespace, one of its devices, and conversion from and to NumPy.

Checks use the namespace under test only through a :class:`Target`, and compare its results as
NumPy arrays. The conversions must therefore be simple and must not depend on the functions that
are tested.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

NumpyArray: TypeAlias = npt.NDArray[Any]


class NotApplicable(Exception):  # noqa: N818  (not an error)
    """A case does not apply to a target, for instance because the target lacks the dtype."""


STANDARD_DTYPES: tuple[str, ...] = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
"""The dtypes of the standard, by name."""


@dataclass(frozen=True)
class Target:
    """One namespace on one device.

    Parameters
    ----------
    label
        The name in reports: ``"numpy:cpu:0"`` or ``"module array_api_strict"``.
    xp
        The namespace.
    device
        Passed as ``device=`` where it is not None.
    library
        The library behind it, for patterns in expected failures.
    fetch
        Brings an array into host memory, if it is not there: applied before ``numpy.asarray``.
    enter
        Makes the context in which checks run (a device scope, or nothing).
    forget
        Gives back memory that the library keeps: called between cases.
    support
        Function name to ``"native"``, ``"composed"`` or ``"host"``, where the target says so.
    """

    label: str
    xp: Any
    device: Any | None = None
    library: str = ""
    fetch: Callable[[Any], Any] = field(default=lambda x: x, repr=False)
    enter: Callable[[], AbstractContextManager[Any]] = field(
        default=contextlib.nullcontext, repr=False
    )
    forget: Callable[[], object] = field(default=lambda: None, repr=False)
    support: Mapping[str, str] = field(default_factory=dict, repr=False)
    _cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def scope(self) -> AbstractContextManager[Any]:
        """Return the context in which this target's checks run."""
        return self.enter()

    def served(self, function: str) -> str:
        """Return ``"native"``, ``"composed"``, ``"host"``, or ``""`` if unknown."""
        return self.support.get(function, "")

    def dtypes(self) -> Mapping[str, Any]:
        """Return the standard's dtypes that this target has: name to the namespace's object."""
        dtypes: dict[str, Any] | None = self._cache.get("dtypes")
        if dtypes is None:
            dtypes = self._find_dtypes()
            self._cache["dtypes"] = dtypes
        return dtypes

    def _find_dtypes(self) -> dict[str, Any]:
        inspection = getattr(self.xp, "__array_namespace_info__", None)
        if inspection is not None:
            listed = inspection().dtypes(device=self.device)
            return {name: listed[name] for name in STANDARD_DTYPES if name in listed}
        return {name: getattr(self.xp, name) for name in STANDARD_DTYPES if hasattr(self.xp, name)}

    def default(self, kind: str) -> str:
        """Return the name of a default dtype: of ``"integral"``, ``"real floating"``, ...

        The kinds are those of the standard's ``default_dtypes``, ``"indexing"`` among them.
        """
        defaults: dict[str, str] | None = self._cache.get("defaults")
        if defaults is None:
            dtypes = self.xp.__array_namespace_info__().default_dtypes(device=self.device)
            defaults = {key: self.dtype_name(dtype) for key, dtype in dtypes.items()}
            self._cache["defaults"] = defaults
        return defaults[kind]

    def dtype(self, name: str) -> Any:
        """Return the namespace's dtype of that name, or raise NotApplicable."""
        try:
            return self.dtypes()[name]
        except KeyError:
            raise NotApplicable(f"{self.label} has no {name}") from None

    def dtype_name(self, dtype: Any) -> str:
        """Return the standard's name for a dtype of the namespace, or its ``str``."""
        for name, candidate in self.dtypes().items():
            if dtype == candidate:
                return name
        return str(dtype)

    def function(self, name: str) -> Any:
        """Return the function of a dotted name such as ``"linalg.svd"``.

        A missing function is a failure (AssertionError); a missing extension is not, for the
        standard leaves extensions optional (NotApplicable).
        """
        owner = self.xp
        *path, last = name.split(".")
        for part in path:
            if not hasattr(owner, part):
                raise NotApplicable(f"{self.label} has no extension {part}")
            owner = getattr(owner, part)
        if not hasattr(owner, last):
            raise AssertionError(f"{self.label} has no {name}")
        return getattr(owner, last)

    def creation_keywords(self) -> dict[str, Any]:
        """Return ``{"device": device}``, or nothing where the target has no device."""
        return {} if self.device is None else {"device": self.device}

    def put(self, array: npt.ArrayLike) -> Any:
        """Return the same data as an array of the namespace on the device.

        The array is copied first, so that nothing a check does reaches the caller's data.
        """
        source = np.array(array, order="C", copy=True)
        dtype = self.dtype(source.dtype.name)
        keywords = self.creation_keywords()
        try:
            moved = self.xp.asarray(source, dtype=dtype, **keywords)
        except (TypeError, ValueError):  # a namespace that does not read NumPy arrays
            moved = self.xp.asarray(source.tolist(), dtype=dtype, **keywords)
            if tuple(moved.shape) != source.shape:  # nested lists lose the shape of (0, 3)
                moved = self.xp.reshape(moved, source.shape)
        return moved

    def is_array(self, x: Any) -> bool:
        """Return whether x is an array of the namespace (NumPy scalars count as 0-d arrays)."""
        kind = self._cache.get("array type")
        if kind is None:
            kind = type(self.xp.asarray([True], **self.creation_keywords()))
            self._cache["array type"] = kind
        return isinstance(x, kind) or (kind is np.ndarray and isinstance(x, np.generic))

    def get(self, x: Any) -> NumpyArray:
        """Return a copy of an array of the namespace as a NumPy array.

        Raises
        ------
        AssertionError
            Where x is not an array of the namespace.
        """
        if not self.is_array(x):
            raise AssertionError(f"not an array of {self.label}: {x!r:.200} ({type(x).__name__})")
        near = self.fetch(x)
        try:
            return np.array(np.asarray(near), copy=True)
        except (TypeError, ValueError, RuntimeError, BufferError):
            pass  # lazily conjugated arrays, other devices: try the other doors
        try:
            return np.array(np.from_dlpack(near, device="cpu"), copy=True)
        except (TypeError, ValueError, RuntimeError, BufferError, AttributeError):
            name = self.dtype_name(x.dtype)
            return np.asarray(near.tolist(), dtype=name).reshape(tuple(x.shape))


def module_target(name: str) -> Target:
    """Return the target for an importable Array API namespace, on its default device.

    Parameters
    ----------
    name
        Such as ``"array_api_strict"``, ``"array_api_compat.torch"`` or ``"numpy"``.

    Raises
    ------
    ImportError
        Where it cannot be imported.
    TypeError
        Where it has no ``asarray`` and so cannot be an Array API namespace.
    """
    xp = importlib.import_module(name)
    if not hasattr(xp, "asarray"):
        raise TypeError(
            f"module {name} is not an Array API namespace: it has no asarray\n"
            "Hint: name a namespace such as array_api_strict or array_api_compat.torch"
        )
    library = name.removeprefix("array_api_compat.").split(".")[0]
    return Target(label=f"module {name}", xp=xp, library=library)


def portarray_target(device: str) -> Target:
    """Return the target for portarray on one of its devices.

    Parameters
    ----------
    device
        A device's text form, such as ``"torch:cpu:0"``.
    """
    import portarray as pa  # only here: the suite runs against any namespace, without portarray

    chosen = pa.device(device)
    return Target(
        label=str(chosen),
        xp=pa,
        device=chosen,
        library=chosen.library,
        # For every dtype, also those that the NumPy device does not support (bfloat16).
        fetch=lambda x: x.device._backend.to_host(x.native, copy=True),
        enter=lambda: pa.device(device),
        forget=lambda: pa.reclaim(chosen),
        support={row.function: row.served for row in pa.support(device=chosen)},
    )
