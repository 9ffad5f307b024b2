"""Algorithms with a user's function, beside functools, itertools and NumPy, on every device."""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from kernel_helpers import require_launcher

import portarray as pa
import portarray.kernel_language as kl
from portarray._array import dispatch
from portarray.errors import DeviceMismatchError
from portarray.kernel_language import algorithms
from portarray.kernel_language.algorithms import accumulate, map_kernel, reduce, sort_by_key

Values = np.ndarray[Any, Any]
DTYPES = ("int8", "uint8", "int32", "int64", "uint64", "float16", "bfloat16", "float32", "float64")
SIZES = (0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 500, 1023, 1024, 1025, 2047, 5000)


def larger(a: Any, b: Any) -> Any:
    """Return the one with the larger remainder; the first where they are equal."""
    return b if b % 11 > a % 11 else a


@pa.kernel.function
def composed(a: Any, b: Any) -> Any:
    """Return a linear map after another, of numbers modulo 8; each is one number of two digits.

    It is associative and not commutative.
    """
    factor = ((a % 8) * (b % 8)) % 8
    return ((a // 8 * (b % 8) + b // 8) % 8) * 8 + factor


def last(a: Any, b: Any) -> Any:
    if b != 0:
        return b
    return a


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "larger": larger,
    "composed": composed,
    "last": last,
    "first": lambda a, b: a,
}


def dtypes_of(device: str) -> dict[str, np.dtype[Any]]:
    by_name = {dtype.name: dtype for dtype in dispatch.dtypes_of(pa.device(device))}
    return {name: by_name[name] for name in DTYPES if name in by_name}


def numbers(shape: tuple[int, ...], seed: int, dtype: Any) -> Values:
    """Return numbers that every dtype holds, of which operators make no others."""
    x = np.random.default_rng(seed).integers(0, 64, shape)
    x[np.random.default_rng(seed + 1).random(shape) < 0.3] = 0
    return x.astype(dtype)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda x: x,
    "every other": lambda x: x[..., ::2],
    "backwards": lambda x: x[..., ::-1],
}


@st.composite
def arrays(draw: st.DrawFn, device: str) -> tuple[Values, pa.Array]:
    """Draw an array, as NumPy's and on a device."""
    size = draw(st.sampled_from(SIZES))
    others = draw(st.lists(st.sampled_from((1, 2, 3, 17)), max_size=2))
    shape = draw(st.permutations([size, *others]))
    dtype = draw(st.sampled_from(list(dtypes_of(device).values())))
    x = numbers(tuple(shape), draw(st.integers(0, 99)), dtype)
    y = pa.asarray(x, device=device)
    if draw(st.booleans()):
        axes = draw(st.permutations(range(x.ndim)))
        x, y = x.transpose(axes), pa.permute_dims(y, tuple(axes))
    view = VIEWS[draw(st.sampled_from(sorted(VIEWS)))]
    return view(x), view(y)


def folded(function: Callable[[Any, Any], Any], x: Values, axis: Any) -> Values:
    """Return the reduction in Python, along the axes as one."""
    axes = range(x.ndim) if axis is None else sorted(n % x.ndim for n in np.atleast_1d(axis))
    remaining = [n for n in range(x.ndim) if n not in axes]
    count = int(np.prod([x.shape[n] for n in axes]))
    flat = x.transpose([*remaining, *axes]).reshape(*[x.shape[n] for n in remaining], count)
    return np.frompyfunc(function, 2, 1).reduce(flat.astype(int).astype(object), axis=-1)


def check(result: pa.Array, want: Any, dtype: Any, device: str) -> None:
    assert result.dtype == dtype
    assert str(result.device) == device
    np.testing.assert_array_equal(np.asarray(result).astype(float), np.asarray(want, float))


@pytest.fixture(params=["by itself", "by groups"])
def plan(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Share the work as is best on the device, or by groups, as on GPUs."""
    if request.param == "by groups":
        whole = algorithms._Plan(8 * 3, by_groups=True)
        monkeypatch.setattr(algorithms, "_GROUP", 8)
        monkeypatch.setattr(algorithms, "_ITEMS", 3)
        monkeypatch.setattr(algorithms, "_plan", lambda x, twice: whole)
    else:
        monkeypatch.setattr(algorithms, "_FEW", 16)  # so that small arrays are shared too
    return str(request.param)


def drawn(device: str) -> settings:
    """Return how much is drawn: each program is compiled for each device.

    PyTorch, JAX, MLX and dpnp run the programs of NumPy's memory. ``PORTARRAY_TEST_FULL=1`` draws
    30 for NumPy and 6 for each other device.
    """
    few, many = (6, 30) if "PORTARRAY_TEST_FULL" in os.environ else (2, 10)
    compiles = device.startswith("clarray")
    return settings(
        max_examples=many if device.startswith("numpy") else max(few, 4) if compiles else few,
        # Shrinking compiles programs for minutes.
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )


def test_reduce(device: str, plan: str) -> None:
    require_launcher(device)

    @drawn(device)
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        x, y = data.draw(arrays(device))
        name = data.draw(st.sampled_from(sorted(OPERATORS)))
        axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim), tuple(range(x.ndim))[:2]]))
        keepdims = data.draw(st.booleans())
        axes = range(x.ndim) if axis is None else np.atleast_1d(axis)
        if 0 in [x.shape[n] for n in axes]:
            with pytest.raises(ValueError, match="no elements"):
                reduce(OPERATORS[name], y, axis=axis)
            initial = reduce(OPERATORS[name], y, axis=axis, initial=5)
            check(initial, np.full(initial.shape, 5), x.dtype, device)
            return
        result = reduce(OPERATORS[name], y, axis=axis, keepdims=keepdims)
        want = folded(OPERATORS[name], x, axis)
        assert result.shape == np.sum(x.astype(float), axis=axis, keepdims=keepdims).shape
        check(pa.reshape(result, np.shape(want)), want, x.dtype, device)

    run()


def test_accumulate(device: str, plan: str) -> None:
    require_launcher(device)

    @drawn(device)
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        x, y = data.draw(arrays(device))
        name = data.draw(st.sampled_from(sorted(OPERATORS)))
        axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
        initial = data.draw(st.sampled_from([None, 7]))
        result = accumulate(OPERATORS[name], y, axis=axis, initial=initial)
        if initial is not None:
            first = np.full([1 if n == axis % x.ndim else m for n, m in enumerate(x.shape)], 7)
            x = np.concatenate([first.astype(x.dtype), x], axis=axis)
        want = np.frompyfunc(OPERATORS[name], 2, 1).accumulate(
            x.astype(int).astype(object), axis=axis
        )
        check(result, want, x.dtype, device)

    run()


# Shapes whose work a CPU divides in each way, with a rest: along the reduced axis, by 16 and by 64
# neighbours of the last one, and by neighbours of the first one.
DIVIDED = [(1, 5000, 1), (2, 300, 17), (1, 200, 70), (259, 70, 2)]


@pytest.mark.parametrize("shape", DIVIDED, ids=str)
def test_each_way_to_divide_the_work(shape: tuple[int, ...]) -> None:
    require_launcher("numpy:cpu:0")
    rng = np.random.default_rng(3)
    x = (rng.integers(0, 10, shape) + 11 * rng.integers(0, 5, shape)).astype(np.int32)
    x[:, -1, :] = 10  # the largest remainder by 11: the result of what reads the last element
    y = pa.asarray(x, device="numpy")
    total = reduce(larger, y, axis=1)
    check(total, folded(larger, x, 1), x.dtype, "numpy:cpu:0")
    reverse = reduce(larger, pa.flip(y, axis=1), axis=1)
    check(reverse, folded(larger, x[:, ::-1, :], 1), x.dtype, "numpy:cpu:0")
    running = np.frompyfunc(larger, 2, 1).accumulate(x.astype(object), axis=1)
    check(accumulate(larger, y, axis=1), running, x.dtype, "numpy:cpu:0")


def nearer(a: Any, b: Any) -> Any:
    """Tell which key is nearer to 20; there are many that are equally near."""
    return abs(a // 4 - 5) < abs(b // 4 - 5)


def test_sort_by_key(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require_launcher(device)
    monkeypatch.setattr(algorithms, "_FEW", 32)
    signed = [dtype for dtype in dtypes_of(device).values() if dtype.kind != "u"]

    @drawn(device)
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        count = data.draw(st.sampled_from(SIZES))
        dtype = data.draw(st.sampled_from(signed))
        x = numbers((count,), data.draw(st.integers(0, 99)), dtype)
        pairs = np.stack([np.arange(count), x.astype(np.int32)], axis=1).astype(np.int32)
        y = pa.asarray(x, device=device)
        values = pa.asarray(pairs, device=device)
        if data.draw(st.booleans()):
            x, pairs, y, values = x[::-2], pairs[::-2], y[::-2], values[::-2]
        less, key = data.draw(
            st.sampled_from(
                [
                    (nearer, lambda k: abs(k // 4 - 5)),
                    (None, lambda k: k),
                    (operator.gt, lambda k: -k),
                    (lambda a, b: a < b, lambda k: k),
                ]
            )
        )
        descending = data.draw(st.booleans())
        keys, sorted_values = sort_by_key(y, values, less=less, descending=descending)
        ranks = [(-1 if descending else 1) * key(int(k)) for k in x]
        places = np.argsort(ranks, kind="stable") if len(x) else np.zeros(0, int)
        check(keys, x[places].astype(float), x.dtype, device)
        check(sorted_values, pairs[places], np.int32, device)

    run()


def test_map_kernel(device: str) -> None:
    require_launcher(device)

    @drawn(device)
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        shape = tuple(data.draw(st.lists(st.sampled_from((0, 1, 2, 5, 30)), max_size=4)))
        second = tuple([data.draw(st.sampled_from((1, n))) for n in shape])
        dtype = data.draw(st.sampled_from(list(dtypes_of(device).values())))
        seed = data.draw(st.integers(0, 99))
        x, z = numbers(shape, seed, dtype), numbers(second, seed + 1, dtype)
        placed = [pa.asarray(operand, device=device) for operand in (x, z)]
        if data.draw(st.booleans()):
            x, z = x.T, z.T
            placed = [
                pa.permute_dims(operand, tuple(range(operand.ndim))[::-1]) for operand in placed
            ]
        check(map_kernel(larger, *placed), np.vectorize(larger, [float])(x, z), x.dtype, device)
        result = map_kernel(lambda a, k: a > k, placed[0], 5)
        check(result, x > 5, bool, device)
        result = map_kernel(lambda a: a % 2 == 0, placed[0], dtype=pa.bool)
        check(result, x % 2 == 0, bool, device)

    run()


def test_types_of_results(device: str) -> None:
    """Literals are weak; a dtype that is asked for holds them, or is refused."""
    require_launcher(device)
    x = pa.asarray([1, 2], dtype=pa.int32, device=device)
    default = pa.__array_namespace_info__().default_dtypes(device=pa.device(device))
    assert map_kernel(lambda a: 1, x).dtype == default["integral"]
    assert map_kernel(lambda a: 0.5, x).dtype == default["real floating"]
    assert map_kernel(lambda a: 0.5 * kl.float32(a), x).dtype == pa.float32
    assert map_kernel(lambda a: a + 1, x, dtype=pa.float32).dtype == pa.float32
    assert map_kernel(lambda a, k: a * k, x, True).dtype == pa.int32
    with pytest.raises(TypeError, match="does not fit int32"):
        map_kernel(lambda a: kl.float32(a), x, dtype=pa.int32)
    total = reduce(lambda a, b: a + b, x, dtype=pa.float32)
    assert (total.dtype, float(total)) == (pa.float32, 3)


BUILT_IN = [
    (operator.add, "sum"), (np.add, "sum"), (pa.add, "sum"), (operator.mul, "prod"),
    (pa.multiply, "prod"), (min, "min"), (max, "max"), (pa.minimum, "min"), (np.maximum, "max"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "name"), BUILT_IN, ids=lambda function: getattr(function, "__name__", function)
)
def test_the_librarys_own(
    function: Any, name: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the library has itself is not computed by a kernel, and has the same dtype."""
    monkeypatch.setattr(algorithms, "_kernels", None)
    x = pa.asarray([[1, 2, 3], [4, 5, 6]], dtype=pa.int32, device=device)
    for axis in (None, 0, (0, 1)):
        want = getattr(np, name)(np.asarray(x), axis=axis, keepdims=True)
        check(reduce(function, x, axis=axis, keepdims=True), want, pa.int32, device)
    assert int(reduce(function, x, initial=3)) == getattr(np, name)(np.asarray(x), initial=3)
    if name in ("sum", "prod"):
        result = accumulate(function, x, axis=1, initial=2)
        want = [
            list(itertools.accumulate(row, function, initial=2)) for row in ((1, 2, 3), (4, 5, 6))
        ]
        check(result, want, pa.int32, device)
    empty = pa.zeros((0, 2), device=device)
    if name in ("sum", "prod"):
        assert reduce(function, empty, axis=0).shape == (2,)
    else:
        with pytest.raises(ValueError, match="no elements along axis 0"):
            reduce(function, empty, axis=0)


def test_and_and_or(device: str) -> None:
    x = pa.asarray([[True, False], [True, True]], device=device)
    for function in (operator.and_, pa.logical_and, np.bitwise_and, min):
        check(reduce(function, x, axis=0), [True, False], bool, device)
    for function in (operator.or_, pa.logical_or, np.bitwise_or, max):
        check(reduce(function, x, axis=1), [True, True], bool, device)
    require_launcher(device)
    ints = pa.asarray([12, 10], dtype=pa.int32, device=device)
    check(reduce(operator.and_, ints), 8, pa.int32, device)
    check(reduce(np.bitwise_xor, ints), 6, pa.int32, device)
    check(reduce(operator.xor, x, axis=0), [False, True], bool, device)
    check(accumulate(max, ints[::-1]), [10, 12], pa.int32, device)


@pytest.mark.one_device
def test_constants_of_functions(device: str) -> None:
    """A function that is made anew, or whose constants change, is what it says now."""
    require_launcher(device)
    x = pa.asarray([1, 2, 3], device=device)

    def scaled(k: Any) -> Any:
        return lambda a: a * k

    for _ in range(2):
        for k in (1, 2, True, 2.0, 0.5):
            check(
                map_kernel(scaled(k), x), np.asarray([1, 2, 3]) * k, (np.int64(1) * k).dtype, device
            )
    cell = [scaled(3), 4]
    k = 3

    def outer(a: Any) -> Any:
        return a * k

    assert int(map_kernel(outer, x)[0]) == 3
    k = 5
    assert int(map_kernel(outer, x)[0]) == 5
    k = 3
    assert int(map_kernel(lambda a: a * k, x)[0]) == 3
    assert cell


GLOBAL = 2


@pytest.mark.one_device
def test_a_changed_global(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require_launcher(device)
    x = pa.asarray([1, 2, 3], dtype=pa.int32, device=device)
    for value in (2, 3, 2.5):
        monkeypatch.setitem(globals(), "GLOBAL", value)
        result = map_kernel(lambda a: a * GLOBAL, x)
        np.testing.assert_array_equal(np.asarray(result), np.asarray([1, 2, 3]) * value)


@pytest.mark.one_device
def test_lambdas(device: str) -> None:
    """Each is told from others of its line, within others, and over several lines."""
    require_launcher(device)
    x = pa.asarray([2, 3], device=device)
    several = [lambda a: a + 1, lambda a: a * 5, lambda a: 7, lambda a: a, (lambda a: -a)]
    within = (lambda a: lambda a: a - 1)(0)
    long = lambda a: (  # noqa: E731
        a * a
        if a > 2 else
        -1
    )  # fmt: skip
    helper = pa.kernel.function(lambda a: a - 2)
    by_helper = lambda a: helper(a) + 1  # noqa: E731
    want = [[3, 4], [10, 15], [7, 7], [2, 3], [-2, -3], [1, 2], [-1, 9], [0, 1], [1, 2]]
    for function, values in zip([*several, within, long, helper, by_helper], want, strict=True):
        check(map_kernel(function, x), values, np.int64, device)


class Adder:
    def __call__(self, a: Any, b: Any) -> Any:
        return a + b


def no_text() -> Any:
    names: dict[str, Any] = {}
    exec("def f(a, b):\n    return a", names)
    return names["f"]


X = [1.0, 2.0]
ERRORS: list[tuple[Callable[[pa.Array], Any], type[Exception], str]] = [
    (lambda x: reduce(3, x), TypeError, r"reduce: 3 is not a function that kernels can call"),  # type: ignore[arg-type]
    (lambda x: reduce(Adder(), x), TypeError, r"(?s)reduce: .*Adder.*write it with def"),
    (lambda x: reduce(lambda a: a, x), TypeError, r"<lambda>\(a\) must have 2 plain"),
    (lambda x: reduce(lambda a, b=1: a, x), TypeError, r"must have 2 plain parameters"),
    (lambda x: reduce(lambda *a: a, x), TypeError, r"must have 2 plain parameters"),
    (lambda x: reduce(no_text(), x), TypeError, r"reduce: .*source of f is not available"),
    (lambda x: reduce(eval("lambda a, b: a"), x), TypeError, r"source of the lambda is not avail"),
    (lambda x: reduce(lambda a, b: a < b, x), TypeError, r"returns bool for two numbers of float"),
    (lambda x: reduce(lambda a, b: (a, b), x), TypeError, r"returns a tuple of 2"),
    (lambda x: reduce(np.gcd, x), TypeError, r"reduce: gcd is not in the kernel language"),
    (lambda x: reduce(lambda a, b: [a], x), SyntaxError, r"a list is not in the kernel language"),
    (lambda x: reduce(larger, np.ones(3)), TypeError, r"numpy.ndarray is not an array of"),  # type: ignore[arg-type]
    (lambda x: reduce(larger, x, axis=1), ValueError, r"axis 1 is out of range for an"),
    (lambda x: reduce(larger, x, axis=(0, 0)), ValueError, r"repeats an axis"),
    (lambda x: reduce(larger, x, axis=0.5), TypeError, r"axis=0.5 is not an integer"),  # type: ignore[arg-type]
    (lambda x: reduce(lambda a, b: a + b, x > 1), TypeError, r"pass dtype=, such as int64"),
    (lambda x: accumulate(larger, pa.ones((2, 2))), ValueError, r"2 axes\nHint: pass axis="),
    (lambda x: map_kernel(larger, x, [1.0]), TypeError, r"list"),
    (lambda x: map_kernel(larger, x, "1"), TypeError, r"map_kernel: builtins.str is not"),
    (lambda x: map_kernel(larger, 1, 2), TypeError, r"no argument is an array"),
    (lambda x: map_kernel(lambda a: a, x, x), TypeError, r"with 2 numbers"),
    (lambda x: sort_by_key(x, less=lambda a, b: a - b), TypeError, r"less must return a bool"),
    (lambda x: sort_by_key(x, pa.ones(3)), ValueError, r"values of shape \(3,\) for 2 keys"),
    (lambda x: sort_by_key(pa.ones((2, 2))), ValueError, r"keys have shape \(2, 2\)"),
]  # fmt: skip


@pytest.mark.one_device
@pytest.mark.parametrize("index", range(len(ERRORS)))
def test_errors(index: int, device: str) -> None:
    require_launcher(device)
    call, error, text = ERRORS[index]
    with pa.device(device):
        x = pa.asarray(X)
        with pytest.raises(error, match=text):
            call(x)


def test_a_syntax_error_is_at_the_users_line() -> None:
    def wrong(a: Any, b: Any) -> Any:
        return a + unknown(b)  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(SyntaxError) as result:
        reduce(wrong, pa.ones(3, device="numpy"))
    assert result.value.filename == __file__
    assert result.value.text is not None
    assert "unknown(b)" in result.value.text


def test_devices(fake: str) -> None:
    """Where no kernels run, the device says why; the library's own functions need none."""
    x, y = pa.ones(3, device=f"{fake}:cuda:0"), pa.ones(3, device="numpy")
    with pytest.raises(DeviceMismatchError):
        map_kernel(larger, x, y)
    for call in (
        lambda: reduce(larger, x),
        lambda: accumulate(larger, x),
        lambda: map_kernel(larger, x, x),
        lambda: sort_by_key(x, less=nearer),
    ):
        with pytest.raises(NotImplementedError, match="does not run user kernels"):
            call()
    assert float(reduce(operator.add, x)) == 3
    assert sort_by_key(x)[0].shape == (3,)
    with pa.config(kernel_debug=True):
        assert float(reduce(larger, x)) == 1


def test_debug_mode(device: str, plan: str) -> None:
    """Accesses and races are checked, and there are none."""
    x = numbers((150,), 3, "int32")
    y = pa.asarray(x, device=device)
    with pa.config(kernel_debug=True):
        check(reduce(composed, y), folded(composed, x, 0), np.int32, device)
        want = list(itertools.accumulate(x.tolist(), composed))
        check(accumulate(composed, y), want, np.int32, device)
        keys, places = sort_by_key(y, pa.arange(150, device=device), less=nearer)
        order = sorted(range(150), key=lambda n: abs(x[n] // 4 - 5))
        check(places, order, places.dtype, device)
        assert keys.shape == (150,)
        check(map_kernel(lambda a, b: a - b, y, 1), x - 1, np.int32, device)


@pytest.mark.one_device
def test_large_arrays(device: str) -> None:
    require_launcher(device)
    x = np.random.default_rng(1).integers(0, 64, 300_001).astype(np.int32)
    y = pa.asarray(x, device=device)
    want = np.asarray(list(itertools.accumulate(x.tolist(), composed)))
    check(accumulate(composed, y), want, np.int32, device)
    check(reduce(composed, y), want[-1], np.int32, device)
    check(sort_by_key(y, less=lambda a, b: a < b)[0], np.sort(x), np.int32, device)


def test_complex_numbers(device: str) -> None:
    require_launcher(device)
    x = np.exp(1j * numbers((50,), 1, np.float32)).astype(np.complex64)
    placed = pa.asarray(x, device=device)
    result = map_kernel(lambda a, k: a * k + 1, placed, 2j)
    assert result.dtype == pa.complex64
    np.testing.assert_array_equal(np.asarray(result), x * 2j + 1)
    check(map_kernel(lambda a: abs(a) > 2, placed), np.zeros(50), bool, device)
    product = np.asarray(reduce(lambda a, b: a * b, placed))
    np.testing.assert_allclose(product, np.prod(x), rtol=1e-4)
    products = np.asarray(accumulate(lambda a, b: a * b, placed))
    np.testing.assert_allclose(products, np.cumprod(x), rtol=1e-4)
    (keys,) = sort_by_key(placed, less=lambda a, b: a.imag < b.imag)
    np.testing.assert_array_equal(np.asarray(keys), x[np.argsort(x.imag, kind="stable")])
    with pytest.raises(pa.KernelSyntaxError, match="< needs an order"):
        sort_by_key(placed, less=lambda a, b: a < b)
