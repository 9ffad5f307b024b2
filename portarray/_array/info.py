"""``__array_namespace_info__``: inspection of the namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._array import dispatch, dtypes
from portarray._config import config
from portarray._devices import discovery, selection
from portarray._devices.device import Device

if TYPE_CHECKING:
    from portarray.typing import DeviceLike

__all__ = ["VERSION", "NamespaceInfo", "__array_namespace_info__"]

VERSION = "2025.12"
"""The version of the standard that portarray follows."""

DType = np.dtype[Any]


class NamespaceInfo:
    """Inspection of the namespace, as the standard defines it."""

    __slots__ = ("_device",)

    def __init__(self, device: Device | None = None) -> None:
        self._device = device

    def _resolve(self, device: DeviceLike | None) -> Device:
        bound = None if config._strict_devices else self._device
        return selection.resolve(bound if device is None else device)

    def capabilities(self) -> dict[str, Any]:
        """Return what the namespace supports.

        Returns
        -------
        dict
            Boolean indexing and data-dependent shapes are supported on every device; at most 64
            axes, NumPy's limit.
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Return the device that creation functions use without ``device=``."""
        return self._resolve(None)

    def default_dtypes(self, *, device: DeviceLike | None = None) -> dict[str, DType]:
        """Return the default dtypes of a device: its widest.

        Parameters
        ----------
        device : device-like, optional
            None takes the default device.

        Returns
        -------
        dict
            Keys ``"real floating"``, ``"complex floating"`` (where the device has complex dtypes),
            ``"integral"`` and ``"indexing"``.
        """
        where = self._resolve(device)
        integral = dispatch.default_dtype(where, "i")
        out = {"real floating": dispatch.default_dtype(where, "f")}
        if "c" in map(dtypes.kind_of, dispatch.dtypes_of(where)):
            out["complex floating"] = dispatch.default_dtype(where, "c")
        return {**out, "integral": integral, "indexing": integral}

    def dtypes(
        self, *, device: DeviceLike | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the standard's dtypes that a device has.

        Parameters
        ----------
        device : device-like, optional
            None takes the default device.
        kind : str or tuple of str, optional
            A kind as in :func:`portarray.isdtype`; a tuple is the union.

        Returns
        -------
        dict
            Standard names to dtypes.
        """
        where = self._resolve(device)
        available = dispatch.dtypes_of(where)
        kinds = _letters(kind)
        return {
            name: dtype
            for name, dtype in dtypes.STANDARD.items()
            if dtype in available and dtypes.kind_of(dtype) in kinds
        }

    def devices(self) -> tuple[Device, ...]:
        """Return every functional device, best first."""
        return tuple(discovery.devices())


def _letters(kind: str | tuple[str, ...] | None) -> str:
    if kind is None:
        return "biufc"
    if isinstance(kind, tuple):
        return "".join(map(_letters, kind))
    if kind not in dtypes.KINDS:
        raise ValueError(
            f"dtypes: unknown kind {kind!r}; use one of {', '.join(map(repr, dtypes.KINDS))}"
        )
    return dtypes.KINDS[kind]


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807  (the standard's name)
    """Return the object that inspects the namespace.

    Returns
    -------
    NamespaceInfo
        Its methods tell the devices, dtypes, defaults and limits.

    Examples
    --------
    >>> import portarray as pa
    >>> info = pa.__array_namespace_info__()
    >>> info.default_dtypes(device="numpy")["real floating"]
    dtype('float64')
    >>> sorted(info.dtypes(device="numpy", kind="complex floating"))
    ['complex128', 'complex64']
    """
    return NamespaceInfo()
