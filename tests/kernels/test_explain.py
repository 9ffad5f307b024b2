"""What is said of which version serves a call."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import pytest

import portarray as pa
from portarray.backends import registry
from portarray.backends.types import TunedKernel
from portarray.kernels import generic


def ones(*shape: int, device: object = "numpy", dtype: Any = "float32") -> pa.Array:
    return pa.ones(shape, dtype=dtype, device=device)


class Table:
    """A backend's ``tuned.py`` with two versions of one kernel."""

    TUNED: ClassVar = {
        "rms_norm": (
            TunedKernel(
                lambda x, weight, /, *, eps: x,
                "lib.fast_norm",
                frozenset({"float32"}),
                "rms_norm 512x4096",
                lambda x, weight, /, *, eps: "it needs a weight" if weight is None else "",
            ),
            TunedKernel(
                lambda x, weight, /, *, eps: x,
                "lib.half_norm",
                frozenset({"float16"}),
                "rms_norm 512x4096 float16",
            ),
        )
    }


@pytest.fixture
def table(fake: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(registry.load_backend(fake), "tuned_kernels", Table.TUNED)
    return f"{fake}:cuda:0"


def test_a_tuned_version_is_named_with_its_benchmark(table: str) -> None:
    result = pa.kernels.explain("rms_norm", ones(2, 3, device=table), ones(3, device=table))
    assert (result.kernel, result.version, result.function) == (
        "rms_norm",
        "tuned",
        "lib.fast_norm",
    )
    assert result.device is pa.device(table)
    assert result.dtype == pa.float32
    assert result.benchmark == "rms_norm 512x4096"
    assert result.refused == ()
    text = str(result)
    assert f"rms_norm of float32 on {table}: lib.fast_norm (tuned)" in text
    assert "'rms_norm 512x4096' in benchmarks/kernels.py" in text


def test_each_version_that_refuses_says_why(table: str) -> None:
    result = pa.kernels.explain(pa.kernels.rms_norm, ones(2, 3, device=table))
    assert (result.version, result.function) == ("generic", "portarray.kernels.generic.rms_norm")
    assert dict(result.refused) == {
        "lib.fast_norm": "it needs a weight",
        "lib.half_norm": "it takes float16, not float32",
    }
    assert "takes these arguments" in result.why
    assert "not lib.fast_norm: it needs a weight" in str(result)
    assert result.benchmark == ""
    wide = pa.kernels.explain("rms_norm", ones(3, device=table, dtype="float64"), None, eps=1e-3)
    assert [reason for _, reason in wide.refused] == [
        "it takes float32, not float64",
        "it takes float16, not float64",
    ]


def test_explain_names_the_setting(table: str) -> None:
    with pa.config(tuned_kernels=False):
        result = pa.kernels.explain("rms_norm", ones(3, device=table), ones(3, device=table))
    assert result.version == "generic"
    assert "pa.config(tuned_kernels=False)" in result.why
    assert [name for name, _ in result.refused] == ["lib.fast_norm", "lib.half_norm"]


def test_a_library_without_versions(fake: str) -> None:
    result = pa.kernels.explain("softmax", ones(3, device=f"{fake}:cuda:1"))
    assert result.version == "generic"
    assert "has no version of its own" in result.why


CALLS: dict[str, tuple[Any, ...]] = {
    "matmul": ((3, 4), (4, 3)),
    "gemm": ((3, 4), (4, 3)),
    "solve_triangular": ((3, 3), (3, 4)),
    "linear": ((3, 4), (5, 4), (5,)),
    "softmax": ((3, 4),),
    "log_softmax": ((3, 4),),
    "silu": ((3, 4),),
    "gelu": ((3, 4),),
    "relu": ((3, 4),),
    "rms_norm": ((3, 4), (4,)),
    "layer_norm": ((3, 4), (4,), (4,)),
    "rope": ((3, 4),),
    "attention": ((2, 3, 4), (2, 3, 4), (2, 3, 4)),
}


def test_every_kernel_is_explained(device: str) -> None:
    integers = pa.ones(3, dtype=pa.int64, device=device)
    calls: dict[str, tuple[Any, ...]] = {
        name: tuple(ones(*shape, device=device) for shape in shapes)
        for name, shapes in CALLS.items()
    }
    calls["embedding"] = integers, ones(3, 4, device=device)
    calls["cross_entropy"] = ones(3, 4, device=device), integers
    calls["rope_tables"] = integers, 4
    assert set(calls) == set(generic.__all__)
    for name, args in calls.items():
        result = pa.kernels.explain(name, *args)
        assert result.device is pa.device(device)
        assert result.dtype == (pa.int64 if name == "rope_tables" else pa.float32)
        assert result.function in str(result)
        assert bool(result.benchmark) is (result.version == "tuned")
        if result.version == "generic":
            assert result.function == f"portarray.kernels.generic.{name}"
            assert callable(getattr(generic, name))


def test_arguments_are_checked_as_the_kernel_checks_them() -> None:
    with pytest.raises(ValueError, match=r"\(3, 4\).*\(5, 3\)"):
        pa.kernels.explain("linear", ones(3, 4), ones(5, 3))
    with pytest.raises(TypeError, match=r"pa\.asarray"):
        pa.kernels.explain("silu", [1.0])
    with pytest.raises(TypeError, match="missing a required argument"):
        pa.kernels.explain("linear", ones(3, 4))
    with pytest.raises(ValueError, match="unknown kernel 'conv'; known: matmul, "):
        pa.kernels.explain("conv", ones(3))
    with pytest.raises(ValueError, match="unknown kernel"):
        pa.kernels.explain(pa.sin, ones(3))


def test_an_explanation_is_a_value() -> None:
    result = pa.kernels.explain("silu", ones(3))
    assert pickle.loads(pickle.dumps(result)) == result
    assert result._fields == (
        *("kernel", "device", "dtype", "version", "function", "why", "refused", "benchmark"),
    )
