"""``pa.vmap``: a vmapped function is the function of each example, or an error."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from compiled_arrays import host
from portarray_conformance.gradients import CASES
from portarray_conformance.names import ALL_NAMES

import portarray as pa
from portarray._transforms.batching import RULES
from portarray.errors import TracedArrayError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

SEED = int(os.environ.get("PORTARRAY_TEST_SEED", "0"))
RNG = np.random.default_rng(0)
EXAMPLES, WEIGHT, TARGETS = (
    RNG.normal(size=(4, 3)),
    RNG.normal(size=(3, 2)),
    RNG.normal(size=(4, 2)),
)


def placed(values: Any, device: str) -> pa.Array:
    """Return an array in single precision, which all devices have."""
    array = np.asarray(values)
    narrow = {"f": "f4", "c": "c8"}.get(array.dtype.kind)
    array = np.ascontiguousarray(array if narrow is None else array.astype(narrow))
    return pa.asarray(array.reshape(np.shape(values)), device=device)


def assert_same(actual: pa.Array, expected: Any) -> None:
    values = host(expected) if isinstance(expected, pa.Array) else np.asarray(expected)
    assert actual.shape == values.shape
    np.testing.assert_allclose(host(actual), values, rtol=2e-4, atol=2e-5)


def of_each(function: Callable[..., Any], *batches: pa.Array) -> pa.Array:
    """Apply a function to each example in a loop."""
    rows = zip(*[[x[n, ...] for n in range(x.shape[0])] for x in batches], strict=True)
    return pa.stack([function(*row) for row in rows])


def loss(parameters: Any, row: Any, target: Any) -> Any:
    return pa.sum((pa.tanh(row @ parameters["w"] + parameters["b"]) - target) ** 2)


@pytest.mark.parametrize(
    "function",
    [
        lambda number, row, x: number * row + x[:, :1],
        lambda number, row, x: pa.sum(x, axis=-2, keepdims=True) + pa.max(x) + pa.mean(row),
        lambda number, row, x: row @ x + x @ row * number,
        lambda number, row, x: row @ pa.ones((2, 3, 1), dtype=x.dtype, device=x.device),
        lambda number, row, x: x @ pa.eye(3, dtype=x.dtype, device=x.device) - pa.min(x, axis=0),
        lambda number, row, x: pa.where(row > number, x, pa.clip(x, max=0.5)) ** 2,
    ],
)
def test_operands_with_axes_as_long_as_the_batch(function: Callable[..., Any], device: str) -> None:
    rng = np.random.default_rng(1)
    args = [placed(rng.normal(size=shape), device) for shape in ((3,), (3, 3), (3, 3, 3))]
    assert_same(pa.vmap(function)(*args), of_each(function, *args))


def test_vmap_nests_with_other_transforms(device: str) -> None:
    x, y = placed(EXAMPLES, device), placed(TARGETS, device)
    p = {"w": placed(WEIGHT, device), "b": placed([0.5, -0.5], device)}
    gradient = pa.grad(loss)
    per_example = pa.vmap(gradient, (None, 0, 0))
    for name in p:
        expected = of_each(lambda row, target, name=name: gradient(p, row, target)[name], x, y)
        assert_same(per_example(p, x, y)[name], expected)
        assert_same(pa.compile(per_example)(p, x, y)[name], expected)
        total = pa.grad(lambda p: pa.sum(pa.vmap(loss, (None, 0, 0))(p, x, y)))
        assert_same(total(p)[name], pa.sum(expected, axis=0))
    assert_same(pa.vmap(lambda a: pa.vmap(lambda b: pa.sum(a * b))(x))(x), x @ x.T)
    cube = pa.jacobian(pa.grad(lambda row: pa.sum(row**3)))
    assert_same(pa.vmap(cube)(x), of_each(cube, x))
    assert_same(
        pa.vmap(lambda row: pa.jvp(pa.sin, (row,), (row,))[1])(x), np.cos(EXAMPLES) * EXAMPLES
    )
    assert_same(
        pa.vmap(pa.compile(lambda row: row / pa.sum(row)))(x), x / pa.sum(x, axis=1)[:, None]
    )
    checkpointed = pa.grad(lambda row: pa.sum(pa.checkpoint(pa.sin)(row)))
    assert_same(pa.vmap(checkpointed)(x), np.cos(EXAMPLES))


def test_control_flow_random_numbers_and_assignments(device: str) -> None:
    x = placed(EXAMPLES, device)

    def doubled(row: Any) -> Any:
        return pa.cond(pa.sum(row) > 0, lambda v: v * 2, lambda v: -v, row)

    def grown(row: Any) -> Any:
        return pa.while_loop(lambda v: pa.sum(v) < 10, lambda v: v + 1, row)

    def summed(row: Any) -> Any:
        return pa.scan(lambda total, v: (total + v, total), 0 * pa.sum(row), row)[0]

    def assigned(row: Any) -> Any:
        row = row.copy()
        row[0] = row[1] + 1
        row[1:] += row[0]
        return row

    for function in (doubled, grown, summed, assigned):
        assert_same(pa.vmap(function)(x), of_each(function, x))
    keys = pa.random.split(pa.random.key(0, device=device), 4)

    def drawn(key: Any) -> Any:
        return pa.random.normal(key, (3,), dtype=pa.float32)

    assert_same(pa.vmap(drawn)(keys), of_each(drawn, keys))


def test_control_flow_that_does_not_depend_on_the_state(device: str) -> None:
    x = placed(np.abs(EXAMPLES[:, 0]), device)
    nine, zeros = placed(9.0, device), pa.zeros(2, dtype=pa.float32, device=device)
    assert_same(pa.vmap(lambda v: pa.while_loop(lambda s: s < 4, lambda s: nine, v))(x), [9.0] * 4)
    never = pa.zeros((), dtype=pa.bool, device=device)
    assert_same(pa.compile(lambda v: pa.while_loop(lambda s: never, lambda s: s + 1, v))(x), x)

    def of_two(v: Any, a: Any, b: Any) -> Any:
        return pa.while_loop(lambda s: s < 6, lambda s: s + a + 2 * b + 1 + zeros[0], v)

    a, b = x + 1, x + 2
    for count in (4, 1):  # also where all values of two batches are equal
        batches = [y[:count] for y in (x, a, b)]
        assert_same(pa.vmap(of_two)(*batches), of_each(of_two, *batches))


def test_gradients_stop_at_the_values_of_each_example(device: str) -> None:
    x = placed([[0.0, 0.0, 0.0], [3.0, 4.0, 0.0], [1.0, 2.0, 2.0]], device)
    norm = pa.grad(pa.linalg.vector_norm)
    assert_same(pa.vmap(lambda v: v * pa.stop_gradient(v))(x), x * x)
    units = [[0, 0, 0], [0.6, 0.8, 0], [1 / 3, 2 / 3, 2 / 3]]
    for vmapped in (pa.vmap(norm), pa.compile(pa.vmap(norm)), pa.vmap(pa.compile(norm))):
        assert_same(vmapped(x), units)
    assert_same(pa.grad(lambda y: pa.sum(pa.vmap(pa.linalg.vector_norm)(y)))(x), units)
    half = pa.grad(lambda y: pa.sum(pa.vmap(lambda v: v * pa.stop_gradient(v))(y)))
    assert_same(half(x), x)


def test_indices_whose_axes_have_the_length_of_the_batch(device: str) -> None:
    """A batch with its axes mixed up would have the right shape."""
    x = placed(np.arange(81.0).reshape(3, 3, 3, 3), device)
    i, j = placed([0, 2, 1], device), placed([2, 2, 0], device)
    ii, jj = (placed(np.stack([n, n[::-1], n]), device) for n in (np.array([0, 2, 1]), [1, 1, 0]))
    mask = placed([True, False, True], device)
    shared: list[Callable[[Any], Any]] = [
        lambda v: v[1, :, i], lambda v: v[i, :, j], lambda v: v[i, j], lambda v: v[:, i],
        lambda v: v[1, None, i], lambda v: v[..., i], lambda v: v[mask], lambda v: v[:, mask],
        lambda v: v[2, i, None],
    ]  # fmt: skip
    for function in shared:
        assert_same(pa.vmap(function)(x), of_each(function, x))
    functions_of_three: list[Callable[..., Any]] = [
        lambda v, n, m: v[n, m], lambda v, n, m: v[n, i, m], lambda v, n, m: v[1, n],
        lambda v, n, m: v[1, :, n], lambda v, n, m: v[n[0], m], lambda v, n, m: v[:, m],
        lambda v, n, m: x[n, m, 0], lambda v, n, m: v[n[:, None], m],
    ]  # fmt: skip
    for function in functions_of_three:
        assert_same(pa.vmap(function)(x, ii, jj), of_each(function, x, ii, jj))
    ends = placed(np.sort(EXAMPLES, axis=1), device)
    assert_same(
        pa.vmap(pa.searchsorted)(ends, ends[::-1]), of_each(pa.searchsorted, ends, ends[::-1])
    )


def test_arrays_of_the_function_can_be_written_others_not(device: str) -> None:
    x, outside = placed(EXAMPLES, device), pa.zeros(3, dtype=pa.float32, device=device)

    def filled(row: Any) -> Any:
        local = pa.zeros((2, 3), dtype=pa.float32, device=device)
        local[0] = row
        local[1:2] = pa.expand_dims(row, axis=(0, 1))  # more axes than it is written into
        return local

    assert_same(pa.vmap(filled)(x), np.stack([EXAMPLES, EXAMPLES], axis=1))

    def accumulated(row: Any) -> Any:
        outside[:] = outside + row
        return outside * 1

    with pytest.raises(TracedArrayError, match="accumulated writes into an array that was made"):
        pa.vmap(accumulated)(x)
    assert outside.tolist() == [0.0] * 3


def test_axes_trees_and_results(device: str) -> None:
    x = placed(EXAMPLES, device)
    assert_same(pa.vmap(lambda row: row, 0, 1)(x), EXAMPLES.T)
    assert_same(pa.vmap(pa.sum, -1)(x), EXAMPLES.sum(0))
    tree = {"rows": x, "shared": x[0, :], "factor": 3.0}
    f = pa.vmap(
        lambda t, *, by: {"a": t["rows"] * t["shared"] * t["factor"], "b": (by, t["shared"])},
        ({"rows": 0, "shared": None, "factor": None},),
        {"a": 1, "b": (0, None)},
    )
    result = f(tree, by=x[:, 0])
    assert_same(result["a"], (EXAMPLES * EXAMPLES[0] * 3).T)
    assert_same(result["b"][0], EXAMPLES[:, 0])
    assert_same(result["b"][1], EXAMPLES[0])
    ones = pa.vmap(lambda row: pa.ones((2,), dtype=pa.float32, device=device))(x)
    assert_same(ones, np.ones((4, 2)))
    ones[0, 0] = 5.0
    assert_same(ones[1, :], np.ones(2))
    same = pa.vmap(lambda row: row)(x)
    same[...] = 7.0
    assert_same(x, EXAMPLES)
    nothing = pa.vmap(lambda row: pa.linalg.outer(row, row) + pa.sum(row))(x[:0, :])
    assert nothing.shape == (0, 3, 3)


REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception]]] = {
    "values differ": (pa.vmap(lambda row: row if row[0] > 0 else -row), TracedArrayError),
    "whose values differ": (pa.vmap(lambda row: float(row[0])), TracedArrayError),
    "numbers of examples, 4, 3": (
        lambda x: pa.vmap(lambda a, b: a)(x, x[:3, :]),
        ValueError,
    ),
    "no argument of <lambda> is a batched array": (
        lambda x: pa.vmap(lambda a: a, None)(x),
        ValueError,
    ),
    "changes an argument in place": (pa.vmap(lambda row: row.__iadd__(1)), TracedArrayError),
    "b of <lambda> contains numpy.ndarray": (
        lambda x: pa.vmap(lambda a, b: a)(x, np.ones(4)),
        TypeError,
    ),
    r"shape \(4, 3\), without axis 5": (pa.vmap(lambda row: row, 5), ValueError),
    "getitem: the shape of the result depends": (
        pa.vmap(lambda row: row[row > 0]),
        TracedArrayError,
    ),
    "nonzero: the shape of the result depends": (pa.vmap(pa.nonzero), TracedArrayError),
    "repeat: the shape of the result depends": (
        pa.vmap(lambda row: pa.repeat(row, pa.astype(row + 9, pa.int32))),
        TracedArrayError,
    ),
    "1 entries for 2": (lambda x: pa.vmap(lambda a, b: a, (0,))(x, x), TypeError),
    "in_axes of argument 0 is .* does not fit": (
        lambda x: pa.vmap(lambda a: a, ({"a": 0},))(x),
        TypeError,
    ),
    "out_axes is None for a result": (pa.vmap(lambda row: row, 0, None), ValueError),
    # With the shapes of an example.
    "axis -2 is out of bounds for 1 axes": (pa.vmap(lambda row: pa.sum(row, axis=-2)), ValueError),
    r"\(3,\) and \(2,\)": (lambda x: pa.vmap(lambda row: row + x[0, :2])(x), ValueError),
    "is not a function": (lambda x: pa.vmap(x), TypeError),
}


@pytest.mark.one_device
@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message: str, device: str) -> None:
    function, error = REFUSED[message]
    with pytest.raises(error, match=f"(?s){message}"):
        function(placed(EXAMPLES, device))


@pytest.mark.one_device
def test_an_example_cannot_be_used_outside(device: str) -> None:
    leaked: list[Any] = []
    pa.vmap(lambda row: leaked.append(row) or row)(placed(EXAMPLES, device))
    with pytest.raises(TracedArrayError, match="used after <lambda> has returned"):
        leaked[0] + 1


def test_gradients_within_a_traced_function(device: str) -> None:
    """PyTorch's own autodiff does not see the arrays of an enclosing trace."""
    x = placed(EXAMPLES, device)

    def inner(x: Any) -> Any:
        weight = pa.ones((4, 3), dtype=pa.float32, device=device)
        return pa.grad(lambda w: pa.sum(w * x))(weight)

    assert_same(pa.compile(inner)(x), EXAMPLES)


WITHOUT_ARRAYS = frozenset(
    (
        *("arange", "broadcast_shapes", "can_cast", "empty", "eye", "fft.fftfreq", "fft.rfftfreq"),
        *("finfo", "from_dlpack", "full", "iinfo", "isdtype", "linspace", "ones", "result_type"),
        *("zeros",),
    )
)
MADE_OF_OTHERS = frozenset(
    (
        *("isin", "linalg.matmul", "linalg.matrix_transpose", "linalg.tensordot", "linalg.vecdot"),
        *("meshgrid", "tensordot"),
    )
)
KERNELS: dict[str, Callable[[Any, Any], Any]] = {
    "attention": lambda x, y: pa.kernels.attention(
        *[pa.expand_dims(z, axis=(0, 1)) for z in (x, x, y)]
    ),
    "cross_entropy": lambda x, y: pa.kernels.cross_entropy(x, pa.astype(y[:, 0] > 0, pa.int32)),
    "embedding": lambda x, y: pa.kernels.embedding(pa.astype(y[:, 0] > 0, pa.int32), x),
    "fused_linear": lambda x, y: pa.kernels.fused_linear(x, y, norm=y[0], residual=x),
    "gelu": lambda x, y: pa.kernels.gelu(x * y),
    "gemm": lambda x, y: pa.kernels.gemm(x, y, transpose_b=True, alpha=2.0),
    "layer_norm": lambda x, y: pa.kernels.layer_norm(x, y[0], y[1]),
    "linear": lambda x, y: pa.kernels.linear(x, y, y[:, 0]),
    "log_softmax": lambda x, y: pa.kernels.log_softmax(x + y, axis=0),
    "matmul": lambda x, y: pa.kernels.matmul(x, y.T),
    "relu": lambda x, y: pa.kernels.relu(x - y),
    "rms_norm": lambda x, y: pa.kernels.rms_norm(x, y[2]),
    "rope": lambda x, y: pa.kernels.rope(pa.expand_dims(x + y, axis=(0, 1))),
    "silu": lambda x, y: pa.kernels.silu(x * y),
    "softmax": lambda x, y: pa.kernels.softmax(x * y),
    "solve_triangular": lambda x, y: pa.kernels.solve_triangular(
        x + 4 * pa.eye(4, dtype=x.dtype, device=x.device), y, lower=True
    ),
}
NOT_MAPPED = frozenset(
    ("estimate_inference_memory", "explain", "pack", "rope_tables", "unpack", "verify")
)


@pytest.mark.one_device
def test_every_function_of_the_standard_and_the_kernels_has_a_rule() -> None:
    for name in ALL_NAMES:
        if name.startswith(("array.", "info.", "dtype.", "__")):
            continue
        if isinstance(operator.attrgetter(name)(pa), FunctionType):
            assert (name in RULES) + (name in WITHOUT_ARRAYS) + (name in MADE_OF_OTHERS) == 1, name
    functions = {name for name in pa.kernels.__all__ if name[0].islower()}
    assert functions == set(KERNELS) | NOT_MAPPED


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_each_example(name: str, device: str) -> None:
    x, y = placed(RNG.normal(size=(3, 4, 4)), device), placed(RNG.normal(size=(3, 4, 4)), device)
    function = KERNELS[name]
    for axes, of_each_example in (
        ((0, 0), function),
        ((0, None), lambda a, _: function(a, y[0])),
        ((None, 0), lambda _, b: function(x[0], b)),
    ):
        args = [z[0] if axis is None else z for z, axis in zip((x, y), axes, strict=True)]
        assert_same(pa.vmap(function, axes)(*args), of_each(of_each_example, x, y))


def test_every_function(device: str) -> None:
    """The gradient suite's uses of functions, some of their arguments batched along some axis."""
    step = {"numpy": 1, "jax": 24}.get(device.partition(":")[0], 8)
    wrong, compared = [], 0
    for index, case in enumerate(CASES[::step]):
        if "mask" in case.name:  # the shapes of their results depend on values
            continue
        drawn = case.drawn(SEED, 0)
        rng = np.random.default_rng((SEED, index))
        examples: list[list[Any]] = [[], [], []]
        args, axes = [], []
        for x in drawn.args:
            if x.dtype == bool or rng.random() < 0.3:
                variants, axis = [x] * 3, None
            elif x.dtype.kind in "fc":
                variants = [x, x * 0.9, x * 1.05]
                axis = int(rng.integers(x.ndim + 1))
            else:
                variants, axis = [x, np.flip(x), x], int(rng.integers(x.ndim + 1))
            args.append(placed(x if axis is None else np.stack(variants, axis), device))
            axes.append(axis)
            for example, variant in zip(examples, variants, strict=True):
                example.append(placed(variant, device))
        if set(axes) == {None}:
            continue
        with pa.device(device):
            try:
                expected = pa.stack([drawn.function(*example) for example in examples])
            except ValueError:  # from indices that the variants do not allow
                continue
            actual = pa.vmap(drawn.function, tuple(axes))(*args)
        compared += 1
        if actual.dtype != expected.dtype or not np.allclose(
            host(actual), host(expected), rtol=1e-3, atol=1e-4, equal_nan=True
        ):
            wrong.append((case.name, axes))
    assert not wrong
    assert compared > 200 / step
