"""Dask arrays of random numbers: the same whatever the chunks and devices.

The functions are those of :mod:`portarray.random`, whose numbers depend on the key and the position
alone: each block draws its own part of the whole array on its device.

Examples
--------
>>> import portarray as pa
>>> import portarray.dask as pd
>>> key = pa.random.key(42)
>>> x = pd.random.normal(key, (4, 6), chunks=(2, 3), devices="numpy")
>>> bool(pa.all(pd.collect(x) == pa.random.normal(key, (4, 6))))
True
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np

import portarray as pa
from portarray.dask.random_blocks import (
    draw_blocks,
    draw_in_one_task,
    draw_with_parameters,
    on_host,
    shape_of,
)
from portarray.random import continuous, counts, gamma_family, numbers, sampling
from portarray.random.keys import one_key

if TYPE_CHECKING:
    from portarray.dask.block_placement import Devices
    from portarray.typing import DTypeLike

__all__ = [
    "beta",
    "binomial",
    "bits",
    "categorical",
    "choice",
    "dirichlet",
    "exponential",
    "gamma",
    "integers",
    "laplace",
    "multivariate_normal",
    "normal",
    "permutation",
    "poisson",
    "student_t",
    "truncated_normal",
    "uniform",
]


def bits(
    key: pa.Array,
    shape: Any = (),
    *,
    dtype: DTypeLike = "uint32",
    chunks: Any = "auto",
    devices: Devices = None,
) -> da.Array:
    """Return a Dask array of random bits, those of :func:`portarray.random.bits`.

    Parameters
    ----------
    key, shape, dtype
        As for :func:`portarray.random.bits`.
    chunks, devices
        As for :func:`portarray.dask.ones`.

    Returns
    -------
    dask.array.Array
        With portarray chunks.

    Examples
    --------
    >>> import portarray as pa
    >>> import portarray.dask as pd
    >>> key = pa.random.key(42)
    >>> x = pd.random.bits(key, 4, chunks=2, devices="numpy")
    >>> pd.collect(x).tolist() == pa.random.bits(key, 4).tolist()
    True
    """
    return draw_blocks(numbers.bits, key, shape, {"dtype": dtype}, chunks, devices)


def uniform(
    key: pa.Array,
    shape: Any = (),
    *,
    low: float = 0.0,
    high: float = 1.0,
    dtype: DTypeLike | None = None,
    chunks: Any = "auto",
    devices: Devices = None,
) -> da.Array:
    """Return a Dask array of uniform numbers, those of :func:`portarray.random.uniform`.

    Parameters
    ----------
    key, shape, low, high
        As for :func:`portarray.random.uniform`.
    dtype : dtype-like, optional
        The default one of the first block's device if None.
    chunks, devices
        As for :func:`portarray.dask.ones`.

    Returns
    -------
    dask.array.Array
        With portarray chunks.

    Examples
    --------
    >>> import portarray as pa
    >>> import portarray.dask as pd
    >>> key = pa.random.key(42)
    >>> x = pd.random.uniform(key, (100, 100), low=2, high=4, chunks=50, devices="numpy")
    >>> 2 <= float(x.min()) < 2.1, round(float(x.mean()), 1)
    (True, 3.0)
    """
    options = {"dtype": dtype, "low": low, "high": high}
    return draw_blocks(numbers.uniform, key, shape, options, chunks, devices)


def normal(
    key: pa.Array,
    shape: Any = (),
    *,
    loc: float = 0.0,
    scale: float = 1.0,
    dtype: DTypeLike | None = None,
    chunks: Any = "auto",
    devices: Devices = None,
) -> da.Array:
    """Return a Dask array of normal numbers, those of :func:`portarray.random.normal`.

    Parameters
    ----------
    key, shape, loc, scale
        As for :func:`portarray.random.normal`.
    dtype : dtype-like, optional
        The default one of the first block's device if None.
    chunks, devices
        As for :func:`portarray.dask.ones`.

    Returns
    -------
    dask.array.Array
        With portarray chunks.

    Examples
    --------
    >>> import portarray as pa
    >>> import portarray.dask as pd
    >>> key = pa.random.key(42)
    >>> x = pd.random.normal(key, (100, 100), loc=5, scale=2, chunks=50, devices="numpy")
    >>> round(float(x.mean()), 1), round(float(x.std()), 1)
    (5.0, 2.0)
    """
    options = {"dtype": dtype, "loc": loc, "scale": scale}
    return draw_blocks(numbers.normal, key, shape, options, chunks, devices)


def exponential(
    key: pa.Array,
    shape: Any = (),
    *,
    scale: float = 1.0,
    dtype: DTypeLike | None = None,
    chunks: Any = "auto",
    devices: Devices = None,
) -> da.Array:
    """Return a Dask array of exponential numbers, those of :func:`portarray.random.exponential`.

    Parameters
    ----------
    key, shape, scale
        As for :func:`portarray.random.exponential`.
    dtype : dtype-like, optional
        The default one of the first block's device if None.
    chunks, devices
        As for :func:`portarray.dask.ones`.

    Returns
    -------
    dask.array.Array
        With portarray chunks.

    Examples
    --------
    >>> import portarray as pa
    >>> import portarray.dask as pd
    >>> key = pa.random.key(42)
    >>> x = pd.random.exponential(key, (100, 100), scale=3, chunks=50, devices="numpy")
    >>> float(x.min()) >= 0, round(float(x.mean()), 1)
    (True, 3.0)
    """
    options = {"dtype": dtype, "scale": scale}
    return draw_blocks(numbers.exponential, key, shape, options, chunks, devices)


def integers(
    key: pa.Array,
    low: int,
    high: int | None = None,
    shape: Any = (),
    *,
    endpoint: bool = False,
    dtype: DTypeLike | None = None,
    chunks: Any = "auto",
    devices: Devices = None,
) -> da.Array:
    """Return a Dask array of random integers, those of :func:`portarray.random.integers`.

    Parameters
    ----------
    key, low, high, shape, endpoint
        As for :func:`portarray.random.integers`.
    dtype : dtype-like, optional
        The default one of the first block's device if None.
    chunks, devices
        As for :func:`portarray.dask.ones`.

    Returns
    -------
    dask.array.Array
        With portarray chunks.

    Examples
    --------
    >>> import portarray as pa
    >>> import portarray.dask as pd
    >>> key = pa.random.key(42)
    >>> x = pd.random.integers(key, 1, 6, 100, endpoint=True, chunks=50, devices="numpy")
    >>> int(x.min()), int(x.max())
    (1, 6)
    """
    options = {"low": low, "high": high, "dtype": dtype, "endpoint": endpoint}
    return draw_blocks(numbers.integers, key, shape, options, chunks, devices)


def permutation(
    key: pa.Array, x: int, *, chunks: Any = "auto", devices: Devices = None
) -> da.Array:
    """Return the integers below a number in the order of :func:`portarray.random.permutation`.

    One task makes all of them, on the first block's device.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    x : int
        How many integers.
    chunks, devices
        As for :func:`portarray.dask.ones`.

    Returns
    -------
    dask.array.Array
        With portarray chunks. To bring a Dask array into that order, index it.

    Examples
    --------
    >>> import portarray as pa
    >>> import portarray.dask as pd
    >>> order = pd.random.permutation(pa.random.key(42), 6, chunks=3, devices="numpy")
    >>> sorted(pd.collect(order).tolist())
    [0, 1, 2, 3, 4, 5]
    >>> rows = pd.arange(0, 60, 10, chunks=3, devices="numpy")
    >>> sorted(pd.collect(rows[order.compute().tolist()]).tolist())
    [0, 10, 20, 30, 40, 50]
    """
    return draw_in_one_task(_permutation, key, x, {}, chunks, devices)


def choice(
    key: pa.Array,
    a: int,
    shape: Any = (),
    *,
    replace: bool = True,
    chunks: Any = "auto",
    devices: Devices = None,
) -> da.Array:
    """Return a Dask array of integers below a number, those of :func:`portarray.random.choice`.

    Without replacement one task makes all of them, on the first block's device.

    Parameters
    ----------
    key
        As for :func:`portarray.random.choice`.
    a : int
        The integers are below it.
    shape, replace
        As for :func:`portarray.random.choice`.
    chunks, devices
        As for :func:`portarray.dask.ones`.

    Returns
    -------
    dask.array.Array
        With portarray chunks. To choose from a Dask array, index it.

    Examples
    --------
    >>> import portarray as pa
    >>> import portarray.dask as pd
    >>> x = pd.random.choice(pa.random.key(42), 10, 4, replace=False, chunks=2, devices="numpy")
    >>> len(set(pd.collect(x).tolist()))  # no number twice
    4
    """
    if replace:
        return integers(key, 0, a, shape, chunks=chunks, devices=devices)
    return draw_in_one_task(_choice, key, shape, {"a": a}, chunks, devices)


def _with_parameters(
    function: Callable[..., pa.Array], example: str, vector: str = ""
) -> Callable[..., da.Array]:
    """Return a function that draws blocks of a distribution.

    ``example`` has parameters for the docstring. The last axis of the parameter ``vector`` is that
    of the result.
    """
    name = function.__name__
    signature = inspect.signature(function)

    def draw(
        key: pa.Array, *args: Any, chunks: Any = "auto", devices: Devices = None, **options: Any
    ) -> da.Array:
        key = one_key(key, name)
        try:
            values = dict(signature.bind(key, *args, **options).arguments)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        del values["key"]
        shape = values.pop("shape", None)
        values = {word: on_host(value) for word, value in values.items()}
        inner = np.shape(values[vector])[-1:] if vector else ()
        if shape is None:
            shape = shape_of(name, values)
        if inner:
            count = 1 if isinstance(shape, int) else len(shape)
            outer = tuple(chunks) if isinstance(chunks, tuple | list) else (chunks,) * count
            chunks = (*outer[:count], -1)
        block = partial(draw_with_parameters, function)
        return draw_blocks(block, key, shape, values, chunks, devices, name=name, inner=inner)

    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = f"""Return a Dask array of the numbers of :func:`portarray.random.{name}`.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    *args : float, int, Array or tuple of int
        Parameters and the shape, as for :func:`portarray.random.{name}`; parameters that are arrays
        may be on any device.
    chunks, devices
        As for :func:`portarray.dask.ones`.
    **options : float, Array or dtype
        Keyword arguments, as for :func:`portarray.random.{name}`.

    Returns
    -------
    dask.array.Array
        With portarray chunks.

    Examples
    --------
    >>> import portarray as pa
    >>> import portarray.dask as pd
    >>> key = pa.random.key(42)
    >>> x = pd.random.{name}(key, {example}(4,), chunks=2, devices="numpy")
    >>> x.numblocks[0], type(x.compute()).__name__
    (2, 'Array')
    """
    return draw


beta = _with_parameters(gamma_family.beta, "2.0, 3.0, ")
gamma = _with_parameters(gamma_family.gamma, "2.0, ")
laplace = _with_parameters(continuous.laplace, "")
student_t = _with_parameters(gamma_family.student_t, "3.0, ")
truncated_normal = _with_parameters(continuous.truncated_normal, "-1.0, 1.0, ")
dirichlet = _with_parameters(gamma_family.dirichlet, "pa.ones(3), ", "alpha")
multivariate_normal = _with_parameters(
    continuous.multivariate_normal, "pa.zeros(2), pa.eye(2), ", "mean"
)
binomial = _with_parameters(counts.binomial, "10, 0.5, ")
poisson = _with_parameters(counts.poisson, "4.0, ")
categorical = _with_parameters(counts.categorical, "pa.zeros(3), ")


def _permutation(key: pa.Array, shape: Any, *, dtype: Any = None) -> pa.Array:
    return sampling.permutation(key, *shape)


def _choice(key: pa.Array, shape: Any, *, a: int, dtype: Any = None) -> pa.Array:
    return sampling.choice(key, a, shape, replace=False)
