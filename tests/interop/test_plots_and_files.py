"""Matplotlib, pandas, zarr and NumPy's files take arrays in host memory as they take NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portarray as pa

LINE = np.asarray([0.5, 1.0, 2.5, 4.0], dtype=np.float32)
GRID = np.linspace(0, 1, 16, dtype=np.float32).reshape(4, 4)

PLOTS: dict[str, Callable[[Any, Any, Any], object]] = {
    "bar": lambda axes, x, y: axes.bar(x, x),
    "barh": lambda axes, x, y: axes.barh(x, x),
    "boxplot": lambda axes, x, y: axes.boxplot(x),
    "contourf": lambda axes, x, y: axes.contourf(y),
    "errorbar": lambda axes, x, y: axes.errorbar(x, x, yerr=x),
    "fill_between": lambda axes, x, y: axes.fill_between(x, x, x / 2),
    "hist": lambda axes, x, y: axes.hist(x, weights=x),
    "hist2d": lambda axes, x, y: axes.hist2d(x, x),
    "imshow": lambda axes, x, y: axes.imshow(y),
    "pcolormesh": lambda axes, x, y: axes.pcolormesh(y),
    "pie": lambda axes, x, y: axes.pie(x),
    "plot": lambda axes, x, y: axes.plot(x, x),
    "quiver": lambda axes, x, y: axes.quiver(y, y, y, y),
    "scatter": lambda axes, x, y: axes.scatter(x, x, c=x, s=x),
    "stem": lambda axes, x, y: axes.stem(x, x),
    "streamplot": lambda axes, x, y: axes.streamplot(np.arange(4.0), np.arange(4.0), y, y),
    "violinplot": lambda axes, x, y: axes.violinplot(x),
}


def drawn(name: str, x: Any, y: Any) -> Any:
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=(2, 2))
    backend = pytest.importorskip("matplotlib.backends.backend_agg")
    canvas = backend.FigureCanvasAgg(figure)
    PLOTS[name](figure.add_subplot(), x, y)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


@pytest.mark.drawn_devices(1)
@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_is_that_of_numpy_arrays(name: str, device: str) -> None:
    x, y = pa.asarray(LINE, device=device), pa.asarray(GRID, device=device)
    np.testing.assert_array_equal(drawn(name, x, y), drawn(name, LINE, GRID))


def test_files_are_those_of_numpy_arrays(device: str, tmp_path: Path) -> None:
    x, y = pa.asarray(LINE, device=device), pa.asarray(GRID, device=device)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", x, out=y, allow_pickle=False)
    np.savez_compressed(tmp_path / "y.npz", file_=y)
    np.savetxt(tmp_path / "y.txt", y, "%.6e", header="a b c d")
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), LINE, strict=True)
    with np.load(tmp_path / "x.npz") as file:
        np.testing.assert_array_equal(file["arr_0"], LINE, strict=True)
        np.testing.assert_array_equal(file["out"], GRID, strict=True)
    with np.load(tmp_path / "y.npz") as file:
        np.testing.assert_array_equal(file["file_"], GRID, strict=True)
    np.testing.assert_allclose(np.loadtxt(tmp_path / "y.txt"), GRID, rtol=1e-6)


def test_files_of_device_memory_are_refused(tmp_path: Path) -> None:
    with pa.testing.virtual_devices():
        x = pa.asarray(LINE, device="virtual:cuda")
        with pytest.raises(TypeError, match="to_device"):
            np.save(tmp_path / "x.npy", x)


def test_tables_and_stores_take_arrays(device: str) -> None:
    pd, zarr = pytest.importorskip("pandas"), pytest.importorskip("zarr")
    x, y = pa.asarray(LINE, device=device), pa.asarray(GRID, device=device)
    table = pd.DataFrame({"a": x, "b": np.arange(4.0)})
    table["c"] = x
    np.testing.assert_array_equal(table["b"] * x, np.arange(4.0) * LINE)
    np.testing.assert_array_equal(table["a"], table["c"])
    np.testing.assert_array_equal(pd.DataFrame(y), GRID)
    store = zarr.zeros(shape=(4,), chunks=(2,), dtype="f4")
    store[:] = x
    np.testing.assert_array_equal(store[:], LINE)
