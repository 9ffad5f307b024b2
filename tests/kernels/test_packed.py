"""Packed matrices: every layout on every device, against definitions and the package gguf."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import portarray as pa
from portarray._kernel_language.decorator import reason_unsupported
from portarray._verification import packed_reference
from portarray.kernels import Packed, packed_generic
from portarray.kernels.layouts import LAYOUTS

Values = np.ndarray[Any, np.dtype[Any]]
OUT, IN = 37, 512


def drawn(layout: str, seed: int = 0) -> tuple[Values, Values | None]:
    """Return bytes of a matrix and scales, every bit by chance but those of float16 numbers."""
    rng = np.random.default_rng(seed)
    block, nbytes, halves = packed_reference.BLOCKS[layout]
    blocks = rng.integers(0, 256, (OUT, IN // block, nbytes), dtype=np.uint8)
    for at in halves:
        values = rng.standard_normal(blocks.shape[:2]) * 2.0 ** rng.integers(
            -26, 3, blocks.shape[:2]
        )
        blocks[:, :, at : at + 2] = values.astype("<f2")[:, :, None].view(np.uint8)
    data = blocks.reshape(OUT, -1)
    return data, None if halves else rng.standard_normal((OUT, 4)).astype(np.float32)


def on(device: str, layout: str, seed: int = 0) -> Packed:
    return Packed(*_ordered(layout, *drawn(layout, seed)), device=device)


def _ordered(layout: str, data: Values, scales: Values | None) -> tuple[Any, ...]:
    return data, layout, scales


def host(x: pa.Array) -> Values:
    return np.asarray(pa.to_device(x, "numpy"))


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_weights_are_those_of_the_format(device: str, layout: str) -> None:
    packed = on(device, layout)
    want = packed_reference.weights(layout, *drawn(layout)).astype(np.float32)
    assert packed.shape == (OUT, IN)
    for tuned in (True, False):
        with pa.config(tuned_kernels=tuned):
            np.testing.assert_array_equal(host(pa.kernels.unpack(packed)), want)
            rows = pa.kernels.embedding(pa.asarray([[36, 0, 5]], device=device), packed)
            np.testing.assert_array_equal(host(rows), want[[[36, 0, 5]]])


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name.startswith("Q")])
def test_gguf_unpacks_and_packs_the_same(layout: str) -> None:
    gguf = pytest.importorskip("gguf")
    kind = gguf.GGMLQuantizationType[layout]
    data, _ = drawn(layout)
    unpacked = host(pa.kernels.unpack(on("numpy", layout)))
    np.testing.assert_array_equal(gguf.quants.dequantize(data, kind), unpacked)
    values = np.random.default_rng(1).standard_normal((OUT, IN)).astype(np.float32)
    values[3] = 0
    if not layout.endswith("K"):  # which the package does not pack
        with np.errstate(all="ignore"):
            want = gguf.quants.quantize(values, kind)
        packed = pa.kernels.pack(pa.asarray(values, device="numpy"), layout)
        np.testing.assert_array_equal(host(packed.data), want)


# The largest error of a weight, in parts of the largest magnitude of its row: half of the distance
# of neighbouring numbers, and what rounding the scales adds.
@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize(
    ("layout", "most"),
    {"Q8_0": 0.005, "Q4_0": 0.13, "Q4_1": 0.07, "Q5_0": 0.07, "Q5_1": 0.034, "Q4_K": 0.08,
     "Q6_K": 0.035, "INT8": 0.005, "INT4": 0.13}.items(),
)  # fmt: skip
def test_packing_rounds_to_neighbours(device: str, layout: str, most: float) -> None:
    values = np.random.default_rng(2).uniform(-1, 1, (5, IN)).astype(np.float32)
    values[2] = 0
    packed = pa.kernels.pack(pa.asarray(values, device=device), layout)
    assert str(packed.device) == str(pa.device(device))
    off = np.abs(host(pa.kernels.unpack(packed)) - values)
    assert off.max() <= most
    assert not off[2].any()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", [(), (1,), (2, 3), (20,)])
def test_products_are_those_of_the_weights(layout: str, rows: tuple[int, ...]) -> None:
    packed = on("numpy", layout)
    weights = host(pa.kernels.unpack(packed)).astype(np.float64)
    rng = np.random.default_rng(3)
    x = rng.standard_normal((*rows, IN)).astype(np.float32)
    bias = rng.standard_normal(OUT).astype(np.float32)
    inputs = pa.asarray(x, device="numpy"), packed, pa.asarray(bias, device="numpy")
    bound = 2.0**-24 * 200 * (np.abs(x) @ np.abs(weights.T) + np.abs(bias))
    for tuned in (True, False):
        with pa.config(tuned_kernels=tuned):
            got = pa.kernels.linear(*inputs)
        assert np.all(np.abs(host(got) - (x @ weights.T + bias)) <= bound)


FUSED_STEPS = ("norm", "gated", "residual")


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("rows", [(1,), (5,), (20,), (2, 3), ()])
@pytest.mark.parametrize("around", [FUSED_STEPS, *[(step,) for step in FUSED_STEPS]])
def test_steps_that_are_fused_with_a_product(
    device: str, rows: tuple[int, ...], around: Any
) -> None:
    _check_around(device, "Q4_1", rows, around)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_steps_that_are_fused_with_a_product_of_each_layout(layout: str) -> None:
    for rows in (1, 5):
        _check_around("numpy", layout, (rows,), FUSED_STEPS)


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name.startswith("Q")])
def test_interleaved_rows_are_the_same_matrix(device: str, layout: str, tmp_path: Path) -> None:
    data = drawn(layout)[0][:32]
    packed = Packed(data, layout, device=device)
    want = host(pa.kernels.unpack(packed))
    interleaved = Packed(data.reshape(2, 16, -1).transpose(0, 2, 1), layout, device=device)
    assert (interleaved.shape, interleaved.nbytes) == (packed.shape, packed.nbytes)
    if pa.device(device).kind == "cpu" and not reason_unsupported(pa.device(device)):
        result = packed.interleaved()
        np.testing.assert_array_equal(host(result.data), host(interleaved.data))
        assert host(result.data).flags.c_contiguous
        assert result.interleaved() is result
    path = tmp_path / "packed.safetensors"
    pa.save(path, interleaved)
    for matrix in (interleaved, pa.load(path, device=device), pa.to_device(interleaved, "numpy")):
        for tuned in (True, False):
            with pa.config(tuned_kernels=tuned):
                np.testing.assert_array_equal(host(pa.kernels.unpack(matrix)), want)
                indices = pa.asarray([[31, 0], [5, 16]], device=matrix.device)
                rows = pa.kernels.embedding(indices, matrix)
                np.testing.assert_array_equal(host(rows), want[[[31, 0], [5, 16]]])
                for wrong in (32, -1):
                    with pytest.raises(IndexError, match=rf"{wrong} .*size 32"):
                        host(pa.kernels.embedding(indices * 0 + wrong, matrix))
                for rows in ((1,), (5,), (20,)):
                    for around in ((), FUSED_STEPS):
                        _check_around(str(matrix.device), matrix, rows, around)


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("layout", ["Q8_0", "Q4_K"])
def test_products_with_each_example_are_those_with_all(device: str, layout: str) -> None:
    packed = Packed(drawn(layout)[0][:32], layout, device=device)
    values = np.random.default_rng(2).standard_normal((3, IN), np.float32)
    x = pa.asarray(values, device=device)
    for matrix in (packed, packed.interleaved()):
        want = host(pa.kernels.linear(x, matrix))
        got = host(pa.vmap(pa.kernels.linear, (0, None))(x, matrix))
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4 * np.abs(want).max())


def test_only_rows_that_fill_tiles_are_interleaved(device: str) -> None:
    for layout in ("Q4_1", "INT4"):
        packed = on(device, layout)
        assert packed.interleaved() is packed


def _check_around(device: str, matrix: str | Packed, rows: tuple[int, ...], around: Any) -> None:
    if isinstance(matrix, str):
        data, scales = drawn(matrix)
        scales = None if scales is None else scales[:-1]
        packed = Packed(data[:-1], matrix, scales, device=device)
    else:
        packed = matrix
    weights = host(pa.kernels.unpack(packed)).astype(np.float64)
    rng = np.random.default_rng(6)
    out = packed.shape[0] // (2 if "gated" in around else 1)
    x, norm, residual = (
        rng.standard_normal(shape).astype(np.float32) for shape in ((*rows, IN), IN, (*rows, out))
    )
    scale = np.sqrt(np.mean(np.square(x, dtype=np.float64), axis=-1, keepdims=True) + 0.5)
    wide = x / scale * norm if "norm" in around else x
    want, size = wide @ weights.T, np.abs(wide) @ np.abs(weights.T)
    if "gated" in around:
        gate, up = want[..., :out], want[..., out:]
        want = gate * expit(gate) * up
        # Each factor is off by its own bound; silu is nowhere steeper than 1.1.
        size = (np.abs(gate) + 1) * size[..., out:] + 1.1 * np.abs(up) * size[..., :out]
    arrays = {"norm": norm, "residual": residual}
    options: dict[str, Any] = {
        name: pa.asarray(arrays[name], device=device) if name in arrays else True for name in around
    }
    if "residual" in around:
        want, size = want + residual, size + np.abs(residual)
    for weight in (packed, pa.kernels.unpack(packed)):
        inputs = pa.asarray(x, device=device), weight
        result = host(pa.kernels.fused_linear(*inputs, eps=0.5, **options))
        assert result.shape == want.shape
        assert np.all(np.abs(result - want) <= 2.0**-24 * 300 * size)


def test_gradients_pass_through_steps_that_are_fused_with_a_product(device: str) -> None:
    packed = on(device, "Q4_1")
    weights = pa.kernels.unpack(packed)
    x, norm = (pa.ones(shape, dtype=pa.float32, device=device) for shape in ((3, IN), (IN,)))
    residual = pa.ones((3, OUT), dtype=pa.float32, device=device)

    def loss(weight: Any, x: pa.Array, norm: pa.Array, residual: pa.Array) -> pa.Array:
        y = pa.kernels.fused_linear(x, weight, norm=norm, residual=residual)
        return pa.sum(y * y)

    result, want = (
        pa.grad(partial(loss, weight), argnums=(0, 1, 2))(x, norm, residual)
        for weight in (packed, weights)
    )
    for got, exact in zip(result, want, strict=True):
        largest = float(np.abs(host(exact)).max())
        np.testing.assert_allclose(host(got), host(exact), rtol=0, atol=1e-4 * largest)


@pytest.mark.parametrize("tuned", [True, False])
def test_activations_are_those_of_ggufs_q8_0(device: str, *, tuned: bool) -> None:
    """Rounded as gguf's own function rounds to Q8_0, but for its scales: those are float16."""
    gguf = pytest.importorskip("gguf", reason="the judge")
    x = np.random.default_rng(8).standard_normal((5, IN)).astype(np.float32)
    x[2, 32:64] = 0
    kind = gguf.GGMLQuantizationType.Q8_0
    want = gguf.quants.dequantize(gguf.quants.quantize(x, kind), kind)
    blocks = np.zeros((IN, IN // 32, 34), np.uint8)  # the identity, in Q8_0
    blocks[:, :, :2] = np.ones(1, "<f2").view(np.uint8)
    blocks[np.arange(IN), np.arange(IN) // 32, 2 + np.arange(IN) % 32] = 1
    packed = Packed(blocks.reshape(IN, -1), "Q8_0", device=device)
    inputs = pa.asarray(x, device=device)
    with pa.config(tuned_kernels=tuned):
        result = host(pa.kernels.linear(inputs, packed, activations="int8"))
        np.testing.assert_array_equal(host(pa.kernels.linear(inputs, packed)), x)
    largest = np.abs(x.reshape(5, -1, 32)).max(axis=2).repeat(32, axis=1)
    assert np.all(np.abs(result - want) <= largest * 2.0**-10)
    assert np.all(np.abs(result - x) <= largest * 0.501 / 127)
    assert np.abs(result - x).max() > 1e-3


def test_scratch_memory_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = on("numpy", "Q4_1")
    x = pa.asarray(np.ones((20, IN), np.float32), device="numpy")
    want = host(pa.kernels.linear(x, packed))
    shapes = []
    unpack = packed_generic.unpack

    def watched(xp: Any, data: Any, *args: Any, **named: Any) -> Any:
        result = unpack(xp, data, *args, **named)
        shapes.append(result.shape)
        return result

    monkeypatch.setattr(packed_generic, "PANEL", 5 * IN)
    monkeypatch.setattr(packed_generic, "unpack", watched)
    with pa.config(tuned_kernels=False):
        np.testing.assert_allclose(host(pa.kernels.linear(x, packed)), want, rtol=1e-4, atol=1e-4)
    assert shapes == [(5, IN)] * 7 + [(2, IN)]


def test_gradients_reach_x(device: str) -> None:
    packed = on(device, "Q4_1")
    factors = np.random.default_rng(4).standard_normal((3, OUT)).astype(np.float32)
    c = pa.asarray(factors, device=device)
    x = pa.ones((3, IN), dtype=pa.float32, device=device)
    result = pa.grad(lambda x: pa.sum(pa.kernels.linear(x, packed) * c))(x)
    want = factors @ host(pa.kernels.unpack(packed))
    np.testing.assert_allclose(host(result), want, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("layout", ["Q4_1", "INT4"])
def test_packed_weights_are_trees(device: str, layout: str, tmp_path: Path) -> None:
    packed = on("numpy", layout)
    want = host(pa.kernels.unpack(packed))
    moved = pa.to_device({"weight": [packed, packed]}, device)["weight"]
    assert moved[0] is moved[1]
    assert (moved[0].layout, str(moved[0].device)) == (layout, str(pa.device(device)))
    np.testing.assert_array_equal(host(pa.kernels.unpack(moved[0])), want)
    path = tmp_path / "packed.safetensors"
    pa.save(path, {"head": packed, "layers": [packed, moved[0]]})
    loaded = pa.load(path, device=device)
    assert type(loaded["head"]) is Packed
    for matrix in (loaded["head"], *loaded["layers"], pickle.loads(pickle.dumps(packed))):
        assert (matrix.layout, matrix.shape, matrix.nbytes) == (layout, packed.shape, packed.nbytes)
        np.testing.assert_array_equal(host(pa.kernels.unpack(matrix)), want)


def test_a_mapped_file_is_not_copied(tmp_path: Path) -> None:
    data, _ = drawn("Q4_1")
    (tmp_path / "weights").write_bytes(data.tobytes())
    mapped = np.memmap(tmp_path / "weights", dtype=np.uint8, mode="r", shape=data.shape)
    packed = Packed(mapped, "Q4_1", device="numpy")
    assert np.shares_memory(np.asarray(packed.data), mapped)


def test_a_checkpoints_integers_are_viewed() -> None:
    for layout, dtype in (("INT8", np.int8), ("INT4", np.int32)):
        data, scales = drawn(layout)
        packed = Packed(data.view(dtype), layout, scales, device="numpy")
        assert np.shares_memory(np.asarray(packed.data), data)
        assert packed.shape == (OUT, IN)


def test_a_compiled_function_does_not_copy_them() -> None:
    device = pa.device("clarray")
    packed = Packed(drawn("Q8_0")[0], "Q8_0", device=device)
    other = Packed(drawn("Q8_0", 1)[0], "Q8_0", device=device)
    x = pa.ones((1, IN), dtype=pa.float32, device=device)
    compiled = pa.compile(lambda x: pa.kernels.linear(x, packed) + 1)
    pa.kernels.linear(x, packed)
    used = device.native.pool.used
    for _ in range(3):
        compiled(x)
    assert device.native.pool.used < used + packed.nbytes
    packed.data = other.data
    assert host(compiled(x)).tolist() == host(pa.kernels.linear(x, other) + 1).tolist()


def test_a_compiled_function_calls_them() -> None:
    packed = on("numpy", "Q6_K")
    x = pa.ones((2, IN), dtype=pa.float32, device="numpy")
    compiled = pa.compile(lambda x, weight: pa.kernels.silu(pa.kernels.linear(x, weight)))
    want = host(pa.kernels.silu(pa.kernels.linear(x, packed)))
    for _ in range(2):
        np.testing.assert_array_equal(host(compiled(x, packed)), want)


def test_explain_names_the_version_for_a_packed_weight() -> None:
    packed = on("numpy", "Q4_1")
    x = pa.ones((2, IN), dtype=pa.float64, device="numpy")
    result = pa.kernels.explain("linear", x, packed)
    assert (result.kernel, result.version) == ("packed_linear", "generic")
    result = pa.kernels.explain("embedding", pa.asarray([1], device="numpy"), packed)
    assert result.kernel == "packed_embedding"


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        (
            lambda p, x: Packed(p.data, "Q3_K"),
            ValueError,
            "unsupported layout 'Q3_K'; supported: Q8_0",
        ),
        (lambda p, x: Packed(p.data[:, 1:], "Q4_1"), ValueError, "blocks of 20 bytes"),
        (lambda p, x: Packed(pa.astype(p.data, pa.int8), "Q4_1"), ValueError, "must be uint8"),
        (lambda p, x: Packed(p.data[:32, :, None], "Q4_1"), ValueError, r"\(out / 16, bytes, 16\)"),
        (lambda p, x: Packed([1], "Q4_1"), TypeError, "list"),
        (lambda p, x: Packed(p.data, "Q4_1", p.data), ValueError, "they are in its blocks"),
        (lambda p, x: Packed(p.data[:, :256], "INT4"), TypeError, "scales of type NoneType"),
        (lambda p, x: Packed(p.data[:, :256], "INT4", x), ValueError, "groups"),
        (lambda p, x: pa.kernels.pack(x[:, 1:], "Q4_1"), ValueError, "multiple of 32"),
        (lambda p, x: pa.kernels.pack(x, "INT4", group=48), ValueError, "group=48"),
        (lambda p, x: pa.kernels.pack(x[0, :], "INT4"), ValueError, "matrix"),
        (lambda p, x: pa.kernels.unpack(x), TypeError, "expected a Packed, not Array"),
        (lambda p, x: pa.kernels.linear(x[:, 1:], p), ValueError, r"\(37, 512\)"),
        (lambda p, x: pa.kernels.linear(pa.astype(x, pa.int32), p), TypeError, "int32"),
        (lambda p, x: pa.kernels.linear(x, p, x), ValueError, r"bias must be \(37,\)"),
        (
            lambda p, x: pa.kernels.linear(x, p, activations="int4"),
            ValueError,
            "'int4'; supported: 'int8'",
        ),
        (
            lambda p, x: pa.kernels.linear(x, x, activations="int8"),
            ValueError,
            "needs a packed weight",
        ),
        (
            lambda p, x: pa.kernels.linear(x[0, 0], p, activations="int8"),
            ValueError,
            "multiple of 32",
        ),
        (lambda p, x: pa.kernels.embedding(x, p), TypeError, "integer"),
        (lambda p, x: pa.kernels.fused_linear(x, p, gated=True), ValueError, "even number of rows"),
        (lambda p, x: pa.kernels.fused_linear(x, p, residual=x), ValueError, r"shape \(2, 37\)"),
        (lambda p, x: pa.kernels.fused_linear(x, p, norm=x), ValueError, r"\(512,\)"),
        (lambda p, x: pa.kernels.fused_linear(x, p, norm=x[0, :], eps=-1), ValueError, "eps"),
        (lambda p, x: pa.kernels.fused_linear(x[:, 1:], p), ValueError, r"\(37, 512\)"),
        (lambda p, x: pa.kernels.fused_linear(x, [1]), TypeError, "list"),
        (lambda p, x: pa.kernels.matmul(x, p), TypeError, "Packed"),
    ],
)
def test_mistakes_are_named(wrong: Any, kind: type[Exception], message: str) -> None:
    x = pa.ones((2, IN), dtype=pa.float32, device="numpy")
    with pytest.raises(kind, match=message):
        wrong(on("numpy", "Q4_1"), x)


def test_arrays_of_other_devices_are_refused(fake: str) -> None:
    x = pa.ones((2, IN), dtype=pa.float32, device="numpy")
    with pytest.raises(pa.errors.DeviceMismatchError):
        pa.kernels.linear(x, pa.to_device(on("numpy", "Q4_1"), f"{fake}:cuda:0"))


def test_products_with_empty_packed_matrices() -> None:
    packed = Packed(np.zeros((0, 20), np.uint8), "Q4_1", device="numpy")
    x = pa.ones((2, 32), dtype=pa.float32, device="numpy")
    assert pa.kernels.linear(x, packed).shape == (2, 0)
    empty = pa.ones((0, IN), dtype=pa.float32, device="numpy")
    assert pa.kernels.linear(empty, on("numpy", "Q4_1")).shape == (0, OUT)
