"""JAX's versions of the core kernels: blocks of attention, and what JAX traces."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import portarray as pa  # noqa: E402
from portarray._verification import reference  # noqa: E402
from portarray.backends.jax.attention import attention as attend  # noqa: E402

OPTIONS = {"scale": None, "causal": False, "mask": None, "key_length": None}
LENGTH, KEYS = 700, 1300  # of several blocks each, of which the last overlaps

Drawn = tuple[np.ndarray[Any, Any], ...]


def drawn(heads: int, length: int, shared: int, keys: int, size: int = 8) -> Drawn:
    rng = np.random.default_rng(4)
    shapes = ((heads, length, size), (shared, keys, size), (shared, keys, size + 3))
    return tuple(rng.standard_normal(shape).astype(np.float32) for shape in shapes)


def compare(q: Any, k: Any, v: Any, **options: Any) -> None:
    """Compare blocks with the reference; what lies behind the keys in use is not a number."""
    options = OPTIONS | options
    want = reference.attention(*(x.astype(np.float64) for x in (q, k, v)), **options)
    if options["key_length"] is not None:
        v = v.copy()
        v[..., options["key_length"] :, :] = np.nan
    reference_options = {
        name: jnp.asarray(x) if isinstance(x, np.ndarray) else x for name, x in options.items()
    }
    got = attend(*map(jnp.asarray, (q, k, v)), **reference_options)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=3e-6)


def test_blocks() -> None:
    q, k, v = drawn(6, LENGTH, 2, KEYS)
    for used in (0, 1, 650, 1299):
        compare(q, k, v, causal=True, key_length=used)
    mask = np.random.default_rng(5).random((6, LENGTH, KEYS)) < 0.5
    mask[:, 300:310] = False
    compare(q, k, v, mask=mask, key_length=650)
    added = np.where(mask[:1], np.linspace(-3, 3, KEYS), -np.inf).astype(np.float32)
    compare(q, k, v, causal=True, mask=added)
    compare(q, k, v, mask=mask[0, :1])


def test_one_query_against_a_cache() -> None:
    q, k, v = drawn(6, 2, 2, KEYS)
    for used in (0, 1, 325, 326, 650, 651, KEYS):
        compare(q, k, v, key_length=used)
    mask = np.random.default_rng(5).random((2, KEYS)) < 0.5
    for used in (2, 400, KEYS):
        compare(q, k, v, causal=True, mask=mask, key_length=used)


def test_more_queries_than_keys() -> None:
    compare(*drawn(64, KEYS, 64, 300), causal=True)


def test_decoding_is_compiled_once() -> None:
    q, k, v = (pa.asarray(x, device="jax") for x in drawn(6, 1, 2, 77))
    programs = attend._cache_size()
    for used in range(1, 78, 19):
        pa.kernels.attention(q, k, v, causal=True, key_length=used)
    assert attend._cache_size() == programs + 1


def test_memory_grows_with_the_length_only() -> None:
    def needed(length: int, function: Any) -> int:
        x = jax.ShapeDtypeStruct((4, length, 16), jnp.float32)
        compiled = jax.jit(function).lower(x, x, x).compile()
        figures = compiled.memory_analysis()
        return int(figures.temp_size_in_bytes) + int(figures.output_size_in_bytes)

    def forward(q: Any, k: Any, v: Any) -> Any:
        return attend(q, k, v, **OPTIONS | {"causal": True})

    def backward(q: Any, k: Any, v: Any) -> Any:
        return jax.grad(lambda *x: jnp.sum(forward(*x) ** 2), argnums=(0, 1, 2))(q, k, v)

    # All scores would take as much as 4 * 8192 * 8192 numbers.
    assert needed(8192, forward) < 2**25
    assert needed(8192, backward) < 2.2 * needed(4096, backward)


def test_gradients() -> None:
    """Those of attention in blocks are those of the formula, and rows that see nothing have 0."""
    q, k, v = map(jnp.asarray, drawn(4, 600, 2, 600))
    mask = jnp.ones((600, 600), bool).at[7].set(False)
    visible = jnp.tril(mask)

    def blocks(q: Any, k: Any, v: Any) -> Any:
        return jnp.sum(jnp.sin(attend(q, k, v, **OPTIONS | {"causal": True, "mask": mask})))

    def formula(q: Any, k: Any, v: Any) -> Any:
        k, v = (jnp.repeat(x, 2, axis=0) for x in (k, v))
        scores = jnp.where(visible, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -1e30)
        weights = jnp.where(visible.any(-1, keepdims=True), jax.nn.softmax(scores), 0)
        return jnp.sum(jnp.sin(weights @ v))

    got, want = (jax.grad(f, argnums=(0, 1, 2))(q, k, v) for f in (blocks, formula))
    for gradient, expected in zip(got, want, strict=True):
        np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-5)
    assert not got[0][:, 7].any()


def native(name: str, **options: Any) -> Any:
    kernel = getattr(pa.kernels, name)
    return lambda *operands: kernel(*map(pa.asarray, operands), **options).native


@pytest.mark.parametrize(
    ("name", "options", "shapes"),
    [
        ("softmax", {"axis": 0}, [(3, 5)]),
        ("gelu", {}, [(3, 5)]),
        ("rms_norm", {}, [(3, 5), (5,)]),
        ("layer_norm", {}, [(3, 5), (5,), (5,)]),
        ("rope", {}, [(2, 3, 4)]),
        ("linear", {}, [(3, 5), (2, 5), (2,)]),
        ("attention", {"causal": True}, [(2, 3, 4), (2, 5, 4), (2, 5, 4)]),
    ],
)
def test_traced(name: str, options: dict[str, Any], shapes: list[tuple[int, ...]]) -> None:
    """Under jit and vmap they give the same; gradients are what differences tell."""
    rng = np.random.default_rng(6)
    operands = [jnp.asarray(rng.standard_normal(shape), jnp.float32) for shape in shapes]
    function = native(name, **options)
    want = function(*operands)
    np.testing.assert_allclose(jax.jit(function)(*operands), want, rtol=2e-6, atol=1e-6)
    stacked = [jnp.stack((x, x[::-1])) for x in operands]
    np.testing.assert_allclose(jax.vmap(function)(*stacked)[0], want, rtol=2e-6, atol=1e-6)
    step = jnp.asarray(rng.standard_normal(shapes[0]), jnp.float32)

    def along(t: Any) -> Any:
        return jnp.sum(jnp.sin(function(operands[0] + t * step, *operands[1:])))

    difference = (along(1e-2) - along(-1e-2)) / 2e-2
    np.testing.assert_allclose(jax.grad(along)(0.0), difference, rtol=5e-3, atol=5e-3)


def test_silu_and_gelu_have_gradients_at_0() -> None:
    for name, options in (("silu", {}), ("gelu", {}), ("gelu", {"approximate": "tanh"})):
        assert jax.grad(native(name, **options))(0.0) == pytest.approx(0.5)


def test_a_length_and_positions_may_be_traced() -> None:
    q, k, v = map(jnp.asarray, drawn(6, 1, 2, 77))

    @jax.jit
    def step(used: Any) -> Any:
        position = pa.asarray(used)[None]
        turned = pa.kernels.rope(pa.asarray(q), position)
        out = pa.kernels.attention(
            turned, pa.asarray(k), pa.asarray(v), key_length=pa.asarray(used)
        )
        return out.native

    for used in (5, 70):
        turned = reference.rope(np.asarray(q, np.float64), np.asarray([used]))
        want = reference.attention(turned, *map(np.asarray, (k, v)), key_length=used)
        np.testing.assert_allclose(step(jnp.asarray(used)), want, rtol=1e-4, atol=1e-5)


ELSEWHERE = """
import jax, numpy as np
import jax.numpy as jnp
import portarray as pa
from portarray._verification import reference

rng = np.random.default_rng(7)
x, w = rng.standard_normal((3, 40, 16)), rng.standard_normal(16)
second = pa.device("jax:cpu:1")
a, b = pa.asarray(x, device=second), pa.asarray(w, device=second)
n = pa.asarray(9, device=second, dtype=pa.int64)
for got, want in (
    (pa.kernels.rms_norm(a, b), reference.rms_norm(x, w)),
    (pa.kernels.rope(a), reference.rope(x)),
    (pa.kernels.gelu(a), reference.gelu(x)),
    (pa.kernels.attention(a, a, a, causal=True), reference.attention(x, x, x, causal=True)),
    (pa.kernels.attention(a, a, a, key_length=n), reference.attention(x, x, x, key_length=9)),
):
    assert got.dtype == pa.float64 and got.device == second, (got.dtype, got.device)
    assert got.native.devices() == {jax.devices()[1]}
    assert np.abs(np.asarray(got.native) - want).max() < 1e-13
"""


def test_64_bits_and_another_device() -> None:
    environment = os.environ | {
        "JAX_ENABLE_X64": "1",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
    }
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
