"""Marks that skip devices: portarray's, SciPy's and array-api-extra's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from portarray._devices.device import Device
from portarray.errors import UnknownDeviceError
from portarray.testing import _choice, _virtual

__all__ = ["apply", "is_lazy", "supported_names"]

SCIPY_NAMES = {"jax.numpy": "jax", "dask.array": "", "array_api_strict": "", "sparse": ""}
"""SciPy's names of array libraries that differ from portarray's, "" for unsupported ones."""

LAZY = frozenset({"jax.numpy", "dask.array"})
"""Libraries that ``eager_only`` skips, by SciPy's names."""

LIKE = {"cuda": "cupy", "rocm": "cupy", "tpu": "jax"}
"""The library whose marks apply to virtual devices of a platform."""

NUMPY = "numpy"

_COMMON = {"reason"}
_ALLOWED = {
    "skip_devices": _COMMON,
    "only_devices": _COMMON,
    "xfail_devices": {"reason", "raises"},
    "skip_xp_backends": {"reason", "np_only", "cpu_only", "eager_only", "exceptions"},
    "xfail_xp_backends": {"reason", "np_only", "cpu_only", "eager_only", "exceptions"},
    "skip_xp_backend": {"reason"},
    "xfail_xp_backend": {"reason", "strict"},
}


def apply(item: pytest.Item, device: Device) -> None:
    """Add pytest's marks to a test on a device, according to its device marks.

    Raises
    ------
    pytest.UsageError
        If a mark does not name a device, or has an unknown argument.
    """
    for name, rule in _RULES.items():
        for mark in item.iter_markers(name):
            try:
                _check(mark)
                added = rule(mark, device)
            except (TypeError, UnknownDeviceError) as error:
                raise pytest.UsageError(
                    f"{item.nodeid.partition('[')[0]}: mark {name}: {_choice.one_line(error)}"
                ) from error
            if added is not None:
                item.add_marker(added)


def _check(mark: pytest.Mark) -> None:
    allowed = _ALLOWED[mark.name]
    wrong = set(mark.kwargs) - allowed
    if wrong:
        raise TypeError(
            f"unknown argument {', '.join(sorted(wrong))}; supported: {', '.join(sorted(allowed))}"
        )
    if mark.name.endswith("_devices"):
        if not mark.args:
            raise TypeError("no device is named\nHint: name one, for example 'cuda' or 'torch'")
        _choice.check_texts(mark.args)


def _named(mark: pytest.Mark, device: Device) -> bool:
    return any(_choice.matches(device, text) for text in mark.args)


def _reason(mark: pytest.Mark, device: Device, otherwise: str) -> str:
    return f"{device}: {mark.kwargs.get('reason') or otherwise}"


def _skip(mark: pytest.Mark, device: Device) -> pytest.MarkDecorator | None:
    if not _named(mark, device):
        return None
    return pytest.mark.skip(reason=_reason(mark, device, "skipped by the mark skip_devices"))


def _only(mark: pytest.Mark, device: Device) -> pytest.MarkDecorator | None:
    if _named(mark, device):
        return None
    return pytest.mark.skip(reason=_reason(mark, device, f"only for {', '.join(mark.args)}"))


def _xfail(mark: pytest.Mark, device: Device) -> pytest.MarkDecorator | None:
    if not mark.kwargs.get("reason"):
        raise TypeError("reason= is missing")
    if not _named(mark, device):
        return None
    return pytest.mark.xfail(
        reason=_reason(mark, device, ""), raises=mark.kwargs.get("raises"), strict=True
    )


def _backends(mark: pytest.Mark, device: Device) -> str:
    """Return why a mark of SciPy or array-api-extra applies to a device, "" if it does not."""
    option = mark.kwargs.get
    if len(mark.args) > 1:
        raise TypeError(f"{len(mark.args)} libraries are named, not one\nHint: repeat the mark")
    if mark.args:
        return f"marked for {mark.args[0]}" if _is_library(device, mark.args[0]) else ""
    if any(_is_library(device, name) for name in option("exceptions") or ()):
        return ""
    if option("np_only") and not _is_library(device, NUMPY):
        return "for NumPy only"
    if option("cpu_only") and device.kind != "cpu":
        return "for CPUs only"
    if option("eager_only") and is_lazy(device):
        return "for eager libraries only"
    return ""


def _is_library(device: Device, name: object) -> bool:
    """Return whether a name (SciPy's, or array-api-extra's enum) means a device's library.

    A virtual device belongs to the most similar library.
    """
    text, _, tag = str(getattr(name, "value", name)).partition(":")
    library = SCIPY_NAMES.get(text, text)
    if device.library == _virtual.LIBRARY:
        return library == LIKE.get(device.platform)
    return device.library == library and (tag != "gpu" or device.kind == "gpu")


def is_lazy(device: Device) -> bool:
    """Return whether SciPy and array-api-extra compile functions for a device's library."""
    return any(_is_library(device, name) for name in LAZY)


def _skip_backends(mark: pytest.Mark, device: Device) -> pytest.MarkDecorator | None:
    why = _backends(mark, device)
    return pytest.mark.skip(reason=_reason(mark, device, why)) if why else None


def _xfail_backends(mark: pytest.Mark, device: Device) -> pytest.MarkDecorator | None:
    # As in SciPy and array-api-extra, such a test may pass unless xfail_strict is set.
    why = _backends(mark, device)
    strict = {"strict": mark.kwargs["strict"]} if "strict" in mark.kwargs else {}
    return pytest.mark.xfail(reason=_reason(mark, device, why), **strict) if why else None


_RULES: dict[str, Callable[[pytest.Mark, Device], pytest.MarkDecorator | None]] = {
    "skip_devices": _skip,
    "only_devices": _only,
    "xfail_devices": _xfail,
    "skip_xp_backends": _skip_backends,
    "xfail_xp_backends": _xfail_backends,
    "skip_xp_backend": _skip_backends,
    "xfail_xp_backend": _xfail_backends,
}


def supported_names(item: pytest.Item) -> Iterator[Any]:
    """Yield the functions that a test covers, from the mark ``supports``."""
    for mark in item.iter_markers("supports"):
        yield from mark.args
