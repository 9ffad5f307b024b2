"""Random numbers in blocks, and what tasks do with operands, dtypes and errors."""

from __future__ import annotations

import json
import os
import pickle
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.array", reason="the extra portarray[dask] is not installed")
pytest.importorskip("distributed", reason="the extra portarray[dask] is not installed")
pytest.importorskip("zarr", reason="one of the expressions stores into it")

import dask
import dask.array as da
import dask_outcomes

import portarray as pa
import portarray.dask as pd
from portarray.dask import random_methods
from portarray.random.drawing import Block
from portarray.testing import virtual_devices

X = np.arange(48, dtype=np.float32).reshape(8, 6)

DRAWS: dict[str, dict[str, Any]] = {
    "uniform": {"low": -1.0, "high": 2.0, "dtype": "float32"},
    "normal": {"loc": 1.0, "dtype": "float32"},
    "exponential": {"scale": 3.0, "dtype": "float32"},
    "integers": {"low": -5, "high": 9},
    "bits": {"dtype": "uint8"},
    "choice": {"a": 9},
}
SHAPE = (4, 5, 8)


@pytest.mark.parametrize("name", ["uniform", "normal", "integers"])
def test_blocks_are_parts_of_the_whole(name: str, device: str) -> None:
    """Random numbers in any chunks equal those of one array bit for bit."""
    _compare(name, device)


@pytest.mark.one_device
@pytest.mark.parametrize("name", ["exponential", "bits", "choice"])
def test_other_draws(name: str) -> None:
    _compare(name, "numpy:cpu:0")


def _compare(name: str, device: str) -> None:
    key, rng = pa.random.key(11, device=device), np.random.default_rng(len(name))
    options = {**DRAWS[name], "shape": SHAPE}
    whole = getattr(pa.random, name)(key, **options)
    cuts = [(2, -1, -1), tuple(int(rng.integers(2, n + 1)) for n in SHAPE)]
    if device.startswith("jax") and "PORTARRAY_TEST_FULL" not in os.environ:
        del cuts[1]  # JAX compiles each draw for the shape of every block
    for chunks in cuts:
        drawn = getattr(pd.random, name)(key, chunks=chunks, devices=device, **options)
        assert drawn.dtype == whole.dtype
        assert drawn.shape == whole.shape
        assert {row.device for row in pd.placement(drawn).verify()} == {device}
        values = pd.collect(drawn, "numpy").native
        np.testing.assert_array_equal(values, whole.to_device("numpy").native)


@pytest.mark.one_device
def test_distributions_in_blocks() -> None:
    """Parameters are broadcast to the whole array, and points are not cut."""
    key, two = pa.random.key(3, device="numpy"), ["numpy", "virtual:cuda:0"]
    a = pa.asarray([0.3, 2.0, 50.0], device="numpy")
    rows = pa.asarray([[0.2], [0.9]], device="numpy")
    draws: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
        "gamma": ((a, (2, 3)), {"scale": rows}),
        "beta": ((a, rows), {}),
        "poisson": ((a, (4, 3)), {}),
        "binomial": ((100, rows, (5, 2, 4)), {}),
        "laplace": (((5, 4),), {"loc": 1.0}),
        "student_t": ((a,), {"dtype": "float32"}),
        "truncated_normal": ((0.0, a, (4, 3)), {}),
        "dirichlet": ((a, (5,)), {}),
        "multivariate_normal": ((a, pa.eye(3, device="numpy"), (4, 2)), {}),
        "categorical": ((a, (7,)), {}),
    }
    with virtual_devices("cuda"):
        for name, (args, options) in draws.items():
            whole = getattr(pa.random, name)(key, *args, **options)
            drawn = getattr(pd.random, name)(key, *args, chunks=2, devices=two, **options)
            assert (drawn.shape, drawn.dtype) == (whole.shape, whole.dtype)
            assert {row.device for row in pd.placement(drawn).verify()} == {"numpy:cpu:0", two[1]}
            np.testing.assert_allclose(pd.collect(drawn, "numpy").native, whole.native, rtol=1e-12)
    with pytest.raises(ValueError, match=r"cannot be broadcast to shape \(2,\)"):
        pd.random.gamma(key, a, 2)
    with pytest.raises(TypeError, match="gamma: got an unexpected keyword argument 'size'"):
        pd.random.gamma(key, a, size=2)


@pytest.mark.one_device
def test_the_shape_of_parameters_is_that_of_the_numbers(no64bit: str) -> None:
    """Without a shape nothing is drawn before the blocks are; float64 parameters are narrowed."""
    key, a = pa.random.key(3, device="numpy"), pa.asarray([[0.3, 2.0, 50.0]], device="numpy")
    square = pa.reshape(pa.eye(3, device="numpy"), (1, 1, 3, 3))
    draws: dict[str, tuple[Any, ...]] = {
        "gamma": (a,), "beta": (a, a.T), "dirichlet": (a,), "poisson": (a,),
        "truncated_normal": (-1.0, a), "multivariate_normal": (a, square), "categorical": (a,),
        "binomial": (9, a / 99), "laplace": (), "student_t": (a,),
    }  # fmt: skip
    for name, args in draws.items():
        options: dict[str, Any] = {"axis": 0} if name == "categorical" else {}
        whole = getattr(pa.random, name)(key, *args, **options)
        drawn = getattr(pd.random, name)(key, *args, devices=no64bit, **options)
        assert drawn.shape == whole.shape
        assert drawn.dtype.itemsize == 4
        assert pd.collect(drawn, "numpy").shape == whole.shape
    huge = pd.random.gamma(key, pa.ones((1 << 15, 1), device="numpy"), scale=pa.ones(1 << 15))
    assert huge.shape == (1 << 15, 1 << 15)
    with pytest.raises(ValueError, match="cannot be broadcast"):
        pd.random.beta(key, pa.ones(2, device="numpy"), pa.ones(3, device="numpy"))


@pytest.mark.one_device
def test_blocks_of_several_devices_are_one_array(no64bit: str) -> None:
    key = pa.random.key(3, device="numpy")
    two = ["numpy", no64bit]
    for name in ("uniform", "integers"):
        options: Any = {**DRAWS[name], "shape": (7, 9)}
        if name == "integers":
            options["dtype"] = "int32"
        drawn = getattr(pd.random, name)(key, chunks=(3, 4), devices=two, **options)
        assert {row.device for row in pd.placement(drawn).verify()} == {"numpy:cpu:0", no64bit}
        whole = getattr(pa.random, name)(key, **options)
        np.testing.assert_array_equal(pd.collect(drawn, "numpy").native, whole.native)
    order = pd.random.permutation(key, 20, chunks=6, devices="numpy")
    np.testing.assert_array_equal(pd.collect(order), pa.random.permutation(key, 20).native)
    some = pd.random.choice(key, 20, 5, replace=False, chunks=2, devices="numpy")
    assert len(set(pd.collect(some).tolist())) == 5
    with pytest.raises(ValueError, match="low must be less than high"):
        pd.random.uniform(key, 3, low=2, high=1)
    with pytest.raises(TypeError, match=r"pa.random.key\(3\)"):
        pd.random.uniform(3, 3)  # type: ignore[arg-type]


@pytest.mark.one_device
def test_blocks_far_from_the_start() -> None:
    """Blocks at positions of more than 32 bits, whose upper half changes within a block."""
    key = pa.random.key(5, device="numpy")
    whole = (70_000, 70_001)
    first = 2**32 // 70_001 - 1
    drawn = pa.random.bits(key, Block(whole, (first, 40_000), (4, 3)))  # type: ignore[arg-type]
    rows = [Block((2**40,), ((first + i) * 70_001 + 40_000,), (3,)) for i in range(4)]
    expected = [pa.random.bits(key, row).tolist() for row in rows]  # type: ignore[arg-type]
    assert drawn.tolist() == expected
    assert first * 70_001 < 2**32 < (first + 3) * 70_001


def test_random_numbers_of_dask_are_on_the_default_device(device: str) -> None:
    """Methods of Dask's generators draw on the device, or move what NumPy makes."""
    rates = np.array([0.5, 4.0, 1e4])
    draws: dict[str, tuple[Any, ...]] = {
        "normal": (3.0, rates), "random": (), "gamma": (2.0,), "poisson": (rates,),
        "binomial": (10, 0.3), "integers": (0, 5), "standard_t": (3.0,), "chisquare": (4,),
        "lognormal": (), "exponential": (rates,), "laplace": (1.0,), "beta": (1.0, 2.0),
        "gumbel": (), "zipf": (1.5,),
    }  # fmt: skip
    with dask.config.set({"array.backend": "portarray", "scheduler": "sync"}), pa.device(device):
        for name, args in draws.items():
            if not device.startswith("numpy") and name not in ("normal", "integers", "gumbel"):
                continue  # which the tests of pa.random draw on every device
            twice = [
                getattr(da.random.default_rng(1), name)(*args, size=(4, 3), chunks=2)
                for _ in range(2)
            ]
            assert twice[0].name == twice[1].name
            x = twice[0].compute()
            assert (type(twice[0]._meta), type(x)) == (pa.Array, pa.Array)
            assert (x.device, x.dtype) == (pa.device(device), twice[0].dtype)
            assert len(np.unique(x.to_device("numpy").native)) > 1
        state = da.random.RandomState(2)
        assert state.randint(0, 9, size=5, chunks=2).compute().device is pa.device(device)
        assert sorted(da.random.default_rng(0).permutation(6).compute().tolist()) == [*range(6)]
        chosen = da.random.default_rng(0).choice(3, size=8, chunks=4, p=[0.5, 0.0, 0.5]).compute()
        assert set(chosen.tolist()) == {0, 2}
        letters = da.random.default_rng(0).choice(np.array(["a", "b"]), size=5).compute()
        assert set(letters) <= {"a", "b"}
        table = np.arange(12).reshape(2, 6)
        for rows in (table, pa.asarray(table), table.astype(str)):
            columns = random_methods.Methods(np.random.SeedSequence(1)).choice(rows, 9, axis=1)
            on_host = isinstance(columns, np.ndarray)
            chosen = np.asarray(columns if on_host else columns.to_device("numpy")).astype(int)
            assert chosen.shape == (2, 9)
            assert (chosen[1] - chosen[0] == 6).all()
            assert chosen[0].max() > 2  # not only as many columns as there are rows
        large = da.random.default_rng(5).normal(size=(200, 100), chunks=(50, 100))
        assert abs(float(large.mean().compute())) < 5 / 20_000**0.5
        assert len(np.unique(large.compute().to_device("numpy").native)) > 19_000  # other blocks


# --- tasks ---------------------------------------------------------------------------------------


@pytest.mark.one_device
def test_without_64_bit_dtypes(no64bit: str) -> None:
    """Dask's own int64 and float64 become the widest dtypes of the device."""
    if not dask_outcomes.PAGE.is_file():
        pytest.skip("the documentation's source is not beside the tests")
    documented = json.loads(dask_outcomes.PAGE.read_text("utf-8"))["without_64_bit"]
    assert dask_outcomes.refused(no64bit) == documented
    x = pd.from_array(X, 4, no64bit)
    assert pd.ones(3, devices=no64bit).dtype == np.float32
    assert pd.arange(3, devices=no64bit).dtype == np.int32
    with pytest.warns(RuntimeWarning, match="does not support float64; the result is float32"):
        assert x.astype("float64").compute(scheduler="sync").dtype == np.float32


def test_tasks_run_once(device: str) -> None:
    """Operands move to the device before a task runs, and a failed task does not run again."""
    calls = []

    def fail(block: Any, weights: Any) -> Any:
        calls.append(type(weights))
        if block.size:
            raise TypeError("mine")
        return block

    x = pd.from_array(X, 8, device)
    with pytest.raises(TypeError, match="mine"):
        x.map_blocks(fail, np.ones(6, np.float32), meta=x._meta).compute(scheduler="sync")
    assert calls == [pa.Array]
    masked = np.ma.masked_array(np.ones(6, np.float32), mask=[1, 0, 0, 0, 0, 0])
    with pytest.raises(TypeError):
        x.map_blocks(lambda block, m: block + m, masked, meta=x._meta).compute(scheduler="sync")


def test_errors_name_the_operation(fake: str, device: str) -> None:
    for where in (device, "fake:cuda:0"):
        x = pd.from_array(X, 4, where)
        if where == device and not pa.device(where)._backend.on_host(pa.device(where).native):
            continue
        lying = x.map_blocks(np.asarray, meta=x._meta)
        with pytest.raises(TypeError, match=r"in Dask's .*asarray"):
            lying.compute(scheduler="sync")
    mixed = pd.from_array(X, 4, ["numpy", "fake:cuda:0"])
    mismatch = pytest.raises(pa.DeviceMismatchError, match=r"in Dask's sum-aggregate")
    with pa.config(block_moves="error"), mismatch:
        mixed.sum().compute(scheduler="sync")


@pytest.mark.one_device
def test_store_writes_into_its_targets(fake: str) -> None:
    x = pd.from_array(X, 4, "fake:cuda:0")
    target, device_target = (
        np.zeros_like(X),
        pa.zeros(X.shape, dtype="float32", device="fake:cuda:0"),
    )
    da.store([x, x + 1], [target, device_target], scheduler="sync")
    np.testing.assert_array_equal(target, X)
    np.testing.assert_array_equal(device_target.to_device("numpy").native, X + 1)


def test_large_arrays_are_pickled_out_of_band(device: str) -> None:
    """Values are pickled as a separate buffer, which distributed reads into its own memory."""
    x = pa.ones(2**16, dtype="float32", device=device)
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert [len(buffer.raw()) for buffer in buffers] == [1, x.nbytes]
    assert len(text) < 500
    # Not aligned, as when it is read behind other bytes: no error, and the values.
    odd = bytearray(x.nbytes + 1)
    memoryview(odd)[1:] = buffers[1].raw()
    restored = pickle.loads(text, buffers=[buffers[0], memoryview(odd)[1:]])
    assert restored.device is x.device
    assert bool(pa.all(restored == x))
    assert bool(pa.all(pickle.loads(pickle.dumps(x, 4)) == x))
