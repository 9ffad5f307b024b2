"""CuPy's versions of the core kernels, compiled for this machine's processor.

The compiled C++ replaces CuPy's launches on NumPy's arrays; the functions around the kernels handle
shapes and views as on a GPU.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", exc_type=ImportError)

from portarray._verification import reference  # noqa: E402
from portarray.backends.cupy import neural, tuned  # noqa: E402

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
if COMPILER is None:
    pytest.skip("needs a C++ compiler", allow_module_level=True)

PREAMBLE = """
#include <cmath>
#define __device__
using std::erfc; using std::exp; using std::log; using std::sqrt;
"""
C_NAMES = {"float32": "float", "float64": "double"}


def _source(kernel: Any, name: str, dtype: str) -> str:
    """Return a C function that computes all elements, or all terms of a sum."""
    c_name = C_NAMES[dtype]
    summed = isinstance(kernel, cupy.ReductionKernel)
    body = f"{kernel.out_params[0].name} = {kernel.map_expr}" if summed else kernel.operation
    inputs = [parameter.name for parameter in kernel.in_params]
    outputs = [parameter.name for parameter in kernel.out_params]
    arguments = ", ".join(
        [f"const {c_name} *{x}_" for x in inputs] + [f"{c_name} *{y}_" for y in outputs]
    )
    lines = [f"const T {x} = {x}_[i_];" for x in inputs] + [f"T {y};" for y in outputs]
    lines += [f"{body};"] + [f"{y}_[i_] = {y};" for y in outputs]
    return (
        f'extern "C" void {name}_{dtype}(long n_, {arguments}) {{ '
        f"typedef {c_name} T; typedef T W; "
        f"for (long i_ = 0; i_ < n_; ++i_) {{ {' '.join(lines)} }} }}\n"
    )


def _launch(library: ctypes.CDLL, kernel: Any, name: str) -> Callable[..., Any]:
    """Return a substitute for a kernel that broadcasts, computes and sums like CuPy's."""
    input_count = len(kernel.in_params)

    def launch(*args: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        dtype = args[0].dtype
        inputs = [np.asarray(x, dtype) for x in args[:input_count]]
        shape = np.broadcast_shapes(*(x.shape for x in inputs))
        inputs = [np.ascontiguousarray(np.broadcast_to(x, shape)) for x in inputs]
        outputs = [np.empty(shape, dtype) for _ in kernel.out_params]
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*inputs, *outputs)]
        getattr(library, f"{name}_{dtype.name}")(ctypes.c_long(outputs[0].size), *pointers)
        for out, values in zip(args[input_count:], outputs, strict=False):
            out[...] = values
        return outputs[0] if axis is None else np.sum(outputs[0], axis=axis, keepdims=keepdims)

    return launch


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, kernels_of: Any) -> ctypes.CDLL:
    folder: Path = tmp_path_factory.mktemp("neural")
    kernels = kernels_of(neural)
    text = PREAMBLE + "".join(sorted({kernel.preamble for kernel in kernels.values()}))
    for name, kernel in kernels.items():
        text += "".join(_source(kernel, name, dtype) for dtype in C_NAMES)
    source, built = folder / "neural.cpp", folder / "neural.so"
    source.write_text(text)
    done = subprocess.run(
        [str(COMPILER), "-std=c++17", "-O1", "-fPIC", "-shared", str(source), "-o", str(built)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return ctypes.CDLL(str(built))


@pytest.fixture
def kernels(
    library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch, kernels_of: Any
) -> dict[str, Callable[..., Any]]:
    """Return the backend's functions, which compute on NumPy's arrays here."""
    launches = {name: _launch(library, kernel, name) for name, kernel in kernels_of(neural).items()}
    monkeypatch.setattr(tuned, "neural", SimpleNamespace(**launches))
    monkeypatch.setattr(tuned, "cupy", np)
    return {name: rows[0].function for name, rows in tuned.TUNED.items()}


@pytest.mark.parametrize("dtype", C_NAMES)
def test_results(kernels: dict[str, Callable[..., Any]], dtype: str) -> None:
    rng = np.random.default_rng(9)
    x = rng.normal(2, 4, (3, 5, 12)).astype(dtype)
    w, b = (rng.standard_normal(12).astype(dtype) for _ in range(2))
    angles = rng.uniform(0, 7, (5, 4))
    tables = np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)
    turn = {"tables": tables, "theta": 1e4}
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("softmax", (x,), {"axis": -1}),
        ("softmax", (x[:, ::2],), {"axis": 0}),
        ("log_softmax", (100 * x,), {"axis": 1}),
        ("silu", (30 * x,), {}),
        ("gelu", (x,), {"approximate": "none"}),
        ("gelu", (x,), {"approximate": "tanh"}),
        ("rms_norm", (x, w), {"eps": 1e-6}),
        ("rms_norm", (x, None), {"eps": 0.5}),
        ("layer_norm", (x, w, b), {"eps": 1e-5}),
        ("layer_norm", (x, None, None), {"eps": 0.5}),
        ("rope", (x, None), {**turn, "interleaved": False}),
        ("rope", (x, None), {**turn, "interleaved": True}),
    ]
    assert {name for name, _, _ in calls} == set(tuned.TUNED)
    tolerance = {"float32": 3e-6, "float64": 1e-14}[dtype]
    for name, operands, options in calls:
        exact = [None if operand is None else operand.astype(np.float64) for operand in operands]
        got = kernels[name](*operands, **options)
        want = getattr(reference, name)(*exact, **options)
        assert got.dtype == dtype
        np.testing.assert_allclose(
            got, want, rtol=tolerance, atol=tolerance, err_msg=f"{name} {options}"
        )


def test_tails(kernels: dict[str, Callable[..., Any]]) -> None:
    x = np.array([-1e4, -40, -12, -8, -3, 0, 3, 1e4, np.inf, np.nan])
    for name, options in (("silu", {}), ("gelu", {"approximate": "none"})):
        got = kernels[name](x, **options)
        np.testing.assert_allclose(got, getattr(reference, name)(x, **options), rtol=1e-13)
    nothing = np.full((2, 3), -np.inf)
    assert np.isnan(kernels["softmax"](nothing, axis=-1)).all()


def test_empty_arrays_and_missing_tables_use_the_generic_kernels() -> None:
    empty = np.ones((0, 4))
    for name, arguments, options in [
        ("softmax", (empty,), {"axis": 0}),
        ("rms_norm", (empty, None), {"eps": 0.0}),
        ("layer_norm", (empty, None, None), {"eps": 0.0}),
        ("rope", (np.ones((2, 4)), None), {"tables": None, "theta": 1e4, "interleaved": False}),
    ]:
        (row,) = tuned.TUNED[name]
        assert row.refuses is not None
        assert row.refuses(*arguments, **options), name


def test_names(kernels_of: Any) -> None:
    """CuPy keeps binaries by a kernel's text, and ``i``, ``n`` and ``_...`` for itself."""
    kernels_by_name = kernels_of(neural)
    assert {kernel.name for kernel in kernels_by_name.values()} == {
        f"portarray_{name}" for name in kernels_by_name
    }
    for kernel in kernels_by_name.values():
        names = [parameter.name for parameter in (*kernel.in_params, *kernel.out_params)]
        reserved = {"i", "n"} | ({"a", "b"} if isinstance(kernel, cupy.ReductionKernel) else set())
        assert not [name for name in names if name in reserved or name.startswith("_")]
