"""Keys: what random numbers are made from, and how new keys are made of them."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._api import arguments
from portarray._api.creation.values import asarray
from portarray._api.data_type import astype
from portarray._api.manipulation.joining import stack
from portarray._array.array import Array
from portarray.random import distributions, drawing
from portarray.random.threefry import threefry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portarray.typing import DeviceLike

WORDS = drawing.Draw(distributions.WORDS)
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
        If the seed is not an integer.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.random.key(42, device="numpy").tolist()
    [0, 42]
    """
    try:
        value = index(seed)
    except TypeError:
        raise TypeError(f"key: seed={seed!r} is not an integer{_hint(seed)}") from None
    small = _SMALLEST <= value < 2**63
    halves = divmod(value % 2**64, 2**32) if small else _condensed(value)
    return asarray(halves, dtype=distributions.U32, device=device)


def _hint(seed: object) -> str:
    if seed is None:
        return "\nHint: for a random seed, pass secrets.randbits(64)"
    if isinstance(seed, (float, np.floating)):
        return "\nHint: pass int(seed)"
    if isinstance(seed, str):
        return "\nHint: pass int.from_bytes(seed.encode())"
    if type(seed) is Array and seed.shape == (2,):
        return "\nHint: if it is a key already, use it, or pa.random.split(key)"
    return ""


def _condensed(value: int) -> tuple[int, int]:
    """Return a key that depends on all bits of a large seed."""
    count = value.bit_length() // 64 + 1
    halves = np.frombuffer(value.to_bytes(8 * count, "little", signed=True), "<u4")
    blocks = halves.astype(np.uint32).reshape(count, 2)[:, ::-1]
    mixed = blocks[0]
    for word in blocks[1:]:
        mixed = np.concatenate(threefry(mixed[:1], mixed[1:], word[:1], word[1:]))
    return int(mixed[0]), int(mixed[1])


def one_key(key: Any, function: str) -> Array:
    """Check and return a key."""
    if type(key) is not Array:
        hint = (
            f"pass pa.random.key({key!r})"
            if isinstance(key, int)
            else "create one with pa.random.key(seed)"
        )
        raise TypeError(
            f"{function}: {key!r} is not a key; a key is a uint32 array that pa.random.key returns"
            f"\nHint: {hint}"
        )
    if key._dispatch.dtype != distributions.U32:
        raise TypeError(
            f"{function}: an array of {key.dtype} is not a key; a key is a uint32 array that "
            f"pa.random.key returns"
        )
    if key.shape != (2,):
        several = key.ndim > 1 and key.shape[-1] == 2
        raise ValueError(
            f"{function}: the key has shape {key.shape}; a key has shape (2,)"
            + ("\nHint: pass one of the keys, such as keys[0]" if several else "")
        )
    return key


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
        If `key` is not a key, or `num` is not a shape.

    Examples
    --------
    >>> import portarray as pa
    >>> key, used = pa.random.split(pa.random.key(0))
    """
    return drawing.drawn(_prepared, key, num)


def _prepared(key: Array) -> drawing.Prepared:
    """Check a key and return the draw of new keys."""
    one_key(key, "split")
    return WORDS, None


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
        If `data` is not an integer or an array of integers.
    ValueError
        If `key` is not a key, or the integer has more than 64 bits.

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
        raise TypeError(
            f"fold_in: data={data!r} must be an integer or an array of integers"
        ) from None
    if not _SMALLEST <= value < _LARGEST:
        raise ValueError(f"fold_in: data={value} must have at most 64 bits")
    return drawing.at(WORDS, key, value % _LARGEST, 1)[0, ...]


def _folded(key: Array, data: Array) -> Array:
    """Return a key for each integer of an array."""
    arguments.indices(data, "data")
    low = astype(data & 0xFFFFFFFF if data.dtype.itemsize == 8 else data, distributions.U32)
    if data.dtype.itemsize == 8:
        high: Any = astype((data >> 32) & 0xFFFFFFFF, distributions.U32)
    else:
        high = astype(data < 0, distributions.U32) * 0xFFFFFFFF
    return stack(list(threefry(key[0], key[1], high, low)), axis=-1)
