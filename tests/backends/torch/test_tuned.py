"""PyTorch's versions of the core kernels, called as functions on tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from portarray._verification import reference  # noqa: E402
from portarray.backends.torch import attention, tuned  # noqa: E402

FLOATS = ("float32", "float64", "float16", "bfloat16")
# Of what is computed in float32 and rounded once.
TOLERANCE = {"float64": 1e-13, "float32": 1e-5, "float16": 1e-3, "bfloat16": 8e-3}

NO_OPTIONS = {"scale": None, "causal": False, "mask": None, "key_length": None}


def normal(rng: np.random.Generator, *shape: int, dtype: str = "float64") -> Any:
    return torch.from_numpy(rng.standard_normal(shape)).to(getattr(torch, dtype))


def exact(x: Any) -> Any:
    if not isinstance(x, torch.Tensor):
        return x
    return x.double().numpy() if x.is_floating_point() else x.numpy()


def close(got: Any, want: np.ndarray[Any, Any], dtype: str) -> None:
    assert got.dtype is getattr(torch, dtype)
    np.testing.assert_allclose(
        exact(got), want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], equal_nan=True
    )


def attend(q: Any, k: Any, v: Any, **options: Any) -> None:
    """Compare attention with the reference, and check that it modifies no operand."""
    options = {**NO_OPTIONS, **options}
    copies = [x.clone() for x in (q, k, v)]
    got = attention.attention(q, k, v, **options)
    for x, old in zip((q, k, v), copies, strict=True):
        assert torch.equal(x, old)
    exact_options = {name: exact(value) for name, value in options.items()}
    if exact_options["key_length"] is not None:
        exact_options["key_length"] = int(exact_options["key_length"])
    want = reference.attention(*(exact(x) for x in (q, k, v)), **exact_options)
    assert got.shape == want.shape
    close(got, want, str(q.dtype).removeprefix("torch."))


@pytest.mark.parametrize("dtype", FLOATS)
def test_attention_of_every_form(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "QUERIES", 3)  # several blocks, and one that is not full
    rng = np.random.default_rng(1)
    for lead, heads, groups, length, keys, size, out in [
        ((), 6, 2, 1, 9, 8, 8),
        ((), 6, 2, 7, 7, 8, 8),
        ((2,), 4, 4, 7, 11, 8, 5),  # a prompt that goes on
        ((2, 1), 4, 1, 8, 5, 8, 12),  # queries before all keys
        (None, 1, 1, 4, 6, 8, 8),
        ((1,), 2, 1, 4, 0, 8, 8),
        ((1,), 2, 1, 0, 4, 8, 8),
    ]:
        front = () if lead is None else (*lead, heads)
        back = () if lead is None else (*lead, groups)
        q = normal(rng, *front, length, size, dtype=dtype)
        k = normal(rng, *back, keys, size, dtype=dtype)
        v = normal(rng, *back, keys, out, dtype=dtype)
        visible = torch.from_numpy(rng.random((length, keys)) < 0.7)
        visible[:1] = False
        added = normal(rng, *front, length, keys, dtype=dtype)
        added[..., -1:, :] = -math.inf
        for mask in (None, visible, visible[:, :1], visible[-1:], added, added[..., :1, :]):
            for causal in (False, True):
                attend(q, k, v, causal=causal, mask=mask)
                attend(q, k, v, causal=causal, mask=mask, scale=0.3, key_length=keys // 2)
        attend(q, k, v, causal=True, key_length=torch.tensor(max(keys - 1, 0)))


def test_attention_of_views_and_masks_with_a_batch() -> None:
    rng = np.random.default_rng(2)
    q, k, v = (normal(rng, 2, 7, 4, 8).transpose(1, 2) for _ in range(3))
    attend(q, k[:, :2], v[:, :2], causal=True)
    padding = torch.ones(2, 1, 1, 7, dtype=torch.bool)
    padding[1, ..., 4:] = False
    attend(q, k[:, :2], v[:, :2], mask=padding)
    attend(q, k[:, :2], v[:, :2], mask=padding, causal=True)


def test_masks_are_made_block_by_block() -> None:
    # A prompt that goes on after 4096 keys would have a mask of 32 MiB.
    q, k = torch.ones(1, 4096, 2), torch.ones(1, 8192, 2)
    sizes: list[int] = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = function(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor):
                sizes.append(result.nbytes)
            return result

    with Watch():
        attention.attention(q, k, k, **{**NO_OPTIONS, "causal": True})
    assert max(sizes) <= attention.QUERIES * 8192


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_products_round_once(dtype: str) -> None:
    rng = np.random.default_rng(3)
    for rows in (1, 2, 3, 40):
        x = normal(rng, rows, 700, dtype=dtype)
        weight, bias = normal(rng, 30, 700, dtype=dtype), 64 * normal(rng, 30, dtype=dtype)
        for added in (None, bias):
            want = reference.linear(exact(x), exact(weight), exact(added))
            got = exact(tuned.narrow_linear(x, weight, added))
            # Half a unit in the last place, and what float32 errs by.
            unit = torch.finfo(getattr(torch, dtype)).eps
            assert np.all(np.abs(got - want) <= 0.5 * unit * np.abs(want) + 1e-4)
    many = torch.ones(3, 5000, dtype=getattr(torch, dtype))
    assert (
        tuned.narrow_linear(many, many, None).tolist()
        == [[4992.0 if dtype == "bfloat16" else 5000.0] * 3] * 3
    )
    assert tuned.matmul(many, many.T)[0, 0] == tuned.narrow_linear(many, many, None)[0, 0]


def test_wide_weights_are_converted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    x, weight = (normal(rng, n, 50, dtype="float16") for n in (5, 33))
    bias = normal(rng, 33, dtype="float16")
    want = tuned.narrow_linear(x, weight, bias)
    monkeypatch.setattr(tuned, "WEIGHTS", 500)
    assert torch.equal(tuned.narrow_linear(x, weight, bias), want)


def test_one_row_by_a_large_matrix() -> None:
    rng = np.random.default_rng(10)
    weight, bias = normal(rng, 400, 500), normal(rng, 400)
    assert weight.numel() >= tuned.READ
    for shape in ((500,), (1, 500), (1, 1, 500), (2, 500)):
        x = normal(rng, *shape)
        for added in (None, bias):
            want = reference.linear(exact(x), exact(weight), exact(added))
            got = tuned.linear(x, weight, added)
            assert got.shape == want.shape
            close(got, want, "float64")
    # What has no memory of its own, and what gradients are wanted of.
    x = normal(rng, 1, 500)
    want = tuned.linear(x, weight, None)
    imaginary = torch.complex(x, -x).conj().imag
    assert imaginary.is_neg()
    torch.testing.assert_close(tuned.linear(imaginary, weight, None), want)
    rows = torch.func.vmap(lambda row: tuned.linear(row, weight, None))(x)
    torch.testing.assert_close(rows, want)
    x.requires_grad_()
    tuned.linear(x, weight, bias).sum().backward()
    torch.testing.assert_close(x.grad, weight.sum(0, keepdim=True))


@pytest.mark.parametrize("dtype", FLOATS)
def test_norms(dtype: str) -> None:
    rng = np.random.default_rng(5)
    for shape in ((7,), (1, 64), (2, 3, 129), (3, 0), (0, 5)):
        x, weight, bias = (normal(rng, *s, dtype=dtype) for s in (shape, shape[-1:], shape[-1:]))
        for w in (None, weight):
            want = reference.rms_norm(exact(x), exact(w), eps=1e-6)
            close(tuned.rms_norm(x, w, eps=1e-6), want, dtype)
            for b in (None, bias):
                want = reference.layer_norm(exact(x), exact(w), exact(b), eps=1e-5)
                close(tuned.layer_norm(x, w, b, eps=1e-5), want, dtype)
    zeros = torch.zeros(2, 8, dtype=getattr(torch, dtype))
    close(tuned.rms_norm(zeros, None, eps=1e-6), np.zeros((2, 8)), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_activations(dtype: str) -> None:
    rng = np.random.default_rng(6)
    for shape in ((), (9,), (3, 5), (70, 130)):  # the last is large for gelu
        x = 4 * normal(rng, *shape, dtype=dtype)
        wide = exact(x)
        for approximate in ("none", "tanh"):
            want = reference.gelu(wide, approximate=approximate)
            close(tuned.gelu(x, approximate=approximate), want, dtype)
        close(tuned.TUNED["silu"][0].function(x), reference.silu(wide), dtype)
        close(tuned.TUNED["relu"][0].function(x), reference.relu(wide), dtype)
    x = normal(rng, 4, 6, dtype=dtype)
    x[1] = -math.inf
    x[2, 3] = -math.inf
    for axis in (-1, 0):
        close(tuned.softmax(x, axis=axis), reference.softmax(exact(x), axis=axis), dtype)
        close(tuned.log_softmax(x, axis=axis), reference.log_softmax(exact(x), axis=axis), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_rope(dtype: str) -> None:
    rng = np.random.default_rng(7)
    x = normal(rng, 2, 3, 5, 8, dtype=dtype)
    positions = torch.arange(40, 45)
    for interleaved in (False, True):
        options: dict[str, Any] = {"theta": 1e4, "interleaved": interleaved}
        for case_positions in (None, positions, torch.arange(10).reshape(2, 1, 5)):
            want = reference.rope(exact(x), exact(case_positions), **options)
            close(tuned.rope(x, case_positions, tables=None, **options), want, dtype)
        for half in (4, 2, 1):
            angles = normal(rng, 5, half)
            tables = tuple(part.to(x.dtype) for part in (angles.cos(), angles.sin()))
            want = reference.rope(exact(x), tables=tuple(map(exact, tables)), **options)
            close(tuned.rope(x, None, tables=tables, **options), want, dtype)


def test_losses() -> None:
    rng = np.random.default_rng(8)
    for dtype in FLOATS:
        logits = normal(rng, 2, 5, 11, dtype=dtype)
        for integers in (torch.int32, torch.int64, torch.int16):
            targets = torch.from_numpy(rng.integers(0, 11, (2, 5))).to(integers)
            targets[0, 1] = -7
            for reduction in ("mean", "sum", "none"):
                options: dict[str, Any] = {"reduction": reduction, "ignore_index": -7}
                options["label_smoothing"] = float(rng.choice([0.0, 0.2]))
                want = reference.cross_entropy(exact(logits), exact(targets), **options)
                close(tuned.cross_entropy(logits, targets, **options), want, dtype)
    loss = tuned.cross_entropy(
        logits[0, 0], targets[0, 0], reduction="none", ignore_index=-100, label_smoothing=0.0
    )
    assert loss.shape == ()


def test_embedding_takes_indices_of_every_integer_dtype() -> None:
    weight = torch.arange(12.0).reshape(6, 2)
    for integers in ("uint8", "int8", "int16", "int32", "int64"):
        indices = torch.tensor([[5, 0], [2, 2]], dtype=getattr(torch, integers))
        assert torch.equal(tuned.embedding(indices, weight), weight[indices.long()])


def test_gradients_are_those_of_the_formulas() -> None:
    rng = np.random.default_rng(9)
    x = normal(rng, 2, 4, 6).requires_grad_()
    weight = normal(rng, 6).requires_grad_()
    angles = normal(rng, 4, 3)
    tables = (angles.cos(), angles.sin())
    check = torch.autograd.gradcheck
    assert check(lambda x, w: tuned.rms_norm(x, w, eps=1e-6), (x, weight))
    assert check(lambda x: tuned.rope(x, None, tables=tables, theta=1e4, interleaved=False), x)
    assert check(
        lambda q, k: attention.attention(q, k, k, **{**NO_OPTIONS, "causal": True}), (x, x[:, :2])
    )
    large = normal(rng, 9000).requires_grad_()
    tuned.gelu(large, approximate="tanh").sum().backward()
    gradient, large.grad = large.grad, None
    torch.nn.functional.gelu(large, approximate="tanh").sum().backward()
    torch.testing.assert_close(gradient, large.grad)
