"""Every ordered pair of devices: every bit of every dtype and layout arrives, and comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("portarray_conformance")

from portarray_conformance import all_cases, module_target, pairs, portarray_target, run

import portarray as pa
from portarray.backends import registry

DEVICES = list(map(str, pa.devices()))


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize("source", DEVICES)
def test_every_pair_of_devices_keeps_arrays_as_they_are(source: str, target: str) -> None:
    here, there = pa.device(source), pa.device(target)
    namespace = portarray_target(source)
    assert len(pairs.dtypes(namespace, here, there)) >= 9
    for function in pairs.WAYS:
        assert pairs.wrong(namespace, here, there, function) == [], function


def test_float16_and_bfloat16_are_moved() -> None:
    having: dict[str, int] = {"float16": 0, "bfloat16": 0}
    for device in pa.devices():
        for name in pairs.dtypes(portarray_target(str(device)), device):
            having[name] = having.get(name, 0) + 1
    libraries = {device.library for device in pa.devices()}
    assert having["float16"] >= len(libraries)
    assert having["bfloat16"] >= len(libraries & {"torch", "mlx", "jax", "clarray"})


def test_layouts_match_their_names() -> None:
    device = pa.device("numpy")
    arrays = {
        layout: (want, np.asarray(x))
        for layout, want, x in pairs.arrays(portarray_target("numpy"), "float32", device)
    }
    for layout, (want, values) in arrays.items():
        assert pairs.difference(values, want) == "", layout
    of_numpy = {f"NumPy's {view}" for view in (*pairs.VIEWS, "read-only", "unaligned")}
    assert arrays.keys() == {"matrix", "large", *pairs.VIEWS, *of_numpy}
    strides = {layout: values.strides for layout, (_, values) in arrays.items()}
    for prefix in ("", "NumPy's "):
        assert strides[f"{prefix}strided"] == (64, 12)
        assert strides[f"{prefix}reversed"] == (-32, -4)
        assert strides[f"{prefix}transposed"] == (4, 32)
        assert strides[f"{prefix}broadcast"] == (0, 4)
        assert arrays[f"{prefix}0-d"][1].shape == ()
        assert arrays[f"{prefix}empty"][1].shape == (0, 8)
    assert not arrays["NumPy's read-only"][1].flags.writeable
    assert not arrays["NumPy's unaligned"][1].flags.aligned
    assert arrays["large"][1].nbytes > 2**16


@pytest.mark.parametrize(
    ("name", "bits", "patterns"),
    [
        ("float16", 16, (0x7E00, 0xFE00, 0x7E01, 0x7C01, 0xFC01, 0x8000, 1, 0x8001, 0xFC00)),
        ("bfloat16", 16, (0x7FC0, 0xFFC0, 0x7FC1, 0x7F81, 0xFF81, 0x8000, 1, 0x8001, 0xFF80)),
        ("float32", 32, (0x7FC00000, 0xFFC00001, 0x7F800001, 0xFF800001, 1 << 31, 1, 0xFF800000)),
        ("float64", 64, (0x7FF8 << 48, 0xFFF8 << 48 | 1, 0x7FF0 << 48 | 1, 1 << 63, 1)),
    ],
)
def test_values_hold_every_special_number(name: str, bits: int, patterns: tuple[int, ...]) -> None:
    there = set(pairs.values(name).view(f"u{bits // 8}").ravel().tolist())
    assert set(patterns) - there == set()
    parts = {"float32": "complex64", "float64": "complex128"}.get(name)
    if parts is not None:
        there = set(pairs.values(parts).view(f"u{bits // 8}").ravel().tolist())
        assert set(patterns) - there == set()


def test_a_changed_bit_is_found() -> None:
    x = np.asarray([0.0, np.nan, 1.0, -np.inf], dtype=np.float32)
    assert pairs.difference(x.copy(), x) == ""
    for index in range(x.size):
        for bit in (1, 1 << 22, 1 << 31):
            y = x.copy()
            y.view(np.uint32)[index] ^= np.uint32(bit)
            assert f"the first at {index} " in pairs.difference(y, x)
            assert f"the first at {index} " in pairs.difference(y, x, exact=False)
    assert "float64 (4,) in place of float32 (4,)" in pairs.difference(x.astype(np.float64), x)
    assert "float32 (2,)" in pairs.difference(x[:2], x)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "complex64", "float64"])
def test_a_quieted_nan_is_found_where_it_counts(name: str) -> None:
    x = pairs.values(name)
    y = x.copy()
    part = {"complex64": "float32"}.get(name, name)
    bits = y.view({"float16": "u2", "bfloat16": "u2", "float32": "u4", "float64": "u8"}[part])
    quiet = {"float16": 1 << 9, "bfloat16": 1 << 6, "float32": 1 << 22, "float64": 1 << 51}[part]
    with np.errstate(invalid="ignore"):
        bits[np.isnan(y.view(x.real.dtype))] |= bits.dtype.type(quiet)
    assert "numbers differ" in pairs.difference(y, x)
    assert pairs.difference(y, x, exact=False) == ""


def _floats(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda a: change(a) if a.dtype.kind == "f" and a.size else a


def _flushed(a: Any) -> Any:
    return np.where(np.abs(a) < np.finfo(a.dtype).smallest_normal, np.copysign(0, a), a)


def _without_last(a: Any) -> Any:
    a = a.copy()
    a.reshape(-1).view(np.uint8)[-1:] ^= 1
    return a


FAULTS: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "the sign of zero": (_floats(lambda a: np.where(a == 0, abs(a), a)), False),
    "the payload of NaNs": (
        _floats(lambda a: np.where(np.isnan(a), a.dtype.type(np.nan), a)),
        False,
    ),
    "subnormal numbers": (_floats(_flushed), False),
    "strides": (lambda a: a.ravel(order="K").reshape(a.shape), False),
    "the last byte of large arrays": (lambda a: _without_last(a) if a.size > 99 else a, False),
    "the dtype": (lambda a: a.astype(np.int32) if a.dtype == np.int16 else a, False),
    "the shape of empty arrays": (lambda a: a if a.size else a.reshape(0), False),
    "signaling NaNs": (_floats(lambda a: a * a.dtype.type(1)), True),
}


@pytest.mark.parametrize("lost", FAULTS)
def test_a_device_that_loses_something_is_found(
    fake: str, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    numpy, gpu = pa.device("numpy"), pa.device(fake)
    namespace = portarray_target("numpy")
    assert pairs.wrong(namespace, numpy, gpu, "array.to_device") == []
    transfer: Any = registry.load_backend(fake)
    sound = transfer.from_host
    change, only_exact = FAULTS[lost]
    with np.errstate(all="ignore"):
        monkeypatch.setattr(
            transfer, "from_host", lambda a, *args, **options: sound(change(a), *args, **options)
        )
        assert pairs.wrong(namespace, numpy, gpu, "array.to_device") != []
        lenient = pairs.wrong(namespace, numpy, gpu, "array.to_device", exact=False)
        assert (lenient == []) is only_exact


def _cases() -> list[Any]:
    return [case for case in all_cases(list(pairs.WAYS)) if case.aspect == "movement"]


def test_the_conformance_suite_moves_to_every_device() -> None:
    for result in run(portarray_target("numpy"), _cases(), quick=True):
        assert (result.status, result.message) == ("passed", "")
        assert result.examples == len(DEVICES)


def test_the_conformance_suite_names_the_pair_that_fails(
    fake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    transfer: Any = registry.load_backend(fake)
    sound = transfer.from_host
    target = portarray_target(f"{fake}:cuda:1")
    monkeypatch.setattr(
        transfer, "from_host", lambda a, *args, **options: sound(a[::-1], *args, **options)
    )
    for result in run(target, _cases(), quick=True):
        assert result.status == "failed"
        assert "fake:cuda:1 to " in result.message
        assert "device = " in result.example


def test_devices_of_other_namespaces() -> None:
    for result in run(module_target("array_api_strict"), _cases(), quick=True):
        assert (result.status, result.message) == ("passed", "")
        assert result.examples == 5


def test_an_array_that_does_not_move_is_found(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = pa.device("fake:cuda:0"), pa.device("fake:cuda:1")
    namespace = portarray_target("fake:cuda:0")
    assert pairs.wrong(namespace, first, second, "array.to_device") == []
    monkeypatch.setitem(pairs.WAYS, "array.to_device", lambda xp, x, device: x)
    problems = pairs.wrong(namespace, first, second, "array.to_device")
    assert any("there it is on fake:cuda:0, not fake:cuda:1" in text for text in problems)


def test_values_lost_on_the_way_back_are_found(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = pa.device("fake:cuda:0"), pa.device("fake:cuda:1")
    sound = pairs.WAYS["array.to_device"]

    def forgetful(xp: Any, x: Any, device: Any) -> Any:
        moved = sound(xp, x, device)
        return xp.zeros_like(moved) if device is first else moved

    monkeypatch.setitem(pairs.WAYS, "array.to_device", forgetful)
    problems = pairs.wrong(portarray_target("fake:cuda:0"), first, second, "array.to_device")
    assert problems
    assert all(": and back " in text for text in problems)
