from __future__ import annotations

import pytest

from portarray import UnknownDeviceError
from portarray._devices.device import DeviceText, parse


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("cuda", (None, "cuda", None)),
        ("cuda:0", (None, "cuda", 0)),
        ("cpu:12", (None, "cpu", 12)),
        ("torch", ("torch", None, None)),
        ("clarray:0", ("clarray", None, 0)),
        ("torch:cuda", ("torch", "cuda", None)),
        ("torch:cuda:1", ("torch", "cuda", 1)),
        ("mlx:metal:0", ("mlx", "metal", 0)),
    ],
)
def test_parts(text: str, parts: tuple[str | None, str | None, int | None]) -> None:
    assert parse(text) == DeviceText(*parts)


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("troch", "torch"),
        ("pytorch", "torch"),
        ("numpi", "numpy"),
        ("CUDA", "cuda"),
        ("cud:1", "cuda:1"),
        ("troch:cuda:1", "torch:cuda:1"),
        ("torch:gpu", "torch:cuda"),
        ("torch:gpu:", "torch:cuda"),
        ("torch:cuad", "torch:cuda"),
        ("torch:", "torch"),
        ("numpy:cuda", "numpy:cpu"),
        ("cuda:", "cuda"),
        ("cuda:x", "cuda:0"),
        ("cuda:-1", "cuda:0"),
        ("torch:-1", "torch:0"),
        ("cuda:01", "cuda:0"),
        ("torch:cuda:x", "torch:cuda:0"),
        ("mps", "metal"),
        ("xpu:1", "oneapi:1"),
        ("torch:xpu", "torch:oneapi"),
        ("torch:mps:0", "torch:metal"),
        ("HIP", "rocm"),
        ("np", "numpy"),
        ("gpu:0", "gpu"),
        ("auto:1", "auto"),
        ("", "auto"),
    ],
)
def test_nearest_text_is_suggested(text: str, nearest: str) -> None:
    with pytest.raises(UnknownDeviceError) as caught:
        parse(text)
    assert nearest in caught.value.nearest
    assert repr(nearest) in str(caught.value)
    assert caught.value.text == text


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("quantum", "neither a library (clarray, cupy, dpnp, jax, mlx, numpy, torch"),
        ("cuda:-1", "the index -1 is negative"),
        ("cuda:x", "'x' is not a whole number"),
        ("cuda:1.5", "the index '1.5' is not a whole number"),
        ("cuda:²", "the index '²' is not a whole number"),
        ("numpy:cuda", "numpy drives cpu, not 'cuda'"),
        ("torch:cuda:1:2", "[library:][platform][:index]"),
        ("cuda:0:1", "[library:][platform][:index]"),
        (":1", "neither a library"),
        ("auto:1", "must not be followed by anything"),
    ],
)
def test_rule_is_named(text: str, rule: str) -> None:
    with pytest.raises(UnknownDeviceError, match="unknown device") as caught:
        parse(text)
    assert rule in str(caught.value)
