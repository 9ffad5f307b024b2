"""Kernels evaluate each expression once, in Python's order."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import drawn_effects
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from kernel_helpers import loaded, require_launcher

import portarray as pa

COUNT = int(os.environ.get("PORTARRAY_DRAWN_KERNELS", "10"))
IMPORTS = "import math\n\nimport portarray as pa\nimport portarray.kernel_language as kl\n\n\n"


def check(text: str, device: Any, folder: Path, *, interpreted: bool = False) -> None:
    """Compare a kernel's text on a device with the text as plain Python."""
    kernel = loaded(IMPORTS + text, folder)
    arguments = [pa.asarray(x, device=device) for x in drawn_effects.arrays()]
    run = kernel.interpret if interpreted else kernel
    results = run(*arguments, ndrange=drawn_effects.ITEMS)
    for got, want in zip(results, drawn_effects.in_python(text), strict=True):
        np.testing.assert_array_equal(np.asarray(got.to_device("numpy")), want, text)


@pytest.mark.parametrize(
    "line",
    [
        "y[i, 0] = kl.int32(1 < f(s, i, 3) < 50)",
        "s[i, 2 + f(s, i, 1) % 3] += f(s, i, 4)",
        "a = b = f(s, i, 5)",
        "a = (b, c)[f(s, i, 1) % 2]",
        "a, b = pair(s, i, 2)",
        "a = f(s, i, 1) - f(s, i, 2) * f(s, i, 3)",
        "a = s[i, 0] + f(s, i, 4)",
        "s[i, 2 + f(s, i, 1) % 3], b = f(s, i, 2), s[i, 0]",
        "a = (f(s, i, 1), f(s, i, 2))[0] + len((f(s, i, 3), 1))",
        "a = pa.where(f(s, i, 1) > 5, f(s, i, 2), f(s, i, 3))",
        "a = s[i, 1] and f(s, i, 2) or 7",
        "kl.print(f(s, i, 1))",
        "a = 1 if math.isfinite(f(s, i, 1)) else 2",
        "a, b = b, a = f(s, i, 1), 2",
        "a = pa.where(a > b, b, len((f(s, i, 1), a)) + c)",
        "a = abs(f(s, i, 1) + 1) + min(f(s, i, 2) - 1, 50, f(s, i, 3) + a)",
        "a = kl.int32((kl.float32(f(s, i, 1)) + 1.0) ** 2)",
        "for k in range(s[i, 2] + 2):\n        s[i, 2] = 0 * k\n        a += f(s, i, k)",
        "for k in range(f(s, i, 1) - 3, f(s, i, 2) + 7, f(s, i, 3) % 3 + 1):\n"
        "        a += f(s, i, k)",
        "f(s, i, 1) if a > 3 else f(s, i, 2)",
    ],
)
def test_expressions_are_evaluated_once_and_in_order(line: str, tmp_path: Path) -> None:
    text = drawn_effects.HEAD.format(body=f"    {line}")
    check(text, pa.device("numpy"), tmp_path)
    check(text, pa.device("numpy"), tmp_path, interpreted=True)


def run(device: Any, count: int, folder: Path, *, interpreted: bool = False) -> None:
    @settings(
        max_examples=count,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @given(text=drawn_effects.kernels())
    def drawn(text: str) -> None:
        check(text, device, folder, interpreted=interpreted)

    drawn()


def test_drawn_kernels_compute_what_python_does(device: str, tmp_path: Path) -> None:
    target = require_launcher(device)
    run(target, COUNT if device.startswith("numpy") else max(COUNT // 10, 2), tmp_path)


def test_drawn_kernels_interpreted(tmp_path: Path) -> None:
    run(pa.device("numpy"), COUNT * 2, tmp_path, interpreted=True)
