"""User kernels in compiled and batched functions, on every device that runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_helpers import cubed, launches_in_place, require_launcher, saxpy

import portarray as pa
import portarray.kernel_language as kl

SCALE = 2.0


@pa.kernel
def scaled(y: Any, x: Any) -> None:
    i = kl.index()
    y[i] = SCALE * x[i]


@pa.kernel
def split(low: Any, high: Any, x: Any) -> None:
    i = kl.index()
    low[i] = min(x[i], 0.0)
    high[i] = max(x[i], 0.0)


@pa.kernel
def counted(counts: Any, x: Any) -> None:
    kl.atomic_add(counts, min(int(abs(x[kl.index()])), 3), 1)


@pa.kernel.function
def nearby(x: Any, i: Any, j: Any) -> Any:
    return x[i, max(j - 1, 0)] + x[i, min(j + 1, x.shape[1] - 1)]


@pa.kernel
def places(y: Any, x: Any, offset: Any) -> None:
    i, j = kl.index()
    sizes = x.shape[0] + 10 * x.ndim + 100 * x.size + 1000 * kl.global_size(1)
    y[i, j] = nearby(x, i, j) * offset[()] + kl.linear_index() + sizes


@pa.kernel
def boxes(y: Any, x: Any) -> None:
    i, j, k = kl.index()
    y[i, j, k] = x[i, j, k] + 2 * i + 4 * j + 8 * k


@pa.kernel
def reversed_groups(y: Any, x: Any) -> None:
    i, here = kl.index(), kl.local_index()
    shared = kl.local(4, kl.float32)
    shared[here] = x[i]
    kl.barrier()
    y[i] = shared[3 - here]


@pytest.fixture
def draw(device: str) -> Callable[..., pa.Array]:
    """Return a function that draws float32 arrays on a device that runs kernels."""
    require_launcher(device)
    generator = np.random.default_rng(0)
    return lambda *shape: pa.asarray(generator.normal(size=shape), dtype=pa.float32, device=device)


def assert_close(x: Any, y: Any) -> None:
    x, y = np.asarray(x), np.asarray(y)
    assert (x.shape, x.dtype) == (y.shape, y.dtype)
    np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def by_loop(function: Callable[..., Any], *xs: pa.Array) -> pa.Array:
    return pa.stack([function(*[x[n, ...] for x in xs]) for n in range(xs[0].shape[0])])


def chained(x: pa.Array) -> pa.Array:
    """Return a number of kernels that write new, constant and computed arrays."""
    y = cubed(pa.empty_like(x), pa.sin(x))
    z = saxpy(pa.zeros(x.shape, dtype=x.dtype, device=x.device), 2.0, y)
    w = saxpy(z * 1.0, 0.5, y)
    low, high = split(pa.empty_like(x), pa.empty_like(x), w)
    result: pa.Array = pa.sum(low * z + pa.exp(high))
    return result


def test_a_compiled_cube_is_a_cube(draw: Any, device: str) -> None:
    compiled = pa.compile(lambda x: cubed(pa.empty_like(x), x + 1.0))
    for x in (pa.asarray([0.0, 1.0, 2.0], dtype=pa.float32, device=device), draw(5)):
        assert_close(compiled(x), (x + 1.0) ** 3)
    explanation = compiled.explain(x)
    assert "user kernel cubed" in explanation.steps
    if pa.device(device).library in ("jax", "mlx", "torch"):  # which compile what is around it
        assert explanation.by.endswith("'s compiler"), explanation


def test_compiled_kernels_return_what_plain_calls_do(draw: Any) -> None:
    x, v = draw(20_000), draw(20_000)
    functions = [
        pa.grad(chained),
        lambda x: pa.jvp(chained, (x,), (v,))[1],
        pa.grad(pa.checkpoint(chained)),
        chained,
    ]
    for function in functions[:: 3 if x.device.library == "torch" else 1]:  # it compiles slowly
        compiled = pa.compile(function)
        expected = function(x)
        assert_close(compiled(x), expected)
        assert_close(compiled(x), expected)
    assert_close(pa.grad(pa.compile(chained))(x), pa.grad(chained)(x))


def test_compiled_loops_launch_kernels(draw: Any) -> None:
    def stepped(state: pa.Array, x: pa.Array) -> tuple[pa.Array, pa.Array]:
        state = saxpy(state * 0.5, 2.0, x)
        return state, pa.sum(state)

    def looped(x: pa.Array) -> pa.Array:
        doubled = pa.while_loop(
            lambda x: pa.max(pa.abs(x)) < 100.0, lambda x: scaled(pa.empty_like(x), x), x
        )
        last, sums = pa.scan(stepped, x[0, ...], x)
        chosen = pa.cond(pa.sum(x) > 0, lambda x: cubed(pa.empty_like(x), x), pa.abs, last)
        result: pa.Array = pa.sum(doubled) + pa.sum(sums) + pa.sum(chosen)
        return result

    x = draw(4, 3)
    assert_close(pa.compile(looped)(x), looped(x))


def test_a_compiled_function_follows_the_constants_of_its_kernels(
    draw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = draw(3)
    compiled = pa.compile(lambda x: scaled(pa.empty_like(x), x))
    assert_close(compiled(x), 2.0 * x)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert_close(compiled(x), 3.0 * x)


def test_a_compiled_function_reads_arrays_of_its_scope(draw: Any) -> None:
    x, w = draw(4), draw(4)
    compiled = pa.compile(lambda x: cubed(pa.empty_like(w), w) + x)
    assert_close(compiled(x), w**3 + x)
    w[...] = x
    assert_close(compiled(x), x**3 + x)


def test_a_compiled_kernel_does_not_change_what_it_is_given(draw: Any, device: str) -> None:
    x = draw(3)
    previous, state = x.tolist(), draw(3)
    start = pa.zeros(3, dtype=pa.float32, device=device)

    def summed(x: pa.Array) -> pa.Array:
        result: pa.Array = saxpy(pa.asarray(start, copy=True), 1.0, x)
        return result

    compiled = pa.compile(summed)
    assert [compiled(x).tolist(), compiled(x).tolist()] == [previous, previous]
    assert start.tolist() == [0.0, 0.0, 0.0]
    for function in (lambda x: cubed(x, x * 1.0), lambda x: saxpy(state, 1.0, x)):
        if launches_in_place(device):
            with pytest.raises(pa.errors.TracedArrayError, match=r"in place|changes state"):
                pa.compile(function)(x)
        else:
            assert_close(pa.compile(function)(x), function(x))
    assert x.tolist() == previous


def test_traced_kernels_refuse_arrays_that_overlap(draw: Any, device: str) -> None:
    if not launches_in_place(device):
        pytest.skip("arrays do not share memory with the results")
    x = draw(2, 6)

    def shifted(x: pa.Array) -> pa.Array:
        y = x * 1.0
        result: pa.Array = cubed(y[1:], y[:-1])
        return result

    for function, argument in ((pa.compile(shifted), x[0, :]), (pa.vmap(shifted), x)):
        with pytest.raises(pa.errors.TracedArrayError, match=r"cubed: y and x share memory\n"):
            function(argument)


def test_a_compiled_kernel_reuses_memory(draw: Any, device: str) -> None:
    """Where portarray plans the memory, a launch does not copy an array that nothing else uses."""
    x = draw(40_000)
    compiled = pa.compile(lambda x: saxpy(x * 2.0, 2.0, pa.flip(x)))
    assert_close(compiled(x), 2.0 * x + 2.0 * pa.flip(x))
    if x.device.library in ("numpy", "clarray", "dpnp"):
        assert compiled.explain(x).buffers.reused == 1


EXAMPLES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "a cube": (lambda x: cubed(pa.empty_like(x), x), ((4, 3),)),
    "a chain": (chained, ((4, 3),)),
    "a gradient": (pa.grad(chained), ((4, 3),)),
    "a checkpoint": (pa.grad(pa.checkpoint(chained)), ((4, 3),)),
    "a Jacobian": (pa.jacobian(lambda x: cubed(pa.empty_like(x), x)), ((4, 3),)),
    "places": (lambda x, s: places(x * 0.0, x, s), ((5, 2, 3), (5,))),
    "slopes of places": (
        pa.grad(lambda x, s: pa.sum(places(x * 0.0, x, s) ** 2), (0, 1)), ((5, 2, 3), (5,)),
    ),
    "three axes": (lambda x: boxes(pa.empty_like(x), x), ((2, 2, 3, 2),)),
    "atomics": (
        lambda x: counted(pa.zeros(4, dtype=pa.int32, device=x.device), x, ndrange=x.shape),
        ((4, 9),),
    ),
    "groups": (lambda x: reversed_groups(pa.empty_like(x), x, group=4), ((3, 8),)),
    "default groups": (lambda x: reversed_groups(pa.empty_like(x), x), ((3, 4),)),
    "no elements": (lambda x: cubed(pa.empty_like(x), x), ((3, 0),)),
}  # fmt: skip

COMPILED = ("a gradient", "groups")
"""Examples that are compiled as well, which takes PyTorch seconds."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_batch_is_what_a_loop_returns(name: str, draw: Any) -> None:
    function, shapes = EXAMPLES[name]
    xs = [draw(*shape) for shape in shapes]
    try:
        rows = [function(*[x[n, ...] for x in xs]) for n in range(shapes[0][0])]
    except ValueError as error:  # a group is too large for the device
        pytest.skip(str(error))
    for compiles in (False, True) if name in COMPILED else (False,):
        batched = pa.vmap(function)
        results = (pa.compile(batched) if compiles else batched)(*xs)
        if type(results) is pa.Array:
            assert_close(results, pa.stack(rows))
        else:
            for result, column in zip(results, zip(*rows, strict=True), strict=True):
                assert_close(result, pa.stack(list(column)))


def test_batches_nest(draw: Any) -> None:
    x, shared = draw(2, 4, 3), draw(3)

    def weighted(x: pa.Array) -> pa.Array:
        result: pa.Array = pa.sum(saxpy(shared * 1.0, 2.0, x) * cubed(pa.empty_like(x), x))
        return result

    for function in (weighted, pa.grad(weighted)):
        expected = by_loop(lambda rows, f=function: by_loop(f, rows), x)
        assert_close(pa.vmap(pa.vmap(function))(x), expected)
    total = pa.grad(lambda x: pa.sum(pa.vmap(pa.vmap(weighted))(x)))(x)
    assert_close(total, by_loop(lambda rows: by_loop(pa.grad(weighted), rows), x))


def test_a_batch_has_no_examples_or_one(draw: Any) -> None:
    for count in (0, 1):
        x = draw(count, 3)
        assert_close(pa.vmap(lambda x: cubed(pa.empty_like(x), x))(x), x**3)


def test_a_batch_is_one_launch(draw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    launches: list[Any] = []
    run = type(cubed)._run
    monkeypatch.setattr(
        type(cubed), "_run", lambda kernel, *args: launches.append(1) or run(kernel, *args)
    )
    pa.vmap(lambda x: cubed(pa.empty_like(x), x))(draw(11, 7))
    assert len(launches) == 1
