"""Fixtures of array-api-extra's tests that portarray's plugin does not define."""

from __future__ import annotations

from typing import Any

import array_api_extra.testing as xpx_testing
import numpy as np
import pytest
from array_api_extra._lib._compat import array_namespace

import portarray as pa
from portarray import testing

# array-api-extra's assertions copy to NumPy only after a RuntimeError from DLPack.
for _name in ("assert_close", "assert_close_nulp", "assert_equal", "assert_less"):
    setattr(xpx_testing, _name, getattr(testing, _name))

np_compat: Any = array_namespace(np.empty(0))  # type: ignore[arg-type]


class Portarray:
    """The library of the test, which is none that array-api-extra knows."""

    value = modname = "portarray"

    def like(self, *others: Any) -> bool:
        return False


@pytest.fixture
def library() -> Portarray:
    return Portarray()


@pytest.fixture
def infinity(device: pa.Device) -> float:
    """Return the largest number of the default dtype, which replaces infinity."""
    dtype = pa.__array_namespace_info__().default_dtypes(device=device)["real floating"]
    return float(pa.finfo(dtype).max)


def _other_library() -> None:
    pytest.skip("only for another library")


@pytest.fixture
def da() -> None:
    _other_library()


@pytest.fixture
def jnp() -> None:
    _other_library()


@pytest.fixture
def torch() -> None:
    _other_library()
