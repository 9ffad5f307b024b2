"""Namespaces have the members of the protocols in ``portarray.typing``."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Iterator

import numpy as np
import pytest

import portarray as pa
from portarray.typing import BackendNamespace, FftNamespace, LinalgNamespace, Namespace
from portarray.typing.aliases import NumberedDevice, PlatformDevice, SyclDevice, TypedDevice


def public(protocol: type) -> set[str]:
    return {name for name in dir(protocol) if not name.startswith("_")}


def parameters(function: object, *, skip: int) -> list[tuple[str, object, object]]:
    """Return name, kind and default of parameters; positional-only names do not matter."""
    listed = list(inspect.signature(function).parameters.values())[skip:]
    return [("" if p.kind is p.POSITIONAL_ONLY else p.name, p.kind, p.default) for p in listed]


def members(*protocols: tuple[str, type]) -> Iterator[tuple[str, str, object]]:
    for part, protocol in protocols:
        for name in sorted(public(protocol)):
            yield part, name, getattr(protocol, name)


STANDARD = (("", Namespace), ("linalg", LinalgNamespace), ("fft", FftNamespace))


@pytest.mark.parametrize(("part", "name", "member"), list(members(*STANDARD)))
def test_portarray_has_the_protocols_signatures(part: str, name: str, member: object) -> None:
    function = getattr(getattr(pa, part) if part else pa, name)
    if inspect.isfunction(member):
        expected = parameters(member, skip=1)
        actual = parameters(function, skip=0)
        in_order = [
            parameter
            for parameter in expected
            if parameter[1] is not inspect.Parameter.KEYWORD_ONLY
        ]
        # Further parameters of ours come last and are optional, and more may be left out.
        assert [parameter[:2] for parameter in actual[: len(in_order)]] == [
            parameter[:2] for parameter in in_order
        ]
        assert [
            ours[0]
            for ours, theirs in zip(actual, in_order, strict=False)
            if theirs[2] not in (inspect.Parameter.empty, ours[2])
        ] == []
        # What goes by name may go by position too.
        named = [(name, default) for name, _, default in actual]
        by_name = [(name, default) for name, _, default in expected[len(in_order) :]]
        assert [parameter for parameter in by_name if parameter not in named] == []
    else:
        assert not inspect.isfunction(function)


strict = pytest.importorskip("array_api_strict")


@pytest.mark.parametrize(("part", "name", "member"), list(members(*STANDARD)))
def test_protocols_have_the_standards_signatures(part: str, name: str, member: object) -> None:
    """The protocols have the signatures of array_api_strict."""
    function = getattr(getattr(strict, part) if part else strict, name, None)
    if not inspect.isfunction(member) or not callable(function):
        return
    # Where nothing is given, the standard's own default has no name.
    standard = [
        (word, kind, None if "UNDEF" in repr(default) else default)
        for word, kind, default in parameters(function, skip=0)
    ]
    assert parameters(member, skip=1) == standard


def test_native_namespaces_are_complete() -> None:
    missing = []
    for device in pa.devices():
        xp = pa.namespace(device)
        parts = {"": (xp, BackendNamespace), "linalg": (xp.linalg, LinalgNamespace)}
        parts["fft"] = (xp.fft, FftNamespace)
        for part, (namespace, protocol) in parts.items():
            names = sorted(public(protocol))
            missing += [(str(device), part, n) for n in names if not hasattr(namespace, n)]
    assert missing == []


def test_scalars_and_shapes_match_the_aliases() -> None:
    # The aliases admit what the functions take: a Python scalar of each kind, an int or a list.
    x = pa.ones(2)
    for scalar in (True, 2, 2.0):
        assert pa.multiply(x, scalar).shape == (2,)
    assert pa.zeros([2, 3]).shape == (2, 3)
    assert pa.zeros(2).shape == (2,)


def test_device_objects_satisfy_the_protocols(device: str) -> None:
    protocols = (TypedDevice, PlatformDevice, SyclDevice, NumberedDevice)

    def is_device(value: object) -> bool:
        return isinstance(value, (str, enum.Enum)) or any(
            all(hasattr(value, name) for name in public(protocol)) for protocol in protocols
        )

    native = pa.device(device).native
    assert is_device(native) or type(native).__module__.startswith("cupy")
    assert pa.ones(1, device=native).device is pa.device(device)
    x = pa.ones(1, device=device)
    assert [
        value for value in (0, 1.5, None, (0, 1), ["cpu"], x, np.ones(1)) if is_device(value)
    ] == []
