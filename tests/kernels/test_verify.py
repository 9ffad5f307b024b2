"""Verification: kernels are within their bounds on every device, and planted faults are found."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import wrong_kernels

import portarray as pa
from portarray._verification import bounds, comparison, reference
from portarray._verification.cases import DRAWN, draw
from portarray._verification.comparison import Case, _judged
from portarray._verification.kernels import Verification
from portarray.backends import registry
from portarray.backends.types import TunedKernel
from portarray.kernels.explain import KERNELS

DEVICE = "fake:cuda:1"


def test_every_kernel_is_within_its_bounds(device: str) -> None:
    result = pa.kernels.verify(device, examples=1, seed=3)
    assert result.ok, str(result)
    assert {row.kernel for row in result.rows} == set(DRAWN)
    assert result.cases == len(result.rows)
    for row in result.rows:
        assert sum(row.versions.values()) == row.cases
        assert 0 <= row.worst <= 1


def test_dtypes_are_those_of_the_device(device: str) -> None:
    result = pa.kernels.verify(device, "relu", examples=1)
    had = []
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        try:
            pa.zeros(1, dtype=dtype, device=device)
        except pa.errors.DTypeNotSupportedError:
            continue
        had.append(dtype)
    assert [row.dtype for row in result.rows] == had


class Planted:
    """A backend's table with one kernel in NumPy."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, library: str) -> None:
        self._patch = monkeypatch
        self._library = library
        self._array = importlib.import_module(f"{library}.backend").LIBRARY.array_type

    def __call__(self, kernel: str, fault: str = "", *, examples: int = 10) -> Verification:
        """Verify a kernel with a fault."""
        version = TunedKernel(
            self._served(wrong_kernels.KERNELS[kernel], fault),
            fault or "right",
            frozenset({"float16", "float32", "float64"}),
            "row",
        )
        backend = registry.load_backend(self._library)
        self._patch.setattr(backend, "tuned_kernels", {kernel: (version,)})
        self._patch.setattr(KERNELS[kernel][0], "_by_tables", {})  # which remembers other tables
        return pa.kernels.verify(DEVICE, kernel, examples=examples)

    def _served(self, function: Callable[..., Any], fault: str) -> Callable[..., Any]:
        def unwrapped(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(map(unwrapped, value))
            if not isinstance(value, self._array):
                return value
            data = value.data
            return data.astype(np.float64) if data.dtype.kind == "f" else data

        def served(*arrays: Any, **options: Any) -> Any:
            lead = next(x for x in reversed(arrays) if x is not None and x.dtype.kind == "f")
            with np.errstate(all="ignore"):
                out = function(
                    fault, *map(unwrapped, arrays), **{k: unwrapped(v) for k, v in options.items()}
                )
                out = out.astype(np.float64 if fault == "the dtype is float64" else lead.dtype)
            if fault == "it writes into x":
                lead.data[...] = out
            return self._array(np.asarray(out), lead.device)

        return served


@pytest.fixture
def planted(fake: str, monkeypatch: pytest.MonkeyPatch) -> Planted:
    return Planted(monkeypatch, fake)


@pytest.mark.parametrize("kernel", list(wrong_kernels.KERNELS))
def test_a_right_kernel_passes(planted: Planted, kernel: str) -> None:
    result = planted(kernel)
    assert result.ok, str(result)
    assert [row.versions for row in result.rows] == [{"right": 10}] * 3


@pytest.mark.parametrize(
    ("kernel", "fault"),
    [(kernel, fault) for kernel, faults in wrong_kernels.FAULTS.items() for fault in faults],
)
def test_a_fault_is_found(
    planted: Planted, kernel: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "DTYPES", ("float32",))
    result = planted(kernel, fault)
    assert not result.ok
    row = result.failures[0]
    assert row.worst > 1
    assert row.problem
    assert row.case is not None
    assert f"{row.case}\n  {row.problem}" in str(result)


@pytest.mark.parametrize("kernel", [k for k in wrong_kernels.KERNELS if k != "embedding"])
def test_single_precision_is_not_enough_for_double(
    planted: Planted, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = wrong_kernels.KERNELS[kernel]

    def single(*arguments: Any, **options: Any) -> Any:
        return right(*arguments, **options).astype(np.float32).astype(np.float64)

    monkeypatch.setattr(comparison, "DTYPES", ("float64",))
    monkeypatch.setitem(wrong_kernels.KERNELS, kernel, single)
    assert not planted(kernel).ok


def test_errors_of_sums_are_not_their_whole_size() -> None:
    for terms, allowed in ((1, 1), (4, 4), (36, 36), (100, 60), (10_000, 600)):
        assert bounds.accumulated(terms) == allowed
    x, y = np.ones((1, 10_000)), np.ones((10_000, 1))
    for dtype, unit in (("float32", 2.0**-24), ("float16", 2.0**-24), ("float64", 2.0**-52)):
        precision = bounds.Precision(dtype)
        assert precision.u == unit
        bound = float(bounds.matmul(precision, x @ y, x, y)[0, 0])
        stored = precision.stored * 10_000
        assert bound - stored == pytest.approx(601 * unit * 10_000, rel=1e-3)


def test_a_result_of_another_class_dtype_shape_or_device_is_wrong() -> None:
    """Of the right class, dtype, shape and device, before any value is looked at."""
    precision, where = bounds.Precision("float32"), pa.device("numpy")
    want, wide = np.ones(3), np.full(3, np.inf)
    x = pa.ones(3, dtype="float32", device=where)
    assert _judged(x, want, np.zeros(3), precision, where)[0] == 0
    for result, said in (
        (x.native, "the result is ndarray, not Array"),
        (pa.astype(x, "float64"), "dtype is float64, expected float32"),
        (pa.reshape(x, (1, 3)), r"shape is (1, 3), expected (3,)"),
        (x[:1], "shape is (1,), expected (3,)"),
        (pa.ones(0, dtype="float32", device=where), "shape is (0,), expected (3,)"),
    ):
        error, why = _judged(result, want, wide, precision, where)
        assert error == np.inf
        assert said in why


@pytest.mark.parametrize("wrong", [0, 1])
def test_every_result_of_several_is_judged(wrong: int) -> None:
    def call(name: str, arrays: tuple[Any, ...], options: dict[str, Any]) -> tuple[str, Any]:
        tables = list(KERNELS[name][1](*arrays, **options))
        tables[wrong] = tables[wrong] + 0.5
        return "one", tuple(tables)

    cases = (Case("rope_tables", "float32", 0, index) for index in range(4))
    row = comparison.verified("rope_tables", "float32", cases, pa.device("numpy"), 1.0, call)
    assert row.outside == 4


def test_a_failure_is_reproduced_from_its_case(planted: Planted) -> None:
    result = planted("rms_norm", "eps is outside the root")
    row = max(result.failures, key=lambda failure: failure.worst)
    case = row.case
    assert case is not None
    assert case == Case("rms_norm", row.dtype, result.seed, case.index)
    arrays, options = case.arguments(DEVICE)
    again = pa.kernels.rms_norm(*arrays, **options)
    assert again.device is pa.device(DEVICE)
    x, weight = (
        None if array is None else np.asarray(array.to_device("numpy")) for array in arrays
    )
    assert x is not None
    wide = [None if array is None else array.astype(np.float64) for array in (x, weight)]
    want = reference.rms_norm(*wide, **options)  # type: ignore[arg-type]
    bound = bounds.rms_norm(bounds.Precision(row.dtype), want, *wide, **options)  # type: ignore[arg-type]
    error = np.abs(np.asarray(again.to_device("numpy"), dtype=np.float64) - want)
    assert np.max(error / bound) == pytest.approx(row.worst)


def test_numbers_beyond_the_dtype() -> None:
    precision = bounds.Precision("float16")
    want = np.array([65452.4, 70000.0, -70000.0, 65504.0, np.inf, -np.inf, np.nan, 65452.4, 1e6])
    right = [65440.0, np.inf, -np.inf, np.inf, np.inf, -np.inf, np.nan, 65472.0, np.inf]
    wrong = [65312.0, -np.inf, -65000.0, np.nan, 65504.0, np.nan, np.inf, -np.inf, 65000.0]
    bound = precision.rounded(np.zeros_like(want), want)
    for at in range(want.size):
        for values, ok in ((right, True), (wrong, False)):
            x = pa.asarray(np.float16(values[at : at + 1]), device="numpy")
            error, said = _judged(
                x, want[at : at + 1], bound[at : at + 1], precision, pa.device("numpy")
            )
            assert (error <= 1) == ok, said


def test_an_error_is_a_finding(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(fault: str, x: object) -> None:
        raise RuntimeError("the kernel fell over")

    monkeypatch.setitem(wrong_kernels.KERNELS, "silu", broken)
    result = planted("silu", examples=2)
    assert [(row.outside, row.worst) for row in result.rows] == [(2, np.inf)] * 3
    assert "the kernel fell over" in result.rows[0].problem
    assert json.loads(json.dumps(result.as_dict()))["rows"][0]["worst"] is None


def test_generic_versions_are_verified_alone(planted: Planted) -> None:
    assert not planted("relu", "the dtype is float64", examples=1).ok
    result = pa.kernels.verify("numpy", "relu", examples=1, version="generic")
    assert result.ok
    assert [row.versions for row in result.rows] == [{"generic": 1}] * len(result.rows)
    assert pa.config.tuned_kernels


def test_tolerance_multiplies_the_bounds() -> None:
    plain = pa.kernels.verify("numpy", ["log_softmax", "rms_norm"], examples=4)
    worst = [row.worst for row in plain.rows]
    assert plain.ok
    assert min(worst) > 0
    strict = pa.kernels.verify("numpy", ["log_softmax", "rms_norm"], 0.9 * min(worst), examples=4)
    assert [row.worst for row in strict.rows] == worst
    assert len(strict.failures) == len(strict.rows)
    wide = pa.kernels.verify("numpy", ["rms_norm", "log_softmax"], 1, examples=4)
    assert wide.rows == plain.rows


def test_a_seed_draws_the_same_and_another_one_others() -> None:
    for kernel in DRAWN:
        first = draw(kernel, "float32", 1, 5)
        again, second = draw(kernel, "float32", 1, 5), draw(kernel, "float32", 2, 5)
        narrow = draw(kernel, "float16", 1, 5)
        same = list(zip(first.parts(), again.parts(), strict=True))
        assert str(first) == str(again)
        assert all(np.array_equal(a.values, b.values) for a, b in same)
        assert [a.values.shape for a, _ in same] == [part.values.shape for part in narrow.parts()]
        assert [part.values.tobytes() for part in first.parts()] != [
            part.values.tobytes() for part in second.parts()
        ]


def test_the_cases_reach_what_kernels_must_bear() -> None:
    choices: dict[str, set[str]] = {kernel: set() for kernel in DRAWN}
    for kernel, features in choices.items():
        for index in range(40):
            drawn = draw(kernel, "float32", 0, index)
            for part in drawn.parts():
                features |= {part.view, *part.kind.split()}
            features |= {f"{k}={v}" for k, v in drawn.options.items() if not hasattr(v, "values")}
    assert {"transposed", "strided", "offset", "masked", "large", "near"} <= choices["softmax"]
    assert {"causal=True", "mask=None", "key_length=None", "masked"} <= choices["attention"]
    assert {"reduction=none", "reduction=mean", "label_smoothing=0.1"} <= choices["cross_entropy"]
    assert {"approximate=none", "approximate=tanh"} <= choices["gelu"]
    assert {"interleaved=True", "interleaved=False"} <= choices["rope"]


def test_the_reference_is_that_of_other_authors() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    f = torch.nn.functional
    rng = np.random.default_rng(5)
    x, w, b = rng.standard_normal((7, 12)), rng.standard_normal(12), rng.standard_normal(12)
    tx, tw, tb = map(torch.from_numpy, (x, w, b))
    q, k, v = (rng.standard_normal((2, heads, n, 6)) for heads, n in ((4, 5), (2, 9), (2, 9)))
    tq, tk, tv = map(torch.from_numpy, (q, k, v))
    mask = rng.random((5, 9)) < 0.8
    targets = rng.integers(0, 12, 7)
    targets[2] = -100
    pairs = [
        (reference.softmax(x, axis=0), f.softmax(tx, 0)),
        (reference.log_softmax(x), f.log_softmax(tx, -1)),
        (reference.silu(30 * x), f.silu(30 * tx)),
        (reference.gelu(x), f.gelu(tx)),
        (reference.gelu(x, approximate="tanh"), f.gelu(tx, approximate="tanh")),
        (reference.relu(x), f.relu(tx)),
        (reference.rms_norm(x, w, eps=1e-3), f.rms_norm(tx, (12,), tw, 1e-3)),
        (reference.layer_norm(x, w, b, eps=1e-3), f.layer_norm(tx, (12,), tw, tb, 1e-3)),
        (reference.linear(x, x, b[:7]), f.linear(tx, tx, tb[:7])),
        (reference.embedding(np.array([3, 0]), x), f.embedding(torch.tensor([3, 0]), tx)),
        (
            reference.attention(q, k, v, mask=mask),
            f.scaled_dot_product_attention(
                tq, tk, tv, attn_mask=torch.from_numpy(mask), enable_gqa=True
            ),
        ),
        (
            reference.attention(q, q, q, causal=True, scale=0.3),
            f.scaled_dot_product_attention(tq, tq, tq, is_causal=True, scale=0.3),
        ),
    ]
    for reduction in ("mean", "sum", "none"):
        options: dict[str, Any] = {"reduction": reduction, "label_smoothing": 0.2}
        want = f.cross_entropy(tx, torch.from_numpy(targets), **options)
        pairs.append((reference.cross_entropy(x, targets, **options), want))
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (
            {"kernels": "softmaxx"},
            ValueError,
            "verify: unknown kernel 'softmaxx'; known: matmul, linear",
        ),
        ({"kernels": []}, ValueError, "verify: kernels=[] is empty"),
        ({"tolerance": 0}, ValueError, "verify: tolerance=0 must be positive"),
        ({"tolerance": float("nan")}, ValueError, "verify: tolerance=nan must be positive"),
        ({"tolerance": "1"}, TypeError, "verify: tolerance='1' must be a number"),
        ({"examples": 0}, ValueError, "verify: examples=0 must be at least 1"),
        ({"examples": 1.5}, TypeError, "verify: examples=1.5 must be an int"),
        ({"seed": -1}, ValueError, "verify: seed=-1 must be at least 0"),
        ({"version": "tuned"}, ValueError, "verify: version='tuned' must be"),
        ({"device": "nmpy"}, pa.errors.UnknownDeviceError, "device: unknown device 'nmpy'"),
    ],
)
def test_bad_input(arguments: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        pa.kernels.verify(**arguments)
    assert str(caught.value).startswith(said)
