"""array-api-extra's assertions on arrays of every device."""

from __future__ import annotations

import pytest

import portarray as pa

pytest.importorskip("array_api_extra.testing", reason="portarray.testing's assertions are its own")

from portarray.testing import (
    assert_close,
    assert_close_nulp,
    assert_equal,
    assert_less,
)


def test_on_every_device(device: str) -> None:
    x = pa.asarray([1.0, 2.0], device=device)
    assert_equal(x, pa.asarray([1.0, 2.0], device=device))
    assert_close(x, x * (1 + float(pa.finfo(x.dtype).eps) ** 0.5), xp=pa)
    assert_close_nulp(x, x)
    assert_less(x, x + 1)
    for wrong, said in (
        (lambda: assert_equal(x, x + 1), "Mismatched elements"),
        (lambda: assert_close(x, x * 1.1), "Not equal to tolerance"),
        (lambda: assert_less(x, x), "not strictly ordered"),
        (lambda: assert_equal(x, pa.astype(x, pa.int32)), "dtypes do not match"),
        (lambda: assert_equal(x, x[:1]), "shapes do not match"),
    ):
        with pytest.raises(AssertionError, match=said):
            wrong()


def test_devices_must_be_the_same(fake: str) -> None:
    x = pa.ones(3, device=f"{fake}:cuda:0")
    y = pa.ones(3, device=f"{fake}:cuda:1")
    with pytest.raises(AssertionError, match=r"Devices do not match"):
        assert_equal(x, y)
    assert_equal(x, y, check_device=False)
    with pytest.raises(AssertionError, match="Namespaces"):
        assert_equal(x, y.to_device("numpy").native)
