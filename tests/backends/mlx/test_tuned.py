"""MLX's versions of the core kernels, and cases left to the generic ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

mx = pytest.importorskip("mlx.core")

import portarray as pa  # noqa: E402
from portarray._verification import reference  # noqa: E402
from portarray.backends.mlx import attention as blocks  # noqa: E402
from portarray.backends.mlx import tuned  # noqa: E402

OPTIONS = {"scale": None, "causal": False, "mask": None, "key_length": None}


def close(got: Any, want: Any, dtype: str = "float32") -> None:
    tolerance = {"float32": 3e-6, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
    assert got.dtype == getattr(mx, dtype)
    got = np.asarray(got.astype(mx.float32))
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def drawn(*shapes: tuple[int, ...], dtype: str = "float32") -> list[Any]:
    rng = np.random.default_rng(10)
    return [
        mx.array(rng.standard_normal(shape).astype(np.float32)).astype(getattr(mx, dtype))
        for shape in shapes
    ]


def exact(x: Any) -> Any:
    if not isinstance(x, mx.array):
        return x
    return np.asarray(x) if x.dtype == mx.bool_ else np.asarray(x.astype(mx.float64))


def compare(q: Any, k: Any, v: Any, *, used: int | None = None, **options: Any) -> None:
    """Compare with the reference; values beyond the keys in use are NaN."""
    options = OPTIONS | options
    reference_options = {name: exact(x) for name, x in options.items()} | {"key_length": used}
    want = reference.attention(*map(exact, (q, k, v)), **reference_options)
    dtype = str(q.dtype).rpartition(".")[2]
    if used is None:
        close(blocks.attention(q, k, v, **options), want, dtype)
        return
    behind = mx.arange(v.shape[-2])[:, None] >= used
    v = mx.where(behind, mx.array(mx.nan, v.dtype), v)
    for length in (used, mx.array(used)):
        options["key_length"] = length
        close(blocks.attention(q, k, v, **options), want, dtype)


@pytest.fixture(params=["processors", "fused"])
def processor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run attention both as on processors and as on GPUs."""
    monkeypatch.setattr(blocks, "_SCORES", 2000)
    if request.param == "fused":
        monkeypatch.setattr(blocks, "on_cpu", lambda: False)
        monkeypatch.setattr(blocks, "_GPU_SCORES", 2000)
    return str(request.param)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_attention(processor: str, dtype: str) -> None:
    q, k, v = drawn((2, 4, 37, 8), (2, 2, 53, 8), (2, 2, 53, 8), dtype=dtype)
    mask = mx.array(np.random.default_rng(11).random((4, 37, 53)) < 0.5)
    mask[:, 5] = False
    added = mx.where(mask[0], mx.array(0.5, q.dtype), mx.array(-mx.inf, q.dtype))
    for causal in (False, True):
        compare(q, k, v, causal=causal)
        compare(q, k, v, causal=causal, mask=mask)
        compare(q, k, v, causal=causal, mask=mask[None, :, :1])
        compare(q, k, v, causal=causal, mask=added)
        for used in (1, 20, 53):
            compare(q, k, v, causal=causal, used=used)
        compare(q, k, v, causal=causal, used=20, mask=mask)
        compare(q[:, :, :1], k, v, causal=causal, used=30)
        compare(q, k[:, :, :9], v[:, :, :9], causal=causal)
        compare(q[0, 0], k[0, 0], v[0, 0], causal=causal, scale=0.7)
        many = mx.broadcast_to(mask[None], (2, 4, 37, 53))
        compare(q, k, v, causal=causal, mask=many)


def test_nothing_to_attend_to_is_for_the_generic_kernel() -> None:
    q, k = drawn((2, 3, 4), (2, 5, 4))
    for operands, used in [
        ((q[:, :0], k, k), None),
        ((q, k[:, :0], k[:, :0]), None),
        ((q, k, k), 0),
    ]:
        assert blocks.refuses(*operands, **OPTIONS | {"key_length": used})
        arrays = [pa.asarray(exact(x).astype(np.float32), device="mlx:cpu") for x in operands]
        out = pa.kernels.attention(*arrays, key_length=used)
        want = reference.attention(*map(exact, operands), key_length=used)
        np.testing.assert_allclose(np.asarray(out.native), want, rtol=1e-6)
    assert not blocks.refuses(q, k, k, **OPTIONS | {"key_length": mx.array(0)})


def test_memory_grows_with_the_length_only() -> None:
    def needed(length: int) -> int:
        q, k, v = drawn(*[(2, length, 4)] * 3)
        mx.eval(q, k, v)
        mx.clear_cache()
        mx.reset_peak_memory()
        mx.eval(blocks.attention(q, k, v, **OPTIONS | {"causal": True}))
        return int(mx.get_peak_memory())

    # Twice as many scores in a row, and four times as many in all. How many blocks there are at
    # once depends on when MLX's thread lets go of them.
    assert needed(4096) < 3 * needed(2048)
    assert needed(4096) < 2**26


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_linear(dtype: str) -> None:
    for shape in ((7,), (1, 7), (2, 5, 7)):
        x, weight, bias = drawn(shape, (3, 7), (3,), dtype=dtype)
        for added in (None, bias):
            want = exact(x) @ exact(weight).T + (0 if added is None else exact(added))
            close(tuned.TUNED["linear"][0].function(x, weight, added), want, dtype)


def test_rope_turns_a_part() -> None:
    x, angles = drawn((2, 3, 5, 10), (5, 3))
    for interleaved in (False, True):
        tables = mx.cos(angles), mx.sin(angles)
        options = {"tables": tables, "theta": 1e4, "interleaved": interleaved}
        got = tuned.TUNED["rope"][0].function(x, None, **options)
        options["tables"] = tuple(map(exact, tables))
        close(got, reference.rope(exact(x), None, **options))


def test_float64_is_left_to_the_generic_kernels() -> None:
    x = pa.asarray(np.linspace(-3, 3, 12).reshape(3, 4), device="mlx:cpu", dtype=pa.float64)
    for name in ("silu", "gelu", "rms_norm", "layer_norm", "softmax"):
        want = getattr(reference, name)(np.asarray(x.native, np.float64))
        got = np.asarray(getattr(pa.kernels, name)(x).native)
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)
        assert pa.kernels.explain(name, x).version == "generic"
