"""Exchange of data by DLPack."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call, raises
from portarray_conformance.promotion import ALL, NUMERIC
from portarray_conformance.target import Target

_CPU = 1  # kDLCPU
_SHAPES = ((4,), (2, 3), (), (0,), (2, 3, 2))


@case("from_dlpack", "values")
def from_dlpack(target: Target, data: Draw) -> None:
    """An array of the namespace comes back as it was."""
    _, x = draw.typed_array(target, data, ALL, _SHAPES, draw.ANY)
    moved = draw.put(target, data, x)
    copy = draw.pick(data, (None, "not said", True), "copy")
    keywords: dict[str, Any] = {} if copy == "not said" else {"copy": copy}
    out = target.function("from_dlpack")(moved, **keywords)
    compare.same(target, out, x, Call(f"from_dlpack(x, {keywords})", {"x": x}))
    if out.device != moved.device:
        raise AssertionError(f"from_dlpack(x) is on {out.device!r}, x on {moved.device!r}")


@case("from_dlpack", "views")
def from_dlpack_copies(target: Target, data: Draw) -> None:
    """With ``copy=True`` the data is new."""
    name = draw.dtype(target, data, NUMERIC)
    x = np.arange(4).astype(name)
    moved = target.put(x)
    out = target.function("from_dlpack")(moved, copy=True)
    out[0] = 3
    compare.same(target, moved, x, Call("x after a change in from_dlpack(x, copy=True)"))


@case("from_dlpack", "errors")
def from_dlpack_errors(target: Target, data: Draw) -> None:
    """An object without DLPack is refused."""
    call = Call("from_dlpack([1, 2])")
    # A list has no such attribute, so an AttributeError is right too.
    raises(target.function("from_dlpack"), call, "no __dlpack__", [1, 2], also=(AttributeError,))


@case("from_dlpack", "host")
def from_dlpack_host(target: Target, data: Draw) -> None:
    """NumPy's arrays are read where the target's memory is the host's."""
    probe = target.put(np.ones((1,), dtype=target.default("real floating")))
    if int(probe.__dlpack_device__()[0]) != _CPU:
        return
    _, x = draw.typed_array(target, data, NUMERIC, _SHAPES, draw.ANY)
    out = target.function("from_dlpack")(x.copy())
    compare.same(target, out, x, Call("from_dlpack(numpy array)", {"x": x}))


@case("array.__dlpack__", "values")
def dlpack(target: Target, data: Draw) -> None:
    """A capsule, with every keyword of the standard; the host can read it."""
    _, x = draw.typed_array(target, data, NUMERIC, _SHAPES, draw.ANY)
    moved = draw.put(target, data, x)
    keywords: dict[str, Any] = draw.pick(
        data,
        ((), (("max_version", (1, 0)),), (("max_version", (1, 0)), ("copy", True))),
        "keywords",
    )
    capsule = moved.__dlpack__(**dict(keywords))
    if type(capsule).__name__ != "PyCapsule":
        raise AssertionError(f"x.__dlpack__({dict(keywords)}): got {capsule!r}, wanted a capsule")
    got = np.from_dlpack(moved, device="cpu")
    if got.shape != x.shape or got.dtype != x.dtype or not np.array_equal(got, x, equal_nan=True):
        raise Call("numpy.from_dlpack(x)", {"x": x}).fail(f"got {compare.show(got)}")


@case("array.__dlpack_device__", "values")
def dlpack_device(target: Target, data: Draw) -> None:
    """The kind of device as DLPack numbers them, and which one."""
    got = target.put(np.ones((2,), dtype=draw.dtype(target, data, NUMERIC))).__dlpack_device__()
    good = isinstance(got, tuple) and len(got) == 2
    if not good or not isinstance(got[0], (int, enum.Enum)) or not isinstance(got[1], int):
        raise AssertionError(f"x.__dlpack_device__(): got {got!r}, wanted a kind and a number")
