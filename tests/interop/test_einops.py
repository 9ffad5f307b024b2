"""einops' plain functions and those for the standard take arrays of every device."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import portarray as pa

einops = pytest.importorskip("einops", reason="einops is not installed")
standard = pytest.importorskip("einops.array_api", reason="einops has no functions of the standard")

VALUES = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

CALLS: dict[str, tuple[str, tuple[Any, ...], dict[str, int]]] = {
    "transposed": ("rearrange", ("a b c -> c a b",), {}),
    "split and merged": ("rearrange", ("a b (c d) -> (d a) b c",), {"d": 2}),
    "new axis": ("repeat", ("a b c -> a b r c",), {"r": 2}),
    "repeated": ("repeat", ("a b c -> (r a) b c",), {"r": 3}),
    **{
        name: ("reduce", ("a b c -> c a", name), {})
        for name in ("sum", "prod", "min", "max", "mean")
    },
    "pooled": ("reduce", ("a b (c d) -> a b c", "max"), {"d": 2}),
}


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("module", [einops, standard], ids=["plain", "standard"])
@pytest.mark.parametrize("call", CALLS)
def test_functions_compute_what_they_do_of_numpys_arrays(
    device: str, module: Any, call: str
) -> None:
    name, arguments, sizes = CALLS[call]
    x = pa.asarray(VALUES, device=device)
    expected = getattr(einops, name)(VALUES, *arguments, **sizes)
    answer = getattr(module, name)(x, *arguments, **sizes)
    assert type(answer) is pa.Array
    assert answer.device is x.device
    assert answer.dtype == x.dtype
    np.testing.assert_allclose(answer.to_device("numpy").native, expected, rtol=1e-6)


def test_lists_packs_and_sums_of_products(device: str) -> None:
    x = pa.asarray(VALUES, device=device)
    stacked = einops.rearrange([x, x], "two a b c -> a two b c")
    assert stacked.shape == (2, 2, 3, 4)
    assert stacked.device is x.device
    packed, shapes = einops.pack([x, x[:, 0, :]], "a * c")
    assert packed.shape == (2, 4, 4)
    assert [part.shape for part in einops.unpack(packed, shapes, "a * c")] == [(2, 3, 4), (2, 4)]
    product = einops.einsum(x, x, "a b c, a d c -> a b d")
    expected = np.einsum("ijk,ilk->ijl", VALUES, VALUES)
    np.testing.assert_allclose(einops.asnumpy(product), expected, rtol=1e-6)
    assert einops.parse_shape(x, "a _ c") == {"a": 2, "c": 4}


def test_gradients_and_programs(device: str) -> None:
    def pooled(x: Any) -> Any:
        return pa.sum(einops.reduce(x, "a b (c d) -> a c", "mean", d=2) ** 2)

    x = pa.asarray(VALUES, device=device)
    expected = np.repeat(VALUES.reshape(2, 3, 2, 2).mean((1, 3)), 2, axis=1)[:, None] / 3
    gradient = pa.grad(pooled)(x).to_device("numpy").native
    np.testing.assert_allclose(gradient, np.broadcast_to(expected, VALUES.shape), rtol=1e-5)
    assert float(pa.compile(pooled)(x)) == pytest.approx(float(pooled(x)), rel=1e-6)


@pytest.mark.parametrize("order", ["portarray, einops", "einops, portarray"])
def test_either_may_be_imported_first(order: str) -> None:
    program = (
        f"import {order}; x = portarray.ones((2, 3), device='numpy');"
        "assert einops.rearrange(x, 'a b -> b a').shape == (3, 2)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_einops_is_not_imported_by_portarray() -> None:
    program = "import portarray, sys; assert not any(name == 'einops' for name in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
