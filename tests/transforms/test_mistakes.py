"""Mistakes around gradients: each an error that says what to do, raised where it was made."""

from __future__ import annotations

import gc
import traceback
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest

import portarray as pa

Values = np.ndarray[Any, Any]


def host(x: Any) -> Values:
    return np.asarray(pa.to_device(x, "numpy"))


def asarray(values: Any, device: str) -> Any:
    return pa.asarray(values, dtype=pa.float32, device=device)


def other_than(device: str) -> str:
    name = "clarray" if device.startswith("numpy") else "numpy"
    if not pa.functional(name):
        pytest.skip(f"no {name} here")
    return name


def test_arguments_and_results(device: str) -> None:
    x = asarray([1.0, 3.0], device)
    for call, error, message in (
        (lambda: pa.grad(3), TypeError, "grad: int is not a function"),
        (lambda: pa.grad(lambda x: x)(x), TypeError, r"(?s)one real number.*shape \(2,\).*pa.vjp"),
        (lambda: pa.grad(lambda x: None)(x), TypeError, "it returned NoneType"),
        (lambda: pa.grad(lambda x: float(pa.sum(x)))(x), TypeError, "returned float"),
        (lambda: pa.grad(lambda x: [pa.sum(x)])(x), TypeError, "returned list"),
        (
            lambda: pa.grad(lambda x: pa.sum(pa.astype(x, pa.complex64)))(x),
            TypeError,
            "one real number.*complex64",
        ),
        (
            lambda: pa.grad(lambda x: pa.sum(pa.astype(x, pa.int32)))(x),
            TypeError,
            "one real number.*int",
        ),
        (lambda: pa.vjp(lambda x: None, x), TypeError, "vjp: .* must return arrays; .*NoneType"),
        (lambda: pa.vjp(lambda x: 3.0, x), TypeError, "vjp: .* must return arrays; .*float"),
        (lambda: pa.jacobian(lambda x: [x])(x), TypeError, "one array .*returned list"),
        (lambda: pa.hvp(lambda x: x, (x,), (x,)), TypeError, "one real number"),
        (lambda: pa.grad(pa.sum, argnums=3)(x), ValueError, "argnums=3 is out of range for 1"),
        (lambda: pa.grad(pa.sum, argnums=(0, 3))(x), ValueError, "out of range for 1"),
        (lambda: pa.grad(pa.sum, argnums=(0, -1))(x), ValueError, "names an argument twice"),
        (lambda: pa.grad(pa.sum, argnums=())(x), ValueError, "argnums=\\(\\) is empty"),
        (lambda: pa.grad(pa.sum, argnums=0.5)(x), TypeError, "is not an int or a sequence"),
        (lambda: pa.grad(lambda x: pa.sum(x))(x=x), ValueError, "out of range for 0 positional"),
        (
            lambda: pa.grad(lambda p: p["n"])({"n": 3}),
            TypeError,
            r"(?s)p\['n'\] of .* is int, .*leave it out of argnums",
        ),
        (
            lambda: pa.grad(lambda p: pa.sum(p["x"]))({"x": x, "n": np.ones(2)}),
            TypeError,
            r"(?s)p\['n'\] of .* is numpy.ndarray, .*pa.asarray",
        ),
        (lambda: pa.grad(pa.sum)(np.ones(2)), TypeError, "(?s)is numpy.ndarray, .*pa.asarray"),
        (lambda: pa.grad(lambda x: x * x)(3.0), TypeError, "(?s)x of .* is float, .*pa.asarray"),
        *(
            (
                lambda values=values: pa.grad(lambda n: pa.sum(n))(
                    pa.asarray(values, device=device)
                ),
                TypeError,
                rf"(?s)n of .* is an array .* {dtype}.*pa.astype\(n, pa.float32\)",
            )
            for values, dtype in (([1, 2], "int"), ([True], "bool"))
        ),
        (
            lambda: pa.jvp(lambda x: x, (pa.asarray([1], device=device),), (x,)),
            (TypeError, ValueError),
            "jvp",
        ),
        (lambda: pa.grad(lambda p: 0)(()), TypeError, "p contains no arrays"),
        (
            lambda: pa.grad(lambda x: pa.sum(pa.linalg.svd(x)[0]))(
                asarray(np.ones((3, 2)), device)
            ),
            pa.NoGradientError,
            "full_matrices=False",
        ),
        (lambda: pa.vjp(lambda x: x, x)[1](x[:1]), ValueError, r"shape \(1,\).*shape \(2,\)"),
        (lambda: pa.vjp(lambda x: x, x)[1](()), ValueError, "1 arrays, but there are 0"),
        (lambda: pa.jvp(lambda x: x, x, x), TypeError, r"(?s)primals is .* not a tuple .*\(x,\)"),
        (lambda: pa.jvp(lambda x: x, (x,), ()), ValueError, "with 1 and 0 arrays"),
        (lambda: pa.hvp(pa.sum, (x,), (x, x)), ValueError, "with 1 and 2 arrays"),
        (lambda: pa.jvp(pa.sin, (x,), (x[:1],)), ValueError, r"tangents\[0\] has shape \(1,\)"),
        (
            lambda: pa.jvp(pa.sin, (x,), (np.ones(2),)),
            TypeError,
            r"tangents\[0\]: expected portarray",
        ),
        (
            lambda: pa.grad(lambda x: pa.sum(x), has_aux=True)(x),
            TypeError,
            "with has_aux=True the function must return a pair",
        ),
    ):
        with pytest.raises(error, match=message):  # type: ignore[call-overload]
            call()


def raised_in(name: str, error: BaseException) -> str:
    """Return the line of a function of this file in which an error came up."""
    lines = [
        str(frame.line) for frame in traceback.extract_tb(error.__traceback__) if frame.name == name
    ]
    assert lines, f"not raised in {name}"
    return lines[-1]


def test_arrays_that_outlive_their_trace_are_refused_where_they_are_used(device: str) -> None:
    x = asarray([1.0, 3.0], device)
    leaked: list[Any] = []

    def leaking(x: Any) -> Any:
        leaked.append(x)
        return pa.sum(x)

    def user(y: Any) -> Any:
        again = leaked[0] * 2
        return pa.sum(again * y)

    pa.grad(pa.checkpoint(leaking))(x)  # of which no library has its own
    with pytest.raises(
        pa.TracedArrayError, match=r"^checkpoint: a traced .*\n.*return it"
    ) as caught:
        pa.grad(user)(x)
    assert raised_in("user", caught.value) == "again = leaked[0] * 2"
    if device.startswith("torch"):
        return  # whose own gradients leave an array as any other
    leaked.clear()
    pa.grad(leaking)(x)
    for use in (
        lambda: leaked[0] * 2,
        lambda: float(leaked[0][0]),
        lambda: pa.stack([x, leaked[0]]),
        lambda: leaked[0].__setitem__(0, 1.0),
        lambda: pa.to_device(leaked[0], other_than(device)),
        lambda: pa.grad(user)(x),
    ):
        with pytest.raises(pa.TracedArrayError, match=r"traced in leaking .*\n.*has_aux"):
            use()
    assert leaked[0].shape == (2,)
    assert leaked[0].device is pa.device(device)
    assert "3." in repr(leaked[0])


def test_values_are_read_by_stop_gradient_alone(device: str) -> None:
    x = asarray([1.0, 3.0], device)

    def reading(x: Any) -> Any:
        values = x.tolist()
        return pa.sum(pa.asarray(values, dtype=x.dtype, device=x.device) * x)

    def stopping(x: Any) -> Any:
        return reading(pa.stop_gradient(x)) + pa.sum(x)

    assert host(pa.grad(stopping)(x)).tolist() == [1.0, 1.0]
    if not device.startswith("torch"):
        with pytest.raises(pa.TracedArrayError, match=r"values of pa\.stop_gradient") as caught:
            pa.grad(reading)(x)
        assert raised_in("reading", caught.value) == "values = x.tolist()"


def test_other_devices_in_a_closure(device: str) -> None:
    x = asarray([1.0, 3.0], device)
    ones = pa.ones(2, dtype=x.dtype, device=other_than(device))

    def mixing(x: Any) -> Any:
        product = x * ones
        return pa.sum(product)

    with pytest.raises(pa.DeviceMismatchError, match="to_device") as caught:
        pa.grad(mixing)(x)
    assert raised_in("mixing", caught.value) == "product = x * ones"


def test_small_constants_count_as_they_are_when_used(device: str) -> None:
    def counted(x: Any) -> Any:
        count = pa.ones(2, dtype=x.dtype, device=x.device)
        places = pa.asarray([0, 0], device=x.device)
        keep = pa.asarray([True, False], device=x.device)
        y = x * count + pa.take(x, places) + pa.where(keep, x, 0)
        count += 5
        places += 1
        keep[...] = True
        return pa.sum(y * count)

    x = asarray([1.0, 3.0], device)
    assert host(pa.grad(counted)(x)).tolist() == [24.0, 6.0]


def test_arguments_of_checkpoint_may_be_changed_in_place(device: str) -> None:
    def changing(x: Any, y: Any) -> Any:
        x += y
        first, _ = pa.unstack(y)
        x[0] = y[1] * (y[1] + first) - y[1] * first
        return pa.sum(x * y)

    def plain(x: Any, y: Any) -> Any:
        return changing(x * 1, y)

    x, y = asarray([1.0, 3.0], device), asarray([2.0, 5.0], device)
    original = host(x).copy()
    for both in (pa.grad(pa.checkpoint(changing), (0, 1)), pa.grad(plain, (0, 1))):
        assert [host(g).tolist() for g in both(x, y)] == [[0.0, 5.0], [25.0, 33.0]]
    np.testing.assert_array_equal(host(x), original)


def test_gradients_keep_no_reference_to_the_function(device: str) -> None:
    x = asarray([1.0, 3.0], device)

    class Held:
        pass

    held = Held()
    alive = weakref.ref(held)

    def loss(x: Any, held: Any = held) -> Any:
        return pa.sum(pa.exp(pa.sin(x * 2)))

    pa.grad(loss)(x)
    del held, loss
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("name", ["numpy", "clarray"])
def test_nothing_leaks_in_a_thousand_steps(name: str) -> None:
    if not pa.functional(name):
        pytest.skip(f"no {name} here")
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3, 16, 16))
    x, w, v = (pa.asarray(value, dtype=pa.float32, device=name) for value in values)
    layer = pa.checkpoint(lambda h, v: pa.tanh(h @ v))

    def loss(params: Any) -> Any:
        return pa.mean(layer(x @ params[0], params[1]) ** 2)

    def steps(params: Any, count: int) -> Any:
        for _ in range(count):
            gradient = pa.grad(loss)(params)
            params = [p - 0.1 * g for p, g in zip(params, gradient, strict=True)]
        return params

    params = steps([w, v], 20)
    gc.collect()
    objects = len(gc.get_objects())
    tracemalloc.start()
    try:
        params = steps(params, 5)
        initial = tracemalloc.get_traced_memory()[0]
        gc.disable()  # what a step needed goes with it, and does not wait for the collector
        params = steps(params, 95)
        waiting = tracemalloc.get_traced_memory()[0] - initial
        gc.enable()
        params = steps(params, 900)
        gc.collect()
        leaked = tracemalloc.get_traced_memory()[0] - initial
    finally:
        gc.enable()
        tracemalloc.stop()
    assert float(loss(params)) < float(loss([w, v]))
    assert len(gc.get_objects()) - objects < 100
    assert leaked < 50_000
    assert waiting < 95 * 16 * 16 * 4 * 4  # a few arrays for each step at most


@pytest.mark.parametrize("kept", [False, True])
def test_an_error_of_memory_in_the_backward_pass_names_the_call_and_its_line(
    device: str, kept: bool
) -> None:
    """The forward pass makes a view, or is small, and the derivative is 32 TiB."""
    x, written = asarray([1.0, 2.0], device), asarray([0.0], device)
    is_view = pa.device(device).library not in ("jax", "mlx")

    @pa.custom_vjp
    def doubled(x: Any) -> Any:
        return 2 * x

    doubled.defvjp(lambda x, g: (pa.zeros((2**21, 2**21), dtype=pa.float64, device=device),))

    def large(x: Any) -> Any:
        nonlocal written
        written += 1.0
        y = pa.broadcast_to(x, (2**42, 2)) if is_view else x
        y = pa.exp(x) + (y[5, :] if is_view else doubled(y))  # the line
        return pa.sum(pa.checkpoint(pa.log)(y))

    with pytest.raises(pa.errors.OutOfMemoryError) as caught:
        pa.vjp(large, x)[1](asarray(1.0, device)) if kept else pa.grad(large)(x)
    name, shape = ("getitem", [2**42, 2]) if is_view else ("doubled", [2])
    call = f"{name}(float32{shape}) at {__file__}:"
    assert caught.value.call.startswith(call)
    assert caught.value.call.endswith("# the line")
    assert f" in the derivative of {call}" in str(caught.value)
    assert "bytes" in str(caught.value)
    assert written.tolist() == [1.0]


def test_an_error_of_memory_names_the_line_inside_a_checkpoint(device: str) -> None:
    """Neither except Exception nor a function that fails when it is called again is in the way."""
    x, calls = asarray([1.0, 2.0], device), [0]

    @pa.custom_vjp
    def doubled(x: Any) -> Any:
        return 2 * x

    @doubled.defvjp
    def _(x: Any, g: Any) -> Any:
        raise MemoryError

    def inner(x: Any) -> Any:
        try:
            return doubled(x)  # inside
        except Exception:  # noqa: BLE001
            return x

    with pytest.raises(pa.errors.OutOfMemoryError, match=r"doubled\(float32\[2\]\) at .*# inside"):
        pa.grad(lambda x: pa.sum(pa.checkpoint(inner)(x)))(x)

    def once(x: Any) -> Any:
        calls[0] += 1
        if calls[0] > 2:  # PyTorch's own gradient, the tape
            raise ValueError("called again")
        return pa.sum(doubled(x))

    calls[0] = 0 if pa.device(device).library == "torch" else 1
    with pytest.raises(pa.errors.OutOfMemoryError) as caught:
        pa.grad(once)(x)
    call = "doubled(float32[2]) at an unknown line (ValueError when the function ran again)"
    assert caught.value.call == call
