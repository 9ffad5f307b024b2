"""Functions that run on the host warn once, can be forbidden, and are silent in host memory.

Warnings are given once per process, so each test uses another function.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from drawn import as_numpy, same

import portarray as pa
from portarray.errors import HostFallbackError, HostFallbackWarning
from portarray.testing import virtual_devices


@pytest.fixture
def partial() -> Iterator[str]:
    """A GPU without ``cos``, ``sin``, ``tan``, ``acos``, ``asin``, ``sort`` and ``eigh``."""
    with virtual_devices("oneapi", host_functions=LACKING) as (device,):
        yield str(device)


LACKING = ("cos", "sin", "tan", "acos", "asin", "atan2", "sort", "linalg.eigh")


def test_warns_once_for_all_dtypes(partial: str) -> None:
    x = pa.asarray([0.0, 1.0], dtype=pa.float32, device=partial)
    with pytest.warns(
        HostFallbackWarning, match=f"cos: runs on the host, because {partial}"
    ) as said:
        result = pa.cos(x)
    assert "pa.config(host_fallback='allow')" in str(said[0].message)
    assert said[0].filename == __file__  # the line that the user wrote
    np.testing.assert_allclose(as_numpy(result), np.cos(np.asarray([0, 1], dtype=np.float32)))
    assert (result.device, result.dtype) == (x.device, pa.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in (pa.float32, pa.float64, pa.complex64, pa.int8):
            pa.cos(x.astype(dtype))


def test_error(partial: str) -> None:
    x = pa.asarray([0.0, 1.0], device=partial)
    with pa.config(host_fallback="error"):
        for _ in range(2):
            with pytest.raises(HostFallbackError) as caught:
                pa.sin(x)
        assert (caught.value.function, caught.value.device) == ("sin", partial)
        assert "pa.config(host_fallback='allow')" in str(caught.value)
        same(x + x, np.asarray([0.0, 2.0]))
    assert pa.config.host_fallback == "warn"
    same(x, np.asarray([0.0, 1.0]))
    with pytest.warns(HostFallbackWarning, match="sin"):
        pa.sin(x)


def test_allow(partial: str) -> None:
    x = pa.asarray([0.0, 1.0], device=partial)
    with pa.config(host_fallback="allow"):
        pa.tan(x)
    with pytest.warns(HostFallbackWarning, match="tan"):  # being quiet was not saying it
        pa.tan(x)


def test_extensions_and_options(partial: str) -> None:
    a = np.asarray([[2.0, 1.0], [1.0, 2.0]])
    x = pa.asarray(a, device=partial)
    with pytest.warns(HostFallbackWarning, match=r"linalg\.eigh"):
        values, vectors = pa.linalg.eigh(x)
    np.testing.assert_allclose(as_numpy(values), [1, 3])
    assert vectors.device is x.device
    with pytest.warns(HostFallbackWarning, match="sort"):
        same(pa.sort(x, axis=0, descending=True), np.asarray([[2.0, 2.0], [1.0, 1.0]]))


def test_two_operands_with_a_scalar(partial: str) -> None:
    x = pa.asarray([1.0, 2.0], device=partial)
    with pytest.warns(HostFallbackWarning, match="atan2"):
        np.testing.assert_allclose(as_numpy(pa.atan2(x, 2.0)), np.arctan2([1.0, 2.0], 2.0))
    with pytest.warns(HostFallbackWarning, match="acos"):
        np.testing.assert_allclose(as_numpy(np.arccos(x / 2)), np.arccos([0.5, 1.0]))


def test_quiet_on_host_memory() -> None:
    with (
        virtual_devices("metal", host_functions=LACKING) as (device,),
        warnings.catch_warnings(),
        pa.config(host_fallback="error"),
    ):
        warnings.simplefilter("error")
        x = pa.asarray([0.0, 1.0], dtype=pa.float16, device=device)
        np.testing.assert_allclose(as_numpy(pa.asin(x)), np.asin(np.asarray([0, 1], np.float16)))


def test_the_support_table_says_so(partial: str) -> None:
    served = {row.function: row.served for row in pa.support(partial)}
    assert {served[name] for name in ("cos", "sort", "linalg.eigh", "asin")} == {"host"}
    assert served["cosh"] == "native"


def test_wrong_settings() -> None:
    with pytest.raises(
        ValueError, match="host_fallback must be one of error, warn, allow, not 'never'"
    ):
        pa.config(host_fallback="never")  # type: ignore[arg-type]
    assert pa.config.host_fallback == "warn"
