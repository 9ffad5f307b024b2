"""Derivatives of user kernels, against numbers, the standard's functions, and differences.

``PORTARRAY_TEST_FULL=1`` draws 2,000 kernels.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn_gradients import SIZE, text
from kernel_helpers import cubed, launches_in_place, loaded, require_launcher, saxpy

import portarray as pa
import portarray.kernel_language as kl
from portarray._array import dispatch
from portarray._kernel_language.derivatives import partial_derivatives
from portarray._kernel_language.derivatives.lines import simplified
from portarray._kernel_language.derivatives.partial_derivatives import FUNCTIONS

COUNT = 2000 if "PORTARRAY_TEST_FULL" in os.environ else 12


@pa.kernel
def product(c: Any, a: Any, b: Any) -> None:
    i, j = kl.index()
    total = 0.0
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    c[i, j] = total


@pa.kernel
def iterated(y: Any, x: Any, times: Any) -> None:
    i = kl.index()
    if i >= y.shape[0]:
        return
    v = x[i]
    for k in range(times):
        v = v * v * 0.5 + x[i] / (k + 1)
        if v > 4.0:
            break
    y[i] = v


@pa.kernel.function
def logarithm_of_gamma(value: Any) -> Any:
    return math.lgamma(value)


@pytest.fixture
def kernel_device(device: str) -> str:
    """Return a device that runs kernels."""
    require_launcher(device)
    return device


def cube(x: pa.Array) -> pa.Array:
    result: pa.Array = pa.sum(cubed(pa.empty_like(x), x))
    return result


def test_the_gradient_of_a_cube_is_three_squares(kernel_device: str) -> None:
    x = pa.asarray([1.0, 2.0, -3.0], dtype=pa.float32, device=kernel_device)
    assert pa.grad(cube)(x).tolist() == [3.0, 12.0, 27.0]
    value, gradient = pa.value_and_grad(cube)(x)
    assert float(value) == -18.0
    assert gradient.dtype == pa.float32
    assert pa.jvp(cube, (x,), (x,))[1] == -54.0
    assert pa.hvp(cube, (x,), (x,))[0].tolist() == [6.0, 24.0, 54.0]
    assert pa.grad(pa.checkpoint(cube))(x).tolist() == [3.0, 12.0, 27.0]
    assert x.tolist() == [1.0, 2.0, -3.0]


def test_the_derivative_of_a_sum_is_invariant_in_its_loop() -> None:
    @pa.kernel
    def summed(y: Any, x: Any) -> None:
        i = kl.index()
        total = 0.0
        for k in range(x.shape[1]):
            total += math.exp(x[i, k])
        y[i] = total

    text = summed.adjoint_source(pa.zeros(3), pa.zeros((3, 4)))
    _, loop = text.split("    for k in ")  # the only one
    assert [line.strip() for line in loop.splitlines()[1:3]] == [
        "t = math.exp(x[i, k])", "d_x[i, k] = d_x[i, k] + d_total * t",
    ], text  # fmt: skip


def test_a_copy_of_a_variable_keeps_its_value_when_a_loop_changes_it() -> None:
    loop = ["for k in range(3):", "    d_x[k] = d_x[k] + d_t", "    d_a = d_a * 2.0"]
    names = ("d_t", "d_a")
    assert simplified(["d_t = d_a", *loop], names) == ["d_t = d_a", *loop]
    assert simplified(["d_t = d_a", *loop[:2]], names) == [loop[0], "    d_x[k] = d_x[k] + d_a"]


def test_a_variable_that_is_assigned_itself_keeps_its_cotangent() -> None:
    """Adjoints assign cotangents themselves as well, and have adjoints."""

    @pa.kernel
    def chained(y: Any, x: Any) -> None:
        i = kl.index()
        v = x[i] * 2.0
        v = v
        if i > 0:
            v = x[i] + v + x[0]
        y[i] = v

    def called(x: pa.Array) -> pa.Array:
        y: pa.Array = chained(pa.empty_like(x), x)
        return y

    x = pa.asarray([1.0, 2.0, -3.0], device="numpy")
    w = pa.asarray([1.0, 10.0, 100.0], device="numpy")
    y, along = pa.jvp(called, (x,), (x,))
    assert y.tolist() == along.tolist() == [2.0, 7.0, -8.0]
    assert pa.vjp(called, x)[1](w)[0].tolist() == [112.0, 30.0, 300.0]
    copied = ["d_t = d_a", "d_x[0] = d_t", "d_a = d_t"]
    assert simplified(copied, ("d_t", "d_a")) == ["d_x[0] = d_a"]


def test_the_jacobian_of_a_cube_is_diagonal(kernel_device: str) -> None:
    x = pa.asarray([1.0, 2.0, -3.0], dtype=pa.float32, device=kernel_device)
    jacobian = pa.jacobian(lambda x: cubed(pa.empty_like(x), x))(x)
    assert jacobian.tolist() == [[3.0, 0.0, 0.0], [0.0, 12.0, 0.0], [0.0, 0.0, 27.0]]


def test_arrays_that_a_kernel_changes_take_part(kernel_device: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=kernel_device)

    def changed(x: pa.Array) -> pa.Array:
        y = saxpy(x * x, 2.0, x)
        y = saxpy(y, 3.0, x)
        result: pa.Array = pa.sum(y * y)
        return result

    def written(x: pa.Array) -> pa.Array:
        y = x * 1.0
        result = cubed(y, x)
        if launches_in_place(kernel_device):
            result = y  # an array that is passed holds the results
        total: pa.Array = pa.sum(result)
        return total

    expected = pa.grad(lambda x: pa.sum((x * x + 5.0 * x) ** 2))(x).tolist()
    assert pa.grad(changed)(x).tolist() == expected
    assert pa.grad(written)(x).tolist() == [3.0, 12.0]


def test_a_value_that_is_overwritten_has_no_cotangent(kernel_device: str) -> None:
    @pa.kernel
    def twice(y: Any, x: Any) -> None:
        i = kl.index()
        y[i] = x[i] * 7.0
        y[i] = x[i] * 2.0

    x = pa.ones(3, dtype=pa.float32, device=kernel_device)
    gradient = pa.grad(lambda x: pa.sum(twice(pa.empty_like(x), x)))(x)
    assert gradient.tolist() == [2.0, 2.0, 2.0]


def test_a_product_of_matrices_has_the_derivatives_of_matmul(kernel_device: str) -> None:
    a = pa.asarray(np.arange(6.0).reshape(2, 3), dtype=pa.float32, device=kernel_device)
    b = pa.asarray(np.arange(12.0).reshape(3, 4) / 4, dtype=pa.float32, device=kernel_device)

    def by_kernel(a: pa.Array, b: pa.Array) -> pa.Array:
        c = product(pa.empty((2, 4), dtype=pa.float32, device=kernel_device), a, b)
        result: pa.Array = pa.sum(c * c)
        return result

    def by_matmul(a: pa.Array, b: pa.Array) -> pa.Array:
        c = a @ b
        result: pa.Array = pa.sum(c * c)
        return result

    for derivative in (
        lambda f: pa.grad(f, (0, 1))(a, b),
        lambda f: pa.hvp(f, (a, b), (a, b)),
    ):
        for x, y in zip(derivative(by_kernel), derivative(by_matmul), strict=True):
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-5)


@pytest.mark.parametrize("times", [0, 1, 31, 100, 1100])
def test_loops_run_backwards_from_saved_states(kernel_device: str, times: int) -> None:
    """The differences are those of NumPy in float64."""
    values = np.asarray([0.2, -0.4, 0.9, 2.5])

    def computed(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        out = x.copy()
        for i in range(x.size):
            for k in range(times):
                out[i] = out[i] * out[i] * 0.5 + x[i] / (k + 1)
                if out[i] > 4.0:
                    break
        return out

    expected = (computed(values + 1e-6) - computed(values - 1e-6)) / 2e-6
    x = pa.asarray(values, dtype=pa.float32, device=kernel_device)
    gradient = pa.grad(lambda x: pa.sum(iterated(pa.empty_like(x), x, times)))(x)
    np.testing.assert_allclose(np.asarray(gradient), expected, rtol=2e-4)


def test_the_counter_of_an_inner_loop_is_saved_for_the_next_iteration() -> None:
    @pa.kernel
    def product(y: Any, x: Any) -> None:
        i = kl.index()
        j = 5
        v = x[i]
        for k in range(3):
            v = v * (j + 1)
            for j in range(k + 2):
                v = v * x[i] * (j + 1)
        y[i] = v

    x = pa.asarray([1.0, -2.0], device="numpy")
    y, pullback = pa.vjp(lambda x: product(pa.empty_like(x), x), x)
    factor = (6 * 2) * (2 * 6) * (3 * 24)  # of the tenth power
    assert y.tolist() == [factor, factor * 2.0**10]
    assert pullback(pa.ones_like(y))[0].tolist() == [10 * factor, -10 * factor * 2.0**9]


def test_the_jvp_of_steep_functions(kernel_device: str) -> None:
    """It differentiates the adjoint where the cotangent is 0."""

    @pa.kernel
    def steep(y: Any, x: Any) -> None:
        i = kl.index()
        y[i, 0] = 1.0 / x[i]
        y[i, 1] = math.sqrt(x[i])
        y[i, 2] = x[i] ** 2.5

    def called(x: pa.Array) -> pa.Array:
        y: pa.Array = steep(pa.zeros((2, 3), dtype=x.dtype, device=kernel_device), x, ndrange=2)
        return y

    x = pa.asarray([0.25, 4.0], dtype=pa.float32, device=kernel_device)
    expected = np.asarray([[-16, 1, 0.3125], [-0.0625, 0.25, 20]])
    _, along = pa.jvp(called, (x,), (pa.ones_like(x),))
    np.testing.assert_allclose(along.tolist(), expected, rtol=1e-5)
    w = pa.asarray([[0.0, 2.0, 0.0], [0.0, 1.0, 3.0]], dtype=pa.float32, device=kernel_device)
    gradient = pa.grad(lambda x, w: pa.sum(w * called(x)))
    mixed = pa.grad(lambda w: pa.sum(gradient(x, w)))(w)
    np.testing.assert_allclose(mixed.tolist(), expected, rtol=1e-5)


def test_adjoints_of_recurrences_can_be_vectorized() -> None:
    @pa.kernel
    def logistic(y: Any, x: Any, times: Any) -> None:
        i = kl.index()
        v = x[i]
        for _ in range(times):
            v = 3.0 * v * (1.0 - v)
        y[i] = v

    @pa.kernel
    def fibonacci(y: Any, x: Any, times: Any) -> None:
        i = kl.index()
        a, b = x[i], 1.0
        for _ in range(times):
            a, b = b, a + b
        y[i] = a

    x = pa.asarray([0.25, 0.75])
    y = pa.zeros_like(x)
    assert "vec_len_hint(1)" in fibonacci.source("opencl", y, x, 9)
    pa.grad(lambda x: pa.sum(logistic(pa.zeros_like(x), x, 9)))(x)
    (entry,) = logistic._adjoints._entries.values()
    assert "vec_len_hint(1)" not in entry.kernel.source("opencl", y, y, x, 9, ndrange=2)


def test_a_loop_that_never_runs_has_no_part_in_the_derivative() -> None:
    @pa.kernel(static=("times",))
    def powered(y: Any, x: Any, times: Any) -> None:
        i = kl.index()
        v = x[i]
        for k in range(times):
            v = v * v * (k + 1)
        y[i] = v

    x = pa.asarray([3.0, -2.0], device="numpy")
    for times, expected in ((0, [1.0, 1.0]), (1, [6.0, -4.0])):
        gradient = pa.grad(lambda x, n=times: pa.sum(powered(pa.empty_like(x), x, n)))(x)
        assert gradient.tolist() == expected


def test_loops_have_second_derivatives() -> None:
    x = pa.asarray([0.2, -0.4, 0.9, 2.5], dtype=pa.float64, device="numpy")

    def summed(x: pa.Array) -> pa.Array:
        result: pa.Array = pa.sum(iterated(x * x, x, 7))
        return result

    gradient = pa.grad(summed)
    difference = (gradient(x + 1e-6) - gradient(x - 1e-6)) / 2e-6
    (product,) = pa.hvp(summed, (x,), (pa.ones_like(x),))
    np.testing.assert_allclose(np.asarray(product), np.asarray(difference), rtol=1e-7)


def test_cotangents_of_16_bits_are_added_in_float32() -> None:
    @pa.kernel
    def broadcast(y: Any, x: Any) -> None:
        i = kl.index()
        y[i] = x[0] * kl.float16(0.25)

    x = pa.ones(1, dtype=pa.float16, device="numpy")
    y, pullback = pa.vjp(lambda x: broadcast(pa.empty(10_000, dtype=x.dtype, device="numpy"), x), x)
    assert pullback(pa.ones_like(y))[0].tolist() == [2500.0]  # float16 stops at 512


def test_the_adjoint_is_shown_and_adds_atomically_only_where_it_must() -> None:
    x = pa.ones(3, device="numpy")
    source = cubed.adjoint_source(x, x)
    assert "def cubed_adjoint(d_y, d_x, x):" in source
    assert "atomic" not in source
    m = pa.ones((3, 3), device="numpy")
    assert product.adjoint_source(m, m, m).count("kl.atomic_add") == 2


def test_functions_without_a_derivative_are_refused_at_their_line() -> None:
    @pa.kernel
    def waits(y: Any, x: Any) -> None:
        i = kl.index()
        kl.barrier()
        y[i] = x[i]

    @pa.kernel
    def shares(y: Any, x: Any) -> None:
        memory = kl.local(4, kl.float64)
        memory[kl.local_index()] = x[kl.index()]
        y[kl.index()] = memory[0]

    @pa.kernel
    def largest(y: Any, x: Any) -> None:
        kl.atomic_max(y, 0, x[kl.index()])

    @pa.kernel
    def old(y: Any, x: Any) -> None:
        y[kl.index()] = kl.atomic_add(y, 0, x[kl.index()])

    @pa.kernel
    def gamma(y: Any, x: Any) -> None:
        y[kl.index()] = logarithm_of_gamma(x[kl.index()])

    @pa.kernel
    def repeated(y: Any, x: Any) -> None:
        i = kl.index()
        for _k in range(3):
            y[i] = y[i] * y[i] + x[i]

    @pa.kernel
    def bits(y: Any, x: Any) -> None:
        i = kl.index()
        y[i] = kl.bitcast(kl.bitcast(x[i], kl.int64), kl.float64)

    @pa.kernel
    def turned(y: Any, x: Any) -> None:
        i = kl.index()
        y[i] = abs(complex(x[i], 1.0) ** 2)

    cases: dict[Any, str] = {
        turned: r"complex numbers in line \d+ .*: y\[i\] = abs",
        waits: r"kl\.barrier\(\) in line \d+ of .*test_gradients.py: kl\.barrier\(\)\n.*custom_vjp",
        shares: r"kl\.local memory in line \d+ .*: memory = kl\.local",
        largest: r"kl\.atomic_max in line \d+ .*: kl\.atomic_max\(y",
        old: r"the value of kl\.atomic_add in line",
        gamma: r"lgamma has no derivative in kernels in line \d+ .*: return math",
        repeated: r"needs values of y that the loop overwrites.* in line \d+",
        bits: r"kl\.bitcast in line",
    }
    x = pa.asarray([1.0, 2.0, 3.0, 4.0], device="numpy")
    for kernel, message in cases.items():

        def called(x: pa.Array, kernel: Any = kernel) -> pa.Array:
            result: pa.Array = pa.sum(kernel(x * 2.0, x, ndrange=4))
            return result

        with pytest.raises(pa.NoGradientError, match=message):
            pa.grad(called)(x)

    @pa.kernel
    def turned(y: Any, x: Any, z: Any) -> None:
        i = kl.index()
        y[i] = x[i] * abs(z[i])

    z = pa.ones(4, dtype=pa.complex128, device="numpy")
    with pytest.raises(pa.NoGradientError, match=r"complex numbers in line \d+ .*: y\[i\]"):
        pa.grad(lambda x: pa.sum(turned(x * 2.0, x, z)))(x)

    def same(x: pa.Array) -> pa.Array:
        result: pa.Array = pa.sum(cubed(x, x))
        return result

    with pytest.raises(pa.NoGradientError, match=r"y and x share memory\n.*copy"):
        pa.grad(same)(x)


def test_the_greatest_value_is_found_with_continue_and_return_none(kernel_device: str) -> None:
    """Of public reports: the gradient is that of the element each work-item chose."""

    @pa.kernel
    def greatest(y: Any, c: Any, x: Any) -> None:
        i = kl.index()
        best = -1e20
        for p in range(c.shape[0]):
            for q in range(c.shape[1]):
                if c[p, q] == 0.0:
                    continue
                v = x[i] * c[p, q]
                if v <= best:
                    continue
                best = v
        y[i] = best
        if best > 0.0:
            return None  # noqa: RET501  (which a kernel may do)
        y[i] += x[i]

    c = pa.asarray([[0.0, -2.0], [3.0, 0.0]], dtype=pa.float32, device=kernel_device)
    x = pa.asarray([1.0, -2.0], dtype=pa.float32, device=kernel_device)
    gradient = pa.grad(lambda x: pa.sum(greatest(pa.empty_like(x), c, x)))(x)
    assert gradient.tolist() == [3.0, -2.0]


def test_no_elements_have_no_derivative(kernel_device: str) -> None:
    x = pa.zeros((0,), dtype=pa.float32, device=kernel_device)
    assert pa.grad(cube)(x).shape == (0,)
    assert pa.grad(lambda x, y: pa.sum(saxpy(y * 1.0, 2.0, x)), (0, 1))(x, x)[1].shape == (0,)


def in_local_memory(y: Any, x: Any) -> None:
    i = kl.index()
    shared = kl.local(4, kl.float32)
    shared[i] = x[i]
    y[i] = shared[i]


def of_gamma(y: Any, x: Any, where: Any, times: Any) -> None:
    i = kl.index()
    for _ in range(times):
        y[i] += math.gamma(x[where[i]])


def recurrence(y: Any, x: Any) -> None:
    i, j = kl.index()
    if i < x.shape[0]:
        for k in range(1, 3):
            y[i, j, k] = y[i, j, k - 1] * x[i, j]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (in_local_memory, r"kl.local memory in line \d+ of .*: shared = kl.local"),
        (of_gamma, r"gamma has no derivative in kernels in line \d+ .*: y\[i\] \+= math.gamma"),
        (recurrence, r"y that the loop overwrites.* in line \d+ .*: y\[i, j, k\] ="),
    ],
)
def test_a_kernel_without_derivative_is_refused_where_it_is_defined(
    function: Any, message: str
) -> None:
    with pytest.raises(pa.NoGradientError, match=message):
        pa.kernel(differentiable=True)(function)


def test_a_differentiable_kernel_is_checked_in_its_first_call(device: str) -> None:
    require_launcher(device)

    @pa.kernel(differentiable=True, static=("size",))
    def in_private_memory(y: Any, x: Any, size: Any) -> None:
        i = kl.index()
        values = kl.private(size, x.dtype)
        values[0] = x[i]
        y[i] = values[0]

    x = pa.ones(3, dtype=pa.float32, device=device)
    with pytest.raises(pa.NoGradientError, match=r"kl.private memory in line \d+"):
        in_private_memory(pa.empty_like(x), x, 2)


def test_a_differentiable_kernel_shows_its_adjoint_and_compares_it_with_differences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @pa.kernel(differentiable=True)
    def waves(y: Any, x: Any, n: Any, scale: Any) -> None:
        i = kl.index()
        for k in range(n):
            y[i] += math.sin(scale * x[i] * (k + 1))

    x = pa.asarray([0.5, 1.5], dtype=pa.float32, device="numpy")
    arguments = pa.zeros_like(x), x, 3, 0.7
    adjoint = waves.adjoint_source(*arguments)
    assert waves.explain(*arguments).adjoint == adjoint
    assert adjoint.splitlines()[0] in str(waves.explain(*arguments))
    assert max(waves.verify_adjoint(*arguments).values()) < 1e-8

    def total(x: pa.Array) -> pa.Array:
        result: pa.Array = pa.sum(waves(pa.zeros_like(x), x, 3, 0.7))
        return result

    expected = sum(0.7 * k * np.cos(0.7 * k * np.asarray([0.5, 1.5])) for k in (1, 2, 3))
    with pa.config(kernel_debug=True):
        np.testing.assert_allclose(np.asarray(pa.grad(total)(x)), expected, rtol=1e-5)
        np.testing.assert_allclose(
            float(pa.jvp(total, (x,), (x,))[1]), float(expected @ np.asarray(x)), rtol=1e-5
        )
        wrong = {**FUNCTIONS, "sin": FUNCTIONS["exp"]}
        monkeypatch.setattr(partial_derivatives, "FUNCTIONS", wrong)
        waves._adjoints._entries.clear()
        with pytest.raises(pa.KernelVerificationError, match=r"waves: the adjoint differs .* x by"):
            pa.grad(total)(x)


def check(seed: int, device: str, folder: Path) -> None:
    """Compare the derivative of a drawn kernel in a drawn direction with central differences."""
    kernel = loaded(text(seed), folder)
    rng = np.random.default_rng(seed)
    shapes = [(SIZE,)] * 4 + [(SIZE, 3)]
    primals, tangents = ([rng.normal(size=shape) for shape in shapes] for _ in range(2))
    weights = [rng.normal(size=SIZE) for _ in range(2)]

    def put(x: np.ndarray[Any, Any]) -> pa.Array:
        return pa.asarray(x, dtype=pa.float64, device=device)

    def called(y: pa.Array, z: pa.Array, *arrays: pa.Array) -> tuple[pa.Array, ...]:
        outputs = kernel(y * 1.0, z * 1.0, *arrays, SIZE, 0.7)
        return outputs if type(outputs) is tuple else (outputs, z * 0.0)

    def value(step: float) -> float:
        moved = [put(x + step * v) for x, v in zip(primals, tangents, strict=True)]
        outputs = zip(called(*moved), weights, strict=True)
        return sum(float(np.sum(np.asarray(y) * g)) for y, g in outputs)

    difference, coarse = ((value(h) - value(-h)) / (2 * h) for h in (1e-5, 2e-5))
    _, pullback = pa.vjp(called, *map(put, primals))
    parts = [
        float(np.sum(np.asarray(g) * v))
        for g, v in zip(pullback(tuple(map(put, weights))), tangents, strict=True)
    ]
    scale = 1.0 + sum(map(abs, parts))
    if abs(difference - coarse) < 1e-6 * scale:  # not across a jump
        assert abs(sum(parts) - difference) < 1e-5 * scale, text(seed)
        if seed % 6 == 3:  # the adjoint of the adjoint
            _, along = pa.jvp(called, *[tuple(map(put, part)) for part in (primals, tangents)])
            forward = sum(
                float(np.sum(np.asarray(v) * g)) for v, g in zip(along, weights, strict=False)
            )
            assert abs(forward - difference) < 1e-5 * scale, text(seed)


def test_drawn_kernels_have_the_derivatives_of_differences(tmp_path: Path) -> None:
    """In debug mode, in which races and places out of bounds are errors too."""
    with pa.config(kernel_debug=True):
        for seed in range(COUNT):
            check(seed, "numpy", tmp_path)


def test_drawn_kernels_on_each_device(kernel_device: str, tmp_path: Path) -> None:
    target = pa.device(kernel_device)
    if np.dtype(np.float64) not in dispatch.dtypes_of(target):
        pytest.skip(f"{kernel_device} does not support float64")
    for seed in (3, 7):
        check(seed, kernel_device, tmp_path)
