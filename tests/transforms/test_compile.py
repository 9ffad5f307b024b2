"""``pa.compile``: the same numbers as the function itself, on every device."""

from __future__ import annotations

import functools
import gc
import io
import os
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from compiled_arrays import asarray, assert_alike, host
from portarray_conformance.gradients import CASES
from portarray_conformance.gradients.differences import argnums, has, placed

import portarray as pa
from portarray._kernel_language import preparing
from portarray.errors import TracedArrayError

ALL = bool(os.environ.get("PORTARRAY_ALL_GRADIENTS"))
SHARE = {"numpy": 1, "clarray": 4, "mlx": 8, "dpnp": 16, "jax": 40, "torch": 40}
"""Of how many cases a device has one: some compilers take seconds for each."""


def _doubled(function: Any) -> Any:
    @functools.wraps(function)
    def doubled(x: Any) -> Any:
        return 2 * function(x)

    return doubled


def _scaled_gradient(function: Any) -> Any:
    scaled = pa.custom_vjp(function)
    scaled.defvjp(lambda args, g: (pa.grad(function)(*args) * g * 10,))
    return scaled


@pytest.mark.parametrize("seed", range(8))
def test_transforms_of_compiled_functions_compile(seed: int, device: str) -> None:
    if seed % SHARE.get(pa.device(device).library, 1) and not ALL:
        pytest.skip("on other devices; PORTARRAY_ALL_GRADIENTS=1 runs all")
    x = asarray([1.0, 2.0, 3.0], device)
    rng = np.random.default_rng(seed)
    transforms = (_doubled, _scaled_gradient, pa.checkpoint, lambda f: lambda x: f(x) + 1)
    drawn = [transforms[n] for n in rng.integers(len(transforms), size=3)]

    def built(compile: Any) -> Any:
        function = compile(lambda x: pa.sum(x * x))
        for transform in drawn:
            function = compile(transform(function))
        return function

    plain, compiled = built(lambda f: f), built(pa.compile)
    assert float(compiled(x)) == float(plain(x))
    for gradient in (pa.grad(compiled), pa.compile(pa.grad(compiled))):
        np.testing.assert_allclose(host(gradient(x)), host(pa.grad(plain)(x)), rtol=1e-6)
    value, gradient = pa.compile(pa.value_and_grad(compiled))(x)
    assert float(value) == float(plain(x))
    np.testing.assert_allclose(host(gradient), host(pa.grad(plain)(x)), rtol=1e-6)


@pytest.mark.parametrize("case_index", range(len(CASES)), ids=[case.name for case in CASES])
def test_values_and_gradients_are_those_of_the_function(
    case_index: int, device: str, fuses: None
) -> None:
    case = CASES[case_index]
    share = SHARE.get(pa.device(device).library, 1)
    if case_index % share and not ALL:
        pytest.skip("on other devices; PORTARRAY_ALL_GRADIENTS=1 runs all")
    if case.name == "getitem, mask":
        pytest.skip("the shape of the result depends on values: refused, as a test below says")
    drawn = case.drawn(0, 0)
    with np.errstate(over="ignore"):  # of numbers that only float64 has
        args = [placed(x, device, narrow=not has(device, "complex128")) for x in drawn.args]
    places = argnums(drawn)

    def function(*arrays: Any) -> Any:
        every = list(args)
        for n, x in zip(places, arrays, strict=True):
            every[n] = x
        return drawn.function(*every)

    def both(*arrays: Any) -> tuple[Any, ...]:
        y, vjp_fun = pa.vjp(function, *arrays)
        return y, *vjp_fun(pa.ones_like(y))

    compiled = pa.compile(both)
    operands = [args[n] for n in places]
    for _ in range(2):  # traced, and again
        with np.errstate(all="ignore"):  # singular points are drawn, too
            results = zip(compiled(*operands), both(*operands), strict=True)
        for result, expected in results:
            assert_alike(result, expected)


class Drawn:
    """A function of three arrays that broadcast, of some calls drawn by a seed."""

    UNARY = ("abs", "exp", "tanh", "sin", "negative", "square", "floor", "sign", "sqrt", "log1p")
    BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "atan2", "hypot")
    REDUCTIONS = ("sum", "max", "min", "mean")

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        full = tuple(int(n) for n in rng.choice([1, 2, 3, 7, 20], rng.integers(1, 4)))
        shapes = [full, (*(1 for _ in full[:-1]), full[-1]), (*full[:-1], 1)]
        self.inputs = [rng.normal(size=shape).astype("f4") for shape in shapes]
        self.larger = [np.resize(x, [n + (n > 1) for n in x.shape]) for x in self.inputs]
        self.calls = [
            (int(rng.integers(0, 9)), int(rng.integers(0, 99)), int(rng.integers(0, 99)), draw)
            for draw in rng.integers(0, 99, int(rng.integers(3, 14)))
        ]

    def __call__(self, *inputs: Any) -> tuple[Any, Any]:
        values = list(inputs)
        for kind, first, second, draw in self.calls:
            x, y = values[-1 - first % len(values)], values[-1 - second % len(values)]
            if kind <= 1:
                x = getattr(pa, self.UNARY[draw % len(self.UNARY)])(pa.clip(x, -0.9, 5.0))
            elif kind <= 3:
                x = getattr(pa, self.BINARY[draw % len(self.BINARY)])(x, y)
            elif kind == 4:
                x = pa.where(x > y, x, 0.5 * y) ** 2
            elif kind == 5 and x.ndim:
                reduce = getattr(pa, self.REDUCTIONS[draw % len(self.REDUCTIONS)])
                axis = (-1, 0, None, tuple(range(x.ndim))[1:] or None)[draw % 4]
                x = reduce(x, axis=axis, keepdims=True)
            elif kind == 6 and x.ndim:
                x = pa.expand_dims(pa.sum(x, axis=-1), axis=-1)
            elif kind == 7:
                x = pa.astype(pa.astype(x, pa.int32), pa.float32) + x
            elif kind == 8 and x.ndim:
                x = x[..., ::-1] * (0.5 if draw % 2 else 1 / x.shape[-1])
            values.append(x)
        return values[-1], values[len(values) // 2]


PROGRAMS = {"numpy": 150, "clarray": 60, "dpnp": 8, "jax": 8, "mlx": 8, "torch": 3}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_drawn_programs(device: str, fuses: None) -> None:
    kernels = 0
    for seed in range(PROGRAMS.get(pa.device(device).library, 8)):
        function = Drawn(seed)
        is_dynamic = seed % 3 == 2
        optimize: Any = ("default", "aggressive")[seed % 3 == 1]
        compiled = pa.compile(function, optimize=optimize, dynamic=is_dynamic)
        for drawn in (function.inputs, function.larger)[: 1 + is_dynamic]:
            inputs = [pa.asarray(x, device=device) for x in drawn]
            for got, want in zip(compiled(*inputs), function(*inputs), strict=True):
                # Kernels may differ in the last places, which floor and comparisons make visible.
                actual, expected = host(got), host(want)
                assert actual.shape == expected.shape
                close = np.isclose(actual, expected, rtol=1e-4, atol=1e-4, equal_nan=True)
                assert close.mean() > 0.9, f"seed {seed}: {actual} is not {expected}"
            kernels += len(compiled.explain(*inputs).kernels)
    if pa.device(device).library in ("numpy", "clarray", "dpnp"):
        assert kernels


def test_chains_and_rows_are_one_kernel(device: str, fuses: None) -> None:
    x, w = asarray(np.linspace(-2, 2, 40).reshape(4, 10), device), asarray(np.arange(10), device)

    def softmax(x: Any, w: Any) -> Any:
        e = pa.exp(w * x - pa.max(w * x, axis=-1, keepdims=True))
        return e / pa.sum(e, axis=-1, keepdims=True)

    compiled = pa.compile(softmax)
    assert_alike(compiled(x, w), pa.kernels.softmax(w * x))
    explanation = compiled.explain(x, w)
    assert explanation.calls == 7
    if explanation.by == "portarray" and "its arrays" not in str(explanation.reasons):
        assert [kernel.calls.count("exp") for kernel in explanation.kernels] == [1], explanation
        assert len(explanation.steps) == 1  # w * x was computed twice, and is in the kernel once
        assert "multiply" in str(explanation)


def test_rows_hold_what_costs_much(device: str, fuses: None) -> None:
    """An output's memory holds a costly value for later passes over a row."""

    def several(x: Any) -> Any:
        a = pa.exp(x - pa.max(x, axis=-1, keepdims=True))
        b = pa.tanh(a) / pa.sum(a, axis=-1, keepdims=True)
        c = pa.sin(b + a) / pa.sum(b * b, axis=-1, keepdims=True)
        return c, pa.cos(a) * pa.max(c, axis=-1, keepdims=True), b - c, pa.sum(pa.exp(b), axis=-1)

    def twice(x: Any) -> Any:
        e = pa.exp(x)
        s = e / pa.sum(e, axis=-1, keepdims=True)
        return s, e + pa.max(s, axis=-1, keepdims=True)  # after `s` was written

    x = asarray(np.random.default_rng(4).normal(size=(5, 37)), device)
    for function in (several, twice):
        for got, want in zip(pa.compile(function)(x), function(x), strict=True):
            assert_alike(got, want)
    softmax = pa.compile(lambda x: pa.exp(x) / pa.sum(pa.exp(x), axis=-1, keepdims=True))
    assert_alike(softmax(x), pa.exp(x) / pa.sum(pa.exp(x), axis=-1, keepdims=True))
    for kernel in softmax.explain(x).kernels:
        if pa.device(device).kind == "cpu":
            assert kernel.text.count("pa.exp(") == 1, kernel.text


def test_strided_arguments(device: str, fuses: None) -> None:
    compiled = pa.compile(lambda x, y: pa.exp(x) * y + x)
    x = asarray(np.arange(12).reshape(3, 4) / 9, device)
    for view in (x, x[:, ::-1], x[1:, 1:3], pa.permute_dims(x, (1, 0)), x[::2, ::2]):
        assert_alike(compiled(view, view), pa.exp(view) * view + view)
    assert_alike(compiled(x, x[0, :]), pa.exp(x) * x[0, :] + x)


def test_empty_and_single_numbers(device: str, fuses: None) -> None:
    def function(x: Any) -> Any:
        return pa.sum(pa.exp(x) * 2 - x, axis=-1), pa.exp(x) + x

    compiled = pa.compile(function)
    for shape in ((3, 0), (0, 3), (1, 1), (1,)):
        x = asarray(np.ones(shape), device)
        for got, want in zip(compiled(x), function(x), strict=True):
            assert_alike(got, want)
    broadcast = pa.compile(lambda x, y: (x * y + 1.0, y * 2.0))
    for shape in ((0, 2), (2, 0, 2), (0, 1), (1, 0)):
        x, y = asarray(np.ones(shape), device), asarray(np.ones(shape[-1:]), device)
        for got, want in zip(broadcast(x, y), (x * y + 1.0, y * 2.0), strict=True):
            assert_alike(got, want)
    single = pa.compile(lambda x: pa.exp(x) * 2 + x)
    assert_alike(single(asarray(2.0, device)), pa.exp(asarray(2.0, device)) * 2 + 2)


def test_unusual_host_memory(fuses: None) -> None:
    records = np.zeros(10, dtype=[("flag", "u1"), ("value", "f4")])
    unaligned = np.zeros(41, dtype="u1")[1:].view("f4")
    for x in (records["value"], unaligned, np.arange(10, dtype="f4")[::-1]):
        x[...] = np.arange(10)
        x.flags.writeable = False
        compiled = pa.compile(lambda x: pa.exp(x) * 2 + x)
        sums = compiled(pa.asarray(x, device="numpy"))
        np.testing.assert_allclose(host(sums), np.exp(x) * 2 + x, rtol=1e-6)


@pytest.mark.parametrize("shape", [(64, 100), (4096,), (2, 3, 64), (7, 11)])
def test_totals_are_part_of_a_kernel(shape: tuple[int, ...], device: str, fuses: None) -> None:
    rng = np.random.default_rng(1)
    x, y = (asarray(rng.normal(size=shape), device) for _ in range(2))

    def function(x: Any, y: Any) -> Any:
        e = (x - y) ** 2
        whole = pa.sum(pa.astype(x * 10, pa.int32))
        return pa.mean(e), pa.max(e * 2, keepdims=True), whole, x / pa.sum(pa.exp(x)), e

    compiled = pa.compile(function)
    for got, want in zip(compiled(x, y), function(x, y), strict=True):
        assert_alike(got, want)
    explanation = compiled.explain(x, y)
    if explanation.kernels and shape != (7, 11):
        assert any("mean" in kernel.calls for kernel in explanation.kernels)


def test_arguments_are_trees(device: str) -> None:
    x = asarray([1.0, 2.0], device)

    @pa.compile
    def step(state: dict[str, Any], power: int, *, scale: float = 1.0) -> dict[str, Any]:
        """Say what it does."""
        return {"x": state["x"] ** power * scale, "more": [state["more"][0] + 1, None, "text"]}

    assert step.__doc__ == "Say what it does."
    output = step({"x": x, "more": (x,)}, 3, scale=2.0)
    np.testing.assert_allclose(host(output["x"]), [2.0, 16.0])
    np.testing.assert_allclose(host(output["more"][0]), [2.0, 3.0])
    assert output["more"][1:] == [None, "text"]
    np.testing.assert_allclose(host(step({"x": x, "more": (x,)}, 2)["x"]), [1.0, 4.0])
    with pytest.raises(TypeError, match=r"(?s)is ndarray, .*pa.asarray"):
        step({"x": x, "more": (x,)}, np.ones(2))


def test_functions_are_traced_once_for_each_kind_of_arguments(device: str) -> None:
    traced = io.StringIO()  # a file: functions may write to it

    def function(x: Any, n: Any) -> Any:
        traced.write("x")
        return x * n

    compiled = pa.compile(function)
    x = asarray([1.0, 2.0], device)
    for n in (1, 1.0, True, 2, 0.0, -0.0):
        for _ in range(2):
            np.testing.assert_array_equal(host(compiled(x, n)), host(x) * n)
    for shape in ((2,), (1, 2), (2, 1)):
        for _ in range(2):
            compiled(pa.reshape(x, shape), x)
    compiled(pa.astype(x, pa.int32), x)
    assert len(traced.getvalue()) == 6 + 3 + 1


def test_arrays_from_outside_are_inputs(device: str) -> None:
    weights = asarray([1.0, 2.0], device)
    x = asarray([3.0, 5.0], device)

    def function(x: Any) -> Any:
        copied = pa.zeros_like(weights)
        copied[0] = 4.0
        return x * weights + copied

    compiled = pa.compile(function)
    compiled(x)
    weights += 100.0
    np.testing.assert_array_equal(host(compiled(x)), [307.0, 510.0])
    identity = pa.compile(lambda x: (x, weights))
    np.testing.assert_array_equal(host(identity(x)[1]), [101.0, 102.0])


def test_random_numbers_and_core_kernels(device: str) -> None:
    key = pa.random.key(7, device=device)

    def function(key: Any, x: Any) -> Any:
        return pa.random.uniform(key, (3, 4), dtype=pa.float32) + pa.kernels.softmax(x)

    x = asarray(np.ones((3, 4)), device)
    compiled = pa.compile(function)
    assert_alike(compiled(key, x), function(key, x))
    explanation = compiled.explain(key, x)
    assert any("kernels.softmax" in step for step in explanation.steps)


def test_gradients_of_compiled_functions(device: str) -> None:
    x = asarray([1.0, 2.0], device)
    compiled = pa.compile(lambda x: pa.sum(x**3))
    compiled(x)  # before and after it is compiled
    np.testing.assert_allclose(host(pa.grad(compiled)(x)), [3.0, 12.0])
    stopped = pa.compile(pa.grad(lambda x: pa.sum(x * pa.stop_gradient(x * x))))
    for y in (x, x + 1):
        np.testing.assert_allclose(host(stopped(y)), host(y) ** 2)
    both = pa.compile(pa.grad(lambda x: pa.sum(pa.grad(compiled)(x))))
    np.testing.assert_allclose(host(both(x)), [6.0, 12.0])


def test_gradients_of_losses_are_compiled_whole(device: str) -> None:
    """PyTorch's compiler has no values of the classes that the gradient writes at."""

    def loss(weight: Any, x: Any, due: Any) -> Any:
        return pa.kernels.cross_entropy(x @ weight, due)

    rng = np.random.default_rng(5)
    weight, x = (asarray(rng.normal(size=shape), device) for shape in ((3, 4), (5, 3)))
    due = pa.asarray([0, 1, 2, 3, 0], device=device)
    function = pa.value_and_grad(loss)
    compiled = pa.compile(function)
    for actual, expected in zip(compiled(weight, x, due), function(weight, x, due), strict=True):
        assert_alike(actual, expected)
    if device.startswith("torch"):
        assert "not fused" not in str(compiled.explain(weight, x, due))


def test_branches_and_loops(device: str) -> None:
    unit, x = asarray(1.0, device), asarray([1.0, 2.0], device)
    branch = pa.compile(lambda p, x: pa.cond(p > 0, lambda x: x * 2, lambda x: -x, x))
    for sign in (1, -1, 3):
        expected = host(x) * 2 if sign > 0 else -host(x)
        np.testing.assert_array_equal(host(branch(unit * sign, x)), expected)

    def power(x: Any, count: Any) -> Any:
        def body(state: dict[str, Any]) -> dict[str, Any]:
            return {"n": state["n"] + 1, "x": state["x"] * x}

        return pa.while_loop(lambda state: state["n"] < count, body, {"n": count * 0, "x": x})

    compiled = pa.compile(power)
    for count in (0, 3, 1):
        actual = compiled(x, asarray(count, device))
        np.testing.assert_array_equal(host(actual["x"]), host(x) ** (count + 1))
        assert float(actual["n"]) == count
    sums = pa.compile(lambda x: pa.scan(lambda s, x: (s + x, s * x), unit, x))
    last, actual = sums(asarray([1.0, 2.0, 3.0], device))
    assert float(last) == 7.0
    np.testing.assert_array_equal(host(actual), [1.0, 4.0, 12.0])
    slope = pa.compile(pa.grad(lambda s, x: pa.scan(lambda s, x: (s * x, s), s, x)[0]))
    assert float(slope(unit, asarray([1.0, 2.0, 3.0], device))) == 6.0
    for bad in (lambda x: x[0], lambda x: {"x": x}, lambda x: pa.astype(x, pa.int32)):
        with pytest.raises(ValueError, match="while_loop"):
            pa.compile(lambda x, b=bad: pa.while_loop(lambda x: pa.all(x < 5), b, x))(x)
        with pytest.raises(ValueError, match="cond"):
            pa.compile(lambda x, b=bad: pa.cond(x[0] > 0, b, lambda x: x, x))(x)
    with pytest.raises(TypeError, match="the predicate has shape"):
        pa.cond(x, pa.sin, pa.cos, x)
    with pytest.raises(ValueError, match="same length"):
        pa.scan(lambda s, x: (s, x), unit, {"a": x, "b": unit})


REFUSED = {
    "bool": lambda x: x if x[0] > 0 else -x,
    "float": lambda x: x * float(x[0]),
    "int": lambda x: x * int(x[0]),
    "item": lambda x: x * x[0].item(),
    "tolist": lambda x: x * x.tolist()[0],
    "numpy": lambda x: x * np.asarray(x)[0],
    "dlpack": lambda x: x * np.from_dlpack(x)[0],
    "nonzero": lambda x: pa.nonzero(x)[0],
    "unique": pa.unique_values,
    "mask": lambda x: x[x > 0],
    "repeat": lambda x: pa.repeat(x, pa.astype(x, pa.int64)),
}


@pytest.mark.parametrize("reading", REFUSED)
def test_values_are_not_read_while_compiling(reading: str, device: str) -> None:
    x = asarray([1.0, 2.0], device)
    with pytest.raises(TracedArrayError, match=r"(?s)pa\.compile.*(pa\.where|pa\.cond)") as caught:
        pa.compile(REFUSED[reading])(x)
    assert any(entry.path.name == "test_compile.py" for entry in caught.traceback)


def test_mistakes_raise_errors_that_name_them(device: str) -> None:
    x = asarray([1.0, 2.0], device)
    leaked = []

    def keeping(x: Any) -> Any:
        leaked.append(x)
        return x * 2

    with pytest.raises(TracedArrayError, match=r"(?s)^keeping: .*changes leaked, at line .*return"):
        pa.compile(keeping)(x)
    with pytest.raises(TracedArrayError, match=r"^keeping: .*is used after"):
        leaked[0] + 1

    def changing(x: Any) -> Any:
        x[0] = 3.0
        return x * 2

    with pytest.raises(TracedArrayError, match=r"(?s)^changing: .*in place.*copy"):
        pa.compile(changing)(x)
    np.testing.assert_array_equal(host(x), [1.0, 2.0])
    with pytest.raises(TypeError, match="compile: int is not a function"):
        pa.compile(3)
    with pytest.raises(ValueError, match="precision='fast'"):
        pa.compile(keeping, precision="fast")
    with pytest.raises(pa.errors.UnknownDeviceError):
        pa.compile(keeping, device="nowhere")


def test_functions_that_return_no_arrays(device: str) -> None:
    results: list[Any] = [lambda x: x.shape[0], lambda x: list(x), lambda x: {}, lambda x: None]
    for function in results:
        compiled = pa.compile(function)
        for size in (2, 0, 2):
            x = pa.zeros((size,), dtype=pa.float32, device=device)
            assert str(compiled(x)) == str(function(x))
    assert pa.compile(lambda: "name")() == "name"


def test_arguments_are_moved_to_a_device(device: str) -> None:
    compiled = pa.compile(lambda x, y: x + y["y"], device=device)
    x = pa.asarray([1.0], dtype=pa.float32, device="numpy")
    assert compiled(x, {"y": x}).device is pa.device(device)


def test_programs_move_arrays(device: str) -> None:
    def function(x: Any) -> Any:
        there = pa.exp(pa.to_device(x, "numpy")) * 2
        return pa.to_device(there, device) + x

    x = asarray([1.0, 2.0], device)
    assert_alike(pa.compile(function)(x), function(x))
    slope = pa.compile(pa.grad(lambda x: pa.sum(function(x))))
    np.testing.assert_allclose(host(slope(x)), 2 * np.exp(host(x)) + 1, rtol=1e-6)


def test_calls_are_made_with_their_device_current(
    fake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fake.backend import LIBRARY

    entered: list[int] = []
    enter = LIBRARY.on_device

    def noted(device: Any) -> Any:
        entered.append(device.index)
        return enter(device)

    compiled = pa.compile(lambda x: pa.exp(x) + pa.sum(x, axis=0))
    x = asarray([1.0, 2.0], "fake:cuda:1")
    compiled(x)
    monkeypatch.setattr(type(LIBRARY), "on_device", lambda _, device: noted(device))
    results = compiled(x)
    assert entered
    assert set(entered) == {1}
    assert len(entered) >= 3
    np.testing.assert_allclose(host(results), np.exp([1.0, 2.0]) + 3, rtol=1e-6)


def test_calls_are_made_where_a_kernel_cannot_be_built(
    fuses: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*args: Any) -> Any:
        raise pa.errors.KernelBuildError("fused", "numpy:cpu:0", "out of registers", "text")

    monkeypatch.setattr(preparing, "prepare", refused)
    compiled = pa.compile(lambda x: pa.exp(x) * 2 + x)
    x = asarray([1.0, 2.0], "numpy")
    assert_alike(compiled(x), pa.exp(x) * 2 + x)
    explanation = compiled.explain(x)
    assert not explanation.kernels
    assert "rejected the kernel" in str(explanation)


def test_a_program_of_a_thread_that_has_ended(device: str) -> None:
    compiled = pa.compile(lambda x: pa.sum(x * x + 1.0))
    x = asarray(np.arange(3.0), device)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(compiled.explain, x).result()
    assert float(compiled(x)) == 8.0


def test_threads_and_memory(device: str) -> None:
    compiled = pa.compile(lambda x: pa.sum(x * x + 1.0))
    x = asarray(np.arange(100.0), device)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: float(compiled(x + n)), range(64)))
    np.testing.assert_allclose(
        results, [((host(x) + n) ** 2 + 1).sum() for n in range(64)], rtol=1e-5
    )
    y = asarray(np.arange(100.0), device)
    explanation = weakref.ref(y)
    compiled(y)
    del y
    gc.collect()
    assert explanation() is None


class Model:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    @pa.compile
    def __call__(self, x: Any) -> Any:
        return x * self.scale


def test_methods_are_compiled_for_each_object(device: str) -> None:
    x = asarray([1.0, 2.0], device)
    for scale in (2.0, 3.0):
        np.testing.assert_array_equal(host(Model(scale)(x)), host(x) * scale)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_precision(device: str) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 30, 30)).astype("f4")
    x, y = asarray(a, device), asarray(b, device)

    def function(x: Any, y: Any) -> Any:
        return pa.sum(x @ y, axis=-1) * 1e-3, pa.exp(x)

    exact, exponential = pa.compile(function)(x, y)
    with pa.precision("mixed"):
        compiled = pa.compile(function)
        sums, same = compiled(x, y)
    assert_alike(same, exponential)
    assert sums.dtype == pa.float32
    apart = np.abs(host(sums) - host(exact)) / np.max(np.abs(host(exact)))
    assert 0 < np.max(apart) < 0.02
    # A product of operands out of float16's range; what is asked for now is what is computed.
    huge, _ = pa.compile(function, precision="mixed")(x * 1e6, y * 1e-9)
    np.testing.assert_allclose(host(huge), host(sums) * 1e-3, rtol=0.1, atol=1e-6)
    assert_alike(compiled(x, y)[0], exact)
    for name in ("float16", "bfloat16"):
        rounded = pa.compile(function, precision=name)  # type: ignore[arg-type, unused-ignore]
        try:
            pa.empty(1, dtype=name, device=device)  # type: ignore[arg-type, unused-ignore]
        except pa.DTypeNotSupportedError:
            with pytest.raises(pa.DTypeNotSupportedError, match=name):
                rounded(x, y)
        else:
            rough, _ = rounded(x, y)
            assert rough.dtype == pa.float32
            assert 0 < np.max(np.abs(host(rough) - host(exact))) < 0.05


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_verification(device: str) -> None:
    x = asarray([0.3, 2.1], device)
    fine = pa.compile(lambda x: {"y": pa.exp(x), "n": pa.sum(pa.astype(x, pa.int32))}, verify=True)
    for _ in range(2):
        np.testing.assert_allclose(host(fine(x)["y"]), np.exp([0.3, 2.1]), rtol=1e-6)
    with pytest.raises(pa.errors.VerificationError, match="not finite: inf"):
        fine(x * 100)

    def cancelling(x: Any) -> Any:
        return pa.stack([pa.sum(x), pa.sum(x + 1e6) - 2e6])  # the first is right

    with pytest.raises(
        pa.errors.VerificationError, match=r"differs from that of float64.*by up to"
    ):
        pa.compile(cancelling, verify=True)(x)
    pa.verify(pa.tanh, x, examples=5)
    with pytest.raises(pa.errors.VerificationError, match="argument 0") as caught:
        pa.verify(cancelling, x, devices=[device], examples=5)
    assert caught.value.device == device
    with pytest.raises(pa.errors.VerificationError, match="not finite") as caught:
        pa.verify(pa.reciprocal, x, property="finite")
    np.testing.assert_array_equal(host(caught.value.inputs[0]), [0.0, 0.0])
    with pytest.raises(pa.errors.VerificationError, match="property does not hold"):
        pa.verify(pa.sin, x, property=lambda x, y: pa.all(y >= x))
    with pytest.raises(TypeError, match="verify: takes at least one argument"):
        pa.verify(pa.sin, 3.0)
    with pytest.raises(ValueError, match="property='right'"):
        pa.verify(pa.sin, x, property="right")
