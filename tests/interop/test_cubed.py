"""cubed with portarray's arrays: NumPy's answers on every device, in threads and processes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("CUBED_BACKEND_ARRAY_API_MODULE", "portarray.cubed")  # before cubed is there

cubed = pytest.importorskip("cubed", reason="cubed is not installed")

import cubed.array_api as xp  # noqa: E402
from cubed.backend_array_api import namespace  # noqa: E402
from cubed.runtime.create import create_executor  # noqa: E402

import portarray as pa  # noqa: E402
import portarray.cubed  # noqa: E402
from portarray.testing import virtual_devices  # noqa: E402

X = np.random.default_rng(0).normal(size=(9, 8)).astype(np.float32)
HOLES = np.where(X > 1, np.float32(np.nan), X)

EXPRESSIONS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[], Any]]] = {
    "arithmetic": (lambda x, _: xp.exp(x) * 2 + x**2, lambda: np.exp(X) * 2 + X**2),
    "sum": (lambda x, _: xp.sum(x, axis=0), lambda: X.sum(0)),
    "mean": (lambda x, _: xp.mean(x, axis=1), lambda: X.mean(1)),
    "var": (lambda x, _: xp.var(x, axis=0, correction=1), lambda: X.var(0, ddof=1)),
    "std": (lambda x, _: xp.std(x), lambda: X.std()),
    "max": (lambda x, _: xp.max(x, axis=0), lambda: X.max(0)),
    "argmax": (lambda x, _: xp.argmax(x, axis=1), lambda: X.argmax(1)),
    "cumulative_sum": (lambda x, _: xp.cumulative_sum(x, axis=0), lambda: X.cumsum(0)),
    "matmul": (lambda x, _: x @ x.T, lambda: X @ X.T),
    "take": (lambda x, _: xp.take(x, xp.asarray([1, 8, 3]), axis=0), lambda: X[[1, 8, 3]]),
    "slices": (lambda x, _: x[2:8, 1:7], lambda: X[2:8, 1:7]),
    "concat": (lambda x, _: xp.concat([x, x], axis=1), lambda: np.concatenate([X, X], 1)),
    "rechunk": (lambda x, _: x.rechunk((2, 8)) + 1, lambda: X + 1),
    "reshape": (lambda x, _: xp.reshape(x, (-1,)), lambda: X.reshape(-1)),
    "where": (lambda x, _: xp.where(x > 0, x, -x), lambda: np.abs(X)),
    "nansum": (lambda _, h: cubed.nansum(h, axis=0), lambda: np.nansum(HOLES, 0)),
    "nanmean": (lambda _, h: cubed.nanmean(h, axis=0), lambda: np.nanmean(HOLES, 0)),
    "qr": (lambda x, _: xp.abs(xp.linalg.qr(x.rechunk((9, 8)))[1]), lambda: np.abs(qr())),
    "map_overlap": (
        lambda x, _: cubed.map_overlap(
            lambda block: block[:-2] + block[2:],
            x,
            dtype=x.dtype,
            chunks=x.chunks,
            depth=(1, 0),
            boundary=0.0,
            trim=False,
        ),
        lambda: np.pad(X, ((1, 1), (0, 0)))[:-2] + np.pad(X, ((1, 1), (0, 0)))[2:],
    ),
}


def qr() -> Any:
    return np.linalg.qr(X)[1]


@pytest.fixture(autouse=True)
def default_device() -> Iterator[None]:
    """Restore the default device after a test."""
    assert namespace is portarray.cubed
    yield
    pa.set_default_device(None)


def spec(tmp_path: Any, **options: Any) -> Any:
    return cubed.Spec(tmp_path, **{"allowed_mem": "10MB", **options})


def input_of(values: Any, its: Any) -> Any:
    return cubed.from_array(values, chunks=(4, 4), spec=its)


def test_names_beside_the_standard_are_numpys() -> None:
    assert all(getattr(portarray.cubed, n) is getattr(np, n) for n in portarray.cubed.__all__)
    assert portarray.cubed.sin is pa.sin
    with pytest.raises(AttributeError, match="cumulative_sum"):
        portarray.cubed.cumsum  # noqa: B018


def test_answers_are_numpys_on_every_device(device: str, tmp_path: Any) -> None:
    """All rows computed at once in threads equal NumPy's results."""
    rows = EXPRESSIONS
    if device.startswith("jax") and "PORTARRAY_TEST_ALL_ROWS" not in os.environ:
        rows = {name: EXPRESSIONS[name] for name in ("mean", "var", "nanmean")}  # it compiles each
    pa.set_default_device(device)
    its = spec(tmp_path)
    met = set()

    def here(block: Any) -> Any:
        met.add(str(block.device))
        return block

    x = cubed.map_blocks(here, input_of(X, its), dtype=X.dtype)
    lazy = [call(x, input_of(HOLES, its)) for call, _ in rows.values()]
    actual = cubed.compute(*lazy, executor=create_executor("threads"))
    assert met == {device}
    for (name, (_, expected)), result in zip(rows.items(), actual, strict=True):
        np.testing.assert_allclose(
            np.asarray(result), expected(), rtol=2e-5, atol=1e-5, err_msg=f"{name} on {device}"
        )


def test_other_processes_have_the_device_of_the_environment(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = "torch" if pa.functional("torch") else "numpy"
    monkeypatch.setenv("PORTARRAY_DEVICE", library)
    x = input_of(X, spec(tmp_path))
    lazy = xp.var(x, axis=0), cubed.map_blocks(named, x, dtype=np.float32)
    output, places = cubed.compute(*lazy, executor=create_executor("processes", {"max_workers": 1}))
    np.testing.assert_allclose(np.asarray(output), X.var(0), rtol=1e-5)
    assert np.unique(np.asarray(places)).tolist() == [library == "torch"]


def named(block: Any) -> Any:
    """Return 0 for NumPy's chunks and 1 for PyTorch's."""
    return pa.full_like(block, {"numpy": 0, "torch": 1}[block.device.library])


def test_plans_beyond_the_allowed_memory_are_refused(tmp_path: Any) -> None:
    """cubed bounds the bytes of chunks for every library."""
    x = xp.ones((1000, 1000), chunks=(500, 500), spec=spec(tmp_path, allowed_mem="3MB"))
    with pytest.raises(ValueError, match="exceeds allowed_mem"):
        xp.negative(x).compute()


def test_memory_that_numpy_cannot_read_is_refused_by_name(tmp_path: Any) -> None:
    with virtual_devices("cuda") as (gpu,):
        pa.set_default_device(gpu)
        x = input_of(X, spec(tmp_path))
        with pytest.raises(TypeError, match=r"to_device\('numpy'\)"):
            xp.sum(x + 1).compute(executor=create_executor("threads"))
        pa.set_default_device(None)


def test_code_of_the_page(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "cubed.md"
    if not page.is_file() or not pa.functional("torch"):
        pytest.skip(
            "the page is not beside the tests, or PyTorch, which it shows, does not function"
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUBED_BACKEND_ARRAY_API_MODULE", "portarray.cubed")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S):
        exec(block, names)
    np.testing.assert_allclose(np.asarray(names["y"].compute()), np.zeros(2000), atol=1e-12)
