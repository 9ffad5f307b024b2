"""Keys: what random numbers are made from, and how new keys are made of them."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._api import arguments
from portarray._api.creation.values import asarray
from portarray._api.data_type import astype
from portarray._api.manipulation.joining import stack
from portarray._api.manipulation.shapes import reshape
from portarray._array.array import Array
from portarray.random import drawing, programs
from portarray.random.threefry import threefry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portarray.typing import DeviceLike

__all__ = ["WORDS", "fold_in", "key", "one_key", "split"]

WORDS = drawing.Draw(programs.fill_words, programs.words, programs.U32, parts=2)
_SMALLEST, _LARGEST = -(2**63), 2**64


def key(seed: int, *, device: DeviceLike | None = None) -> Array:
    """Return the key for a seed.

    Parameters
    ----------
    seed : int
        Any integer, also a negative one or one of more than 64 bits.
    device : device-like, optional
        Device of the key, and so of the numbers that are drawn with it; the default device if None.

    Returns
    -------
    Array
        The key: an array of uint32 and shape (2,), which may be moved, saved and put into trees
        like any other. For a seed of 64 bits it is that of ``jax.random.key``.

    Raises
    ------
    TypeError
        If the seed is no integer.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.random.key(42, device="numpy").tolist()
    [0, 42]
    """
    try:
        value = index(seed)
    except TypeError:
        raise TypeError(f"seed is {seed!r}; {_advice(seed)}") from None
    small = _SMALLEST <= value < 2**63
    words = divmod(value % 2**64, 2**32) if small else _condensed(value)
    return asarray(words, dtype=programs.U32, device=device)


def _advice(seed: object) -> str:
    if seed is None:
        return "it must be an integer, such as secrets.randbits(64) for one that nobody chose"
    if isinstance(seed, (float, np.floating)):
        return "it must be an integer: pass int(seed)"
    if isinstance(seed, str):
        return "it must be an integer: pass int.from_bytes(seed.encode())"
    if type(seed) is Array and seed.shape == (2,):
        return "it is a key already, or else no integer: use it, or pa.random.split(key)"
    return "it must be an integer"


def _condensed(value: int) -> tuple[int, int]:
    """Return a key that depends on all bits of a large seed."""
    count = value.bit_length() // 64 + 1
    halves = np.frombuffer(value.to_bytes(8 * count, "little", signed=True), "<u4")
    words = halves.astype(np.uint32).reshape(count, 2)[:, ::-1]
    found = words[0]
    for word in words[1:]:
        found = np.concatenate(threefry(found[:1], found[1:], word[:1], word[1:]))
    return int(found[0]), int(found[1])


def one_key(given: Any, function: str) -> Array:
    """Return a key after checking that it is one."""
    if type(given) is not Array:
        hint = f"pass pa.random.key({given!r})" if isinstance(given, int) else "make one of a seed"
        raise TypeError(
            f"{function} got {given!r} as its key; a key is an array of uint32 that "
            f"pa.random.key(seed) makes: {hint}"
        )
    if given.dtype != programs.U32:
        raise TypeError(
            f"{function} got an array of {given.dtype} as its key; a key is an array of uint32 "
            f"that pa.random.key(seed) makes"
        )
    if given.shape != (2,):
        several = given.ndim > 1 and given.shape[-1] == 2
        raise ValueError(
            f"{function} got a key of shape {given.shape}; a key has shape (2,)"
            + (": these are several, of which keys[0] is the first" if several else "")
        )
    return given


def split(key: Array, num: int | Sequence[int] = 2) -> Array:
    """Return new keys, whose numbers are independent of each other.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    num : int or sequence of int, default: 2
        How many keys, or a shape of them.

    Returns
    -------
    Array
        The keys along the first axes, with shape ``(*num, 2)``: those of ``jax.random.split``.
        Key number i is ``fold_in(key, i)``.

    Raises
    ------
    TypeError, ValueError
        If the key is none, or the number no shape.

    Examples
    --------
    >>> import portarray as pa
    >>> key, used = pa.random.split(pa.random.key(0))
    """
    sizes = arguments.shape(num)
    count = 1
    for size in sizes:
        count *= size
    return reshape(drawing.at(WORDS, one_key(key, "split"), 0, count), (*sizes, 2))


def fold_in(key: Array, data: int | Array) -> Array:
    """Return the key for one of many things that a number tells apart, such as a step.

    Parameters
    ----------
    key : Array
        The key.
    data : int or Array
        An integer from -2**63 to 2**64 - 1, or an integer array on the key's device.

    Returns
    -------
    Array
        The new key; for an array of integers one for each, with shape ``(*data.shape, 2)``. For 32
        bits it is that of ``jax.random.fold_in``.

    Raises
    ------
    TypeError
        If the data are no integers.
    ValueError
        If the key is none, or the integer has more than 64 bits.

    Examples
    --------
    >>> import portarray as pa
    >>> key = pa.random.key(0)
    >>> bool(pa.all(pa.random.fold_in(key, 1) == pa.random.split(key)[1]))
    True
    """
    key = one_key(key, "fold_in")
    if type(data) is Array:
        return _folded(key, data)
    try:
        value = index(data)
    except TypeError:
        raise TypeError(f"data is {data!r}; it must be an integer, or an array of them") from None
    if not _SMALLEST <= value < _LARGEST:
        raise ValueError(f"data is {value}; it must have at most 64 bits, such as its hash")
    return drawing.at(WORDS, key, value % _LARGEST, 1)[0, ...]


def _folded(key: Array, data: Array) -> Array:
    """Return a key for each integer of an array."""
    arguments.indices(data, "data")
    low = astype(data & 0xFFFFFFFF if data.dtype.itemsize == 8 else data, programs.U32)
    if data.dtype.itemsize == 8:
        high: Any = astype((data >> 32) & 0xFFFFFFFF, programs.U32)
    else:
        high = astype(data < 0, programs.U32) * 0xFFFFFFFF
    return stack(list(threefry(key[0], key[1], high, low)), axis=-1)
