"""Kernels follow what names mean, take any name and depth, and give constants their values."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_helpers import loaded, require_launcher

import portarray as pa

HEAD = "import math\n\nimport portarray as pa\nimport portarray.kernel_language as kl\n\n\n"
X = np.arange(4, dtype=np.float32)


def run(kernel: Any, *args: Any, device: Any = "numpy", dtype: Any = pa.float32) -> Any:
    y = pa.zeros(4, dtype=dtype, device=device)
    x = pa.asarray(X, dtype=dtype, device=device)
    return np.asarray(kernel(y, x, *args).to_device("numpy"))


def kernel_of(body: str, folder: Path, parameters: str = "y, x", decorator: str = "") -> Any:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"@pa.kernel{decorator}\ndef drawn({parameters}):\n    i = kl.index()\n{lines}"
    return loaded(HEAD + text, folder)


def test_rebound_helpers_constants_and_modules_are_seen(tmp_path: Path) -> None:
    kernel = kernel_of("y[i] = f(x[i]) * SCALE", tmp_path)
    names = kernel._definition.source.function.__globals__
    double, triple = (
        loaded(f"{HEAD}@pa.kernel.function\ndef drawn(v):\n    return v * {n}\n", tmp_path)
        for n in (2, 3)
    )
    names.update(f=double, SCALE=1.0)
    for _ in range(2):
        assert run(kernel).tolist() == (X * 2).tolist()
    names["f"] = triple
    assert run(kernel).tolist() == (X * 3).tolist()
    names["SCALE"] = float("1")  # an equal number
    assert run(kernel).tolist() == (X * 3).tolist()
    names["SCALE"] = -0.0
    assert np.signbit(run(kernel)).all()
    names["SCALE"] = 0.0
    assert not np.signbit(run(kernel)).any()
    del names["f"]
    with pytest.raises(pa.errors.KernelSyntaxError, match="'f' is not defined"):
        run(kernel)


def test_names_and_comments_may_be_anything(tmp_path: Path) -> None:
    names = ["int", "double", "kernel", "pa_index0", "u_x", "é", "__global__", "size0_x", "saxpy"]
    comments = '"""A docstring with */ and \\\\"""\n# ends in a backslash \\\n'
    body = f"{comments}{' = '.join(names)} = x[i]\n"
    kernel = kernel_of(f"{body}y[i] = {' + '.join(names)}", tmp_path)
    assert run(kernel).tolist() == (X * len(names)).tolist()
    for word in ("int", "struct", "x__n0", "uint3"):
        second = kernel_of(f"y[i] = {word}[i]", tmp_path, f"y, {word}")
        assert run(second).tolist() == X.tolist()
    for dialect in ("opencl", "cuda", "metal", "c"):
        y = pa.asarray(X, device="numpy")
        assert "backslash" not in kernel.source(dialect, y, y)


def test_expressions_and_branches_of_any_depth(tmp_path: Path) -> None:
    kernel = kernel_of("y[i] = " + " + ".join(["x[i]"] * 1500), tmp_path)
    assert run(kernel).tolist() == (X * 1500).tolist()
    chain = " ".join(f"{n}.0 if x[i] == {n} else" for n in range(200))
    kernel = kernel_of(f"y[i] = {chain} -1.0", tmp_path)
    assert run(kernel).tolist() == X.tolist()
    names = [f"p{n}" for n in range(300)]
    kernel = kernel_of(f"y[i] = {' + '.join(names)}", tmp_path, ", ".join(["y", "x", *names]))
    assert run(kernel, *[1.0] * 300).tolist() == [300.0] * 4


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, 1e300, -0.0, 0.0, True, 3, np.float32(0.5), np.int8(-2)],
)
def test_static_values_and_arguments_are_the_same_numbers(value: Any, tmp_path: Path) -> None:
    body = "y[i] = math.copysign(1.0, v) + x[i] * v"
    with np.errstate(all="ignore"):
        want = np.copysign(np.float32(1), np.float32(value)) + X * np.float32(value)
    for decorator in ("", "(static=('v',))"):
        kernel = kernel_of(body, tmp_path, "y, x, v", decorator)
        np.testing.assert_array_equal(run(kernel, value), want)
    kernel = kernel_of(body, tmp_path)
    kernel._definition.source.function.__globals__["v"] = value
    np.testing.assert_array_equal(run(kernel), want)


def test_none_is_known_at_compile_time(tmp_path: Path) -> None:
    kernel = kernel_of("y[i] = x[i] if v is None or v < 0 else x[i] * v", tmp_path, "y, x, v")
    assert run(kernel, None).tolist() == X.tolist()
    assert run(kernel, 2.0).tolist() == (X * 2).tolist()
    kernel = kernel_of("y[i] = 1.0 if v == None or not v else 2.0", tmp_path, "y, x, v")
    assert run(kernel, None).tolist() == [1.0] * 4
    assert run(kernel, 5).tolist() == [2.0] * 4


def test_operators_on_constants_are_pythons(device: str, tmp_path: Path) -> None:
    """Devices without float64 neither round nor overflow on the way."""
    target = require_launcher(device)
    body = "y[i] = x[i] * (1e30 * 1e30 * 1e-60) + (0.1 + 0.2 == 0.3) + (1 / 3 * 3 - 1.0) - -1.0"
    kernel = kernel_of(body, tmp_path)
    assert run(kernel, device=target).tolist() == (X + 1).tolist()


def test_float64_is_not_rounded_to_float32(device: str, tmp_path: Path) -> None:
    target = require_launcher(device)
    try:
        pa.zeros(1, dtype=pa.float64, device=target)
    except (TypeError, ValueError):
        pytest.skip("the device does not have float64")
    kernel = kernel_of("y[i] = v + 1 / 3 + math.sqrt(2) + float(x[i])", tmp_path, "y, x, v")
    got = run(kernel, 0.1, device=target, dtype=pa.float64)
    np.testing.assert_allclose(got, X.astype(np.float64) + 0.1 + 1 / 3 + math.sqrt(2), rtol=1e-15)
    # A cast makes a number float64, and with it the numbers beside it, whatever the arrays are.
    kernel = kernel_of("z = kl.float64(1.0); z += v * 0.5; y[i] = z - 1.0", tmp_path, "y, x, v")
    np.testing.assert_allclose(run(kernel, 1e-12, device=target), np.full(4, 5e-13), rtol=1e-3)
