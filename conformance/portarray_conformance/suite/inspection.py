"""Inspection: the namespace's version, devices and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray_conformance import names
from portarray_conformance.cases import Draw, case
from portarray_conformance.promotion import COMPLEXES, FLOATS, KINDS, SIGNED
from portarray_conformance.target import Target

_KINDS: tuple[Any, ...] = (
    *KINDS,
    ("bool", "real floating"),
    ("signed integer", "complex floating"),
    (),
)


def _info(target: Target) -> Any:
    return target.function("__array_namespace_info__")()


@case("__array_api_version__", "values")
def api_version(target: Target, data: Draw) -> None:
    """The version of the standard that this suite checks, or a later one."""
    got = target.function("__array_api_version__")
    if not isinstance(got, str) or got < names.VERSION:
        raise AssertionError(f"__array_api_version__: got {got!r}, wanted {names.VERSION!r}")


@case("__array_namespace_info__", "values")
def namespace_info(target: Target, data: Draw) -> None:
    """An object with the five functions of inspection."""
    info = _info(target)
    for name in ("capabilities", "default_device", "default_dtypes", "devices", "dtypes"):
        if not callable(getattr(info, name, None)):
            raise AssertionError(f"__array_namespace_info__() has no {name}")


@case("info.capabilities", "values")
def capabilities(target: Target, data: Draw) -> None:
    """Two truth values and a number of axes."""
    got = _info(target).capabilities()
    for key in ("boolean indexing", "data-dependent shapes"):
        if not isinstance(got.get(key), bool):
            raise AssertionError(f"capabilities()[{key!r}]: got {got.get(key)!r}, wanted a bool")
    limit = got.get("max dimensions", "missing")
    if limit is not None and not isinstance(limit, int):
        raise AssertionError(f"capabilities()['max dimensions']: got {limit!r}, wanted int or None")
    if isinstance(limit, int):  # the figure must be true
        x = target.put(np.ones((1,) * min(limit, 32), dtype=bool))
        if x.ndim != min(limit, 32):
            raise AssertionError(f"max dimensions is {limit}, but got {x.ndim}")


@case("info.default_device", "values")
def default_device(target: Target, data: Draw) -> None:
    """The device of arrays made without ``device=`` (None if unknown)."""
    got = _info(target).default_device()
    if got is None:
        return
    zeros = target.function("zeros")((1,))
    if zeros.device != got:
        raise AssertionError(
            f"default_device(): got {got!r}, but zeros are made on {zeros.device!r}"
        )


@case("info.devices", "values")
def devices(target: Target, data: Draw) -> None:
    """A sequence (a tuple since 2025.12) of devices that creation functions accept."""
    listed = _info(target).devices()
    if not isinstance(listed, (tuple, list)) or not listed:
        raise AssertionError(f"devices(): got {listed!r}, wanted a tuple")
    device = target.put(np.ones((1,), dtype=bool)).device
    if device not in listed:
        raise AssertionError(f"devices() has no {device!r}, on which an array is: {listed!r}")


@case("info.default_dtypes", "values")
def default_dtypes(target: Target, data: Draw) -> None:
    """One dtype of each kind, the ones that creation functions use."""
    for keywords in ({}, {"device": target.device}):
        got = _info(target).default_dtypes(**keywords)
        for key, allowed in (
            ("real floating", FLOATS),
            ("complex floating", COMPLEXES),
            ("integral", SIGNED),
            ("indexing", SIGNED),
        ):
            if key not in got:
                raise AssertionError(f"default_dtypes() has no {key!r}")
            if keywords and target.dtype_name(got[key]) not in allowed:
                raise AssertionError(f"default_dtypes()[{key!r}]: got {got[key]!r}")
    asarray, here = target.function("asarray"), target.creation_keywords()
    defaults = _info(target).default_dtypes(device=target.device)
    for key, value in (("real floating", 1.0), ("integral", 1), ("complex floating", 1j)):
        if key == "complex floating" and target.dtype_name(defaults[key]) not in target.dtypes():
            continue
        dtype = asarray(value, **here).dtype
        if dtype != defaults[key]:
            raise AssertionError(f"asarray({value!r}) is {dtype}, default_dtypes() {defaults[key]}")


@case("info.dtypes", "values")
def dtypes(target: Target, data: Draw) -> None:
    """The standard's dtypes only, all or those of a kind, for arrays can be made of each."""
    info = _info(target)
    every = info.dtypes(device=target.device)
    allowed = {"bool", *KINDS["numeric"]}
    if not set(every) <= allowed:
        raise AssertionError(f"dtypes() has {sorted(set(every) - allowed)}, not in the standard")
    for kind in _KINDS:
        kinds = kind if isinstance(kind, tuple) else (kind,)
        want = {n: every[n] for n in every if any(n in KINDS[k] for k in kinds)}
        got = info.dtypes(device=target.device, kind=kind)
        if dict(got) != want:
            raise AssertionError(f"dtypes(kind={kind!r}): got {list(got)}, wanted {list(want)}")
    for name, dtype in every.items():
        zeros = target.function("zeros")((1,), dtype=dtype, **target.creation_keywords())
        if zeros.dtype != dtype:
            raise AssertionError(f"zeros(1, dtype={name}) is {zeros.dtype}")
