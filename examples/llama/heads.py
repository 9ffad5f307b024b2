"""Queries, keys and values: cut out of a product, turned by their positions, stored."""

from __future__ import annotations

from typing import Any

import portarray as pa
import portarray.kernel_language as kl
from examples.llama.config import Config
from portarray import kernels
from portarray.errors import PortarrayError

__all__ = ["by_token", "changes_memory", "stores_in_place", "turn_and_store", "turned"]


@pa.kernel
def turn_and_store(
    q: Any, keys: Any, values: Any, qkv: Any, cos: Any, sin: Any, places: Any, heads: Any
) -> None:
    """Do in one launch what takes a rotation, two assignments and the views they are given."""
    head, token, i = kl.index()
    half, shared = cos.shape[1], keys.shape[1]
    j = half + i
    slot, position = places[0, token], places[1, token]
    c, s = cos[position, i], sin[position, i]
    a, b = qkv[token, 2 * half * head + i], qkv[token, 2 * half * head + j]
    if head < heads:
        q[head, token, i] = a * c - b * s
        q[head, token, j] = b * c + a * s
    elif head < heads + shared:
        keys[slot, head - heads, position, i] = a * c - b * s
        keys[slot, head - heads, position, j] = b * c + a * s
    else:
        values[slot, head - heads - shared, position, i] = a
        values[slot, head - heads - shared, position, j] = b


def stores_in_place(device: pa.Device) -> bool:
    """Return whether the kernel is of use where it runs."""
    # Libraries on CPUs do with less: a launch on their memory waits for the threads of a runtime.
    return device.platform != "cpu"


def changes_memory(config: Config, keys: pa.Array, cos: pa.Array) -> bool:
    """Return whether the device runs kernels, and these change a cache, not a copy of it."""
    if cos.dtype != pa.float32:
        return False
    width = (config.heads + 2 * config.kv_heads) * config.head_dim
    device = keys.device
    q = pa.empty((config.heads, 1, config.head_dim), dtype=keys.dtype, device=device)
    qkv = pa.empty((1, width), dtype=pa.float32, device=device)
    places = pa.empty((2, 1), dtype=pa.int32, device=device)
    arguments = (q, keys, keys, qkv, cos, cos, places, config.heads)
    try:
        plan = turn_and_store.explain(*arguments, ndrange=(config.heads, 1, 1))
    except (PortarrayError, TypeError, SyntaxError):
        return False
    return not any(parameter.copied for parameter in plan.parameters)


def turned(
    config: Config, qkv: pa.Array, tables: tuple[pa.Array, pa.Array]
) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return queries and keys, turned by their positions, and values.

    Parameters
    ----------
    config : Config
        The model's sizes.
    qkv : Array
        (..., tokens, features of all heads).
    tables : tuple of Array
        Cosines and sines of the tokens' positions.

    Returns
    -------
    tuple of Array
        Each of shape (..., heads, tokens, head_dim).
    """
    turning = config.heads + config.kv_heads  # positions turn queries and keys, not values
    heads = _by_head(qkv, config.head_dim)
    rotated = kernels.rope(heads[..., :turning, :, :], tables=tables)
    q, keys = rotated[..., : config.heads, :, :], rotated[..., config.heads :, :, :]
    return q, keys, heads[..., turning:, :, :]


def _by_head(x: pa.Array, head_dim: int) -> pa.Array:
    """Return (..., tokens, heads head_dim) as (..., heads, tokens, head_dim)."""
    *rows, tokens, _ = x.shape
    if tokens == 1:  # in the right order already
        return pa.reshape(x, (*rows, -1, 1, head_dim))
    return _swapped(pa.reshape(x, (*rows, tokens, -1, head_dim)))


def by_token(x: pa.Array) -> pa.Array:
    """Return (..., heads, tokens, head_dim) as (..., tokens, heads head_dim)."""
    *rows, _, tokens, _ = x.shape
    return pa.reshape(x if tokens == 1 else _swapped(x), (*rows, tokens, -1))


def _swapped(x: pa.Array) -> pa.Array:
    n = x.ndim
    return pa.permute_dims(x, (*range(n - 3), n - 2, n - 3, n - 1))
