"""Gradients where local derivatives are infinite or NaN, at ties, and at the ends of the range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import portarray as pa

# NumPy warns about what the functions compute themselves.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

MANY = 70_000
INF, NAN = np.inf, np.nan
HALVES = np.full(MANY, 0.5, "f2")

# A function, its argument and the gradient of the sum of its results.
GRADIENTS: dict[str, tuple[Any, Any, Any]] = {
    "sqrt": (lambda x: pa.where(x > 0, pa.sqrt(x), 0.0), [0.0, 4.0], [0, 0.25]),
    "maximum of sqrt": (lambda x: pa.maximum(pa.sqrt(x), 1e-10), [0.0, 4.0], [0, 0.25]),
    "x log x": (lambda x: pa.where(x > 0, x * pa.log(x), 0.0), [0.0, 1.0], [0, 1]),
    "powers": (lambda x: pa.where(x > 0, x**0.5 + x**-1.0, 0.0), [0.0, 1.0], [0, -0.5]),
    "quotient": (lambda x: pa.where(x != 0, 1 / x, 0.0), [0.0, 2.0], [0, -0.25]),
    "sin of infinity": (lambda x: pa.where(x < INF, pa.sin(x), 0.0), [INF, 0.0], [0, 1]),
    "NaN": (lambda x: pa.where(x == x, 3 * x * x, 0.0), [NAN, 1.0], [0, 6]),
    "logaddexp, -inf": (lambda x: pa.logaddexp(x[0], x[1]), [-INF, -INF], [0.5, 0.5]),
    "logaddexp, inf": (lambda x: pa.logaddexp(x[0], x[1]), [INF, 1.0], [1, 0]),
    "logaddexp, large": (lambda x: pa.logaddexp(x[0], x[1]), [1e30, 1e30], [0.5, 0.5]),
    "logaddexp, nested": (
        lambda x: pa.logaddexp(pa.logaddexp(x[0], x[1]), x[2]),
        [-INF, -INF, 0.0],
        [0, 0, 1],
    ),
    "logsumexp, inf": (pa.special.logsumexp, [INF, 1.0, INF], [0.5, 0, 0.5]),
    "logsumexp, -inf": (pa.special.logsumexp, [-INF, 0.0], [0, 1]),
    "sinc": (pa.sinc, [0.0, 1e-6, 1e-4], [0, -(np.pi**2) / 3e6, -(np.pi**2) / 3e4]),
    "softmax": (
        lambda x: pa.where(x > -INF, pa.kernels.softmax(x), 0.0) ** 2,
        [[-INF, -INF], [0.0, 0.0]],
        [[0, 0], [0, 0]],
    ),
    "std of rows": (
        lambda x: pa.where(x[:, 0] == x[:, 0], pa.std(x, axis=1), 0.0),
        [[1.0, 3.0], [NAN, 1.0]],
        [[-0.5, 0.5], [0, 0]],
    ),
    "slogdet": (
        lambda x: pa.where(pa.linalg.det(x) != 0, pa.linalg.slogdet(x).logabsdet, 0.0),
        [[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 4.0]]],
        [[[0, 0], [0, 0]], [[0.5, 0], [0, 0.25]]],
    ),
    "det": (
        lambda x: pa.linalg.det(x)[..., None, None] * x[:, :1, :1],
        [[[1.0, 2.0], [2.0, 4.0]], [[3.0, 0.0], [0.0, 0.0]]],
        [[[4, -2], [-2, 1]], [[0, 0], [0, 9]]],
    ),
    "remainder": (
        lambda x: x[0] % x[1],
        [[4.0, -1.0, 1.0], [2.0, 0.5, 2.0]],
        [[1, 1, 1], [-2, 2, 0]],
    ),
    "remainder of a number": (lambda x: x % 0.5, [1.0, 0.0, 0.75], [1, 1, 1]),
    "atan2, tiny": (lambda x: pa.atan2(x * 1e-25, x * 0 + 1e-25), [1.0], [0.5]),
    "atan2, huge": (lambda x: pa.atan2(x * 1e25, x * 0 + 1e25), [1.0], [0.5]),
    "asinh": (lambda x: pa.asinh(x * 1e25), [1.0, -2.0], [1, 0.5]),
    "acosh": (lambda x: pa.acosh(x * 1e25), [1.0, 2.0], [1, 0.5]),
    "norm, tiny": (pa.linalg.vector_norm, [3e-25, 4e-25], [0.6, 0.8]),
    "norm, huge": (pa.linalg.vector_norm, [3e25, 4e25], [0.6, 0.8]),
    "matrix norm, huge": (pa.linalg.matrix_norm, [[3e25, 4e25]], [[0.6, 0.8]]),
    "max of halves": (pa.max, HALVES, np.full(MANY, 1 / MANY)),
    "mean of halves": (pa.mean, HALVES, np.full(MANY, 1 / MANY)),
    "infinity norm of halves": (
        lambda x: pa.linalg.vector_norm(x, ord=INF),
        HALVES,
        np.full(MANY, 1 / MANY),
    ),
    "hypot, infinite": (
        lambda x: pa.hypot(x[0], x[1]),
        [[INF, 3.0, 0.0], [1.0, 4.0, 0.0]],
        [[1, 0.6, 0], [0, 0.8, 0]],
    ),
    "hypot, largest": (lambda x: pa.hypot(x[0], x[1]), [[3e38], [3e38]], [[0.5**0.5], [0.5**0.5]]),
    "atan2, infinite": (lambda x: pa.atan2(x[0], x[1]), [[1.0, INF], [INF, 1.0]], [[0, 0], [0, 0]]),
    "norm, infinite": (pa.linalg.vector_norm, [INF, 1.0, -2.0], [1, 0, 0]),
    "power of infinity": (
        lambda x: x[0] ** x[1],
        [[INF, 2.0, 0.0], [-1.0, 0.0, 2.0]],
        [[0, 0, 0], [0, np.log(2), 0]],
    ),
    "complex power of 0": (
        lambda x: pa.real(
            (pa.astype(x, pa.complex64) + 0j) ** pa.astype(x + (1.5 + 1j), pa.complex64)
        ),
        [0.0, 0.0],
        [0, 0],
    ),
    "nextafter": (lambda x: pa.nextafter(x, 3.0 + 0 * pa.stop_gradient(x)), [3.0, 1.0], [1, 1]),
    "silu and gelu": (
        lambda x: pa.kernels.silu(x) + pa.kernels.gelu(x),
        [-INF, -1e30, 0, 1e30, INF],
        [0, 0, 1, 2, 2],
    ),
    "std, huge": (pa.std, [1e25, 3e25], [-0.5, 0.5]),
    "std, tiny": (lambda x: pa.std(x, axis=0), [[1e-25, 1.0], [3e-25, 1.0]], [[-0.5, 0], [0.5, 0]]),
    "det, tiny": (lambda x: pa.linalg.det(x) * 1e25, [[1e-25, 0], [0, 2e-25]], [[2, 0], [0, 1]]),
    "det, huge": (lambda x: pa.linalg.det(x) * 1e-25, [[1e25, 0], [0, 2e25]], [[2, 0], [0, 1]]),
    "nuclear norm of rank 1": (
        lambda x: pa.linalg.matrix_norm(x, ord="nuc"),
        [[2.0, 0.0], [0.0, 0.0]],
        [[1, 0], [0, 0]],
    ),
    "spectral norm of 0": (
        lambda x: pa.linalg.matrix_norm(x, ord=2),
        [[0.0, 0.0], [0.0, 0.0]],
        [[0, 0], [0, 0]],
    ),
    "repeat, infinite": (
        lambda x: 1 / pa.repeat(x, pa.asarray([1, 2, 0], device=x.device)),
        [0.0, 1.0, 2.0],
        [-INF, -2, 0],
    ),
    "assignment to repeated places": (
        lambda x: _assigned(x, pa.asarray([0, 0, 1], device=x.device)),
        [1.0, 2.0, 3.0],
        [0, 1, 1],
    ),
    "std of halves": (pa.std, np.asarray([300, 900], "f2"), [-0.5, 0.5]),
    "atan and log10 of halves": (
        lambda x: pa.atan(x[0]) + pa.log10(x[1]),
        np.asarray([300, 40000], "f2"),
        [1 / 90001, 1 / (40000 * np.log(10))],
    ),
    "taken halves": (
        lambda x: pa.take(x, pa.zeros(5000, dtype=pa.int32, device=x.device)),
        np.ones(2, "f2"),
        [5000, 0],
    ),
    "halves at indices": (
        lambda x: x[pa.zeros(5000, dtype=pa.int32, device=x.device)],
        np.ones(2, "f2"),
        [5000, 0],
    ),
    "embedded halves": (
        lambda x: pa.kernels.embedding(pa.zeros(5000, dtype=pa.int32, device=x.device), x),
        np.ones((2, 1), "f2"),
        [[5000], [0]],
    ),
    "repeated halves": (
        lambda x: pa.repeat(x, pa.asarray([5000, 3000], device=x.device)),
        np.ones(2, "f2"),
        [5000, 3000],
    ),
    "sum of halves": (
        lambda x: pa.broadcast_to(x, (5000, 2)) * pa.astype(pa.asarray(1e-3), x.dtype),
        np.ones(2, "f2"),
        [5, 5],
    ),
}


def _assigned(values: Any, places: Any) -> Any:
    y = pa.zeros(2, dtype=values.dtype, device=values.device)
    y[places] = values
    return y


def placed(values: Any, device: str) -> Any:
    array = np.asarray(values)
    return pa.asarray(array if array.dtype == "f2" else array.astype("f4"), device=device)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_numbers_where_the_answer_is(name: str, device: str) -> None:
    function, values, expected = GRADIENTS[name]
    with pa.device(device):
        got = pa.grad(lambda x: pa.sum(function(x)))(placed(values, device))
    tolerance = 5e-3 if got.dtype.itemsize == 2 else 1e-5
    host = np.asarray(pa.to_device(got, "numpy")).astype("f8")
    np.testing.assert_allclose(host, expected, rtol=tolerance, atol=1e-7)


def test_compiled_gradient_of_det_is_right_for_later_singular_matrices(device: str) -> None:
    compiled = pa.compile(pa.grad(pa.linalg.det))
    for a, b, c, d in ((2, 0, 0, 3), (1, 2, 2, 4), (0, 0, 0, 0), (1, 0, 0, 5)):
        gradient = compiled(placed([[a, b], [c, d]], device)).tolist()
        np.testing.assert_allclose(gradient, [[d, -c], [-b, a]], atol=1e-5)


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        (pa.std, [1e25, 3e25], 1e25),
        (lambda x: pa.std(x, axis=0), [[1e-25, 1.0], [3e-25, 1.0]], [1e-25, 0]),
        (lambda x: pa.std(x, axis=0, keepdims=True), [[3e30], [3e30]], [[0]]),
        (pa.std, np.asarray([300, 900], "f2"), 300),
        (pa.mean, np.full(MANY, 2, "f2"), 2),
        (pa.var, np.tile(np.asarray([0, 2], "f2"), MANY), 1),
        (pa.prod, np.asarray([300, 300, 1e-3], "f2"), 90),
        (lambda x: pa.scatter_add(x * 0, pa.zeros(5000, dtype=pa.int32, device=x.device),
                                  pa.ones(5000, dtype=x.dtype, device=x.device)),
         np.ones(2, "f2"), [5000, 0]),
        (pa.linalg.vector_norm, [2e38, -2e38], 8**0.5 * 1e38),
        (lambda x: pa.linalg.slogdet(x).logabsdet, [[1e-30, 0], [0, 1e-30]], 2 * np.log(1e-30)),
        (lambda x: pa.linspace(-3e38, 3e38, 3, dtype=x.dtype, device=x.device), [0.0],
         [-3e38, 0, 3e38]),
    ],
)  # fmt: skip
def test_values_do_not_leave_the_range_where_the_answer_does_not(
    function: Any, values: Any, expected: Any, device: str
) -> None:
    got = function(placed(values, device))
    tolerance = 5e-3 if got.dtype.itemsize == 2 else 1e-5
    host = np.asarray(pa.to_device(got, "numpy")).astype("f8")
    np.testing.assert_allclose(host, expected, rtol=tolerance)


def test_strong_zeros_in_other_derivatives(device: str) -> None:
    x, v = placed([0.0, 1.0, 4.0], device), placed([1.0, 0.0, 2.0], device)

    def guarded(x: Any) -> Any:
        return pa.where(x > 0, pa.sqrt(x), 0.0)

    def loss(x: Any) -> Any:
        return pa.sum(guarded(x))

    # A direction of zero is a strong zero, too; others keep an infinite derivative.
    assert pa.jvp(pa.sqrt, (x,), (v,))[1].tolist() == [INF, 0.0, 0.5]
    assert pa.jvp(pa.sqrt, (x,), (placed([0.0, 1.0, 0.0], device),))[1].tolist() == [0, 0.5, 0]
    assert pa.vjp(pa.sqrt, x)[1](v)[0].tolist() == [INF, 0.0, 0.5]
    assert pa.jvp(guarded, (x,), (v,))[1].tolist() == [0.0, 0.0, 0.5]
    (second,) = pa.hvp(loss, (x,), (v,))
    np.testing.assert_allclose(second.tolist(), [0, 0, -1 / 16], rtol=1e-5)
    assert pa.jacobian(guarded)(x).tolist() == [[0, 0, 0], [0, 0.5, 0], [0, 0, 0.25]]
    assert pa.compile(pa.grad(loss))(x).tolist() == [0.0, 0.5, 0.25]
    # Only zeros are strong: other cotangents of a singular point show it.
    assert np.isnan(pa.grad(lambda x: pa.sum(x * NAN))(x).tolist()).all()


def test_zeros_of_cotangents_keep_higher_derivatives(device: str) -> None:
    def cube(x: Any) -> Any:
        return pa.sum(x * x * x)

    for expected in ([0.0, 6.0], [6.0, 6.0], [0.0, 0.0]):
        cube = (lambda f: lambda x: pa.sum(pa.grad(f)(x)))(cube)
        np.testing.assert_allclose(pa.grad(cube)(placed([0.0, 1.0], device)).tolist(), expected)


def test_leaves_that_are_not_arrays_are_constants(device: str) -> None:
    w = placed([1.0, 3.0], device)
    tree = {"w": w, "power": 2, "name": "model", "act": np.sin, "none": None}

    def loss(tree: Any) -> Any:
        return pa.sum(tree["w"] ** tree["power"])

    expected = {**tree, "w": [2.0, 6.0]}
    for gradient in (
        pa.grad(loss)(tree),
        pa.hvp(loss, (tree,), (tree,))[0],
        pa.vjp(loss, tree)[1](placed(1.0, device))[0],
    ):
        assert {**gradient, "w": gradient["w"].tolist()} == expected
    assert float(pa.jvp(loss, (tree,), (tree,))[1]) == 20
    rows = pa.jacobian(lambda tree: tree["w"] * tree["power"])(tree)
    assert rows["w"].tolist() == [[2, 0], [0, 2]]
    for wrong in (2.0, {"power": 2}, {"w": pa.asarray(1, device=device), "power": 2}):
        with pytest.raises(TypeError, match="derivatives need floating-point arrays"):
            pa.grad(loss)(wrong)
    with pytest.raises(TypeError, match="contains no arrays"):
        pa.grad(loss)({})


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (3, 0, 2)])
def test_gradients_by_no_elements(shape: tuple[int, ...], device: str) -> None:
    x = pa.zeros(shape, dtype=pa.float32, device=device)
    for function in (pa.std, pa.var, pa.prod, pa.linalg.vector_norm, pa.linalg.matrix_norm):
        value, gradient = pa.value_and_grad(lambda x, f=function: pa.sum(f(x)))(x)
        assert gradient.shape == shape
        np.testing.assert_array_equal(float(value), float(pa.sum(function(x))))
