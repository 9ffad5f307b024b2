"""dpnp's versions of the core kernels reuse only buffers without other references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("dpnp")

import portarray as pa
from portarray._verification import reference

TOLERANCE = {"float16": 1e-3, "float32": 1e-6, "float64": 1e-14}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("silu", {}),
    ("gelu", {"approximate": "none"}),
    ("gelu", {"approximate": "tanh"}),
]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_activations(name: str, options: dict[str, Any]) -> None:
    device = pa.device("dpnp")
    present = pa.namespace(device).__array_namespace_info__().dtypes(device=device.native)
    rng = np.random.default_rng(8)
    for dtype in TOLERANCE:
        if dtype not in present:
            continue
        values = np.concatenate((rng.normal(scale=4, size=120), [0, -30, 30, -200, 200, 6e4, -6e4]))
        x = pa.asarray(values, device=device, dtype=np.dtype(dtype))
        for view in (x, x[::-2], x[7], x[:0]):
            exact = np.array(view, dtype=np.float64)
            got = getattr(pa.kernels, name)(view, **options)
            want = getattr(reference, name)(exact, **options)
            assert got.dtype == dtype
            assert got.shape == view.shape
            np.testing.assert_allclose(
                np.array(got, dtype=np.float64), want, rtol=TOLERANCE[dtype], atol=1e-6
            )
            np.testing.assert_array_equal(np.array(view, dtype=np.float64), exact)
        assert pa.kernels.explain(name, x, **options).version == "tuned"
