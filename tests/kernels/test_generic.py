"""Generic kernels on array-api-strict and on every device's native arrays, within their bounds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray._verification import bounds, cases, reference
from portarray._verification.bounds import Precision
from portarray.kernels import generic

strict = pytest.importorskip("array_api_strict")

Values = np.ndarray[Any, np.dtype[Any]]

BOUNDS = {"relu": bounds.exact, "embedding": bounds.exact}


class Drawing:
    """Arguments of one call, in NumPy: floating-point numbers in a dtype."""

    def __init__(self, seed: int, dtype: Any) -> None:
        self.rng = np.random.default_rng(seed)
        self.dtype = dtype

    def floats(self, *shape: int) -> Values:
        return (3 * self.rng.standard_normal(shape)).astype(self.dtype)

    def integers(self, low: int, high: int, *shape: int) -> Values:
        return self.rng.integers(low, high, shape).astype(np.int64)

    def mask(self, *shape: int) -> Values:
        mask = self.rng.random(shape) < 0.6
        mask[(0,) * (len(shape) - 1)] = False  # a row that sees nothing
        return mask


Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def calls(d: Drawing) -> Iterator[Call]:
    """Yield calls of every kernel, with every option."""
    x = d.floats(3, 5, 8)
    weight, bias = d.floats(8), d.floats(8)
    yield "matmul", (d.floats(2, 1, 5, 4), d.floats(3, 4, 6)), {}
    yield "matmul", (d.floats(4), d.floats(4, 6)), {}
    for linear_bias in (None, d.floats(7)):
        yield "linear", (x, d.floats(7, 8), linear_bias), {}
    yield "linear", (d.floats(8), d.floats(7, 8), None), {}
    yield "embedding", (d.integers(0, 9, 2, 3), d.floats(9, 4)), {}
    yield "embedding", (d.integers(0, 9), d.floats(9, 4)), {}
    for axis in (-1, 0):
        yield "softmax", (x,), {"axis": axis}
        yield "log_softmax", (x,), {"axis": axis}
    square, right = d.floats(19, 19) + np.eye(19, dtype=d.dtype) * 40, d.floats(19, 3)
    factors: dict[str, Any]
    for turned, out in ((False, None), (True, d.floats(6, 3))):
        factors = {"alpha": 0.5, "beta": 0.0 if out is None else -2.0, "out": out}
        factors |= {"transpose_a": turned, "transpose_b": turned}
        shapes = ((4, 6), (3, 4)) if turned else ((6, 4), (4, 3))
        yield "gemm", tuple(d.floats(*shape) for shape in shapes), factors
        half = {"lower": turned, "transpose": not turned, "unit_diagonal": False}
        yield "solve_triangular", (square, right[:, 0] if turned else right), half
    yield "silu", (x,), {}
    yield "relu", (x,), {}
    for approximate in ("none", "tanh"):
        yield "gelu", (x,), {"approximate": approximate}
    yield "rms_norm", (x, None), {"eps": 1e-6}
    yield "rms_norm", (x, weight), {"eps": 1e-5}
    yield "layer_norm", (x, None, None), {"eps": 1e-5}
    yield "layer_norm", (x, weight, bias), {"eps": 1e-6}
    options: dict[str, Any]
    turning: dict[str, Any] = {"theta": 100.0, "tables": None}
    for interleaved in (False, True):
        options = {**turning, "interleaved": interleaved}
        yield "rope", (x, None), options
        yield "rope", (x, d.integers(0, 99, 3, 1)), options
        angles = d.rng.uniform(-4, 4, (5, 3))
        tables = tuple(f(angles).astype(d.dtype) for f in (np.cos, np.sin))
        yield "rope", (x, None), {**options, "tables": tables}
    yield from attentions(d)
    logits, targets = d.floats(6, 5), d.integers(0, 5, 6)
    targets[2] = -1
    for reduction, smoothing, classes in (
        ("mean", 0.1, targets),
        ("sum", 0.0, targets),
        ("none", 0.1, targets % 5),
        ("mean", 0.0, (targets % 5).astype(np.uint8)),
    ):
        options = {"reduction": reduction, "ignore_index": -1, "label_smoothing": smoothing}
        yield "cross_entropy", (logits, classes), options
    beyond = {"reduction": "none", "ignore_index": 300, "label_smoothing": 0.0}
    yield "cross_entropy", (logits, (targets % 5).astype(np.uint8)), beyond


def attentions(d: Drawing) -> Iterator[Call]:
    """Yield calls of attention."""
    plain = {"scale": None, "causal": False, "mask": None, "key_length": None}
    q, k, v = d.floats(2, 4, 5, 3), d.floats(2, 2, 7, 3), d.floats(2, 2, 7, 6)
    added = d.floats(7)
    added[3] = -np.inf
    for options in (
        {},
        {"causal": True, "scale": 0.3},
        {"mask": d.mask(4, 5, 7)},
        {"mask": d.mask(2, 1, 1, 7), "causal": True, "key_length": 6},
        {"mask": added, "key_length": np.asarray(5, dtype=np.int32)},
        {"mask": d.mask(5, 1), "causal": True, "key_length": np.asarray(3, dtype=np.int64)},
        {"causal": True, "key_length": 0},
    ):
        yield "attention", (q, k, v), {**plain, **options}
    # More queries than keys: the first ones see none.
    yield "attention", (d.floats(7, 3), q[0, 0], q[0, 1]), {**plain, "causal": True}


def check(
    call: Call, space: Any, to: Callable[[Values], Any], out: Callable[[Any], Values]
) -> None:
    """Run a generic kernel on native arrays and hold its result against the reference."""
    name, arrays, options = call

    def native(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(native, value))
        return to(value) if isinstance(value, np.ndarray) else value

    def exact(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(exact, value))
        if not isinstance(value, np.ndarray) or value.dtype.kind in "iub":
            return int(value) if isinstance(value, np.ndarray) and not value.ndim else value
        return value.astype(np.float64)

    native_options = {key: native(value) for key, value in options.items()}
    got = out(getattr(generic, name)(space, *map(native, arrays), **native_options))
    leads = arrays[1] if name == "embedding" else arrays[0]
    inputs, plain = tuple(map(exact, arrays)), {k: exact(v) for k, v in options.items()}
    if name == "embedding":
        inputs = (arrays[0], inputs[1])
    with np.errstate(all="ignore"):
        want = getattr(reference, name)(*inputs, **plain)
        limit = BOUNDS.get(name, getattr(bounds, name, bounds.exact))
        bound = limit(Precision(leads.dtype.name), want, *inputs, **plain)
    assert got.shape == want.shape
    assert got.dtype == leads.dtype
    result = got.astype(np.float64)
    equal = (result == want) | (np.isnan(result) & np.isnan(want))
    with np.errstate(invalid="ignore"):
        near = np.abs(result - want) <= bound
    assert np.all(equal | near), f"{name} of {options}: {result}, {want}"


def test_every_generic_kernel_is_called() -> None:
    called = {name for name, _, _ in calls(Drawing(0, "float32"))}
    assert called | {"rope_tables"} == set(generic.__all__)


def test_generic_kernels_import_nothing_else_of_portarray_before_they_are_called() -> None:
    wrong = [
        f"{path.name}: {line}"
        for path in Path(generic.__file__).parent.glob("*.py")
        for line in path.read_text().splitlines()
        if line.startswith(("import portarray", "from portarray"))
        and not line.startswith("from portarray.kernels.generic.")
    ]
    assert wrong == []


def drawn(dtype: str) -> Iterator[Call]:
    """Yield the calls that devices are verified with."""
    for name in sorted(set(generic.__all__) - {"rope_tables"}):
        parameters = inspect.signature(getattr(pa.kernels, name)).parameters.values()
        named = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
        # What is rounded for packed weights is rounded before a kernel is called.
        defaults = {p.name: p.default for p in named if p.name != "activations"}
        for trial in range(5):
            case = cases.draw(name, dtype, 0, trial)
            yield (
                name,
                tuple(map(values, case.arrays)),
                defaults | {key: values(value) for key, value in case.options.items()},
            )


def values(part: Any) -> Any:
    """Return a drawn argument as NumPy's array."""
    if isinstance(part, tuple):
        return tuple(map(values, part))
    return part.values if isinstance(part, cases.Part) else part


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_on_array_api_strict(dtype: str) -> None:
    target = strict.Device("device1")  # not the default: new arrays must find it
    for call in [*calls(Drawing(0, dtype)), *calls(Drawing(1, dtype)), *drawn(dtype)]:
        with np.errstate(all="ignore"):  # infinities are drawn too
            check(
                call,
                strict,
                lambda x: strict.asarray(x, device=target),
                lambda x: np.asarray(x.to_device(strict.Device("CPU_DEVICE"))),
            )


def test_on_native_arrays(device: str) -> None:
    where = pa.device(device)
    backend = where._backend
    available = {str(dtype_): dtype_ for dtype_ in backend.dtypes(where.platform, where.index)}
    # One dtype that is computed in as it is, and one that is not.
    narrow = "bfloat16" if "bfloat16" in available else "float16"
    for name in ("float32", narrow):
        for call in calls(Drawing(1, available[name])):
            check(
                call,
                pa.namespace(device),
                lambda x: backend.from_host(x.copy(), where.native, copy=None),
                lambda x: backend.to_host(x, copy=None),
            )
