"""The kernels of examples/kernels on every device, against NumPy, and one picture."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import portarray as pa

pytest.importorskip("portarray.kernel_language")

from examples.kernels import histogram, life, mandelbrot, marching_squares, nbody

ROOT = Path(__file__).parents[2]


def test_mandelbrot(device: str) -> None:
    speed = mandelbrot.compute(pa.device(device), 40, 60, 50)
    x = mandelbrot.LEFT + np.arange(60) * mandelbrot.HEIGHT / 40
    c = x + 1j * (mandelbrot.TOP + np.arange(40)[:, None] * mandelbrot.HEIGHT / 40)
    z = np.zeros_like(c)
    for _ in range(50):
        z = np.where(abs(z) < 8, z * z + c, z)
    # Points near the border may differ by rounding.
    assert ((speed == 0) != (abs(z) < 8)).mean() < 0.01


def test_life(device: str) -> None:
    cells, age = life.compute(pa.device(device), 30, 40, 10)
    want = life.start(30, 40)
    unchanged = np.zeros(want.shape, np.int32)
    for _ in range(10):
        shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
        alive = sum(np.roll(want, shift, (0, 1)) for shift in shifts)
        after = ((alive == 3) | ((alive == 2) & (want == 1))).astype(np.uint8)
        unchanged = np.where(after == want, unchanged + 1, 0)
        want = after
    np.testing.assert_array_equal(cells, want)
    np.testing.assert_array_equal(age, unchanged)


def test_nbody(device: str) -> None:
    position, velocity = nbody.compute(pa.device(device), 128, 3)
    places, speeds, mass = (v.astype(np.float64) for v in nbody.start(128))
    for _ in range(3):
        apart = places - places[:, None]
        cubes = ((apart**2).sum(axis=2) + nbody.SOFTENING) ** 1.5
        speeds += 0.01 * np.einsum("ijk,j,ij->ik", apart, mass, 1 / cubes)
        places += 0.01 * speeds
    np.testing.assert_allclose(position, places, atol=1e-5)
    np.testing.assert_allclose(velocity, speeds, atol=1e-5)


def test_histogram(device: str) -> None:
    counts = histogram.compute(pa.device(device), 10_000)
    x = histogram.start(10_000)
    limits = histogram.LOW, histogram.HIGH
    want, _ = np.histogram(x[x < histogram.HIGH], bins=histogram.BINS, range=limits)
    assert counts.sum() == want.sum()
    # A value on the border of two bins may be counted in either.
    assert abs(counts - want).sum() <= 4


def test_marching_squares(device: str) -> None:
    field, levels = marching_squares.compute(pa.device(device), 30, 45)
    for level, ends in levels.items():
        assert len(ends)
        # The field is as large as the level at each end, interpolated along its edge.
        rows, columns = ends.reshape(-1, 2).T
        i, j = rows.astype(int), columns.astype(int)
        below, beside = np.minimum(i + 1, 29), np.minimum(j + 1, 44)
        value = field[i, j] + (field[below, j] - field[i, j]) * (rows - i)
        value += (field[i, beside] - field[i, j]) * (columns - j)
        np.testing.assert_allclose(value, level, atol=2e-3)


def test_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "life.png"
    command = [sys.executable, "-m", "examples.kernels.life", "--output", str(picture)]
    settings = os.environ | {"MPLBACKEND": "agg", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert str(picture) in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
