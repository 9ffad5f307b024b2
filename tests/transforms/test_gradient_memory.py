"""Gradients own their memory, and later writes do not change what derivatives keep."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import portarray as pa
import portarray.kernel_language as kl
from portarray._array import base, extents
from portarray._trees import array_trees

SHAPE = (2, 3)
SETTINGS = settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
LARGE = 10_000  # elements


def host(x: Any) -> Any:
    return np.asarray(pa.to_device(x, "numpy")).copy()


def floats(values: Any, device: Any) -> Any:
    return pa.asarray(values, dtype=pa.float32, device=device)


@pa.custom_vjp
def passed(x: Any) -> Any:
    return x * 1


passed.defvjp(lambda residuals, g: (g,))


@pa.custom_vjp
def scaled(x: Any, tree: Any) -> Any:
    return x * tree["c"]


scaled.defvjp(lambda x, tree: (x * tree["c"], tree), lambda tree, g: (g * tree["c"], None))


@pa.checkpoint
def layer(x: Any, *, tree: Any) -> Any:
    return pa.tanh(x) * tree["c"] + tree["c"]


def assigned(x: Any, c: Any) -> Any:
    y = pa.zeros_like(x)
    y[...] = c
    y[0, :] = x[1, :] * c[0, :]
    return y + x


def scratch(x: Any, c: Any) -> Any:
    """Write into an array that is a constant of the function."""
    memory = pa.zeros(SHAPE, dtype=x.dtype, device=x.device)
    total = x
    for n in range(3):
        memory[...] = c * n
        total = total + x * memory
    memory *= 0
    return total


STEPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "identity": lambda x, y, c: x,
    "sum": lambda x, y, c: x + y,
    "difference": lambda x, y, c: y - x,
    "product": lambda x, y, c: x * y,
    "plus constant": lambda x, y, c: c + x,
    "times constant": lambda x, y, c: x * c,
    "over constant": lambda x, y, c: x / (c + 2),
    "exp": lambda x, y, c: pa.exp(x),
    "tanh": lambda x, y, c: pa.tanh(x),
    "sqrt": lambda x, y, c: pa.sqrt(x * x + 1),
    "transpose": lambda x, y, c: x.T.T,
    "reshape": lambda x, y, c: pa.reshape(pa.reshape(x, (-1,)), SHAPE),
    "rows": lambda x, y, c: x[0, :] + y,
    "repeated row": lambda x, y, c: pa.broadcast_to(x[1, :], SHAPE),
    "columns": lambda x, y, c: pa.concat([x[:, :1], y[:, 1:]], axis=1),
    "stack": lambda x, y, c: pa.sum(pa.stack([x, y, c]), axis=0),
    "unstack": lambda x, y, c: pa.stack(pa.unstack(x)[::-1]) * c,
    "flip": lambda x, y, c: pa.flip(x),
    "squeeze": lambda x, y, c: pa.squeeze(x[:, None, :], axis=1),
    "broadcast arrays": lambda x, y, c: sum(pa.broadcast_arrays(x[:1, :], y)[:1], start=c),
    "mean": lambda x, y, c: y + pa.mean(x),
    "total": lambda x, y, c: y * pa.sum(x, axis=0),
    "where": lambda x, y, c: pa.where(c > 0.5, x, y),
    "clip": lambda x, y, c: pa.clip(x, -100.0, 100.0),
    "copy": lambda x, y, c: pa.asarray(x, copy=True),
    "same dtype": lambda x, y, c: pa.astype(x, x.dtype, copy=False),
    "matmul": lambda x, y, c: x @ c.T @ y,
    "moved": lambda x, y, c: pa.to_device(pa.to_device(x, "numpy"), x.device),
    "custom": lambda x, y, c: passed(x),
    "residuals": lambda x, y, c: scaled(x, {"c": c}),
    "checkpoint": lambda x, y, c: layer(x, tree={"c": c}),
    "cond": lambda x, y, c: pa.cond(pa.sum(c) > 0, lambda x: x, lambda x: -x, x),
    "while_loop": lambda x, y, c: pa.while_loop(
        lambda state: state[0] < 2, lambda state: (state[0] + 1, state[1] * c), (0, x)
    )[1],
    "scan": lambda x, y, c: pa.scan(lambda state, row: (state + row, state * row), c[0, :], x)[1],
    "assignment": lambda x, y, c: assigned(x, c),
    "scratch": lambda x, y, c: scratch(x, c),
}


class Program(NamedTuple):
    """Steps on two parameters and a constant; each replaces one of two values."""

    steps: Sequence[tuple[str, int]]

    def values(self, x: Any, y: Any, c: Any) -> list[Any]:
        values = [x, y]
        for name, n in self.steps:
            values[n] = STEPS[name](values[n], values[1 - n], c)
        return values

    def loss(self, x: Any, y: Any, c: Any) -> Any:
        first, second = self.values(x, y, c)
        return pa.sum(first) + pa.sum(second * c)


programs = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 1)), min_size=1, max_size=3
).map(Program)


def drawn_arrays(device: Any) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(5)
    x, y = (rng.uniform(0.2, 1.0, SHAPE) for _ in range(2))
    return floats(x, device), floats(y, device), floats(rng.uniform(0.3, 0.9, SHAPE), device)


def slopes(program: Program, cotangents: Sequence[Any] | None = None) -> list[Any]:
    """Return central differences in float64 by the parameters."""
    arguments = [host(x).astype("f8") for x in drawn_arrays("numpy")]

    def loss(values: list[Any]) -> float:
        arrays = [pa.asarray(value.copy(), device="numpy") for value in values]
        if cotangents is None:
            return float(program.loss(*arrays))
        outputs = program.values(*arrays)
        return sum(float((host(y) * g).sum()) for y, g in zip(outputs, cotangents, strict=True))

    gradients = []
    for n in range(2):
        gradient = np.zeros(SHAPE)
        for index in np.ndindex(SHAPE):
            sides = []
            for step in (1e-5, -1e-5):
                moved = [value.copy() for value in arguments]
                moved[n][index] += step
                sides.append(loss(moved))
            gradient[index] = (sides[0] - sides[1]) / 2e-5
        gradients.append(gradient)
    return gradients


def check_close(actual: Sequence[Any], expected: Sequence[Any]) -> None:
    for g, reference in zip(actual, expected, strict=True):
        bound = 2e-3 * (1 + np.abs(reference).max())
        np.testing.assert_allclose(host(g), reference, atol=bound, rtol=0)


def share_memory(x: Any, y: Any) -> bool:
    """Return whether the bytes of two arrays overlap, by their addresses."""
    first, second = extents.extent_of(x), extents.extent_of(y)
    assert first is not None
    assert second is not None
    overlap = first.start < second.end and second.start < first.end
    return x is y or (first.memory == second.memory and overlap)


def check_separate(gradients: Sequence[Any], others: Sequence[Any]) -> None:
    """Check that gradients share memory with nothing, and that each can be written alone."""
    for x, y in itertools.combinations(gradients, 2):
        assert not share_memory(x, y)
    for x, y in itertools.product(gradients, others):
        assert not share_memory(x, y)
    everything = [*gradients, *others]
    values = [host(x) for x in everything]
    for n, g in enumerate(gradients):
        g *= 0.5
        g[0, 0] = 7
        values[n] = values[n] * np.float32(0.5)
        values[n][0, 0] = 7
        for x, expected in zip(everything, values, strict=True):
            np.testing.assert_array_equal(host(x), expected)


def test_gradients_of_a_sum_and_a_mean_are_clipped_in_place(device: str) -> None:
    x, y, _ = drawn_arrays(device)
    gradients = pa.grad(lambda x, y: pa.sum(x) + pa.mean(y) * 6, (0, 1))(x, y)
    for g in gradients:
        memory = extents.extent_of(g)
        assert memory is not None
        has_address = not isinstance(memory.memory, tuple)  # an immutable array is its own memory
        assert not has_address or memory.end - memory.start == x.size * x.dtype.itemsize
        g *= 0.25
    np.testing.assert_allclose([host(g) for g in gradients], 0.25, rtol=1e-6)


@SETTINGS
@given(program=programs)
def test_gradients_share_memory_with_nothing(program: Program, device: str) -> None:
    x, y, c = drawn_arrays(device)
    function = pa.value_and_grad(
        lambda x, y: (program.loss(x, y, c), program.values(x, y, c)), (0, 1), has_aux=True
    )
    (_, aux), gradients = function(x, y)
    check_close(gradients, slopes(program))
    check_separate(gradients, [x, y, c, *aux])
    ones = [pa.ones_like(x), pa.ones_like(y)]
    outputs, vjp_fun = pa.vjp(lambda x, y: program.values(x, y, c), x, y)
    twice = [*vjp_fun(ones), *vjp_fun(ones)]
    check_close(twice, slopes(program, [1.0, 1.0]) * 2)
    check_separate(twice, [x, y, c, *ones, *outputs])
    _, tangents = pa.jvp(lambda x, y: program.values(x, y, c), (x, y), tuple(ones))
    check_separate(tangents, [x, y, c, *ones])
    products = pa.hvp(lambda x, y: program.loss(x, y, c), (x, y), tuple(ones))
    check_separate(products, [x, y, c, *ones])


WRITES: dict[str, Callable[[Any], Any]] = {
    "in-place operator": lambda x: x.__imul__(3),
    "assignment": lambda x: x.__setitem__(..., 9),
    "view": lambda x: x[1:, :].__iadd__(5),
    "view of a view": lambda x: x.T[0, ...].__setitem__(slice(1), 4),
    "NumPy's function": lambda x: np.copyto(x, pa.zeros_like(x)),
    "gemm": lambda x: pa.kernels.gemm(
        pa.ones((2, 1), dtype=x.dtype, device=x.device), x[:1, :] * 1, out=x
    ),
    "kernel": lambda x: filled(x),
}


@pa.kernel
def filled(x: Any) -> None:
    i, j = kl.index()
    x[i, j] = 8.0


@SETTINGS
@given(
    program=programs,
    writes=st.lists(st.tuples(st.sampled_from(sorted(WRITES)), st.integers(0, 4)), min_size=1),
)
def test_writes_before_the_backward_pass_change_no_derivative(
    program: Program, writes: list[tuple[str, int]], device: str
) -> None:
    x, y, c = drawn_arrays(device)
    outputs, vjp_fun = pa.vjp(lambda x, y: program.values(x, y, c), x, y)
    arrays = [x, y, c, *outputs]
    ones = [pa.ones_like(x), pa.ones_like(y)]
    for name, n in writes:
        WRITES[name](arrays[n])
    check_close(vjp_fun(ones), slopes(program, [1.0, 1.0]))


def test_large_constants_may_be_written_while_a_function_runs(device: str) -> None:
    c, x = floats(np.ones(LARGE), device), floats(np.ones(LARGE), device)

    def loss(x: Any) -> Any:
        total = pa.sum(x * 0)
        for _ in range(3):
            c[...] = c + 1
            total = total + pa.sum(pa.exp(x * 0) * x * c)
        c[:5] = 0
        return total

    for take in (pa.grad(loss), lambda x: pa.vjp(loss, x)[1](floats(1.0, device))[0]):
        c[...] = 1
        np.testing.assert_array_equal(host(take(x)), np.full(LARGE, 9.0))
        assert host(c)[[0, -1]].tolist() == [0.0, 4.0]


def test_arguments_that_are_written_while_a_function_runs(device: str) -> None:
    """The derivative is that of the values used, or an error."""
    x = floats([1.0, 2.0], device)

    def loss(y: Any) -> Any:
        first = y * y
        x[...] = 5
        return pa.sum(first)

    assert host(pa.grad(loss)(x)).tolist() == [2.0, 4.0]
    x[...] = floats([1.0, 2.0], device)

    def again(y: Any) -> Any:
        return loss(y) + pa.sum(y * 0)

    if device.startswith("jax"):  # whose arrays never change
        assert host(pa.grad(again)(x)).tolist() == [2.0, 4.0]
    else:
        with pytest.raises(pa.TracedArrayError, match="was modified during differentiation"):
            pa.grad(again)(x)


def test_arrays_that_a_rule_lends_are_copied(device: str) -> None:
    constant = floats(np.ones(SHAPE), device)

    @pa.custom_vjp
    def total(x: Any, y: Any) -> Any:
        return pa.sum(x * constant) + pa.sum(y * constant)

    total.defvjp(lambda residuals, g: (constant, constant))
    x, y, _ = drawn_arrays(device)
    check_separate(pa.grad(total, (0, 1))(x, y), [x, y, constant])


def test_cotangents_are_not_changed(device: str) -> None:
    x, _, g = drawn_arrays(device)
    _, vjp_fun = pa.vjp(lambda x: (x, x.T, pa.asarray(x)), x)
    cotangents = (g, g.T, g)
    expected = 3 * host(g)
    for _ in range(2):
        (gradient,) = vjp_fun(cotangents)
        np.testing.assert_allclose(host(gradient), expected, rtol=1e-6)
        gradient *= 0


def test_nothing_is_guarded_once_the_function_is_gone(device: str) -> None:
    x, y, _ = drawn_arrays(device)
    guards = len(base.GUARDS)
    pa.grad(lambda x: pa.sum(x * y))(x)
    assert len(base.GUARDS) == guards
    output, vjp_fun = pa.vjp(lambda x: x * y, x)
    assert len(base.GUARDS) == guards + 1
    del output, vjp_fun
    assert len(base.GUARDS) == guards
    with pytest.raises(ZeroDivisionError):
        pa.grad(lambda x: 1 / 0)(x)
    assert len(base.GUARDS) == guards


def test_writes_by_pytorch_itself_are_refused() -> None:
    x = floats([1.0, 2.0], "torch")
    y, vjp_fun = pa.vjp(pa.exp, x)
    y.native.mul_(2)
    with pytest.raises(pa.TracedArrayError, match="changed through the library itself"):
        vjp_fun(pa.ones_like(x))


def test_checkpoints_take_keyword_arguments(device: str) -> None:
    x, y, c = drawn_arrays(device)

    def function(x: Any, *, weights: Any, power: int) -> Any:
        return pa.sum(pa.tanh(x * weights["y"]) ** power)

    def of(function: Any) -> Any:
        return pa.grad(lambda x, y: function(x, weights={"y": y, "c": c}, power=2), (0, 1))

    for actual, expected in zip(of(pa.checkpoint(function))(x, y), of(function)(x, y), strict=True):
        np.testing.assert_allclose(host(actual), host(expected), rtol=1e-5)
    assert array_trees.leaves(of(pa.checkpoint(function))(x, y))
