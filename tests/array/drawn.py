"""Strategies and comparisons for tests of the array."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import portarray as pa

DType = np.dtype[Any]

EXAMPLES = max(20, 240 // len(pa.devices()))
"""Examples of each drawn test on each device: about as many in all, however many devices are here.

What a test is about is the same code on all of them; that each library does right is for the
conformance suite to say.
"""

drawing = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""Settings of every drawn test here: the fixtures hold nothing that an example changes."""

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


VALUES = {"jax", "mlx"}
"""Libraries whose arrays are values: an assignment makes a new one, and no other array sees it."""

APART = VALUES | {"dpnp"}
"""Libraries whose arrays do not share memory with NumPy's arrays that one of the two then changes.

dpnp's lie in memory that SYCL allocates.
"""


def library_of(device: str) -> str:
    """Return the library in a device's name; for a virtual device, the library it simulates."""
    library = device.partition(":")[0]
    return str(pa.device(device).native.traits.library) if library == "virtual" else library


def shares_with_numpy(device: str) -> bool:
    """Return whether arrays of a device can share memory with NumPy."""
    pa_device = pa.device(device)
    return pa_device._backend.on_host(pa_device.native) and pa_device.library not in APART


def dtypes_of(device: str, *kinds: str) -> list[DType]:
    """Return the standard's dtypes of a device, of some kinds or of all."""
    info = pa.__array_namespace_info__()
    return list(info.dtypes(device=device, kind=kinds or None).values())


def small(dtype: DType, shape: Any = SHAPES) -> st.SearchStrategy[np.ndarray[Any, Any]]:
    """Draw NumPy arrays of whole numbers that every dtype holds; parts 0 to 9."""
    whole = st.integers(0, 9)
    elements: dict[str, st.SearchStrategy[Any]] = {
        "b": st.booleans(),
        "f": whole.map(float),
        "c": st.builds(complex, whole, whole),
    }
    return hnp.arrays(dtype, shape, elements=elements.get(dtype.kind, whole))


def as_numpy(x: pa.Array) -> np.ndarray[Any, Any]:
    """Return an array's values as a NumPy array, from any device."""
    return np.asarray(x.to_device("numpy"))


def same(x: pa.Array, expected: np.ndarray[Any, Any]) -> None:
    """Check shape, dtype and values against a NumPy array."""
    assert isinstance(x, pa.Array)
    assert x.shape == expected.shape
    assert x.dtype == expected.dtype
    np.testing.assert_array_equal(as_numpy(x), expected)
