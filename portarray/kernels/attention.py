"""Scaled dot-product attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray.kernels.checks import attention as checks
from portarray.kernels.core_kernel import CoreKernel

if TYPE_CHECKING:
    from portarray._array.array import Array

ATTENTION = CoreKernel("attention", checks.attention)


def attention(
    q: Array,
    k: Array,
    v: Array,
    /,
    *,
    scale: float | None = None,
    causal: bool = False,
    mask: Array | None = None,
    key_length: int | Array | None = None,
) -> Array:
    """Compute scaled dot-product attention: ``softmax(scale * q @ k.T + mask) @ v`` for each head.

    Parameters
    ----------
    q : Array
        Queries of shape ``(..., heads, q_length, dim)``, of a real floating-point dtype. With two
        axes there is one head without an axis of its own.
    k : Array
        Keys of shape ``(..., kv_heads, k_length, dim)``, of the dtype of `q`. `heads` must be a
        multiple of `kv_heads`: query head `h` reads key head ``h // (heads // kv_heads)``.
    v : Array
        Values of shape ``(..., kv_heads, k_length, v_dim)``, of the dtype of `q`.
    scale : float, optional
        Factor of the inner products; None means ``1 / sqrt(dim)``.
    causal : bool, default: False
        Whether queries see no keys that come after them. The last query sees the last key in use:
        query `i` sees keys up to ``i + n - q_length``, where `n` is the number of keys in use.
    mask : Array, optional
        Boolean array, True where a query may attend to a key, or an array of the dtype of `q` that
        is added to the scaled inner products. Broadcasts to ``(..., heads, q_length, k_length)``.
        Together with `causal` both hold.
    key_length : int or Array, optional
        How many of the first keys are in use, the rest being backend in a cache: an int, or a 0-d
        integer array on the same device, whose value is not read, so that nothing waits and
        nothing is compiled anew when it grows. None means all. An int is checked; an array's
        value must lie between 0 and `k_length`.

    Returns
    -------
    Array
        Array of shape ``(..., heads, q_length, v_dim)`` and the dtype of `q`. A query that sees no
        key, or to whose scores minus infinity is added everywhere, gets zeros.

    Raises
    ------
    ValueError
        If shapes do not fit, `dim` is 0, `kv_heads` does not divide `heads`, or `key_length` is out
        of range.
    TypeError
        If an argument is not a portarray array, dtypes differ or are not real floating-point, or
        the mask is neither boolean nor of the dtype of `q`.

    Notes
    -----
    A. Vaswani et al., "Attention Is All You Need" (2017), arXiv:1706.03762; shared heads of keys
    are those of J. Ainslie et al., "GQA" (2023), arXiv:2305.13245. Memory grows linearly with the
    lengths: scores are computed for some queries at a time. float16 and bfloat16 are computed in
    float32; matrix units of GPUs may round the weights to the dtype of `v`. Where `mask`,
    `causal` or `key_length` exclude a key from a query, neither the result nor gradients depend on
    what the key and its value hold, NaN and infinity included. Where the result has NaN, the
    generic version computes the call again.

    Examples
    --------
    >>> import portarray as pa
    >>> with pa.device("numpy"):
    ...     q, v = pa.zeros((3, 4)), pa.asarray([[1.0], [3.0], [8.0]])
    >>> pa.kernels.attention(q, q, v, causal=True).tolist()  # the means of 1, 2 and 3 values
    [[1.0], [2.0], [4.0]]
    """
    return ATTENTION(q, k, v, scale=scale, causal=causal, mask=mask, key_length=key_length)
